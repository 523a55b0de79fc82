//! [I/O] Writes results to stdout and messages to stderr. If the reader closes the pipe, there is no panic.

use std::{
    fmt::Display,
    io::{self, IsTerminal as _, Write as _},
};

/// Prints a result. A write error is ignored and does not change the exit code, because a reader such as `head` can close the pipe early.
pub(crate) fn print(text: impl Display) {
    let _ = io::stdout().write_all(text.to_string().as_bytes());
}

/// Writes bytes to stdout.
pub(crate) fn copy(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Prints a line to stderr.
pub(crate) fn say(text: impl Display) {
    // A single write call, so that lines of several processes do not mix.
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// The last line on a terminal, which is overwritten repeatedly. If stderr is not a terminal, each text is printed as a separate line.
pub(crate) struct StatusLine {
    terminal: bool,
    shown: bool,
}

impl StatusLine {
    /// Creates a status line on stderr.
    pub(crate) fn new() -> StatusLine {
        StatusLine { terminal: io::stderr().is_terminal(), shown: false }
    }

    /// Whether stderr is a terminal, so that the line can be overwritten.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Replaces the shown text. Without a terminal, prints a new line.
    pub(crate) fn show(&mut self, text: &str) {
        if !self.terminal {
            say(text);
            return;
        }
        // Carriage return, the text, and the sequence that erases the rest of the line.
        let _ = io::stderr().write_all(format!("\r{text}\x1b[K").as_bytes());
        self.shown = true;
    }

    /// Erases the text, so that another line can be printed.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.clear();
    }
}
