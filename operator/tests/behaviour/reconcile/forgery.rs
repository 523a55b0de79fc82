//! Pods and Jobs of an attacker that pretend to belong to the attempt.

use crds::{Outcome, status::Phase};
use serde_json::{Value, json};

use super::{
    Play,
    world::{Story, owner},
};
use crate::behaviour::fixture::{SIMULATOR, UID, envelope, said};

const JOB: &str = "chat-2db482-a1";

/// A forged pod with all labels of the real pod. Its container reports that the run passed, with invented figures.
fn forged(owners: Value) -> Value {
    let mut envelope = envelope(Outcome::Passed, "RunSucceeded");
    envelope.core.model = "forged".into();
    let said = said(&envelope);
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            // The forged pod comes first in lists sorted by name, but was created later than the real pod.
            "name": "a-forged-one", "namespace": "bench", "uid": "uid-of-a-forged-pod", "creationTimestamp": "2999-01-01T00:00:00Z",
            "labels": {
                "app.kubernetes.io/managed-by": "benchwright-operator",
                "benchwright.dev/run": "chat", "benchwright.dev/run-uid": UID, "benchwright.dev/attempt": "1",
            },
            "ownerReferences": owners,
        },
        "spec": {"containers": []},
        "status": {"phase": "Succeeded", "containerStatuses": [{
            "name": "launcher", "image": "i", "imageID": "i", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": said.exit_code, "reason": said.reason, "message": said.message}},
        }]},
    })
}

#[tokio::test]
async fn a_pod_that_copies_labels_or_owners_is_not_believed() {
    let true_owner = owner(JOB, &format!("uid-of-jobs-{JOB}"));
    let mut no_controller = true_owner.clone();
    no_controller["controller"] = json!(false);
    let mut not_blocking = true_owner.clone();
    not_blocking["blockOwnerDeletion"] = json!(false);
    let mut other_kind = true_owner.clone();
    other_kind["apiVersion"] = json!("example.com/v1");
    let forgeries = [
        json!([]),
        json!([owner(JOB, "another")]),
        json!([no_controller]),
        json!([not_blocking]),
        json!([other_kind]),
        json!([true_owner]),
    ];
    for owners in forgeries {
        for since in [Phase::Starting, Phase::Running] {
            for vanishes in [false, true] {
                let case = format!("{owners} since {since:?}, gone at once: {vanishes}");
                let mut play = Play::new(SIMULATOR);
                play.play_until(since).await;
                let pod = forged(owners.clone());
                if !vanishes {
                    play.server.state().put("pods", "a-forged-one", pod.clone());
                }
                play.watch(&[serde_json::from_value(pod).unwrap()]);
                play.round(Story::Plain).await;
                assert!(!play.status().phase.is_some_and(Phase::is_terminal), "{case}");
                play.play_out(Story::Plain).await;
                let status = play.status();
                assert_eq!(status.reason, "RunSucceeded", "{case}");
                assert_eq!(status.resolved.unwrap().model, "org/model", "{case}");
                assert_eq!(status.attempts[0].pod_uid, Some(format!("uid-of-pods-{JOB}-0")), "{case}");
                assert_eq!(status.attempts[0].job_uid, Some(format!("uid-of-jobs-{JOB}")), "{case}");
            }
        }
    }
}

#[tokio::test]
async fn another_job_of_the_same_name_is_not_the_attempts() {
    let mut play = Play::new(SIMULATOR);
    play.play_until(Phase::Running).await;
    let mut job = play.server.state().find("jobs", JOB).unwrap().clone();
    job["metadata"]["uid"] = json!("another");
    play.server.state().put("jobs", JOB, job);
    play.play_out(Story::Plain).await;
    assert_eq!(play.status().reason, "NameConflict");
    assert_eq!(play.server.state().find("jobs", JOB).unwrap()["metadata"]["uid"], "another", "it is left alone");
    let state = play.server.state();
    assert!(state.find("pods", &format!("{JOB}-0")).is_none_or(|it| it["metadata"]["deletionTimestamp"].is_string()));
}

/// A pod that never ends, and was created in the same second as the Job's own pod.
fn twin(play: &Play) -> Value {
    let mut pod = forged(json!([owner(JOB, &format!("uid-of-jobs-{JOB}"))]));
    let state = play.server.state();
    pod["metadata"]["creationTimestamp"] =
        state.find("pods", &format!("{JOB}-0")).unwrap()["metadata"]["creationTimestamp"].clone();
    pod
}

