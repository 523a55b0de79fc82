//! Loads at recorded times.

use std::path::PathBuf;

use crds::units::Span;
use serde_json::Value;

use super::{KEYS, load::requests, named, rate::time};
use crate::{
    formats::common::{bounds::MAX_TOKENS, fields::concurrency},
    reader::Section,
    workload::{Load, RequestSource, Trace, TraceEntry, TraceFile, TraceFormat, TraceTime},
};

/// The slowest and the fastest replay.
const SPEED: std::ops::RangeInclusive<f64> = 1e-3..=1e3;

/// Reads a load that replays a trace; `None` goes with at least one problem.
pub(super) fn read(section: &Section, requests_hold: Option<&RequestSource>) -> Option<Load> {
    section.missing("trace", "write what to replay: {inline: [...]} or {file: {path: ...}}");
    let recorded = section.variant("trace", &["inline", "file"]).and_then(|(kind, within)| {
        let within = named(section, "trace", kind, within)?;
        if kind == "inline" {
            inline(&within).map(Trace::Inline)
        } else {
            within.section("file").and_then(file).map(Trace::File)
        }
    });
    let speed = section.value("speed").map_or(Some(1.0), |_| section.number("speed", SPEED));
    let count = requests(section, "count");
    let lengths = section.bool("lengths").unwrap_or(true);
    let max_concurrency = concurrency(section, "maxConcurrency");
    let recorded = recorded?;
    let has_input = match &recorded {
        Trace::Inline(entries) => entries.iter().any(|it| it.input.is_some()),
        Trace::File(_) => true,
    };
    if lengths && has_input && matches!(requests_hold, Some(RequestSource::Mock | RequestSource::SharedPrefix { .. })) {
        section.notice("lengths", "is on, but only random prompts can have the recorded lengths; answers have them");
    }
    Some(Load::Trace { trace: recorded, speed: speed?, count, lengths, max_concurrency })
}

fn inline(section: &Section) -> Option<Vec<TraceEntry>> {
    let items = section.list("inline")?;
    if items.is_empty() {
        section.problem("inline", "holds no request; write at least one, such as {at: 0s}");
        return None;
    }
    let count = items.len();
    let mut entries: Vec<TraceEntry> = Vec::with_capacity(count);
    for (path, value) in items {
        entries.extend(entry(section, path, value, entries.last().map(|it| it.at)));
    }
    (entries.len() == count).then_some(entries)
}

fn entry(section: &Section, path: String, value: &Value, last: Option<Span>) -> Option<TraceEntry> {
    let item = section.element(value, path)?;
    let at = time(&item, "at");
    if let (Some(at), Some(last)) = (at, last)
        && at < last
    {
        item.problem("at", format!("is {at}, before the entry above it, at {last}; sort the entries by time"));
    }
    let length = |key| item.count(key, 1..=MAX_TOKENS).and_then(|it| u32::try_from(it).ok());
    let (input, output) = (length("input"), length("output"));
    item.finish(&KEYS);
    Some(TraceEntry { at: at?, input, output })
}

fn file(section: Section) -> Option<TraceFile> {
    section.missing("path", "write where the launcher finds the file");
    let path = section.text("path").filter(|it| !it.trim().is_empty()).map(PathBuf::from);
    let formats = [("csv", TraceFormat::Csv), ("jsonl", TraceFormat::Jsonl)];
    let format = section.value("format").map_or_else(
        || Some(if by_name(path.as_ref()) { TraceFormat::Jsonl } else { TraceFormat::Csv }),
        |_| section.choice("format", &formats),
    );
    let times = [
        ("seconds", TraceTime::Seconds),
        ("milliseconds", TraceTime::Milliseconds),
        ("microseconds", TraceTime::Microseconds),
        ("dateTime", TraceTime::DateTime),
    ];
    let time = section.value("time").map_or(Some(TraceTime::Milliseconds), |_| section.choice("time", &times));
    let column = |key, default: &str| section.text(key).unwrap_or(default).to_owned();
    let at_column = column("atColumn", "timestamp");
    let (input_column, output_column) =
        (column("inputColumn", "input_length"), column("outputColumn", "output_length"));
    section.finish(&KEYS);
    Some(TraceFile { path: path?, format: format?, time: time?, at_column, input_column, output_column })
}

/// Whether a file's name says that it holds a JSON object a line.
fn by_name(path: Option<&PathBuf>) -> bool {
    path.and_then(|it| it.extension()).is_some_and(|it| it == "jsonl" || it == "ndjson")
}
