//! [I/O] Prints results on stdout, and messages and the progress display on stderr. `println!` and similar macros panic when the
//! reader has closed the pipe; the functions here do not.

use std::{
    env,
    fmt::Display,
    io::{self, BufWriter, ErrorKind, IsTerminal as _, Write},
    sync::{Mutex, MutexGuard, PoisonError},
};

use console::Term;
use indicatif::{ProgressBar, ProgressStyle};
use report::paint::Paint;
use tracing::warn;
use workload_profiles::Notice;

/// stdout cannot be written, for a reason other than a closed pipe.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to stdout: {0}; free space where stdout goes, or redirect it")]
pub struct PrintError(#[from] io::Error);

/// Prints a result. A reader that closes the pipe early, such as `head`, causes no error.
///
/// # Errors
/// stdout cannot be written.
pub fn print(text: impl AsRef<[u8]>) -> Result<(), PrintError> {
    print_with(|out| out.write_all(text.as_ref()))
}

/// Prints what `fill` writes, like [`print`].
///
/// # Errors
/// stdout cannot be written, or `fill` fails.
pub fn print_with(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), PrintError> {
    let mut out = BufWriter::new(io::stdout().lock());
    match fill(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            // Discard the buffer: a flush would fail again.
            drop(out.into_parts());
            Ok(())
        }
        done => done.map_err(PrintError),
    }
}

/// Prints a line on stderr. A write error is ignored, because there is no other place to report it, and does not change the exit status.
pub fn say(what: impl Display) {
    // Write the line with one call, so that lines of several processes do not mix.
    let _ = Messages.write_all(format!("{what}\n").as_bytes());
}

/// Whether stderr is a terminal that can update text in place.
pub fn has_terminal() -> bool {
    io::stderr().is_terminal() && env::var_os("TERM").is_none_or(|it| it != "dumb")
}

/// The colours for stdout. They are off unless stdout is a terminal that supports them, and `NO_COLOR` is not set.
pub fn stdout_paint() -> Paint {
    Paint::new(Term::stdout().features().colors_supported())
}

/// The colours for stderr, chosen like [`stdout_paint`].
pub fn stderr_paint() -> Paint {
    Paint::new(Term::stderr().features().colors_supported())
}

/// The number of columns in the terminal at stderr. `None` if the terminal does not report it.
pub(crate) fn stderr_width() -> Option<usize> {
    Term::stderr().size_checked().map(|(_, columns)| usize::from(columns))
}

/// The live display at the bottom of the terminal, if there is one. Messages are printed above it.
static LIVE: Mutex<Option<ProgressBar>> = Mutex::new(None);

fn live() -> MutexGuard<'static, Option<ProgressBar>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lines at the bottom of the terminal that change in place, until the value is dropped. A program shows only one such display at a time.
pub(crate) struct LiveDisplay(ProgressBar);

impl LiveDisplay {
    pub(crate) fn start() -> LiveDisplay {
        let bar = ProgressBar::new_spinner();
        bar.set_style(ProgressStyle::with_template("{msg}").expect("the template is a constant that parses"));
        *live() = Some(bar.clone());
        LiveDisplay(bar)
    }

    /// Replaces the lines. No line can be wider than the terminal.
    pub(crate) fn show(&self, lines: &[String]) {
        self.0.set_message(lines.join("\n"));
    }
}

impl Drop for LiveDisplay {
    fn drop(&mut self) {
        *live() = None;
        self.0.finish_and_clear();
    }
}

/// Writes to stderr, above the live display.
#[derive(Clone, Copy, Debug)]
pub struct Messages;

impl Write for Messages {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match live().as_ref() {
            Some(bar) => bar.suspend(|| io::stderr().write(bytes)),
            None => io::stderr().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Prints an error on stderr, after the name of the program.
pub fn print_error(what: impl Display) {
    say(format_args!("benchwright: {what}"));
}

/// Logs the notices from reading a file.
pub(crate) fn log_notices(notices: &[Notice]) {
    for notice in notices {
        warn!("{notice}");
    }
}
