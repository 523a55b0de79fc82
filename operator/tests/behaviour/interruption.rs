//! Tests with a launcher that is stopped before its regular end. Its pod reports the cause, but not always immediately.

use crds::{Outcome, Reason, status::Phase};
use operator::{ended_pods, plan::Ended};
use serde_json::json;

use crate::behaviour::fixture::*;

fn cancelled() -> Ended {
    said(&envelope(Outcome::Cancelled, "Cancelled"))
}

fn killed(exit_code: i32, reason: &str) -> Ended {
    Ended { exit_code, reason: reason.into(), ..Ended::default() }
}

const EVICTED: &str = "TerminationByKubelet: the node was low on resource: ephemeral-storage";

#[test]
fn what_stopped_a_launcher_is_waited_for_until_its_pod_has_ended() {
    let waits = Want {
        phase: Some(Phase::Collecting),
        reason: Some(Reason::ReadingResult),
        says: "waits until its pod has ended",
        ..Want::default()
    };
    for phase in [Phase::Starting, Phase::Running] {
        for ended in [cancelled(), killed(137, "Error"), killed(143, "Error")] {
            let mut run = in_phase(NO_RETRY, phase);
            for seconds in [600, 602, 900] {
                run = after(&run, &check(&run, &stopped(ended.clone()), seconds, &waits));
            }
            let named = Ended { disrupted: Some(EVICTED.into()), ..ended };
            let want = Want { says: EVICTED, ..failed(Reason::Disrupted) };
            check(&run, &self::ended(named), 901, &want);
        }
    }
}

#[test]
fn a_cause_that_no_pod_names_is_not_waited_for_without_end() {
    let run = in_phase(NO_RETRY, Phase::Running);
    let want = Want { says: "its pod does not show the cause", ..failed(Reason::Disrupted) };
    check(&run, &stopped(cancelled()), 901, &want);
    check(
        &run,
        &stopped(killed(137, "Error")),
        901,
        &Want { says: "signal 9 (SIGKILL)", ..failed(Reason::LauncherFailed) },
    );
    // The clock of the node is ahead.
    let mut late = stopped(cancelled());
    (late.pod.ended_at, late.job.failed) = (Some(at(1_000_000)), Some("DeadlineExceeded".into()));
    check(&run, &late, 601, &failed(Reason::DeadlineExceeded));
}

#[test]
fn an_end_whose_cause_is_known_is_not_waited_for() {
    let run = in_phase(NO_RETRY, Phase::Running);
    let passed = ended_as(Phase::Succeeded, Outcome::Passed, Reason::RunSucceeded);
    check(&run, &stopped(said(&envelope(Outcome::Passed, "RunSucceeded"))), 600, &passed);
    check(&run, &stopped(killed(137, "OOMKilled")), 600, &failed(Reason::OOMKilled));
    check(&run, &stopped(killed(101, "Error")), 600, &failed(Reason::LauncherFailed));
    let drained = Ended { disrupted: Some("EvictionByEvictionAPI: drained".into()), ..cancelled() };
    check(&run, &stopped(drained), 600, &Want { says: "drained", ..failed(Reason::Disrupted) });
    let mut deleted = stopped(cancelled());
    deleted.pod.deleting = Some(at(630));
    check(&run, &deleted, 600, &Want { says: "somebody else deleted its pod", ..failed(Reason::Disrupted) });
}

/// Kubernetes 1.34 wrote the first of these statuses for a launcher that exceeded its ephemeral storage limit.
#[test]
fn a_pod_that_is_evicted_for_a_limit_of_its_own_names_it_without_a_condition() {
    for (reason, message, disrupted) in [
        (
            "Evicted",
            "Pod ephemeral local storage usage exceeds the total limit of containers 1. ",
            Some("Evicted: Pod ephemeral local storage usage exceeds the total limit of containers 1."),
        ),
        ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline", None),
    ] {
        let pod = json!({"metadata": {"name": "chat-1"}, "status": {
            "phase": "Failed", "reason": reason, "message": message,
            "conditions": [{"type": "Ready", "status": "False", "reason": "PodFailed"}],
            "containerStatuses": [{
                "name": "launcher", "image": "", "imageID": "", "ready": false, "restartCount": 0,
                "state": {"terminated": {"exitCode": 20, "reason": "Error"}},
            }],
        }});
        let ended = ended_pods::ended(&serde_json::from_value(pod).unwrap()).unwrap();
        assert_eq!((ended.exit_code, ended.disrupted.as_deref()), (20, disrupted), "{reason}");
    }
}
