//! [I/O] Prints results on stdout and messages on stderr. `println!` and similar macros panic when the reader has closed the
//! pipe; the functions here do not.

use std::{
    fmt::Display,
    io::{self, BufWriter, ErrorKind, Write},
};

use console::Term;
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

/// Prints what `fill` writes, as [`print`].
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

/// Prints a line on stderr. An error is ignored, because there is no other place to report it; the exit status remains.
pub fn say(what: impl Display) {
    // A single write, so that lines of several processes do not mix.
    let _ = io::stderr().write_all(format!("{what}\n").as_bytes());
}

/// The colours of stdout: off unless it is a terminal that supports them, and `NO_COLOR` is not set.
pub fn stdout_paint() -> Paint {
    Paint::new(Term::stdout().features().colors_supported())
}

/// Prints on stderr why something failed, after the name of the program.
pub fn print_error(what: impl Display) {
    say(format_args!("benchwright: {what}"));
}

/// Logs the notices of a file reader.
pub(crate) fn log_notices(notices: &[Notice]) {
    for notice in notices {
        warn!("{notice}");
    }
}
