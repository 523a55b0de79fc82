//! Start-up statistics: the log that a server writes while it starts -> when it was ready, how long each step took, what it loaded, or why it failed.
//!
//! Pure: a log and a reference time go in, a [`Startup`] comes out. A value that the log lacks is absent, never zero. A log may contain any bytes and
//! have any length: lines are read up to [`MAX_LINE`] bytes, and everything that is kept has a bound.
//!
//! The texts of the engines are in the rows of [`crds::server_engine`], with the versions that print them and the source of that knowledge.

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

/// Reads the log of a server: its last start, if it has several.
///
/// Time stamps of vLLM have no year and no zone. They are read in the zone of `reference`, and in the latest year that puts them at most one day
/// after it. Pass the time at which the log was last written, in the zone of the server.
///
/// # Errors
/// `log` cannot be read. No content of a log is an error.
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
    // Reading a slice never fails.
    read(log, reference).unwrap_or_default()
}
