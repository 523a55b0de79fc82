//! Reads the log that a server writes while it starts: when it was ready, how long each step took, what it loaded, or why it failed.
//!
//! Pure: a log and a reference time go in, and a [`Startup`] comes out. A value that the log does not contain is absent, never zero. A log can
//! contain any bytes and have any length: only the first [`MAX_LINE`] bytes of a line are read, and the size of the result is limited.
//!
//! The rows of [`crds::server_engine`] contain the log texts of the engines, with the versions that print them and the source of this knowledge.

mod collector;
mod engine_id;
mod failure;
mod line;
mod lines;
mod number;
mod original;
mod python;
mod redact;
mod stamp;
mod startup;
mod steps;
#[cfg(test)]
mod tests;
mod texts;

use std::io::{self, BufRead};

use jiff::Zoned;

pub use crds::server_engine::startup_log::{Figure, Known, Role, StepName, Text, Unit};
pub use lines::MAX_LINE;
pub use original::{Server, result};
pub use startup::{Failure, Gpu, LogFacts, Outcome, Process, SleepWake, SleepWakeKind, Startup, Step};
pub use texts::TEXTS;

/// Reads the log of a server. If it contains several starts, the last one is returned.
///
/// Time stamps of vLLM have neither a year nor a time zone. They are read in the time zone of `reference`, and in the latest year that does not place
/// them more than one day after `reference`. Pass the time at which the log was last written, in the time zone of the server.
///
/// # Errors
/// Reading `log` fails. The content of a log never causes an error.
pub fn read(log: impl BufRead, reference: &Zoned) -> io::Result<Startup> {
    let mut lines = lines::Lines::new(log);
    let mut collector = collector::Collector::new(reference);
    while let Some(line) = lines.next()? {
        collector.observe(&line);
    }
    Ok(collector.finish())
}

/// Like [`read`], for a log in memory.
pub fn read_bytes(log: &[u8], reference: &Zoned) -> Startup {
    // Reading a slice never fails.
    read(log, reference).unwrap_or_default()
}
