//! `load.trace` and `data.trace`: a file in the format of the Azure data set. It contains the times and the lengths of requests.

use super::values::unsupported;
use crate::{
    formats::common::files::from_text,
    reader::Section,
    workload::{FileSource, Load, Trace, TraceFile, TraceFormat, TraceTime},
};

const AZURE: &str = "AzurePublicDataset";

/// A file with recorded requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recording {
    file: FileSource,
}

impl Recording {
    /// Reads a key that names a trace file; `None` if it is absent, or if a problem was reported.
    pub fn read(parent: &Section, key: &'static str) -> Option<Recording> {
        let section = parent.section(key)?;
        section.require("file", "write where the launcher finds the file");
        if let Some(format) = section.text("format").filter(|it| *it != AZURE) {
            section.problem("format", unsupported(format, &[AZURE]));
        }
        let file = section.text("file").and_then(|it| from_text(&section, "file", it));
        section.finish();
        Some(Recording { file: file? })
    }

    /// Returns a load that replays the first `count` requests, or all. `lengths` states whether the requests have the recorded lengths.
    pub fn load(&self, count: Option<u64>, lengths: bool) -> Load {
        let file = TraceFile {
            file: self.file.clone(),
            hashes_column: None,
            format: TraceFormat::Csv,
            time: TraceTime::DateTime,
            at_column: "TIMESTAMP".into(),
            input_column: "ContextTokens".into(),
            output_column: "GeneratedTokens".into(),
        };
        Load::Trace { trace: Trace::File(file), speed: 1.0, count, lengths, max_concurrency: None }
    }
}
