use std::time::Duration;

use crds::units::Span;
use serde_json::json;
use workload_profiles::workload::{
    AcrossStages, RecordedAnswers, RecordedFiles, RecordedFormat, RecordedToolCalls, RecordedWaits,
};

use super::*;

fn settings(with: impl FnOnce(&mut RecordedSessions)) -> RecordedSessions {
    let mut settings = RecordedSessions {
        files: RecordedFiles::Files(Vec::new()),
        format: RecordedFormat::Weka { block_size: 10 },
        max_wait: Span(Duration::from_secs(60)),
        max_idle: None,
        waits: RecordedWaits::All,
        answers: RecordedAnswers::Server,
        default_output: 100,
        duplicate_to: None,
        unique: false,
        filter: None,
        include_errors: true,
        skip_invalid_files: false,
        tool_calls: RecordedToolCalls::default(),
        across_stages: AcrossStages::Restart,
    };
    with(&mut settings);
    settings
}

fn read(requests: &Value, with: impl FnOnce(&mut RecordedSessions)) -> Result<Session, String> {
    let record = json!({ "id": "r1", "models": ["m"], "requests": requests });
    session(&records(record)?[0], 10, &settings(with))
}

/// A recorded request that begins at `start` and takes `took` seconds.
fn call(start: f64, took: f64, hashes: &[u64]) -> Value {
    json!({ "t": start, "type": "s", "model": "m", "in": 10 * hashes.len(), "out": 5, "hash_ids": hashes, "api_time": took, "think_time": 0.25, "ttft": 0.1 })
}

fn agent(start: f64, requests: &[Value]) -> Value {
    json!({ "t": start, "type": "subagent", "agent_id": "a", "subagent_type": "find", "duration_ms": 9, "requests": requests })
}

/// Returns the predecessors of each request, and its wait in milliseconds.
fn graph(session: &Session) -> Vec<(Vec<u32>, u128)> {
    session.calls.iter().map(|it| (it.after.clone(), it.wait.as_millis())).collect()
}

/// A session with a request, an agent that sends three requests (two of them concurrently), and a request with the agent's result.
fn with_agent() -> Value {
    let found = [call(2.0, 2.0, &[7]), call(3.0, 2.0, &[8]), call(4.5, 1.0, &[7, 9])];
    json!([call(0.5, 1.0, &[1, 2]), agent(1.75, &found), call(8.0, 1.0, &[1, 2, 3])])
}

#[test]
fn requests_follow_each_other_and_the_agents_that_they_started() {
    let session = read(&with_agent(), |_| {}).unwrap();
    let expected = [(vec![], 0), (vec![0], 500), (vec![0], 1_500), (vec![1], 500), (vec![0, 2, 3], 2_500)];
    assert_eq!(graph(&session), expected);
    let sizes = session.calls.iter().map(|it| (it.prompt.tokens().unwrap(), it.output));
    assert_eq!(sizes.collect::<Vec<_>>(), [(20, 5), (10, 5), (10, 5), (20, 5), (30, 5)]);
    // An agent that no other agent waits for, with another agent inside it.
    let mut detached = with_agent();
    detached[1]["status"] = "async_launched".into();
    assert_eq!(graph(&read(&detached, |_| {}).unwrap())[4], (vec![0], 6_500));
    let nested =
        json!([call(0.0, 1.0, &[1]), agent(1.0, &[agent(2.0, &[call(2.0, 1.0, &[5])])]), call(4.0, 1.0, &[1])]);
    assert_eq!(graph(&read(&nested, |_| {}).unwrap()), [(vec![], 0), (vec![0], 1_000), (vec![0, 1], 1_000)]);
}

#[test]
fn waits_are_kept_as_wanted() {
    let waits = |with: fn(&mut RecordedSessions)| -> Vec<u128> {
        graph(&read(&with_agent(), with).unwrap()).into_iter().map(|it| it.1).collect()
    };
    assert_eq!(waits(|it| it.waits = RecordedWaits::Nothing), [0; 5]);
    assert_eq!(waits(|it| it.waits = RecordedWaits::ThinkTime), [250; 5]);
    assert_eq!(waits(|it| it.max_wait = Span(Duration::from_secs(1))), [0, 500, 1_000, 500, 1_000]);
    // No request is in flight from 5.5 to 8 s. The second search waits while the first one is in flight, so that wait is not shortened.
    assert_eq!(waits(|it| it.max_idle = Some(Span(Duration::from_secs(1)))), [0, 500, 1_500, 500, 1_000]);
    assert_eq!(waits(|it| it.max_idle = Some(Span(Duration::ZERO))), [0, 0, 1_000, 500, 0]);
}

