//! Recorded requests: `trace_synthetic`, `mooncake`, `weka` and `otel`.

use super::{
    around::{Around, Data},
    files,
    tokens::{self, TOOL_RESPONSE},
};
use crate::{
    formats::{
        common::bounds::{MAX_PAUSE_SECONDS, MAX_TOKENS},
        guidellm::{
            profile::Strategy,
            values::{span, unsupported},
        },
    },
    reader::{Section, ValueType},
    workload::{
        AcrossStages, DataSetFormat, FileSource, LengthDistribution, PromptText, RecordedAnswers, RecordedFiles,
        RecordedFormat, RecordedSessions, RecordedToolCalls, RecordedWaits, RequestSource, Trace, TraceFile,
        TraceFormat, TraceTime,
    },
};

/// Output tokens of an answer whose length was not recorded.
const DEFAULT_OUTPUT: u32 = 256;

/// The format of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The times and the lengths of requests.
    Lengths,
    /// As `Lengths`, with the hashes of prompt blocks.
    Mooncake,
    /// Sessions of agents, with the hashes of prompt blocks.
    Weka,
    /// OpenTelemetry spans of sessions.
    OpenTelemetry,
}

/// Reads the data source. Returns `None` if at least one problem was reported.
pub(super) fn read(section: Section, kind: Kind, around: &Around) -> Option<Data> {
    let file = files::of_trace(&section);
    let has_sessions = matches!(kind, Kind::Weka | Kind::OpenTelemetry);
    shaping(&section, has_sessions);
    let (at, input, output) =
        if kind == Kind::Weka { ("t", "in", "out") } else { ("timestamp", "input_length", "output_length") };
    let column = |key, default: &str| section.text(key).unwrap_or(default).to_owned();
    let columns =
        [column("timestamp_column", at), column("prompt_tokens_column", input), column("output_tokens_column", output)];
    let hashes = matches!(kind, Kind::Mooncake | Kind::Weka).then(|| column("hash_ids_column", "hash_ids"));
    let block = if kind == Kind::Weka { 64 } else { 512 };
    let block_size = match hashes {
        Some(_) => section.or_default("hash_id_block_size", block, |it, key| it.count_u32(key, 1..=MAX_TOKENS)),
        None => Some(block),
    };
    let data_scale = section.or_default("time_scale", 1.0, |it, key| it.number(key, 1e-6..=1e6));
    if kind == Kind::Mooncake && data_scale == Some(1.0) {
        section.notice(
            "time_scale",
            "is 1, so that times are seconds, as with GuideLLM; the traces that Mooncake published have milliseconds, for which you must write 0.001",
        );
    }
    let max_wait = section.positive_number("max_wait", MAX_PAUSE_SECONDS as f64);
    let mut recorded = Recorded { answers: RecordedAnswers::Recorded, forced: false };
    if has_sessions {
        session_keys(&section, kind, &columns, hashes.as_deref());
        if kind == Kind::OpenTelemetry {
            recorded = Recorded::read(&section);
        }
    }
    let replay = replay(&section, kind, around, data_scale?);
    section.section("load_kwargs");
    section.finish();
    replay?;
    let (file, block_size) = (file?, block_size?);
    if has_sessions {
        return Some(sessions(file, kind, block_size, max_wait, recorded));
    }
    let [at_column, input_column, output_column] = columns;
    let format = match DataSetFormat::from_path(std::path::Path::new(&file.file_name())) {
        Some(DataSetFormat::Csv) => TraceFormat::Csv,
        _ => TraceFormat::Jsonl,
    };
    let (time, data_scale) = unit(data_scale?);
    let trace = TraceFile { file, format, time, at_column, input_column, output_column, hashes_column: hashes };
    // Every row of the file has both lengths, so this fixed length is never used.
    let unused = LengthDistribution::fixed(1);
    let requests = match kind {
        Kind::Mooncake => RequestSource::TraceBlocks { block_size },
        _ => RequestSource::random(unused.clone(), unused, PromptText::Words),
    };
    let trace = Some((Trace::File(trace), data_scale));
    Some(Data { requests, images: None, has_output: true, turns: 1, endless: false, rows: None, trace })
}

/// Returns the unit of the times in a file, and the scale factor that remains to be applied. In GuideLLM, the key `time_scale` of the data sets the
/// unit.
fn unit(scale: f64) -> (TraceTime, f64) {
    let units = [(0.001, TraceTime::Milliseconds), (0.000_001, TraceTime::Microseconds)];
    let unit = units.into_iter().find(|(seconds, _)| *seconds == scale);
    unit.map_or((TraceTime::Seconds, scale), |(_, time)| (time, 1.0))
}

