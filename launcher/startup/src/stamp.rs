//! Finds and reads the time stamps of log lines: `11-21 02:08:51`, which has no year, and `2026-11-21 02:08:51`. Both can have a fraction of a
//! second.

use jiff::{Timestamp, ToSpan as _, Zoned, civil::DateTime};

/// Bytes of the longest time stamp, which has a year and nanoseconds.
const LONGEST: usize = 29;
/// A year with a 29 February is at most this many years back from any year.
const MAX_YEARS_BACK: i16 = 8;

/// A date and time, with or without a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    year: Option<i16>,
    /// Month, day, hour, minute and second.
    parts: [i8; 5],
    nanosecond: i32,
}

/// A time stamp, and its position in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub stamp: Stamp,
    pub from: usize,
    pub to: usize,
}

/// Returns the first time stamp of a line.
pub(crate) fn find(line: &str) -> Option<Found> {
    let bytes = line.as_bytes();
    // Each time stamp has two `:`. The first is eight bytes after the start of the month.
    let mut from = 0;
    while let Some(colon) = memchr::memchr(b':', &bytes[from..]).map(|it| it + from) {
        from = colon + 1;
        if let Some(found) = colon.checked_sub(8).and_then(|it| stamp_at(bytes, it)) {
            return Some(found);
        }
    }
    None
}

/// Parses a time stamp whose month begins at byte `at`.
fn stamp_at(bytes: &[u8], at: usize) -> Option<Found> {
    let end = bytes.len().min(at + LONGEST);
    let text = &bytes[at..end];
    // MM-DD HH:MM:SS
    let fits = text.len() >= 14 && text[2] == b'-' && text[5] == b' ' && text[8] == b':' && text[11] == b':';
    if !fits {
        return None;
    }
    let two = |place: usize| Some(10 * digit(text[place])? + digit(text[place + 1])?);
    let parts = [two(0)?, two(3)?, two(6)?, two(9)?, two(12)?];
    let (year, from) = match at.checked_sub(5).map(|it| (&bytes[it..at], it)) {
        Some(([a, b, c, d, b'-'], from)) => {
            let number = |it: u8| digit(it).map(i16::from);
            match (number(*a), number(*b), number(*c), number(*d)) {
                (Some(a), Some(b), Some(c), Some(d)) => (Some(1000 * a + 100 * b + 10 * c + d), from),
                _ => (None, at),
            }
        }
        _ => (None, at),
    };
    // After other digits, this is no time stamp without a year, but a part of something longer.
    if year.is_none() && at > 0 && (bytes[at - 1].is_ascii_digit() || bytes[at - 1] == b'-') {
        return None;
    }
    let mut nanosecond = 0;
    let mut to = at + 14;
    if matches!(text.get(14), Some(b'.' | b',')) && text.get(15).is_some_and(u8::is_ascii_digit) {
        let digits = text[15..].iter().take(9).take_while(|it| it.is_ascii_digit()).count();
        for place in 0..9 {
            let next = if place < digits { digit(text[15 + place])? } else { 0 };
            nanosecond = 10 * nanosecond + i32::from(next);
        }
        to += 1 + digits;
    }
    let stamp = Stamp { year, parts, nanosecond };
    // A date without a year is checked in 2024, which has a 29 February.
    stamp.date_in(year.unwrap_or(2024))?;
    Some(Found { stamp, from, to })
}

fn digit(byte: u8) -> Option<i8> {
    byte.is_ascii_digit().then(|| (byte - b'0') as i8)
}

impl Stamp {
    fn date_in(self, year: i16) -> Option<DateTime> {
        let [month, day, hour, minute, second] = self.parts;
        // System clocks do not show leap seconds, so a second of 60 is read as 59.
        DateTime::new(year, month, day, hour, minute, second.min(59), self.nanosecond).ok().filter(|_| second <= 60)
    }

    /// The time, in the time zone of `reference`. A stamp without a year gets the latest year that does not place it more than one day after
    /// `reference`. One day is allowed because clocks and time zones can differ. The year can be an earlier one, because a log from New Year's Eve
    /// can be read in the new year.
    pub fn time(self, reference: &Zoned) -> Option<Timestamp> {
        let zone = reference.time_zone();
        let place = |year| zone.to_timestamp(self.date_in(year)?).ok();
        if let Some(year) = self.year {
            return place(year);
        }
        let latest = reference.timestamp().checked_add(24.hours()).ok()?;
        let this = reference.year();
        (0..=MAX_YEARS_BACK).filter_map(|back| place((this + 1).checked_sub(back)?)).find(|it| *it <= latest)
    }
}
