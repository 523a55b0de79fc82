//! Tests of sessions under limits: stops, outages, permits, and stages that continue where the previous one ended.

use crds::{
    benchmark_run::Api,
    units::{RequestRate, Span},
};
use engine::stop::{Stop, StopReason};
use measurement::record::RequestRecord;
use serde_json::{Value, json};
use workload_profiles::{
    Workload,
    workload::{
        AcrossStages, AfterFailure, ConversationUse, DataSet, DataSetFormat, LengthDistribution, LengthField, Load,
        OutputLength, PromptColumn, PromptForm, RecordedFormat, RecordedSessions, RequestSource, RowContent, Sessions,
        Stage, Unit, UsedUp,
    },
};

use super::{
    common::*,
    sessions::{Server, conversations, recorded, run, talk, turns},
};

/// A recorded session in Weka's format, whose prompts have these lengths in tokens. Each prompt waits only for the previous answer.
pub(super) fn weka(inputs: &[u32]) -> String {
    let call = |input: &u32| json!({"t": 0, "type": "n", "in": input, "out": 1, "hash_ids": [input], "api_time": 0});
    json!({"id": inputs[0].to_string(), "block_size": 64, "requests": inputs.iter().map(call).collect::<Vec<_>>()})
        .to_string()
}

fn replay(sessions: RecordedSessions, stages: Vec<Stage>) -> Workload {
    let mut workload = Workload::new(Api::Chat, RequestSource::Recorded(sessions), stages);
    workload.sessions.unit = Unit::Session;
    workload
}

#[tokio::test(start_paused = true)]
async fn a_stop_after_the_last_turn_was_sent_is_no_early_one() {
    // Turns are sent at 0, 100, 200 and 300 ms; in the open loop at 0, 10, 100 and 110 ms.
    for (stage, unit, at, issued) in [
        (closed(1, 2), Unit::Session, 250, 3),
        (closed(1, 2), Unit::Session, 350, 4),
        (closed(1, 4), Unit::Request, 250, 3),
        (closed(1, 4), Unit::Request, 350, 4),
        (paced(100.0, 2), Unit::Session, 105, 3),
        (paced(100.0, 2), Unit::Session, 150, 4),
    ] {
        let workload = talk(conversations(Some(1), 2, millis(0)), unit, stage);
        let stop = Stop::default();
        let drain = stop.clone();
        tokio::spawn(async move {
            tokio::time::sleep(millis(at)).await;
            drain.drain(StopReason::Signal);
        });
        let result = issue_until(&workload, &Server::default().target(Api::Chat), &stop).await;
        assert_eq!((result.issued, result.recorder.stages[0].stopped_early), (issued, issued < 4));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_cuts_a_recorded_session_short() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, weka(&[5, 6, 7])).unwrap();
    let workload = replay(recorded(&path, RecordedFormat::Weka { block_size: 64 }), vec![closed(1, 1)]);
    let stop = Stop::default();
    let drain = stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(millis(150)).await;
        drain.drain(StopReason::Signal);
    });
    let result = issue_until(&workload, &Server::default().target(Api::Chat), &stop).await;
    assert!(result.issued < 3 && result.recorder.stages[0].stopped_early, "{}", result.issued);
}

/// A stage with two slots, and a stage with one session. The start rate would let the second slot start only after the first stage has
/// ended.
fn stages() -> Vec<Stage> {
    let load = Load::Closed {
        concurrency: 2,
        count: None,
        duration: Some(Span(millis(150))),
        ramp_up: Span(millis(0)),
        start_rate: Some(RequestRate::try_from(1.0).unwrap()),
    };
    vec![Stage::new("first", load), closed(1, 1)]
}

#[tokio::test(start_paused = true)]
async fn a_stage_of_recorded_sessions_goes_on_behind_the_last_that_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, [[5, 6], [7, 8], [9, 10]].map(|it| weka(&it)).join("\n")).unwrap();
    let sessions = RecordedSessions {
        across_stages: AcrossStages::Continue,
        ..recorded(&path, RecordedFormat::Weka { block_size: 64 })
    };
    let result = run(&replay(sessions, stages()), &Server::default()).await;
    let lengths: Vec<_> = records(&result).iter().map(|it| (it.stage, it.requested_input_tokens)).collect();
    assert_eq!(lengths, [(0, Some(5)), (0, Some(6)), (1, Some(7)), (1, Some(8))]);
}

