//! Recorded sessions.

use super::*;
use crate::workload::{
    AcrossStages, RecordedAnswers, RecordedFiles, RecordedFormat, RecordedSessions, RecordedToolCalls, RecordedWaits,
};

fn text(kind: &str, keys: &str) -> String {
    format!(
        "api: {{type: chat, streaming: true}}\nload: {{type: trace_session_replay, stages: [{{concurrent_sessions: 4}}]}}\n\
         data: {{type: {kind}_trace_replay, {kind}_trace_replay: {{{keys}, use_static_model: true, static_model_name: small}}}}"
    )
}

fn recorded(kind: &str, keys: &str) -> RecordedSessions {
    match workload(&text(kind, keys)).requests {
        RequestSource::Recorded(it) => it,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_recording_leaves_out_is_what_the_original_takes() {
    let found = recorded("otel", "trace_directory: /d");
    let expected = RecordedSessions {
        files: RecordedFiles::Folder("/d".into()),
        format: RecordedFormat::OpenTelemetry,
        max_wait: Span(Duration::from_secs(15)),
        max_idle: None,
        waits: RecordedWaits::All,
        answers: RecordedAnswers::Server,
        default_output: 1000,
        duplicate_to: None,
        unique: false,
        tool_calls: RecordedToolCalls { forced: true, open_ended: true },
        filter: None,
        include_errors: true,
        skip_invalid_files: false,
        across_stages: AcrossStages::Continue,
    };
    assert_eq!(found, expected);
    let weka = RecordedSessions {
        format: RecordedFormat::Weka { block_size: 64 },
        max_idle: Some(Span(Duration::from_secs(60))),
        tool_calls: RecordedToolCalls::default(),
        ..expected
    };
    assert_eq!(recorded("weka", "trace_directory: /d"), weka);
    assert_eq!(workload(&text("otel", "trace_directory: /d")).model.as_deref(), Some("small"));
}

#[test]
fn a_recording_is_replayed_as_it_asks_for() {
    let found = recorded(
        "otel",
        "trace_files: [a.json, 'b/*.jsonl'], max_wait_ms: 250, default_max_tokens: 10, include_errors: false, skip_invalid_files: true, \
         duplicate_sessions_target: 40, override_tool_call_max_tokens: false, tool_choice_mode: as_recorded, bad_tool_call_handling: use_recorded, \
         filter: \"lambda x: x['benchmark'] == 'gsm8k' and len(x['spans']) >= 3\"",
    );
    assert_eq!(found.files, RecordedFiles::Files(vec!["a.json".into(), "b/*.jsonl".into()]));
    assert_eq!((found.max_wait, found.default_output), (Span(Duration::from_millis(250)), 10));
    assert_eq!((found.include_errors, found.skip_invalid_files), (false, true));
    assert_eq!((found.duplicate_to, found.unique), (Some(40), true));
    assert_eq!(found.tool_calls, RecordedToolCalls { forced: false, open_ended: false });
    assert_eq!(found.answers, RecordedAnswers::ServerUnlessMalformed);
    assert_eq!(found.filter.as_deref(), Some("lambda x: x['benchmark'] == 'gsm8k' and len(x['spans']) >= 3"));
    assert_eq!(
        recorded("otel", "trace_directory: /d, disable_output_substitution: true").answers,
        RecordedAnswers::Recorded
    );
    let waits = |keys: &str| recorded("weka", &format!("trace_directory: /d, {keys}")).waits;
    assert_eq!(waits("ignore_trace_delays: true"), RecordedWaits::Nothing);
    assert_eq!(waits("use_think_time_only: true"), RecordedWaits::ThinkTime);
}

#[test]
fn keys_of_spans_that_stand_under_weka_are_applied() {
    let found = recorded(
        "weka",
        "trace_directory: /d, filter: \"lambda x: x['max_tokens'] < 9\", bad_tool_call_handling: use_recorded",
    );
    assert_eq!(found.filter.as_deref(), Some("lambda x: x['max_tokens'] < 9"));
    assert_eq!(found.answers, RecordedAnswers::ServerUnlessMalformed);
}

#[test]
fn a_filter_is_read_and_never_run() {
    check_error(
        &text("otel", "trace_directory: /d, filter: \"lambda x: open('/etc/passwd')\""),
        "data.otel_trace_replay.filter: cannot be read: `open` at character 11; known are comparisons, in, and, or, not, len(...), x['key'], \
         x.get('key', default), texts, numbers and lists; a filter is read, never run as code",
    );
}

#[test]
fn recordings_have_one_source_that_is_a_file() {
    let published = text("otel", "hf_dataset_path: Exgentic/agent-llm-traces-v2");
    check_notice(
        &published,
        "data.otel_trace_replay.hf_dataset_path: is \"Exgentic/agent-llm-traces-v2\", which inference-perf downloads, and here the folder \
         agent-llm-traces-v2 beside the profile is read; download it by `hf download Exgentic/agent-llm-traces-v2 --repo-type dataset \
         --local-dir agent-llm-traces-v2`, save its sessions there as .json or .jsonl files, or write another folder as trace_directory in its \
         place",
    );
    check_error(
        &text("otel", "trace_directory: /d, trace_files: [a.json]"),
        "data.otel_trace_replay: names recordings by trace_directory and trace_files; keep one of them",
    );
    check_error(
        &text("weka", "default_block_size: 0"),
        "data.weka_trace_replay: names no recordings; write trace_directory, or trace_files, in it\n\
         data.weka_trace_replay.default_block_size: is 0; write a whole number from 1 to 65536",
    );
    check_error(
        &text("otel", "trace_files: [a.json, 5]"),
        "data.otel_trace_replay.trace_files[1]: is 5; write the path of a file",
    );
}

#[test]
fn what_contradicts_itself_or_is_lost_is_said() {
    check_error(
        &text("otel", "trace_directory: /d, disable_output_substitution: true, inject_random_session_id: true"),
        "data.otel_trace_replay.disable_output_substitution: is true, which cannot be combined with inject_random_session_id; take one of them out",
    );
    check_error(
        &text("otel", "trace_directory: /d").replace("chat", "completion"),
        "data.type: is otel_trace_replay, which are chats; set api.type to chat or anthropic_messages",
    );
    check_error(
        &text("otel", "trace_directory: /d, attribute_to_header_map: {a: x-a}"),
        "data.otel_trace_replay.attribute_to_header_map: would send attributes of spans as header fields, which is not supported; \
         take it out, or write the fields in api.headers",
    );
    check_notice(
        &text("otel", "trace_directory: /d").replace("use_static_model: true", "use_static_model: false"),
        "data.otel_trace_replay.use_static_model: has no effect: every request names the model of the run; inference-perf names the recorded models, or their replacements in model_mapping",
    );
    check_notice(
        &text("otel", "trace_directory: /d, predecessor_wait_timeout_sec: 60"),
        "data.otel_trace_replay.predecessor_wait_timeout_sec: is not used: a request waits until the requests before it have ended, and each of these has the timeout of the load",
    );
}
