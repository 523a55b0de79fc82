//! Loads at recorded times.

use crds::units::Span;
use serde_json::Value;

use crate::{
    formats::common::{
        bounds::{MAX_STAGE_SECONDS, MAX_TOKENS},
        fields::{concurrency, request_count, stage_time},
        files::file_source,
    },
    reader::Section,
    workload::{Load, RequestSource, Trace, TraceEntry, TraceFile, TraceFormat, TraceTime},
};

/// The slowest and the fastest replay. The range includes the speeds that the formats of other tools allow.
const SPEED: std::ops::RangeInclusive<f64> = 1e-12..=1e12;

/// Reads a load that replays a trace; Returns `None` if at least one problem was reported.
pub(super) fn read(section: &Section, requests_hold: Option<&RequestSource>) -> Option<Load> {
    section.require("trace", "write what to replay: {inline: [...]} or {file: {path: ...}}");
    let recorded = section.variant_with_value("trace", &["inline", "file"]).and_then(|(name, holder)| match name {
        "inline" => inline(&holder).map(Trace::Inline),
        _ => holder.section("file").and_then(file).map(Trace::File),
    });
    let speed = section.or_default("speed", 1.0, |it, key| it.number(key, SPEED));
    let count = request_count(section, "count");
    let lengths = section.bool("lengths").unwrap_or(true);
    let max_concurrency = concurrency(section, "maxConcurrency");
    let recorded = recorded?;
    if let (Trace::Inline(entries), Some(speed)) = (&recorded, speed)
        && entries.last().is_some_and(|it| it.at.0.as_secs_f64() / speed > MAX_STAGE_SECONDS as f64)
    {
        let message = format!(
            "lets the stage take more than the maximum of {MAX_STAGE_SECONDS}s; raise it, or shorten the trace"
        );
        section.problem("speed", message);
    }
    if let Trace::File(TraceFile { hashes_column: Some(_), .. }) = &recorded
        && requests_hold.is_some_and(|it| !matches!(it, RequestSource::TraceBlocks { .. }))
    {
        section.notice("trace.file.hashesColumn", "is not used: only requests: {traceBlocks: ...} are made of blocks");
    }
    let has_input = match &recorded {
        Trace::Inline(entries) => entries.iter().any(|it| it.input.is_some()),
        Trace::File(_) => true,
    };
    if lengths && has_input && matches!(requests_hold, Some(RequestSource::Mock | RequestSource::SharedPrefix { .. })) {
        section.notice(
            "lengths",
            "is on, but only random prompts can have the recorded lengths; here only the answers have them",
        );
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
    let at = stage_time(&item, "at");
    if let (Some(at), Some(last)) = (at, last)
        && at < last
    {
        item.problem("at", format!("is {at}, before the entry above it, at {last}; sort the entries by time"));
    }
    let length = |key| item.count_u32(key, 1..=MAX_TOKENS);
    let (input, output) = (length("input"), length("output"));
    item.finish();
    Some(TraceEntry { at: at?, input, output })
}

fn file(section: Section) -> Option<TraceFile> {
    section.require("path", "write where the launcher finds the file");
    let file = file_source(&section, "path");
    let formats = [("csv", TraceFormat::Csv), ("jsonl", TraceFormat::Jsonl)];
    let by_name =
        if file.as_ref().is_some_and(|it| is_jsonl(&it.file_name())) { TraceFormat::Jsonl } else { TraceFormat::Csv };
    let format = section.or_default("format", by_name, |it, key| it.choice(key, &formats));
    let times = [
        ("seconds", TraceTime::Seconds),
        ("milliseconds", TraceTime::Milliseconds),
        ("microseconds", TraceTime::Microseconds),
        ("dateTime", TraceTime::DateTime),
    ];
    let time = section.or_default("time", TraceTime::Milliseconds, |it, key| it.choice(key, &times));
    let column = |key, default: &str| section.text(key).unwrap_or(default).to_owned();
    let at_column = column("atColumn", "timestamp");
    let (input_column, output_column) =
        (column("inputColumn", "input_length"), column("outputColumn", "output_length"));
    let hashes_column = section.text("hashesColumn").map(str::to_owned);
    section.finish();
    Some(TraceFile { file: file?, format: format?, time: time?, at_column, input_column, output_column, hashes_column })
}

/// Whether the file name belongs to JSON lines.
fn is_jsonl(name: &str) -> bool {
    [".jsonl", ".ndjson"].iter().any(|it| name.ends_with(it))
}
