//! Runs that a backup tool has restored without their status.

use std::sync::Arc;

use crds::status::Phase;
use operator::reconcile::reconcile;
use serde_json::{Value, json};

use super::{MAX_ROUNDS, Play, server::Fault, world::Story};
use crate::behaviour::fixture::SIMULATOR;

const FINISHED: &str = "benchwright.dev/finished";

/// The run as a backup restores it: with its annotations, but with a new UID and without status.
fn backup(play: &Play) -> Value {
    let mut run = play.server.state().find("benchmarkruns", "chat").unwrap().clone();
    run["metadata"]["uid"] = json!("uid-after-the-restore");
    run["status"] = Value::Null;
    run
}

async fn finished(story: Story) -> Play {
    let mut play = Play::new(SIMULATOR);
    play.play_out(story).await;
    play
}

#[tokio::test]
async fn a_run_restored_without_its_status_starts_no_job() {
    let before = finished(Story::Plain).await;
    let mut play = Play::new(SIMULATOR);
    play.server.state().put("benchmarkruns", "chat", backup(&before));
    let end = play.play_out(Story::Plain).await;
    let status = play.status();
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Succeeded), "Restored"), "{status:#?}");
    assert_eq!((end.status["outcome"].as_str(), &status.summary), (Some("Passed"), &None));
    let message = play.ready_message();
    assert!(message.contains("Passed (RunSucceeded)") && message.contains("delete it and create it"), "{message}");
    let writes = play.server.state().writes.clone();
    assert!(
        !writes.iter().any(|it| it.starts_with("DELETE") || (it.starts_with("POST") && it != "POST events")),
        "{writes:?}"
    );
    assert!(end.children.is_empty());
}

#[tokio::test]
async fn a_restored_run_has_the_outcome_that_it_had() {
    for (story, phase, outcome) in
        [(Story::Cancelled, Phase::Cancelled, "Cancelled"), (Story::JobDeleted, Phase::Failed, "Error")]
    {
        let before = finished(story).await;
        let mut play = Play::new(SIMULATOR);
        play.server.state().put("benchmarkruns", "chat", backup(&before));
        let end = play.play_out(Story::Plain).await;
        assert_eq!((play.status().phase, end.status["outcome"].as_str()), (Some(phase), Some(outcome)), "{story:?}");
        assert_eq!(play.status().reason, "Restored", "{story:?}");
    }
}

#[tokio::test]
async fn a_copy_under_another_name_runs() {
    let before = finished(Story::Plain).await;
    let mut run = backup(&before);
    let mark = run["metadata"]["annotations"][FINISHED]
        .as_str()
        .unwrap()
        .replace("\"name\":\"chat\"", "\"name\":\"original\"");
    run["metadata"]["annotations"][FINISHED] = json!(mark);
    run["metadata"]["uid"] = json!(crate::behaviour::fixture::UID);
    let mut play = Play::new(SIMULATOR);
    play.server.state().put("benchmarkruns", "chat", run);
    play.play_out(Story::Plain).await;
    assert_eq!(play.status().reason, "RunSucceeded");
    let state = play.server.state();
    let mark = state.find("benchmarkruns", "chat").unwrap()["metadata"]["annotations"][FINISHED].clone();
    assert!(mark.as_str().unwrap().contains("\"name\":\"chat\""), "{mark}");
}

#[tokio::test]
async fn a_mark_on_a_run_that_has_begun_ends_nothing() {
    let before = finished(Story::Plain).await;
    let mut play = Play::new(SIMULATOR);
    play.play_until(Phase::Running).await;
    let mark = backup(&before)["metadata"]["annotations"].clone();
    super::world::change(&mut play.server.state(), "benchmarkruns", "chat", |it| it["metadata"]["annotations"] = mark);
    play.play_out(Story::Plain).await;
    assert_eq!(play.status().reason, "RunSucceeded");
}

#[tokio::test]
async fn a_run_that_may_not_be_marked_has_finished_all_the_same() {
    let last = finished(Story::Plain).await.server.state().writes.len() - 1;
    let mut play = Play::new(SIMULATOR);
    play.server.state().fault = Some((last, Fault::Status(403)));
    for _ in 0..MAX_ROUNDS {
        if play.status().phase != Some(Phase::Succeeded) {
            play.round(Story::Plain).await;
        }
    }
    assert_eq!((play.status().phase, play.status().reason.as_str()), (Some(Phase::Succeeded), "RunSucceeded"));
    assert_eq!(play.context.failures.count(crate::behaviour::fixture::UID), 0, "it is not tried again and again");
    let state = play.server.state();
    assert!(state.find("benchmarkruns", "chat").unwrap()["metadata"]["annotations"].is_null());
}

#[tokio::test]
async fn a_finished_run_is_marked_once_and_then_costs_no_request() {
    let mut play = finished(Story::Plain).await;
    let requests = |play: &Play| {
        let state = play.server.state();
        (state.reads, state.writes.len())
    };
    let before = requests(&play);
    play.round(Story::Plain).await;
    assert_eq!(requests(&play), before);
    // A release that wrote no marks leaves this state.
    super::world::change(&mut play.server.state(), "benchmarkruns", "chat", |it| {
        it["metadata"]["annotations"] = json!({})
    });
    let run = Arc::new(play.cached().unwrap());
    reconcile(run, Arc::clone(&play.context)).await.unwrap();
    assert_eq!(requests(&play).1, before.1 + 1);
    let mark: Value = {
        let state = play.server.state();
        let mark = &state.find("benchmarkruns", "chat").unwrap()["metadata"]["annotations"][FINISHED];
        serde_json::from_str(mark.as_str().unwrap()).unwrap()
    };
    assert_eq!((&mark["outcome"], &mark["reason"]), (&json!("Passed"), &json!("RunSucceeded")));
    assert_eq!((&mark["name"], &mark["uid"]), (&json!("chat"), &json!(crate::behaviour::fixture::UID)));
    let done = requests(&play);
    play.round(Story::Plain).await;
    assert_eq!(requests(&play), done);
}