/// Checks keys that change the times of a trace.
fn shaping(section: &Section, has_sessions: bool) {
    for key in ["max_session_wait", "min_concurrent_sessions"] {
        if section.value(key).is_some() {
            section.problem(
                key,
                unsupported("a bound between sessions", "take it out, and prepare the times in the file"),
            );
        }
    }
    if section.count("copies", 1..=1_000_000).is_some_and(|it| it > 1) {
        section.problem("copies", unsupported("more than 1", "repeat the rows in the file"));
    }
    section.ignored("copy_offset", ValueType::Number);
    if !has_sessions {
        section.ignored("duration_column", ValueType::Text);
        if section.value("conversation_id_column").is_some() {
            section.problem(
                "conversation_id_column",
                unsupported("the name of a column", "take it out, and each row is a request of its own"),
            );
        }
    }
}

/// Checks keys for recorded sessions. Each session format has fixed column names, so other names are refused.
fn session_keys(section: &Section, kind: Kind, columns: &[String; 3], hashes: Option<&str>) {
    if kind == Kind::Weka {
        let names = [
            ("timestamp_column", columns[0].as_str(), "t"),
            ("prompt_tokens_column", columns[1].as_str(), "in"),
            ("output_tokens_column", columns[2].as_str(), "out"),
            ("conversation_id_column", section.text("conversation_id_column").unwrap_or("id"), "id"),
            ("hash_ids_column", hashes.unwrap_or("hash_ids"), "hash_ids"),
        ];
        for (key, found, fixed) in names {
            if found != fixed {
                section.problem(
                    key,
                    format!("is {found}; the sessions of this format have the key {fixed}, rename it in the file"),
                );
            }
        }
        if section.value("max_context_len").is_some() {
            section.problem(
                "max_context_len",
                unsupported("a bound of the context", "take the longer sessions out of the file"),
            );
        }
        section.ignored("tools", ValueType::List);
        tokens::lengths(section, TOOL_RESPONSE);
    } else {
        section.all_ignored(&[
            ("spans_column", ValueType::Text),
            ("trace_id_column", ValueType::Text),
            ("span_timestamp_field", ValueType::Text),
            ("input_tokens_attributes", ValueType::List),
            ("output_tokens_attributes", ValueType::List),
            ("conversation_id_column", ValueType::Text),
        ]);
    }
    section.ignored("duration_column", ValueType::Text);
}

/// Settings for sending recorded sessions.
#[derive(Clone, Copy)]
struct Recorded {
    answers: RecordedAnswers,
    /// Whether requests must call a tool if their recorded answer called one.
    forced: bool,
}

impl Recorded {
    fn read(section: &Section) -> Recorded {
        let histories = [("trace", RecordedAnswers::Recorded), ("runtime", RecordedAnswers::Server)];
        let choices = [("required", true), ("auto", false)];
        Recorded {
            answers: section.choice("history", &histories).unwrap_or(RecordedAnswers::Recorded),
            forced: section.choice("tool_choice", &choices).unwrap_or(true),
        }
    }
}

/// Checks that the strategy can send this trace.
fn replay(section: &Section, kind: Kind, around: &Around, data_scale: f64) -> Option<()> {
    let has_sessions = matches!(kind, Kind::Weka | Kind::OpenTelemetry);
    let Some(Strategy::Replay { time_scale, idle_gap }) = around.strategies?.first() else {
        if has_sessions {
            return Some(());
        }
        section.problem("kind", "is sent by the profile replay only; GuideLLM takes its lengths for other profiles too, which this engine does not support, so write kind: replay, or synthetic_text");
        return None;
    };
    if kind == Kind::OpenTelemetry {
        let remedy = "write a profile of kind concurrent; each stream is an active session";
        section.problem("kind", format!("holds sessions, whose start times are not replayed; {remedy}"));
        return None;
    }
    if has_sessions && (time_scale * data_scale != 1.0 || !idle_gap) {
        section.problem(
            "kind",
            "holds sessions, whose times cannot be changed here: time_scale must be 1, and schedule_turn must be idle_gap",
        );
        return None;
    }
    if has_sessions {
        section.notice("kind", "holds sessions, which all start together; GuideLLM starts each at its first time, counted from the first of the file");
    }
    Some(())
}

fn sessions(file: FileSource, kind: Kind, block_size: u32, max_wait: Option<f64>, settings: Recorded) -> Data {
    let recorded = RecordedSessions {
        files: RecordedFiles::Files(vec![file]),
        format: if kind == Kind::Weka { RecordedFormat::Weka { block_size } } else { RecordedFormat::OpenTelemetry },
        max_wait: max_wait.and_then(span).or_else(|| span(MAX_PAUSE_SECONDS as f64)).unwrap_or_default(),
        max_idle: None,
        waits: RecordedWaits::All,
        answers: settings.answers,
        tool_calls: RecordedToolCalls { forced: settings.forced, open_ended: false },
        default_output: DEFAULT_OUTPUT,
        duplicate_to: None,
        unique: false,
        filter: None,
        include_errors: false,
        skip_invalid_files: false,
        across_stages: AcrossStages::Restart,
    };
    let requests = RequestSource::Recorded(recorded);
    Data { requests, images: None, has_output: true, turns: 1, endless: false, rows: None, trace: None }
}
