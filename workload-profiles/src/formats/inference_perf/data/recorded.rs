//! `data.type: otel_trace_replay` and `weka_trace_replay`: recorded sessions.

use std::path::PathBuf;

use serde_json::Value;

use crate::{
    filter::Filter,
    formats::{
        common::{
            bounds::{MAX_PAUSE_SECONDS, MAX_PROMPTS, MAX_TOKENS},
            files::from_text,
        },
        inference_perf::values::span,
    },
    problem::{listed, quoted},
    reader::{Section, ValueType, described},
    workload::{
        AcrossStages, FileSource, RecordedAnswers, RecordedFiles, RecordedFormat, RecordedSessions, RecordedToolCalls,
        RecordedWaits, RequestSource,
    },
};

/// Maximum tokens per block of a prompt.
const MAX_BLOCK: u64 = 65_536;
/// inference-perf's defaults: tokens per answer, maximum wait before a request in milliseconds, maximum idle time in seconds, and tokens per block.
const DEFAULT_OUTPUT: u32 = 1000;
const DEFAULT_WAIT_MS: f64 = 15_000.0;
const DEFAULT_IDLE_SECONDS: f64 = 60.0;
const DEFAULT_BLOCK: u32 = 64;

/// The tool that recorded the sessions.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Otel,
    Weka,
}

impl Kind {
    fn key(self) -> &'static str {
        match self {
            Kind::Otel => "otel_trace_replay",
            Kind::Weka => "weka_trace_replay",
        }
    }
}

/// Reads the section with the settings of `kind`. Also returns the model that all requests name, if the section sets one.
pub(super) fn read(data: &Section, kind: Kind) -> Option<(RequestSource, Option<String>)> {
    data.require(kind.key(), "write where the recordings are, as trace_directory or trace_files under it");
    let section = data.section(kind.key())?;
    let files = files(&section);
    let model = model(&section);
    let default_output =
        section.or_default("default_max_tokens", DEFAULT_OUTPUT, |it, key| it.count_u32(key, 1..=MAX_TOKENS));
    let most_ms = MAX_PAUSE_SECONDS as f64 * 1000.0;
    let max_wait = section.number("max_wait_ms", 0.0..=most_ms).unwrap_or(DEFAULT_WAIT_MS);
    let duplicate_to = section.count_u32("duplicate_sessions_target", 1..=MAX_PROMPTS);
    let unique = section.bool("inject_random_session_id").unwrap_or(false) || duplicate_to.is_some();
    let include_errors = section.bool("include_errors").unwrap_or(true);
    let skip_invalid_files = section.bool("skip_invalid_files").unwrap_or(false);
    let answers = answers(&section, kind);
    let tool_calls = tool_calls(&section, kind);
    let filter = filter(&section);
    without_meaning(&section, kind);
    let (format, max_idle, waits) = match kind {
        Kind::Otel => (Some(RecordedFormat::OpenTelemetry), None, RecordedWaits::All),
        Kind::Weka => weka(&section),
    };
    if unique && answers == RecordedAnswers::Recorded {
        let key = if duplicate_to.is_some() { "duplicate_sessions_target" } else { "inject_random_session_id" };
        section.problem(
            "disable_output_substitution",
            format!("is true, which cannot be combined with {key}; take one of them out"),
        );
    }
    section.finish();
    let sessions = RecordedSessions {
        files: files?,
        format: format?,
        max_wait: span(max_wait / 1000.0)?,
        max_idle: max_idle.and_then(span),
        waits,
        answers,
        default_output: default_output?,
        duplicate_to,
        unique,
        tool_calls,
        filter,
        include_errors,
        skip_invalid_files,
        across_stages: AcrossStages::Continue,
    };
    Some((RequestSource::Recorded(sessions), model))
}

fn files(section: &Section) -> Option<RecordedFiles> {
    const SOURCES: [&str; 3] = ["trace_directory", "trace_files", "hf_dataset_path"];
    let found: Vec<&str> = SOURCES.into_iter().filter(|it| section.value(it).is_some()).collect();
    match found.as_slice() {
        ["trace_directory"] => {
            let folder = section.text("trace_directory")?;
            if folder.trim().is_empty() {
                section.problem("trace_directory", "is empty; write the folder with the recordings, or set profile.variables.dataset_dir for a profile that ships");
                return None;
            }
            Some(RecordedFiles::Folder(PathBuf::from(folder)))
        }
        ["trace_files"] => {
            let items = section.list("trace_files")?;
            if items.is_empty() {
                section.problem("trace_files", "is an empty list; write at least one file");
            }
            let paths = items.iter().map(|(_, value)| value.as_str().filter(|it| !it.trim().is_empty()));
            if let Some(at) = paths.clone().position(|it| it.is_none()) {
                let found = described(items[at].1);
                section.problem(&format!("trace_files[{at}]"), format!("is {found}; write the path of a file"));
            }
            let read = |(at, path)| from_text(section, &format!("trace_files[{at}]"), path);
            let files: Vec<FileSource> = paths.flatten().enumerate().filter_map(read).collect();
            (!files.is_empty()).then_some(RecordedFiles::Files(files))
        }
        ["hf_dataset_path"] => not_downloaded(section),
        [] => {
            section.problem_of_all("names no recordings; write trace_directory, or trace_files, in it");
            None
        }
        several => {
            section.problem_of_all(format!("names recordings by {}; keep one of them", listed(several)));
            None
        }
    }
}