#[tokio::test(start_paused = true)]
async fn a_stage_of_conversations_goes_on_with_the_next_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chats.jsonl");
    let row = |row: usize| {
        let turn = |place: usize| [("human", format!("{row} {place}")), ("gpt", "yes".to_owned())];
        let turns: Vec<Value> =
            (0..2).flat_map(turn).map(|(from, value)| json!({"from": from, "value": value})).collect();
        json!({"conversations": turns}).to_string()
    };
    std::fs::write(&path, (0..5).map(row).collect::<Vec<_>>().join("\n")).unwrap();
    let prompt = PromptColumn { name: String::new(), form: PromptForm::Text };
    let set = DataSet {
        row: RowContent::Conversation { column: "conversations".into(), send: ConversationUse::Turns },
        output: OutputLength::Answer,
        used_up: UsedUp::Repeat,
        across_stages: AcrossStages::Continue,
        ..DataSet::new(path, DataSetFormat::Jsonl, prompt, 1, 5)
    };
    let workload = Workload {
        sessions: Sessions { unit: Unit::Session, ..Sessions::default() },
        ..Workload::new(Api::Chat, RequestSource::DataSet(set), stages())
    };
    let server = Server::default();
    run(&workload, &server).await;
    let last: Vec<String> = server.seen().iter().filter_map(|it| it.texts().pop()).collect();
    assert_eq!(last, ["0 0", "0 1", "1 0", "1 1"]);
}

#[tokio::test(start_paused = true)]
async fn sessions_send_no_length_where_none_is_to_be_sent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, weka(&[5])).unwrap();
    let graph = replay(recorded(&path, RecordedFormat::Weka { block_size: 64 }), vec![closed(1, 1)]);
    let chain = talk(conversations(None, 1, millis(0)), Unit::Session, closed(1, 1));
    for mut workload in [chain, graph] {
        workload.sampling.length_field = LengthField::NotSent;
        let server = Server::default();
        let result = run(&workload, &server).await;
        assert_eq!(records(&result)[0].requested_output_tokens, None);
        let body = &server.seen()[0].body;
        assert!(body.get("max_tokens").is_none() && body.get("max_completion_tokens").is_none(), "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_turn_with_a_free_permit_is_late() {
    let workload = talk(conversations(None, 2, millis(400)), Unit::Session, bounded(paced(10.0, 1), 1));
    // The clock jumps past the time at which the second turn is due.
    tokio::spawn(async {
        tokio::time::sleep(millis(480)).await;
        tokio::time::advance(millis(80)).await;
    });
    let result = run(&workload, &Server::default()).await;
    let lags: Vec<_> = records(&result).iter().map(RequestRecord::send_lag).collect();
    assert_eq!(lags, [Some(millis(0)), Some(millis(58))]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_waits_after_one_that_the_target_did_not_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, weka(&[5, 6, 7])).unwrap();
    let graph = replay(recorded(&path, RecordedFormat::Weka { block_size: 64 }), vec![paced(10.0, 1)]);
    let chain = talk(conversations(None, 3, millis(0)), Unit::Session, paced(10.0, 1));
    for workload in [chain, graph] {
        let server = Server { away: vec![0, 1], ..Server::default() };
        // A turn that waits for a permit is not late either, because the worker does not cause the wait.
        let sent: Vec<u128> = turns(&run(&workload, &server).await).iter().map(|it| it.3).collect();
        assert!(sent[1] >= 110 && sent[2] >= sent[1] + 110, "{sent:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_user_without_a_last_turn_begins_anew_after_a_failure() {
    let length = LengthDistribution::fixed;
    let requests = RequestSource::SharedPrefix {
        groups: 1,
        prompts_per_group: 1,
        system_prompt_len: length(5),
        question_len: length(5),
        output_len: length(5),
        seed: None,
        multi_turn: true,
    };
    let mut workload = Workload::new(Api::Chat, requests, vec![closed(1, 5)]);
    workload.sessions.after_failure = AfterFailure::End;
    let server = Server { fails: vec![1], ..Server::default() };
    let result = run(&workload, &server).await;
    let places: Vec<_> =
        records(&result).iter().map(|it| (it.turn.unwrap().session, it.turn.unwrap().number.get())).collect();
    assert_eq!(places, [(0, 1), (0, 2), (1, 1), (1, 2), (1, 3)]);
    let messages: Vec<usize> = server.seen().iter().map(|it| it.texts().len()).collect();
    assert_eq!(messages, [1, 3, 1, 3, 5]);
    assert_eq!((result.recorder.sessions[0].failed, result.recorder.sessions[0].cut_short), (1, 1));
}
