//! Whole runs whose pod is kept alive by a sidecar, or that a user suspends and resumes.

use crds::{Outcome, status::Phase};
use serde_json::json;

use super::{
    Play,
    server::Fault,
    world::{Story, change, last_word},
};
use crate::behaviour::fixture::{NO_RETRY, SIMULATOR};

#[tokio::test]
async fn a_pod_that_a_sidecar_holds_ends_with_its_run() {
    let mut play = Play::new(SIMULATOR);
    play.play_until(Phase::Running).await;
    change(&mut play.server.state(), "pods", "chat-2db482-a1-0", |it| it["metadata"]["sidecar"] = json!(true));
    play.play_out(Story::Plain).await;
    assert_eq!((play.status().phase, play.status().reason.as_str()), (Some(Phase::Succeeded), "RunSucceeded"));
    let state = play.server.state();
    let deleted = |it: &serde_json::Value| it["metadata"]["deletionTimestamp"].is_string();
    assert!(state.all("pods").all(deleted) && state.all("jobs").all(deleted), "{:?}", state.objects.keys());
    assert!(state.writes.contains(&"DELETE jobs".to_owned()));
}

/// The kubelet reports the end of the launcher's container before the end of the pod.
#[tokio::test]
async fn a_finished_run_keeps_its_job_and_pod_although_the_launcher_ended_before_the_pod() {
    let mut play = Play::new(SIMULATOR);
    play.play_until(Phase::Running).await;
    let mut pod = play.server.state().find("pods", "chat-2db482-a1-0").unwrap().clone();
    pod["status"] = last_word(&play.server.state(), &pod, Outcome::Passed);
    pod["status"]["phase"] = json!("Running");
    play.server.state().put("pods", "chat-2db482-a1-0", pod);
    play.play_out(Story::Plain).await;
    assert_eq!((play.status().phase, play.status().reason.as_str()), (Some(Phase::Succeeded), "RunSucceeded"));
    let state = play.server.state();
    assert!(!state.writes.iter().any(|it| it.starts_with("DELETE")), "{:?}", state.writes);
}

/// A user suspends a run and resumes it immediately. In between, the operator is killed at each possible write.
#[tokio::test]
async fn a_suspension_that_is_taken_back_blames_nobody() {
    for number in 0..6 {
        for fault in [Fault::KilledBefore, Fault::KilledAfter, Fault::AnswerLost, Fault::Status(500)] {
            let mut play = Play::new(SIMULATOR);
            play.play_until(Phase::Running).await;
            let suspend = |play: &Play, suspend: bool| {
                change(&mut play.server.state(), "benchmarkruns", "chat", |it| {
                    it["spec"]["suspend"] = json!(suspend);
                    it["metadata"]["generation"] = json!(it["metadata"]["generation"].as_i64().unwrap() + 1);
                });
            };
            suspend(&play, true);
            let written = play.server.state().writes.len();
            play.server.state().fault = Some((written + number, fault));
            play.round(Story::Plain).await;
            suspend(&play, false);
            play.play_out(Story::Plain).await;
            assert_eq!(play.status().reason, "RunSucceeded", "{fault:?} at write {number}: {:#?}", play.status());
        }
    }
}

/// The kubelet reports the end of the launcher's container before it reports that it has evicted the pod.
#[tokio::test]
async fn an_eviction_by_the_kubelet_is_named_although_the_launcher_ended_before_it_was_reported() {
    const POD: &str = "chat-2db482-a1-0";
    let mut play = Play::new(NO_RETRY);
    play.play_until(Phase::Running).await;
    let mut pod = play.server.state().find("pods", POD).unwrap().clone();
    let mut status = last_word(&play.server.state(), &pod, Outcome::Cancelled);
    status["phase"] = json!("Running");
    pod["status"] = status.clone();
    play.server.state().put("pods", POD, pod);
    for _ in 0..3 {
        play.round(Story::Plain).await;
        assert_eq!((play.status().phase, play.status().reason.as_str()), (Some(Phase::Collecting), "ReadingResult"));
    }

    let why = "Container launcher exceeded its local ephemeral storage limit \"1\".";
    status["phase"] = json!("Failed");
    (status["reason"], status["message"]) = (json!("Evicted"), json!(why));
    status["conditions"] =
        json!([{"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "message": why}]);
    change(&mut play.server.state(), "pods", POD, |it| it["status"] = status);
    play.play_out(Story::Plain).await;
    assert_eq!((play.status().phase, play.status().reason.as_str()), (Some(Phase::Failed), "Disrupted"));
    assert_eq!(play.ready_message(), format!("the run was interrupted: TerminationByKubelet: {why}"));
}
