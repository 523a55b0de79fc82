//! Tests single parts of the reader, and that it accepts any bytes.

mod any_bytes;
mod failures;
mod parts;
mod secrets;
mod times;

use jiff::{Zoned, civil::date, tz::TimeZone};

use crate::{Startup, read_bytes};

fn reference() -> Zoned {
    date(2026, 12, 1).to_zoned(TimeZone::UTC).unwrap()
}

fn read(log: &str) -> Startup {
    read_bytes(log.as_bytes(), &reference())
}
