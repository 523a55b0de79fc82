//! The last lines of a server that did not become ready.

use crate::{
    line::Parts,
    redact,
    startup::{Failure, Process},
};

const TRACEBACK: &str = "Traceback (most recent call last)";
/// The last line of a program that fails without a traceback: `vllm: error: unrecognized arguments`, `exec: "vllm": not found`.
const FATAL: [&str; 6] = [
    ": error: ",
    "EngineCore failed to start",
    "Engine core initialization failed",
    "Received sigquit from a child process",
    "command not found",
    "executable file not found",
];

/// Evidence for a failed start. A later traceback of another process does not count: it is a consequence of the first one.
#[derive(Default)]
pub(crate) struct Failures {
    /// A line of level ERROR without a traceback. The server may continue after it.
    error: Option<Words>,
    /// The exception that ended a process.
    exception: Option<Words>,
    /// The process of the current traceback, and whether its later lines have no prefix, as in SGLang.
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
        // A warning may show the traceback of a caught exception.
        let is_sglang = !is_undated && parts.text.starts_with('[');
        if parts.message().contains(TRACEBACK) && (parts.is_error || is_undated || is_sglang) {
            self.traceback = Some((parts.process.clone(), is_sglang));
        } else if (parts.is_error || is_undated) && FATAL.iter().any(|it| parts.text.contains(it)) {
            // The engine core logs an error line before its traceback, which is more specific.
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

/// Whether this ends a traceback: `ValueError: no`, `torch.OutOfMemoryError: CUDA out of memory`, `KeyboardInterrupt`. Earlier lines of a traceback
/// are indented.
fn is_exception(message: &str) -> bool {
    if message.starts_with(char::is_whitespace) || message.contains(TRACEBACK) {
        return false;
    }
    let name = message.split(':').next().unwrap_or_default();
    let plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '_');
    name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_') && name.chars().all(plain)
}
