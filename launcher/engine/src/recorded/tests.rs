use std::time::Duration;

use crds::units::Span;
use serde_json::{Value, json};
use workload_profiles::workload::{AcrossStages, RecordedToolCalls, RecordedWaits};

use super::*;

fn recorded(files: RecordedFiles) -> RecordedSessions {
    RecordedSessions {
        files,
        format: RecordedFormat::OpenTelemetry,
        max_wait: Span(Duration::from_secs(15)),
        max_idle: None,
        waits: RecordedWaits::All,
        answers: RecordedAnswers::Server,
        default_output: 1_000,
        duplicate_to: None,
        unique: false,
        filter: None,
        include_errors: true,
        skip_invalid_files: false,
        tool_calls: RecordedToolCalls { forced: true, open_ended: false },
        across_stages: AcrossStages::Restart,
    }
}

fn span(start: f64, end: f64, messages: &Value, answer: &str) -> Value {
    let time = |at: f64| format!("2025-01-01T00:00:{at:06.3}Z");
    json!({
        "name": "chat m", "start_time": time(start), "end_time": time(end),
        "attributes": { "gen_ai.input.messages": messages.to_string(), "gen_ai.output.text": answer, "gen_ai.usage.output_tokens": 7 },
    })
}

fn said(role: &str, content: &str) -> Value {
    json!({ "role": role, "content": content })
}

/// The spans of a session: a plan, two concurrent searches, and a summary of both.
fn agents() -> Vec<Value> {
    let (system, ask) = (said("developer", "s"), said("user", "ask"));
    let plan = said("assistant", "the plan");
    vec![
        span(0.0, 1.0, &json!([system, ask]), "the plan"),
        span(1.5, 4.0, &json!([system, ask, plan, said("user", "left")]), "found left"),
        span(1.5, 3.0, &json!([system, ask, plan, said("user", "right")]), "found right"),
        span(
            6.0,
            7.0,
            &json!([system, said("assistant", "found left"), said("assistant", "found right"), said("user", "sum")]),
            "done",
        ),
    ]
}

fn calls(spans: Vec<Value>, with: impl FnOnce(&mut RecordedSessions)) -> Session {
    let mut recorded = recorded(RecordedFiles::Files(Vec::new()));
    with(&mut recorded);
    let records = otel::records(Value::Array(spans)).unwrap();
    graph::session(otel::calls(&records[0], &recorded).unwrap(), &recorded)
}

/// Returns the messages of a request.
fn messages(session: &Session, call: usize) -> Vec<&Message> {
    match &session.calls[call].prompt {
        CallPrompt::Messages(places) => places.iter().map(|it| &session.messages[*it as usize]).collect(),
        CallPrompt::Blocks { .. } => Vec::new(),
    }
}

#[test]
fn a_request_follows_those_whose_answers_it_holds() {
    let session = calls(agents(), |_| {});
    let after: Vec<&[u32]> = session.calls.iter().map(|it| it.after.as_slice()).collect();
    assert_eq!(after, [&[][..], &[0], &[0], &[1, 2]]);
    let waits: Vec<u128> = session.calls.iter().map(|it| it.wait.as_millis()).collect();
    assert_eq!(waits, [0, 500, 500, 2_000]);
    let answers: Vec<Option<u32>> = messages(&session, 3).iter().map(|it| it.answer_of).collect();
    assert_eq!(answers, [None, Some(1), Some(2), None]);
    assert!(session.messages[0].recorded.contains("system"), "the role developer is system");
    assert_eq!(session.messages.len(), 8, "messages that requests share are kept once");
}

#[test]
fn waits_and_answers_are_kept_as_wanted() {
    let capped = calls(agents(), |it| it.max_wait = Span(Duration::from_millis(700)));
    assert_eq!(capped.calls[3].wait, Duration::from_millis(700));
    let at_once = calls(agents(), |it| it.waits = RecordedWaits::Nothing);
    assert!(at_once.calls.iter().all(|it| it.wait.is_zero()));
    let fixed = calls(agents(), |it| it.answers = RecordedAnswers::Recorded);
    assert!(fixed.messages.iter().all(|it| it.answer_of.is_none()));
    // Adds a copy of the first request, and makes another one fail.
    let mut spans = agents();
    spans.push(spans[0].clone());
    spans[2]["status"] = json!({ "code": 2 });
    assert_eq!(calls(spans, |it| it.include_errors = false).calls.len(), 3);
}

