//! Tests for runs of other tools that ended wrongly.

use crds::{Outcome, Reason, status::Phase};
use operator::plan::Ended;
use serde_json::json;

use crate::behaviour::{
    fixture::*,
    reconcile::{Play, world::Story},
};

const JOB: &str = "chat-2db482-a1";
const POD: &str = "chat-2db482-a1-0";

/// ansible/awx-resource-operator#49: a Job that was removed by its TTL was created again every hour.
#[tokio::test]
async fn a_job_that_is_removed_after_the_end_is_not_created_again() {
    let mut play = Play::new(SIMULATOR);
    play.play_out(Story::Plain).await;
    let writes = play.server.state().writes.len();
    for (plural, name) in [("jobs", JOB), ("pods", POD), ("configmaps", JOB)] {
        play.server.state().remove(plural, name);
    }
    for _ in 0..5 {
        play.round(Story::Plain).await;
    }
    assert_eq!(play.server.state().writes.len(), writes);
    assert_eq!(play.status().phase, Some(Phase::Succeeded));
}

/// tektoncd/pipeline#1806, kubernetes/kubernetes#116042: a step that ran out of memory was reported as successful, because its exit code was 0.
#[test]
fn a_container_out_of_memory_with_exit_code_0_is_no_success() {
    let end = Ended { exit_code: 0, reason: "OOMKilled".into(), ..Ended::default() };
    let want = Want { says: "limits.memory", ..failed(Reason::OOMKilled) };
    check(&in_phase(NO_RETRY, Phase::Running), &ended(end), 600, &want);
}

/// argoproj/argo-workflows#13373: a pod ran out of memory and was removed, but its workflow stayed Running.
#[tokio::test]
async fn a_pod_that_ran_out_of_memory_and_is_gone_ends_its_run() {
    let mut play = Play::new(NO_RETRY);
    play.play_until(Phase::Running).await;
    let mut pod = play.server.state().find("pods", POD).cloned().unwrap_or_default();
    pod["status"]["phase"] = json!("Failed");
    pod["status"]["containerStatuses"][0]["ready"] = json!(false);
    pod["status"]["containerStatuses"][0]["state"] = json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}});
    play.watch(&[serde_json::from_value(pod).unwrap()]);
    play.server.state().remove("pods", POD);
    play.play_out(Story::Plain).await;
    let status = play.status();
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "OOMKilled"), "{status:#?}");
}

/// sgl-project/ome#781, gpustack/gpustack#1677: a benchmark whose requests had all failed was reported as Completed.
#[test]
fn a_run_whose_requests_all_failed_is_no_success_and_shows_no_columns() {
    let mut all_failed = envelope(Outcome::Invalid, "TooManyErrors");
    if let Some(summary) = &mut all_failed.core.summary {
        summary.failed = summary.requests;
    }
    let want = Want { says: "TooManyErrors", ..ended_as(Phase::Failed, Outcome::Invalid, Reason::MeasurementInvalid) };
    let made = check(&in_phase(SIMULATOR, Phase::Running), &ended(said(&all_failed)), 600, &want);
    assert_eq!(made.status.columns, None);
}

/// grafana/k6-operator#75: a failed test was run again.
#[tokio::test]
async fn a_run_that_ended_invalid_is_not_run_again() {
    let mut play = Play::new(SIMULATOR);
    play.play_until(Phase::Running).await;
    let mut pod = play.server.state().find("pods", POD).cloned().unwrap_or_default();
    let said = said(&envelope(Outcome::Invalid, "TooManyErrors"));
    pod["status"] = json!({"phase": "Succeeded", "containerStatuses": [{
        "name": "launcher", "ready": false, "image": "i", "imageID": "i", "restartCount": 0,
        "state": {"terminated": {"exitCode": said.exit_code, "reason": said.reason, "message": said.message}},
    }]});
    play.server.state().put("pods", POD, pod);
    play.play_out(Story::Plain).await;
    for _ in 0..5 {
        play.round(Story::Plain).await;
    }
    let status = play.status();
    assert_eq!((status.outcome, status.attempts.len()), (Some(Outcome::Invalid), 1), "{status:#?}");
    assert_eq!(play.server.state().jobs_created, 1);
}
