//! [I/O] Prints results on stdout and messages on stderr. `println!` and its like panic where nobody can read them; nothing here
//! does.

use std::{
    error::Error,
    fmt::Display,
    io::{self, BufWriter, ErrorKind, Write},
};

/// stdout cannot be written, although somebody reads it.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to stdout: {0}; send it where there is space to write")]
pub struct PrintError(#[from] io::Error);

/// Prints a result. A reader that has gone, such as `head`, has seen enough: that is no error.
///
/// # Errors
/// stdout cannot be written.
pub fn print(text: impl AsRef<[u8]>) -> Result<(), PrintError> {
    print_with(|out| out.write_all(text.as_ref()))
}

/// Prints what `fill` writes, as [`print`].
///
/// # Errors
/// stdout cannot be written, or `fill` gives up.
pub fn print_with(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), PrintError> {
    let mut out = BufWriter::new(io::stdout().lock());
    match fill(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            // What is still buffered has no reader.
            drop(out.into_parts());
            Ok(())
        }
        done => done.map_err(PrintError),
    }
}

/// Says a line on stderr. Who reads it may have gone, and there is nobody else to tell: the exit status says it too.
pub fn say(what: impl Display) {
    // One write: lines of several processes do not mix.
    let _ = io::stderr().write_all(format!("{what}\n").as_bytes());
}

/// An error and its causes; a cause that the text before it already names is not repeated.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Outer {
        #[error("no file ({0}); make one")]
        Named(#[source] io::Error),
        #[error("no file")]
        Unnamed(#[source] io::Error),
    }

    #[test]
    fn a_cause_is_told_once() {
        let cause = || io::Error::other("it is gone");
        assert_eq!(with_causes(&Outer::Named(cause())), "no file (it is gone); make one");
        assert_eq!(with_causes(&Outer::Unnamed(cause())), "no file: it is gone");
    }
}