#[test]
fn tools_and_their_forced_choice_are_sent() {
    let mut one = span(0.0, 1.0, &json!([said("user", "a")]), "");
    one["attributes"]["gen_ai.tool.definitions"] = json!([{ "type": "function", "name": "find", "parameters": {} }]);
    let call = json!([{ "role": "assistant", "parts": [{ "type": "tool_call", "id": "x1", "name": "find", "arguments": {} }] }]);
    one["attributes"]["gen_ai.output.messages"] = call.clone();
    one["attributes"].as_object_mut().unwrap().remove("gen_ai.output.text");
    let result = json!({ "role": "tool", "parts": [{ "type": "tool_call_response", "id": "x1", "result": "r" }] });
    let two = span(2.0, 3.0, &json!([said("user", "a"), call[0], result]), "done");
    let open = calls(vec![one.clone()], |it| it.tool_calls = RecordedToolCalls { forced: false, open_ended: true });
    assert_eq!((open.calls[0].output, open.calls[0].may_end), (4_096, true));
    assert!(!open.calls[0].fields.contains("tool_choice"));
    let session = calls(vec![one, two], |_| {});
    let fields: Value = serde_json::from_str(&format!("{{{}}}", session.calls[0].fields)).unwrap();
    assert_eq!(fields["tool_choice"]["function"]["name"], "find");
    assert_eq!(fields["tools"][0]["function"]["name"], "find");
    assert_eq!(session.calls[1].after, [0]);
    assert_eq!((session.calls[0].output, session.calls[0].may_end), (7, false));
    let sent: Vec<Value> = messages(&session, 1).iter().map(|it| serde_json::from_str(&it.recorded).unwrap()).collect();
    assert_eq!((&sent[1]["tool_calls"][0]["id"], &sent[2]["tool_call_id"]), (&json!("x1"), &json!("x1")));
    assert!(session.messages.iter().all(|it| it.answer_of.is_none()), "an answer that calls tools is the recorded one");
}

fn read_files(files: &[(&str, &str)], with: impl FnOnce(&mut RecordedSessions)) -> Result<Recordings, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let mut source = recorded(RecordedFiles::Folder(folder.path().to_owned()));
    with(&mut source);
    let workload = Workload::new(crds::benchmark_run::Api::Chat, RequestSource::Recorded(source), Vec::new());
    read(&workload).map_err(|error| error.to_string())
}

#[test]
fn files_are_read_in_order_and_wrong_ones_are_refused_or_left_out() {
    let good = Value::Array(agents()).to_string();
    let lines = format!(
        "{}\n\n{}\n",
        json!({ "session_id": "a", "spans": agents() }),
        json!({ "session_id": "b", "spans": agents()[..1] })
    );
    let read = read_files(&[("b.json", &good), ("a.jsonl", &lines), ("c.txt", "no")], |_| {}).unwrap();
    let sizes: Vec<usize> = read.sessions.iter().map(|it| it.calls.len()).collect();
    assert_eq!(sizes, [4, 1, 4]);
    let read =
        read_files(&[("a.jsonl", &lines)], |it| it.filter = Some("lambda r: len(r['spans']) > 2".into())).unwrap();
    assert_eq!(read.sessions.len(), 1);
    for (text, part) in [
        ("{", "is no JSON"),
        ("3", "is no list of spans"),
        (r#"[{"name":"chat","attributes":{"gen_ai.input.messages":"[]"}}]"#, "no start_time"),
        (
            r#"[{"name":"chat","start_time":"2025-01-01T00:00:00","attributes":{"gen_ai.input.messages":[1]}}]"#,
            "no object with a role",
        ),
    ] {
        let files = [("a.json", text), ("b.json", good.as_str())];
        let error = read_files(&files, |_| {}).unwrap_err();
        assert!(error.contains(part) && error.contains("a.json") && error.contains("skipInvalidFiles"), "{error}");
        let read = read_files(&files, |it| it.skip_invalid_files = true).unwrap();
        assert_eq!((read.sessions.len(), read.notices.len()), (1, 1));
    }
    assert!(read_files(&[], |_| {}).unwrap_err().contains("no recorded session is left of 0 files"));
}

#[test]
fn names_match_patterns() {
    for (pattern, name, expected) in [
        ("*.json", "a.json", true),
        ("a?c*", "abc", true),
        ("a*b*c", "axxbyyc", true),
        ("a*b", "ac", false),
        ("", "a", false),
    ] {
        assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
    }
}

#[test]
fn a_long_chain_has_one_parent_each_and_counts_the_uses_of_its_answers() {
    const CALLS: u32 = 3_000;
    let spans = (0..CALLS).map(|index| {
        let at = f64::from(index) / 100.0;
        span(
            at,
            at + 0.005,
            &json!([said("assistant", &format!("answer {}", index.saturating_sub(1)))]),
            &format!("answer {index}"),
        )
    });
    let session = calls(spans.collect(), |_| {});
    assert!(session.calls.iter().zip(0..).skip(1).all(|(call, index): (_, u32)| call.after == [index - 1]));
    // The first request contains an answer that no request produced, and no request contains the last answer.
    assert_eq!((session.answer_uses[0], session.answer_uses[1]), (1, 1));
    assert_eq!(session.answer_uses[CALLS as usize - 1], 0);
}
