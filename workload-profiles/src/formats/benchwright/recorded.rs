//! Sessions that were recorded from a real application.

use std::{path::PathBuf, time::Duration};

use crds::units::Span;

use crate::{
    filter::Filter,
    formats::common::{
        bounds::{MAX_PAUSE_SECONDS, MAX_PROMPTS, MAX_TOKENS},
        files::file_sources,
    },
    reader::Section,
    workload::{
        AcrossStages, RecordedAnswers, RecordedFiles, RecordedFormat, RecordedSessions, RecordedToolCalls,
        RecordedWaits, RequestSource,
    },
};

/// Maximum tokens per block of a recorded prompt.
pub(super) const MAX_BLOCK: u64 = 65_536;
/// Reads the section `recorded`; Returns `None` if at least one problem was reported.
pub(super) fn read(section: Section) -> Option<RequestSource> {
    section.require("files", "write where the recordings are: {folder: ...} or {files: [...]}");
    section.require("format", "write how they are written: openTelemetry, or {weka: {blockSize: 64}}");
    let files = files(&section);
    let format = format(&section);
    let day = Span(Duration::from_secs(MAX_PAUSE_SECONDS));
    let max_wait = section.or_default("maxWait", day, |it, key| it.span(key, MAX_PAUSE_SECONDS));
    let max_idle = section.span("maxIdle", MAX_PAUSE_SECONDS);
    let waits =
        [("all", RecordedWaits::All), ("thinkTime", RecordedWaits::ThinkTime), ("nothing", RecordedWaits::Nothing)];
    let waits = section.or_default("waits", RecordedWaits::default(), |it, key| it.choice(key, &waits));
    let answers = [
        ("server", RecordedAnswers::Server),
        ("serverUnlessMalformed", RecordedAnswers::ServerUnlessMalformed),
        ("recorded", RecordedAnswers::Recorded),
    ];
    let answers = section.or_default("answers", RecordedAnswers::default(), |it, key| it.choice(key, &answers));
    let default_output = section.or_default("defaultOutput", 256, |it, key| it.count_u32(key, 1..=MAX_TOKENS));
    let duplicate_to = section.count_u32("duplicateTo", 1..=MAX_PROMPTS);
    let unique = section.bool("unique").unwrap_or(false);
    let tool_calls = section.section("toolCalls").map(tool_calls).unwrap_or_default();
    let filter = section.text("filter");
    if let Some(Err(error)) = filter.map(Filter::parse) {
        section.problem("filter", format!("cannot be read: {error}"));
    }
    let include_errors = section.bool("includeErrors").unwrap_or(false);
    let skip_invalid_files = section.bool("skipInvalidFiles").unwrap_or(false);
    let across = [("restart", AcrossStages::Restart), ("continue", AcrossStages::Continue)];
    let across_stages = section.or_default("acrossStages", AcrossStages::default(), |it, key| it.choice(key, &across));
    section.finish();
    Some(RequestSource::Recorded(RecordedSessions {
        files: files?,
        format: format?,
        max_wait: max_wait?,
        max_idle,
        waits: waits?,
        answers: answers?,
        default_output: default_output?,
        duplicate_to,
        unique,
        tool_calls,
        filter: filter.map(str::to_owned),
        include_errors,
        skip_invalid_files,
        across_stages: across_stages?,
    }))
}

fn files(section: &Section) -> Option<RecordedFiles> {
    let (name, holder) = section.variant_with_value("files", &["folder", "files"])?;
    if name == "files" {
        return file_sources(&holder, "files").map(RecordedFiles::Files);
    }
    let folder = holder.text("folder")?;
    if folder.trim().is_empty() {
        holder.problem("folder", "is empty; write the path of a folder");
        return None;
    }
    Some(RecordedFiles::Folder(PathBuf::from(folder)))
}

fn format(section: &Section) -> Option<RecordedFormat> {
    let (name, holder) = section.variant("format", &["openTelemetry", "weka"])?;
    if name == "openTelemetry" {
        if holder.is_some() {
            section.problem("format", "takes no settings for openTelemetry; write format: openTelemetry");
        }
        return Some(RecordedFormat::OpenTelemetry);
    }
    let weka = section.with_value("format", name, holder)?.section("weka")?;
    weka.require("blockSize", "write the tokens of a block, such as 64");
    let block_size = weka.count_u32("blockSize", 1..=MAX_BLOCK);
    weka.finish();
    block_size.map(|block_size| RecordedFormat::Weka { block_size })
}

fn tool_calls(section: Section) -> RecordedToolCalls {
    let flag = |key| section.bool(key).unwrap_or(false);
    let tool_calls = RecordedToolCalls { forced: flag("forced"), open_ended: flag("openEnded") };
    section.finish();
    tool_calls
}
