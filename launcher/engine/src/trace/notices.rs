//! Notices about a trace: a time unit that can be wrong, and lengths that differ from the recording. Pure.

use std::time::Duration;

use crds::units::Span;
use workload_profiles::{
    Notice,
    workload::{TraceEntry, TraceFile, TraceTime},
};

/// A number in this range is probably a wall-clock time: seconds since 1970 for the years 2001 to 2286.
const EPOCH_SECONDS: std::ops::Range<f64> = 1e9..1e10;
/// In requests per second. No server can answer faster than this. If a replay is faster, the times are probably in another unit.
const MAX_PLAUSIBLE_RATE: f64 = 10_000.0;

/// Numbers of lengths that were recorded as 0, and that are missing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LengthFaults {
    pub(super) zero: u64,
    pub(super) missing: u64,
}

/// Returns the name of a unit, as profiles write it.
pub(super) fn name(time: TraceTime) -> &'static str {
    match time {
        TraceTime::Seconds => "seconds",
        TraceTime::Milliseconds => "milliseconds",
        TraceTime::Microseconds => "microseconds",
        TraceTime::DateTime => "dateTime",
    }
}

/// Returns the unit in which `number` would be a plausible wall-clock time, if that unit is not `time`.
pub(super) fn other_unit(time: TraceTime, number: f64) -> Option<TraceTime> {
    let units = [(TraceTime::Seconds, 1.0), (TraceTime::Milliseconds, 1e3), (TraceTime::Microseconds, 1e6)];
    let (unit, _) = units.into_iter().find(|(_, per_second)| EPOCH_SECONDS.contains(&(number / per_second)))?;
    (unit != time).then_some(unit)
}

/// Returns one notice per fact.
pub(super) fn notices(
    file: &TraceFile,
    entries: &[TraceEntry],
    input: LengthFaults,
    output: LengthFaults,
) -> Vec<Notice> {
    let (count, path) = (entries.len(), file.file.shown());
    let span = entries.last().map_or(Duration::ZERO, |it| it.at.0);
    let unit = name(file.time);
    let mut told = Vec::new();
    let seconds = span.as_secs_f64();
    if count > 1 && seconds > 0.0 && count as f64 / seconds > MAX_PLAUSIBLE_RATE {
        let rate = count as f64 / seconds;
        told.push(format!(
            "{path} has {count} requests within {}, {rate:.0} per second, if its times are in {unit}; set time if they have another unit",
            Span(span)
        ));
    }
    for (name, lengths, instead) in [
        (&file.input_column, input, "the prompt has the length that `requests` sets"),
        (&file.output_column, output, "the answer has the length that `requests` sets"),
    ] {
        if lengths.zero > 0 {
            told.push(format!("{path} has {} rows of {count} with {name} 0, which is sent as 1", lengths.zero));
        }
        // If the file has no such column at all, no lengths are missing.
        if lengths.missing > 0 {
            told.push(format!("{path} has {} rows of {count} without {name}: there {instead}", lengths.missing));
        }
    }
    told.into_iter().map(|message| Notice { path: "trace".into(), message }).collect()
}