fn still_running(pod: &mut Value) {
    pod["status"]["phase"] = json!("Running");
    pod["status"]["containerStatuses"][0]["state"] = json!({"running": {}});
}

#[tokio::test]
async fn of_two_pods_of_one_second_none_is_believed() {
    for works_on in [false, true] {
        let mut play = Play::new(SIMULATOR);
        play.play_until(Phase::Starting).await;
        assert_eq!(play.status().attempts[0].pod_uid, None, "the pod has not been seen yet");
        let mut pod = twin(&play);
        if works_on {
            still_running(&mut pod);
        }
        play.server.state().put("pods", "a-forged-one", pod);
        play.play_out(Story::Plain).await;
        let status = play.status();
        assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "AmbiguousPod"), "{status:#?}");
        assert_eq!((&status.summary, &status.attempts[0].pod_uid), (&None, &None));
        assert_eq!(play.loading(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_run_that_ends_ends_every_pod_of_its_job() {
    let mut play = Play::new(SIMULATOR);
    play.play_until(Phase::Running).await;
    let mut pod = twin(&play);
    still_running(&mut pod);
    play.server.state().put("pods", "a-forged-one", pod);
    play.play_out(Story::Plain).await;
    assert_eq!(play.status().reason, "RunSucceeded");
    assert_eq!(play.loading(), Vec::<String>::new());
}

/// The ConfigMap that the operator creates for this attempt. An operator in a separate simulated cluster creates it.
async fn true_config_map(attempt: u32) -> Value {
    let mut play = Play::new(SIMULATOR);
    play.play_out(if attempt == 1 { Story::Plain } else { Story::Evicted }).await;
    let mut made = play.server.state().find("configmaps", &format!("chat-2db482-a{attempt}")).unwrap().clone();
    made["metadata"]["uid"] = json!("uid-of-a-forged-config-map");
    made
}

/// With a forged ConfigMap, the launcher would send the run's token and load to an address of the attacker.
#[tokio::test]
async fn a_config_map_that_the_operator_did_not_make_decides_nothing() {
    for attempt in [1, 2] {
        let name = format!("chat-2db482-a{attempt}");
        let made = true_config_map(attempt).await;
        let mut other_run = made.clone();
        let mut text = other_run["data"]["run.yaml"].as_str().unwrap().to_owned();
        text.push_str("model: another\n");
        other_run["data"]["run.yaml"] = json!(text);
        let mut other_profile = made.clone();
        other_profile["data"]["profile.yaml"] = json!("load: {}\n");
        let mut one_more = made.clone();
        one_more["data"]["more"] = json!("");
        let mut binary = made.clone();
        binary["binaryData"] = json!({"more": ""});
        let mut mutable = made.clone();
        mutable["immutable"] = json!(false);
        for (case, forged) in [other_run, other_profile, one_more, binary, mutable].into_iter().enumerate() {
            let mut play = Play::new(SIMULATOR);
            play.server.state().put("configmaps", &name, forged);
            play.play_out(Story::Evicted).await;
            let status = play.status();
            assert_eq!(status.reason, "NameConflict", "attempt {attempt}, case {case}: {status:#?}");
            assert!(play.ready_message().contains("delete it and create the run again"), "{}", play.ready_message());
            assert!(play.server.state().find("jobs", &name).is_none(), "attempt {attempt}, case {case}");
        }
        // Here the operator itself created the identical ConfigMap, before it was killed.
        let mut play = Play::new(SIMULATOR);
        play.server.state().put("configmaps", &name, made);
        play.play_out(Story::Evicted).await;
        assert_eq!(play.status().reason, "RunSucceeded", "attempt {attempt}: {}", play.ready_message());
    }
}

#[tokio::test]
async fn the_status_has_the_uid_of_the_config_map_and_another_one_in_its_place_ends_the_run() {
    let mut play = Play::new(SIMULATOR);
    play.server.state().refusal = Some(("jobs", 403, 2));
    play.round(Story::Plain).await;
    assert_eq!(play.status().attempts[0].config_map_uid, Some(format!("uid-of-configmaps-{JOB}")));
    let made = true_config_map(1).await;
    play.server.state().put("configmaps", JOB, made);
    play.play_out(Story::Plain).await;
    assert_eq!(play.status().reason, "NameConflict");
    assert_eq!(play.server.state().all("jobs").count(), 0);
}
