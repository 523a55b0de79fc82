//! The requested lengths of one request, and the lengths that a trace recorded, in tokens.

use workload_profiles::workload::TraceEntry;

/// The lengths that a request specifies, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestedLengths {
    /// Length of the prompt; `None` for mock prompts.
    pub input: Option<u32>,
    /// Whether the prompt has exactly this many tokens, apart from special tokens that a server can add. If not, it consists of words with about this
    /// many tokens.
    pub is_exact: bool,
    /// Maximum length of the answer; `None` if the server decides.
    pub output: Option<u32>,
}

/// The lengths in a trace, in tokens. They replace the source's lengths. Eight bytes per request, so that ten million fit into memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedLengths {
    /// Length of the prompt; 0 if none was recorded.
    pub(super) input: u32,
    /// Length of the answer; 0 if none was recorded.
    pub(super) output: u32,
}

impl RecordedLengths {
    pub fn from_entry(entry: &TraceEntry) -> RecordedLengths {
        RecordedLengths { input: entry.input.unwrap_or_default(), output: entry.output.unwrap_or_default() }
    }

    pub(super) fn input(self) -> Option<u32> {
        (self.input > 0).then_some(self.input)
    }

    pub(super) fn output(self) -> Option<u32> {
        (self.output > 0).then_some(self.output)
    }
}
