//! Finds out why a server did not become ready.

use crate::{
    line::Parts,
    redact,
    startup::{Failure, Process},
};

const TRACEBACK: &str = "Traceback (most recent call last)";
/// If a program fails without a traceback, its last line contains one of these texts, as in `vllm: error: unrecognized arguments` or `exec: "vllm":
/// not found`.
const FATAL: [&str; 6] = [
    ": error: ",
    "EngineCore failed to start",
    "Engine core initialization failed",
    "Received sigquit from a child process",
    "command not found",
    "executable file not found",
];

/// Evidence for a failed start. Only the first exception counts, because it usually causes the later ones in other processes.
#[derive(Default)]
pub(crate) struct Failures {
    /// The first line of level ERROR without a traceback. It may not have been fatal.
    error: Option<Words>,
    /// The exception that ended a process, which is the last line of its traceback.
    exception: Option<Words>,
    /// The process of the traceback that is being read, and whether its further lines lack the log prefix, as in SGLang.
    traceback: Option<(Option<Process>, bool)>,
}

struct Words {
    process: Option<Process>,
    text: String,
    line: u64,
}

impl Failures {
    pub fn is_fatal(&self) -> bool {
        self.exception.is_some()
    }

    pub fn observe(&mut self, parts: &Parts<'_>, line: u64) {
        if self.exception.is_some() {
            return;
        }
        let is_undated = parts.stamp.is_none();
        let words = |text: &str| Words { process: parts.process.clone(), text: redact::quote(text), line };
        if let Some((of, is_plain)) = &self.traceback {
            let is_of_it = *of == parts.process || *is_plain && is_undated && parts.process.is_none();
            if is_of_it && is_exception(parts.message()) {
                self.exception = Some(Words { process: of.clone(), ..words(parts.message()) });
            }
            return;
        }
        // A traceback in a warning is ignored, because its exception was caught.
        let is_sglang = !is_undated && parts.text.starts_with('[');
        if parts.message().contains(TRACEBACK) && (parts.is_error || is_undated || is_sglang) {
            self.traceback = Some((parts.process.clone(), is_sglang));
        } else if (parts.is_error || is_undated) && FATAL.iter().any(|it| parts.text.contains(it)) {
            // After a line of level ERROR, the search continues: the engine core logs it before its traceback, which is more specific.
            if parts.is_error {
                self.error.get_or_insert_with(|| words(parts.message()));
            } else {
                self.exception = Some(words(parts.message()));
            }
        } else if parts.is_error && !parts.message().trim().is_empty() {
            self.error.get_or_insert_with(|| words(parts.message()));
        }
    }

    pub fn finish(self, last_line: &str) -> Failure {
        let last_line = redact::quote(last_line);
        match self.exception.or(self.error) {
            Some(Words { process, text, line }) => Failure { process, error: Some(text), line: Some(line), last_line },
            None => Failure { last_line, ..Failure::default() },
        }
    }
}

/// Whether a line ends a traceback, such as `ValueError: no`, `torch.OutOfMemoryError: CUDA out of memory` or `KeyboardInterrupt`. All earlier lines
/// of a traceback are indented.
fn is_exception(message: &str) -> bool {
    if message.starts_with(char::is_whitespace) || message.contains(TRACEBACK) {
        return false;
    }
    let name = message.split(':').next().unwrap_or_default();
    let plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '_');
    name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_') && name.chars().all(plain)
}
