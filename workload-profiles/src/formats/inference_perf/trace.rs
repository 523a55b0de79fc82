//! `load.trace` and `data.trace`: a file in the format of the Azure data set, with the times and the lengths of requests.

use std::path::PathBuf;

use super::values::unsupported;
use crate::{
    reader::Section,
    workload::{Load, Trace, TraceFile, TraceFormat, TraceTime},
};

const AZURE: &str = "AzurePublicDataset";

/// A file with recorded requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recording {
    path: PathBuf,
}

impl Recording {
    /// Reads a key that names such a file; `None` when it is absent, or wrong, which adds a problem.
    pub fn read(parent: &Section, key: &'static str) -> Option<Recording> {
        let section = parent.section(key)?;
        section.require("file", "write where the launcher finds the file");
        if let Some(format) = section.text("format").filter(|it| *it != AZURE) {
            section.problem("format", unsupported(format, &[AZURE]));
        }
        let path = section.text("file").filter(|it| !it.trim().is_empty()).map(PathBuf::from);
        section.finish();
        Some(Recording { path: path? })
    }

    /// A stage that replays its first `count` requests, with the recorded lengths if `lengths`.
    pub fn load(&self, count: u64, lengths: bool) -> Load {
        let file = TraceFile {
            file: self.path.clone().into(),
            hashes_column: None,
            format: TraceFormat::Csv,
            time: TraceTime::DateTime,
            at_column: "TIMESTAMP".into(),
            input_column: "ContextTokens".into(),
            output_column: "GeneratedTokens".into(),
        };
        Load::Trace { trace: Trace::File(file), speed: 1.0, count: Some(count), lengths, max_concurrency: None }
    }
}
