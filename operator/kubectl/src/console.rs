//! [I/O] Results on stdout, messages on stderr. A reader that closes the pipe causes no panic.

use std::{
    fmt::Display,
    io::{self, IsTerminal as _, Write as _},
};

/// Prints a result. An error is ignored: a reader that ends early, such as `head`, is none, and the exit code remains.
pub(crate) fn print(text: impl Display) {
    let _ = io::stdout().write_all(text.to_string().as_bytes());
}

/// Writes bytes on stdout.
pub(crate) fn copy(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Prints a line on stderr.
pub(crate) fn say(text: impl Display) {
    // A single write, so that lines of several processes do not mix.
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// The last line of a terminal, which is written again and again. Without a terminal there is none.
pub(crate) struct StatusLine {
    terminal: bool,
    shown: bool,
}

impl StatusLine {
    /// On stderr.
    pub(crate) fn new() -> StatusLine {
        StatusLine { terminal: io::stderr().is_terminal(), shown: false }
    }

    /// Whether a line can be written again.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Shows a text in place of the one before. Without a terminal it becomes a line.
    pub(crate) fn show(&mut self, text: &str) {
        if !self.terminal {
            say(text);
            return;
        }
        // Carriage return, text, erase to the end of the line.
        let _ = io::stderr().write_all(format!("\r{text}\x1b[K").as_bytes());
        self.shown = true;
    }

    /// Removes the text, so that a line can follow.
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
