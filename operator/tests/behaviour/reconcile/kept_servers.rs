//! Servers that outlive their run. They are removed after their retention time, but never while a run uses them, and also if a run is deleted with
//! `--cascade=orphan`.

use std::{sync::Arc, time::Duration};

use crds::{BenchmarkRun, status::Phase};
use operator::reconcile::reconcile;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{
    Play,
    server::Fault,
    world::{Story, change, step},
};
use crate::behaviour::fixture::run;

const KEPT: &str =
    "{target: {server: {engine: Simulator, lifecycle: Keep}}, cleanup: {server: {afterSuccessSeconds: 100}}}";
const SHARED: &str =
    "{target: {server: {engine: Simulator, lifecycle: Reuse}}, cleanup: {server: {afterSuccessSeconds: 100}}}";
const ONE: &str = "{target: {server: {engine: Simulator}}}";
/// More turns than the removal of a server can need.
const TURNS: usize = 12;

/// The remaining objects of all servers.
fn servers(play: &Play) -> Vec<String> {
    let state = play.server.state();
    let of_server = |(plural, name): &&(String, String)| {
        ["deployments", "services"].contains(&plural.as_str()) || (plural == "pods" && name.contains("-server-"))
    };
    state.objects.keys().filter(of_server).map(|(plural, name)| format!("{plural}/{name}")).collect()
}

fn deployment_deletions(play: &Play) -> usize {
    play.server.state().deletions.iter().filter(|it| it.starts_with("deployments")).count()
}

async fn turns(play: &mut Play) {
    for _ in 0..TURNS {
        play.round(Story::Plain).await;
    }
}

async fn until(holds: impl Fn() -> bool) {
    // The wait is needed because a turn renders profiles on another thread.
    for _ in 0..10_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it has not come to that");
}

/// Another run that has recorded this run's server in its status.
fn other_run(play: &Play, phase: &str, completion_time: &Value) -> Value {
    let mut other = serde_json::to_value(run(SHARED)).unwrap();
    (other["metadata"]["name"], other["metadata"]["uid"]) = (json!("other"), json!("another"));
    let server = play.status().server.unwrap();
    other["status"] = json!({
        "observedGeneration": 1, "phase": phase, "completionTime": completion_time,
        "server": {"name": server.name, "replicas": 1, "startTime": server.start_time},
    });
    if !completion_time.is_null() {
        other["status"]["outcome"] = json!("Passed");
    }
    other
}

#[tokio::test]
async fn a_kept_server_stays_for_its_time_and_then_nothing_of_it_is_left() {
    let mut play = Play::new(KEPT);
    play.play_out(Story::Plain).await;
    turns(&mut play).await;
    assert_eq!((play.status().phase, servers(&play).len()), (Some(Phase::Succeeded), 3), "{:?}", servers(&play));
    play.pass_time(101);
    turns(&mut play).await;
    assert_eq!(servers(&play), Vec::<String>::new());
    let status = play.status();
    assert!(status.server.unwrap().gone_time.is_some() && status.summary.is_some());
}

#[tokio::test]
async fn an_operator_that_is_killed_at_any_write_removes_a_kept_server_all_the_same() {
    let finished = async || {
        let mut play = Play::new(KEPT);
        play.play_out(Story::Plain).await;
        play.pass_time(101);
        play
    };
    let mut whole = finished().await;
    let first = whole.server.state().writes.len();
    turns(&mut whole).await;
    let writes = whole.server.state().writes[first..].to_vec();
    assert!(writes.len() >= 4, "{writes:?}");
    for (number, write) in writes.iter().enumerate() {
        for fault in
            [Fault::KilledBefore, Fault::KilledAfter, Fault::AnswerLost, Fault::Status(409), Fault::Status(500)]
        {
            let mut play = finished().await;
            let first = play.server.state().writes.len();
            play.server.state().fault = Some((first + number, fault));
            turns(&mut play).await;
            assert_eq!(servers(&play), Vec::<String>::new(), "{fault:?} at write {number}, {write}");
            assert!(play.status().server.unwrap().gone_time.is_some(), "{fault:?} at write {number}, {write}");
        }
    }
}

#[tokio::test]
async fn a_shared_server_is_removed_when_no_run_uses_it_and_left_to_one_that_finished_later() {
    for (phase, completion_time, is_left) in
        [("Running", Value::Null, false), ("Succeeded", json!("2999-01-01T00:00:00Z"), true)]
    {
        let mut play = Play::new(SHARED);
        play.play_out(Story::Plain).await;
        play.pass_time(101);
        let other = other_run(&play, phase, &completion_time);
        play.server.state().put("benchmarkruns", "other", other);
        turns(&mut play).await;
        assert_eq!((deployment_deletions(&play), servers(&play).len()), (0, 3), "{phase}");
        assert_eq!(play.status().server.unwrap().left_time.is_some(), is_left, "{phase}");
        play.server.state().remove("benchmarkruns", "other");
        turns(&mut play).await;
        assert_eq!(servers(&play).is_empty(), !is_left, "{phase}: {:?}", servers(&play));
    }
}

