//! Reads the log files of the tests.

#![allow(clippy::unwrap_used, reason = "in helpers of tests as in tests themselves")]

use std::{fs, path::PathBuf};

use jiff::{Zoned, civil::date, tz::TimeZone};
use startup::{Startup, read_bytes};

pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// A reference time, in UTC: all logs are from 2026, and the log of New Year's Eve is read on the next day.
pub fn reference(log: &str) -> Zoned {
    let day = if log.contains("new-year") { date(2027, 1, 1) } else { date(2026, 12, 1) };
    day.to_zoned(TimeZone::UTC).unwrap()
}

/// The names of all logs, without `.log`.
pub fn names() -> Vec<String> {
    let files = fs::read_dir(folder().join("logs")).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = files.filter_map(|it| it.strip_suffix(".log").map(str::to_owned)).collect();
    names.sort();
    names
}

pub fn bytes(name: &str) -> Vec<u8> {
    fs::read(folder().join("logs").join(format!("{name}.log"))).unwrap()
}

pub fn read(name: &str) -> Startup {
    read_bytes(&bytes(name), &reference(name))
}