/// Returns the local folder that replaces a Hugging Face data set, with a notice.
fn not_downloaded(section: &Section) -> Option<RecordedFiles> {
    let name = match section.value("hf_dataset_path") {
        Some(Value::String(name)) => Some(name.as_str()),
        Some(Value::Object(entries)) => entries.get("path").and_then(Value::as_str),
        _ => None,
    };
    let Some(name) = name else {
        section.problem("hf_dataset_path", "names no data set; write trace_directory in its place");
        return None;
    };
    let folder = name.rsplit('/').next().filter(|it| !it.is_empty()).unwrap_or(name);
    section.notice(
        "hf_dataset_path",
        format!(
            "is {}, which inference-perf downloads, and here the folder {folder} beside the profile is read; download it by \
             `hf download {name} --repo-type dataset --local-dir {folder}`, save its sessions there as .json or .jsonl files, or write \
             another folder as trace_directory in its place",
            quoted(name)
        ),
    );
    Some(RecordedFiles::Folder(PathBuf::from(folder)))
}

fn model(section: &Section) -> Option<String> {
    let is_static = section.bool("use_static_model").unwrap_or(false);
    let name = section.text("static_model_name").map(str::trim).filter(|it| !it.is_empty());
    let mapping = section.ignored("model_mapping", ValueType::Mapping);
    if is_static {
        // Without a name, the run's model is used, or the model that the server reports.
        return name.map(str::to_owned);
    }
    let key = if mapping { "model_mapping" } else { "use_static_model" };
    section.notice(key, "has no effect: every request names the model of the run; inference-perf names the recorded models, or their replacements in model_mapping");
    None
}

fn answers(section: &Section, kind: Kind) -> RecordedAnswers {
    let handling = [("none", RecordedAnswers::Server), ("use_recorded", RecordedAnswers::ServerUnlessMalformed)];
    let answers = section.choice("bad_tool_call_handling", &handling).unwrap_or_default();
    if kind == Kind::Otel && section.bool("disable_output_substitution") == Some(true) {
        return RecordedAnswers::Recorded;
    }
    answers
}

fn tool_calls(section: &Section, kind: Kind) -> RecordedToolCalls {
    let modes = [("force_recorded", true), ("as_recorded", false)];
    let forced = section.choice("tool_choice_mode", &modes).unwrap_or(true);
    let open_ended = section.bool("override_tool_call_max_tokens").unwrap_or(true);
    match kind {
        Kind::Otel => RecordedToolCalls { forced, open_ended },
        // Weka recordings contain no tool calls.
        Kind::Weka => RecordedToolCalls::default(),
    }
}

/// Returns the filter as text. It is also parsed here, so that unsupported syntax is refused before the run.
fn filter(section: &Section) -> Option<String> {
    let text = section.text("filter")?;
    if let Err(error) = Filter::parse(text) {
        section.problem("filter", format!("cannot be read: {error}"));
        return None;
    }
    Some(text.to_owned())
}

fn weka(section: &Section) -> (Option<RecordedFormat>, Option<f64>, RecordedWaits) {
    let block_size =
        section.or_default("default_block_size", DEFAULT_BLOCK, |it, key| it.count_u32(key, 1..=MAX_BLOCK));
    let most = MAX_PAUSE_SECONDS as f64;
    let idle = section.number("trace_idle_gap_cap_seconds", 0.0..=most).unwrap_or(DEFAULT_IDLE_SECONDS);
    let no_waits = section.bool("ignore_trace_delays").unwrap_or(false);
    let think_time = section.bool("use_think_time_only").unwrap_or(false);
    let waits = match (no_waits, think_time) {
        (true, _) => RecordedWaits::Nothing,
        (false, true) => RecordedWaits::ThinkTime,
        (false, false) => RecordedWaits::All,
    };
    (block_size.map(|block_size| RecordedFormat::Weka { block_size }), Some(idle), waits)
}

fn without_meaning(section: &Section, kind: Kind) {
    if section.number("predecessor_wait_timeout_sec", 0.0..=f64::MAX).is_some_and(|it| it > 0.0) {
        let message = "is not used: a request waits until the requests before it have ended, and each of these has the timeout of the load";
        section.notice("predecessor_wait_timeout_sec", message);
    }
    match kind {
        Kind::Otel => {
            if section.section("attribute_to_header_map").is_some_and(|it| it.entries().next().is_some()) {
                section.problem(
                    "attribute_to_header_map",
                    "would send attributes of spans as header fields, which is not supported; take it out, or write the fields in api.headers",
                );
            }
            if section.ignored("attribute_to_label_map", ValueType::Mapping) {
                section.notice("attribute_to_label_map", "is not used: the report has no figures for labels of spans");
            }
        }
        Kind::Weka => {
            section.ignored("datagen_workers", ValueType::Number);
            if section.ignored("num_dataset_entries", ValueType::Number) {
                section.notice(
                    "num_dataset_entries",
                    "is not used: it limits what is read from Hugging Face, and here every session in the files is used",
                );
            }
        }
    }
}