#[test]
fn lengths_and_hashes_need_not_fit_each_other() {
    let prompt = |entry: Value| match read(&json!([entry]), |_| {}).unwrap().calls.remove(0) {
        Call { prompt: CallPrompt::Blocks { hashes, tokens }, output, .. } => (hashes, tokens, output),
        other => panic!("{other:?}"),
    };
    assert_eq!(prompt(json!({ "t": 0, "hash_ids": [1, 2, 3], "in": 15, "out": 2 })), (vec![1, 2], 15, 2));
    assert_eq!(prompt(json!({ "t": 0, "hash_ids": [1], "in": 15 })), (vec![1], 15, 100));
    assert_eq!(prompt(json!({ "t": 0, "hash_ids": [1, 2], "out": 0 })), (vec![1, 2], 20, 100));
    assert_eq!(prompt(json!({ "t": 0, "in": 1, "hash_ids": null })), (vec![], 1, 100));
}

#[test]
fn a_record_has_a_block_size_and_a_scope() {
    let record = |key: &str, value: Value| {
        let mut record = json!({ "id": "r1", "requests": [call(0.0, 1.0, &[1])] });
        record[key] = value;
        session(&records(record).unwrap()[0], 10, &settings(|_| {})).map(|it| (it.blocks.size, it.blocks.scope))
    };
    assert_eq!(record("block_size", json!(64)), Ok((64, "recording/r1".to_owned())));
    assert_eq!(record("block_size", Value::Null), Ok((10, "recording/r1".to_owned())));
    assert_eq!(record("hash_id_scope", json!("global")), Ok((10, String::new())));
    for (key, value) in [
        ("block_size", json!(0)),
        ("block_size", json!(1_u64 << 40)),
        ("hash_id_scope", json!("odd")),
        ("id", json!(3)),
    ] {
        assert!(record(key, value.clone()).is_err_and(|it| it.contains(key)), "{key} {value}");
    }
}

#[test]
fn hostile_records_are_refused() {
    let mut deep = agent(0.0, &[]);
    for _ in 0..MAX_DEPTH {
        deep = agent(0.0, &[deep]);
    }
    let many: Vec<Value> = (0..10_001).map(|_| json!({ "t": 0, "in": 1 })).collect();
    let agents: Vec<Value> = (0..10_001).map(|_| agent(0.0, &[])).collect();
    for (requests, part) in [
        (json!([3]), "a request has no t"),
        (json!([{ "in": 3 }]), "a request has no t"),
        (json!([{ "t": -1, "in": 3 }]), "t is -1; a number of seconds from 0"),
        (json!([{ "t": 1e300, "in": 3 }]), "a number of seconds"),
        (json!([{ "t": 0, "in": 3, "api_time": "x" }]), "api_time is \"x\""),
        (json!([{ "t": 0, "in": -3 }]), "in is -3; a whole number of tokens"),
        (json!([{ "t": 0, "in": 1.5 }]), "in is 1.5"),
        (json!([{ "t": 0, "in": u64::MAX }]), "a whole number of tokens"),
        (json!([{ "t": 0, "in": 3, "out": 3_000_000 }]), "out is 3000000"),
        (json!([{ "t": 0, "in": 0 }]), "neither a length, in, nor hash_ids"),
        (json!([{ "t": 0, "in": 3, "hash_ids": [[1]] }]), "hash_ids is no list"),
        (json!([{ "t": 0, "in": 3, "type": "x" }]), "has the type \"x\""),
        (json!([{ "t": 0, "type": "subagent" }]), "an agent has no list of requests"),
        (json!([deep]), "agents within agents"),
        (json!(many), "more than 10000"),
        (json!(agents), "more than 10000"),
        (json!(null), "is no object with a list of requests"),
    ] {
        let error = read(&requests, |_| {}).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(read(&json!([]), |_| {}).unwrap().calls, []);
}

#[test]
fn requests_in_any_order_have_a_graph_without_circles() {
    // The times of the agent's requests count from the agent's start, and some requests overlap.
    let odd =
        json!([call(9.0, 5.0, &[1]), call(3.0, 9.0, &[1]), agent(10.0, &[call(0.0, 1.0, &[2]), call(0.5, 1.0, &[2])])]);
    let session = read(&odd, |_| {}).unwrap();
    assert_eq!(session.calls.len(), 4);
    for (index, call) in session.calls.iter().enumerate() {
        assert!(call.after.iter().all(|it| (*it as usize) < index), "{index} {:?}", call.after);
    }
}

#[test]
fn a_filter_knows_the_requests_of_all_agents() {
    let record = json!({ "id": "r1", "models": ["m"], "requests": with_agent() });
    let described = described(&records(record).unwrap()[0]);
    let found = ["session_id", "models", "max_tokens", "total_tokens", "num_turns"].map(|it| described[it].clone());
    assert_eq!(found, [json!("r1"), json!(["m"]), json!(35), json!(115), json!(5)]);
}
