//! Start-up statistics: the log that a server writes while it starts -> when it was ready, how long each step took, what it loaded, or
//! with which words it failed.
//!
//! Pure: a log and a reference time go in, a [`Startup`] comes out. A value that the log does not have is absent, never zero. A log may
//! have any bytes and any length: a line is read up to [`MAX_LINE`] bytes, and what is kept has a bound everywhere.
//!
//! The texts of the engines are in the rows of [`crds::server_engine`], each with the versions that print it and with how that is known.

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

/// Reads the log of a server: its last start, where it has several.
///
/// Time stamps of vLLM have no year and no zone. They are of the zone of `reference`, and of the latest year that puts them at most a day
/// after it: give the time at which the log was last written, in the zone of the server.
///
/// # Errors
/// Those of `log`. No content of a log is an error.
pub fn read(log: impl BufRead, reference: &Zoned) -> io::Result<Startup> {
    let mut lines = lines::Lines::new(log);
    let mut collector = collector::Collector::new(reference);
    while let Some(line) = lines.next()? {
        collector.observe(&line);
    }
    Ok(collector.finish())
}

/// As [`read`], for a log that is in memory.
pub fn read_bytes(log: &[u8], reference: &Zoned) -> Startup {
    // A slice has no errors of its own.
    read(log, reference).unwrap_or_default()
}