#[tokio::test]
async fn a_run_that_is_deleted_after_its_time_removes_the_shared_server_before() {
    let mut play = Play::new(&SHARED.replace("cleanup: {", "cleanup: {run: {afterSuccessSeconds: 50}, "));
    play.play_out(Story::Plain).await;
    play.pass_time(60);
    turns(&mut play).await;
    assert_eq!((play.cached().is_some(), servers(&play).len()), (true, 3), "{:?}", servers(&play));
    play.pass_time(50);
    turns(&mut play).await;
    assert_eq!((play.cached().is_some(), servers(&play)), (false, Vec::new()));
}

#[tokio::test]
async fn a_run_that_takes_a_shared_server_just_when_it_would_be_removed_keeps_it() {
    let mut play = Play::new(SHARED);
    play.play_out(Story::Plain).await;
    play.pass_time(101);
    let mut other = serde_json::to_value(run(SHARED)).unwrap();
    (other["metadata"]["name"], other["metadata"]["uid"]) = (json!("other"), json!("another"));
    let other_run: BenchmarkRun = serde_json::from_value(other.clone()).unwrap();
    let hold = Arc::new(Notify::new());
    {
        let mut state = play.server.state();
        state.put("benchmarkruns", "other", other);
        state.held_note = Some(("other", Arc::clone(&hold)));
    }
    let begins = tokio::spawn(reconcile(Arc::new(other_run), Arc::clone(&play.context)));
    // The other run has decided to use the server, but the status write that records it is still in transit.
    until(|| play.server.state().held_note.is_none()).await;
    let due = Arc::new(play.cached().unwrap());
    let removal = tokio::spawn(reconcile(due, Arc::clone(&play.context)));
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!removal.is_finished() && !begins.is_finished() && deployment_deletions(&play) == 0);
    hold.notify_one();
    begins.await.unwrap().unwrap();
    removal.await.unwrap().unwrap();
    assert_eq!((deployment_deletions(&play), servers(&play).len()), (0, 3));
    let noted = play.server.state().find("benchmarkruns", "other").unwrap()["status"]["server"]["name"].clone();
    assert_eq!(noted, play.status().server.unwrap().name);
}

#[tokio::test]
async fn a_run_that_comes_when_a_shared_server_goes_starts_it_anew() {
    let mut play = Play::new(SHARED);
    play.play_out(Story::Plain).await;
    play.pass_time(101);
    while deployment_deletions(&play) == 0 {
        let run = Arc::new(play.cached().unwrap());
        reconcile(run, Arc::clone(&play.context)).await.unwrap();
    }
    let old = play.server.state().all("deployments").next().unwrap()["metadata"].clone();
    assert!(old["deletionTimestamp"].is_string(), "{old}");
    let mut next = serde_json::to_value(run(SHARED)).unwrap();
    next["metadata"]["creationTimestamp"] = json!(super::server::now());
    {
        let mut state = play.server.state();
        state.remove("jobs", "chat-2db482-a1");
        state.remove("configmaps", "chat-2db482-a1");
        state.remove("benchmarkruns", "chat");
        state.put("benchmarkruns", "chat", next);
    }
    play.play_out(Story::Plain).await;
    assert_eq!(play.status().phase, Some(Phase::Succeeded), "{:#?}", play.status());
    assert_eq!(servers(&play).len(), 3);
    let state = play.server.state();
    assert!(state.all("deployments").all(|it| it["metadata"]["deletionTimestamp"].is_null()));
}

#[tokio::test]
async fn a_run_that_is_deleted_and_leaves_its_children_does_not_leave_its_server() {
    for (spec, stays) in [(ONE, false), (KEPT, false), (SHARED, true)] {
        let mut play = Play::new(spec);
        play.play_until(Phase::Running).await;
        let deleted = Arc::new(play.cached().unwrap());
        {
            // Simulates what the garbage collector does for `kubectl delete --cascade=orphan`.
            let mut state = play.server.state();
            for plural in ["deployments", "services", "jobs", "configmaps"] {
                let names: Vec<_> =
                    state.all(plural).map(|it| it["metadata"]["name"].as_str().unwrap().to_owned()).collect();
                for name in names {
                    change(&mut state, plural, &name, |it| it["metadata"]["ownerReferences"] = json!([]));
                }
            }
            state.remove("benchmarkruns", "chat");
        }
        for _ in 0..2 {
            reconcile(Arc::clone(&deleted), Arc::clone(&play.context)).await.unwrap();
        }
        assert_eq!(deployment_deletions(&play), usize::from(!stays), "{spec}: once");
        for _ in 0..TURNS {
            step(&mut play.server.state(), Story::Plain);
        }
        assert_eq!(!servers(&play).is_empty(), stays, "{spec}: {:?}", servers(&play));
        assert!(play.loading().iter().all(|it| it.contains("-server-")), "{spec}");
    }
}
