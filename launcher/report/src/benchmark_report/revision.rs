//! Revisions of the format, and the files of each.

use analysis::Analysis;

/// A revision of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    V02,
    /// Every 0.2 report is also a 0.2.1 report. Revision 0.2.1 adds time series of requests and servers, and sessions.
    V021,
}

impl Revision {
    /// The revisions in a results folder.
    pub const ALL: [Revision; 2] = [Revision::V02, Revision::V021];

    pub(super) fn version(self) -> &'static str {
        match self {
            Revision::V02 => "0.2",
            Revision::V021 => "0.2.1",
        }
    }

    /// Prism takes each YAML file with a name that begins with `benchmark_report_v0.2` for another stage, so only one revision may be YAML.
    fn extension(self) -> &'static str {
        match self {
            Revision::V02 => "yaml",
            Revision::V021 => "json",
        }
    }
}

/// The file of a stage: without the stage's name if there is only one. Two names never share a file: a character that is not allowed in file names
/// becomes `%` and the hexadecimal digits of its bytes.
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
