//! The revisions of the format, and the file names of each revision.

use analysis::Analysis;

/// A revision of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    V02,
    /// Adds time series of requests and servers, and sessions. A report of revision 0.2 is also valid as 0.2.1.
    V021,
}

impl Revision {
    /// All revisions that are written to a results folder.
    pub const ALL: [Revision; 2] = [Revision::V02, Revision::V021];

    pub(super) fn version(self) -> &'static str {
        match self {
            Revision::V02 => "0.2",
            Revision::V021 => "0.2.1",
        }
    }

    /// Only one revision can use YAML, because Prism reads each YAML file with the prefix `benchmark_report_v0.2` as a separate stage.
    fn extension(self) -> &'static str {
        match self {
            Revision::V02 => "yaml",
            Revision::V021 => "json",
        }
    }
}

/// The file name for a stage. It contains the stage's name if there are several stages. Two stages never have the same file name: if a character is
/// not allowed in file names, each of its bytes becomes `%` and two hexadecimal digits.
pub fn file_name(revision: Revision, analysis: &Analysis, index: usize) -> String {
    let stage = analysis.stages.get(index).filter(|_| analysis.stages.len() > 1);
    let mut name = format!("benchmark_report_v{}", revision.version());
    for byte in stage.into_iter().flat_map(|it| [b'-'].into_iter().chain(it.stage.name.bytes())) {
        match char::from(byte) {
            it if it.is_ascii_alphanumeric() || "._-".contains(it) => name.push(it),
            _ => name.push_str(&format!("%{byte:02x}")),
        }
    }
    format!("{name}.{}", revision.extension())
}
