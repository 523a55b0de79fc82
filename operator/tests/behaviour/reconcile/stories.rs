//! Whole runs in which one problem occurs.

use std::sync::Arc;

use crds::status::Phase;
use kube::ResourceExt as _;
use operator::{
    error::Error,
    reconcile::{on_error, reconcile},
};
use serde_json::{Value, json};

use super::{
    Play,
    server::{self, Fault},
    world::{Story, step},
};
use crate::behaviour::fixture::{SIMULATOR, run};

const STORIES: [(Story, Phase, &str); 8] = [
    (Story::Plain, Phase::Succeeded, "RunSucceeded"),
    (Story::Evicted, Phase::Succeeded, "RunSucceeded"),
    (Story::Cancelled, Phase::Cancelled, "Cancelled"),
    (Story::CancelledAtOnce, Phase::Cancelled, "Cancelled"),
    (Story::Suspended, Phase::Succeeded, "RunSucceeded"),
    (Story::JobDeleted, Phase::Failed, "JobLost"),
    (Story::JobOrphaned, Phase::Failed, "JobLost"),
    (Story::JobOrphanedEarly, Phase::Failed, "JobLost"),
];

#[tokio::test]
async fn every_story_ends_as_it_should() {
    for (story, phase, reason) in STORIES {
        let mut play = Play::new(SIMULATOR);
        play.play_out(story).await;
        let status = play.status();
        assert_eq!((status.phase, status.reason.as_str()), (Some(phase), reason), "{story:?} {status:#?}");
        let attempts = if matches!(story, Story::Evicted | Story::Suspended) { 2 } else { 1 };
        assert_eq!(status.attempts.len(), attempts, "{story:?}");
        assert!(status.attempts.iter().all(|it| it.end_time.is_some()), "{story:?}");
        assert_eq!(play.context.ended_pods.count(), 0, "{story:?}: how it ended is in the status now");
        assert_eq!(play.loading(), Vec::<String>::new(), "{story:?}: pods that nobody ends");
    }
}

#[tokio::test]
async fn a_run_takes_at_most_twelve_writes() {
    let mut play = Play::new(SIMULATOR);
    play.play_out(Story::Plain).await;
    let writes = play.server.state().writes.clone();
    println!("{} reads, {} writes: {writes:#?}", play.server.state().reads, writes.len());
    assert!(writes.len() <= 12, "{writes:#?}");
    assert_eq!(writes.len() as u64, play.context.metrics.writes(), "the metric counts the same");
}

/// Plays a story once for each of its writes, with this fault in that write.
async fn check_every_write(story: Story, faults: &[Fault]) {
    if story == Story::JobOrphanedEarly {
        // The end of this story depends on the fault: if the response to the creation of the Job is lost, the operator creates another Job.
        return;
    }
    let mut whole = Play::new(SIMULATOR);
    let expected = whole.play_out(story).await;
    let writes = whole.server.state().writes.clone();
    assert!(writes.len() >= 8, "{writes:?}");
    for (number, write) in writes.iter().enumerate() {
        for fault in faults {
            let mut play = Play::new(SIMULATOR);
            play.server.state().fault = Some((number, *fault));
            let end = play.play_out(story).await;
            let comes_to = format!("{story:?}, {fault:?} at write {number}, {write}");
            if matches!(story, Story::Cancelled | Story::CancelledAtOnce | Story::JobDeleted | Story::JobOrphaned) {
                assert_eq!(end.without_figures(), expected.without_figures(), "{comes_to}");
            } else {
                assert_eq!(end, expected, "{comes_to}");
            }
        }
    }
}

#[tokio::test]
async fn an_operator_that_is_killed_at_any_write_comes_to_the_same_end() {
    for (story, ..) in STORIES {
        check_every_write(story, &[Fault::KilledBefore, Fault::KilledAfter]).await;
    }
}

#[tokio::test]
async fn a_write_that_fails_or_whose_answer_is_lost_changes_no_end() {
    let refusals = [409, 429, 500, 503].map(Fault::Status);
    for (story, ..) in STORIES {
        check_every_write(story, &refusals).await;
        check_every_write(story, &[Fault::AnswerLost]).await;
    }
}

#[tokio::test]
async fn a_status_that_arrives_late_does_not_undo_a_newer_one() {
    let mut whole = Play::new(SIMULATOR);
    whole.play_out(Story::Plain).await;
    let writes = whole.server.state().writes.clone();
    let patches: Vec<_> = (0..writes.len()).filter(|it| writes[*it] == "PATCH benchmarkruns").collect();
    assert!(patches.len() >= 4, "{writes:?}");
    for number in patches {
        let mut play = Play::new(SIMULATOR);
        play.server.state().fault = Some((number, Fault::Late));
        let end = play.play_out(Story::Plain).await;
        assert_eq!(end.status["phase"], "Succeeded");
        assert_eq!(play.server.state().deliver(), [409], "write {number}");
        assert_eq!(play.end(), end, "write {number}");
    }
}

#[tokio::test]
async fn a_run_that_changes_during_a_turn_is_read_again_at_once() {
    let mut play = Play::new(SIMULATOR);
    play.server.state().fault = Some((0, Fault::Status(409)));
    assert!(play.round(Story::Plain).await);
    assert_eq!(play.status().phase, Some(Phase::Starting), "the turn began again and did its work");
    let uid = play.cached().unwrap().uid().unwrap();
    assert_eq!(play.context.failures.count(&uid), 0);
    assert!(!play.context.metrics.text().contains("reconcile_errors_total{"), "a conflict is no failed turn");
}

#[tokio::test]
async fn a_quota_that_lets_go_in_time_is_only_told_of() {
    let mut play = Play::new(SIMULATOR);
    play.server.state().refusal = Some(("jobs", 403, 3));
    play.round(Story::Plain).await;
    let status = play.status();
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Preparing), "Preparing"));
    let ready = status.conditions.iter().find(|it| it.kind == "Ready").unwrap();
    assert!(ready.message.contains("Job \"chat-2db482-a1\" with 403: it is not wanted here"), "{}", ready.message);
    play.play_out(Story::Plain).await;
    assert_eq!(play.status().phase, Some(Phase::Succeeded));
    let state = play.server.state();
    let warnings = state.all("events").filter(|it| it["type"] == "Warning");
    assert_eq!(warnings.count(), 1, "the same words are told once");
}

#[tokio::test]
async fn a_job_that_is_wrong_for_good_fails_the_run_with_the_servers_words() {
    let mut play = Play::new(SIMULATOR);
    play.server.state().refusal = Some(("jobs", 422, usize::MAX));
    play.play_out(Story::Plain).await;
    let status = play.status();
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "InvalidSpec"));
    assert!(status.conditions.iter().any(|it| it.kind == "Stalled" && it.message.contains("not wanted")));
}

#[tokio::test]
async fn errors_of_the_profile_are_told_with_those_of_the_spec() {
    let profile = "{data: {type: mock}, load: {type: constant, stages: [{rate: 5, duration: 5}]}}";
    let mut play = Play::new(&format!(
        "{{target: {{}}, execution: {{deadlines: {{runSeconds: 0}}}}, \
         profile: {{inline: '{profile}', overrides: {{load.stages.0.rate: '-5'}}}}}}"
    ));
    play.play_out(Story::Plain).await;
    let status = play.status();
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "InvalidSpec"));
    let stalled = status.conditions.iter().find(|it| it.kind == "Stalled").unwrap();
    for part in
        ["spec.target: ", "spec.execution.deadlines.runSeconds: is 0", "spec.profile: load.stages[0].rate: is -5"]
    {
        assert!(stalled.message.contains(part), "{part}: {}", stalled.message);
    }
}

#[tokio::test]
async fn objects_of_others_are_left_alone() {
    for plural in ["configmaps", "jobs"] {
        let mut play = Play::new(SIMULATOR);
        let foreign = json!({"metadata": {"name": "chat-2db482-a1", "namespace": "bench", "uid": "x"}});
        play.server.state().put(plural, "chat-2db482-a1", foreign.clone());
        play.play_out(Story::Plain).await;
        assert_eq!(play.status().reason, "NameConflict");
        assert_eq!(play.server.state().find(plural, "chat-2db482-a1").unwrap()["metadata"]["uid"], "x");
    }
}

#[tokio::test]
async fn a_file_of_the_profile_that_is_missing_is_named_and_waited_for() {
    let files = "[{claim: {claimName: datasets}}, {configMapRef: {name: traces, key: prod.csv}}]";
    let mut play = Play::new(&format!("{{target: {{simulator: {{}}}}, profile: {{files: {files}}}}}"));
    let traces = |data: Value| json!({"metadata": {"name": "traces", "namespace": "bench"}, "binaryData": data});
    for (found, says) in
        [(None, "the run waits for this at most 900 seconds"), (Some(json!({"other.csv": ""})), "it has 1 key")]
    {
        if let Some(found) = found {
            play.server.state().put("configmaps", "traces", traces(found));
        }
        play.round(Story::Plain).await;
        let status = play.status();
        assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Pending), "ProfileNotFound"));
        let ready = status.conditions.iter().find(|it| it.kind == "Ready").unwrap();
        assert!(
            ready.message.contains("spec.profile.files[1].configMapRef") && ready.message.contains(says),
            "{ready:?}"
        );
    }
    play.server.state().put("configmaps", "traces", traces(json!({"prod.csv": "AA=="})));
    play.play_out(Story::Plain).await;
    assert_eq!(play.status().phase, Some(Phase::Succeeded));
}

#[tokio::test]
async fn a_run_that_is_being_deleted_gets_no_children() {
    let mut play = Play::new(SIMULATOR);
    let mut object = play.server.state().find("benchmarkruns", "chat").unwrap().clone();
    object["metadata"]["deletionTimestamp"] = json!(server::now());
    play.server.state().put("benchmarkruns", "chat", object);
    play.round(Story::Plain).await;
    assert_eq!(play.server.state().writes, Vec::<String>::new());
}

#[tokio::test]
async fn a_status_never_lands_on_another_run_of_the_same_name() {
    let mut play = Play::new(SIMULATOR);
    play.round(Story::Plain).await;
    let stale = Arc::new(play.cached().unwrap());
    let first = play.status().attempts[0].job_name.clone();
    let mut other = serde_json::to_value(run(SIMULATOR)).unwrap();
    other["metadata"]["uid"] = json!("another");
    play.server.state().put("benchmarkruns", "chat", other);
    // The cache still has the first run. The turn reads the run from the API server, so it does not touch the objects of the new run.
    reconcile(stale, Arc::clone(&play.context)).await.unwrap();
    assert_eq!(play.cached().unwrap().uid().as_deref(), Some("another"));
    let status = play.status();
    assert_eq!((status.phase, status.attempts.len()), (Some(Phase::Starting), 1), "{status:?}");
    assert_ne!(status.attempts[0].job_name, first);
}

#[tokio::test]
async fn a_finished_run_is_deleted_when_its_time_is_over() {
    let mut play = Play::new("{target: {simulator: {}}, cleanup: {run: {afterSuccessSeconds: 0}}}");
    play.play_out(Story::Plain).await;
    assert!(play.cached().is_none());
    assert!(play.server.state().writes.contains(&"DELETE benchmarkruns".to_owned()));
}

const CLEANED: &str = "{target: {simulator: {}}, cleanup: {jobs: {afterSuccessSeconds: 0, afterFailureSeconds: 0}}}";

/// Plays until all Jobs are gone. It does not stop when the operator writes nothing, because that happens while a Job is being deleted.
async fn play_until_cleaned(play: &mut Play, story: Story) {
    for _ in 0..60 {
        if play.status().jobs_deleted_time.is_some() {
            return;
        }
        play.round(story).await;
    }
    panic!("the Jobs stay: {:#?}", play.status());
}

fn left(play: &Play, plural: &str) -> Vec<String> {
    play.server.state().all(plural).map(|it| it["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn the_jobs_of_a_finished_run_are_deleted_and_run_and_claim_stay() {
    for (story, phase) in
        [(Story::Plain, Phase::Succeeded), (Story::Evicted, Phase::Succeeded), (Story::Cancelled, Phase::Cancelled)]
    {
        let mut play = Play::new(CLEANED);
        play_until_cleaned(&mut play, story).await;
        for plural in ["jobs", "pods"] {
            assert_eq!(left(&play, plural), Vec::<String>::new(), "{story:?}");
        }
        assert_eq!(left(&play, "persistentvolumeclaims"), ["workload-pvc"]);
        let status = play.status();
        assert_eq!((status.phase, status.summary.is_some()), (Some(phase), true), "{story:?}");
        assert!(status.attempts.iter().all(|it| it.end_time.is_some()));
        // From now on the run must cause no request.
        let run = Arc::new(play.cached().unwrap());
        let requests = |play: &Play| {
            let state = play.server.state();
            (state.reads, state.writes.len())
        };
        let before = requests(&play);
        reconcile(run, Arc::clone(&play.context)).await.unwrap();
        assert_eq!(requests(&play), before, "{story:?}");
    }
}

#[tokio::test]
async fn an_operator_that_fails_at_any_write_deletes_the_jobs_all_the_same() {
    let mut whole = Play::new(CLEANED);
    play_until_cleaned(&mut whole, Story::Plain).await;
    let writes = whole.server.state().writes.clone();
    assert!(writes.contains(&"DELETE jobs".to_owned()), "{writes:?}");
    for (number, write) in writes.iter().enumerate() {
        for fault in [Fault::KilledBefore, Fault::KilledAfter, Fault::AnswerLost, Fault::Status(500)] {
            let mut play = Play::new(CLEANED);
            play.server.state().fault = Some((number, fault));
            play_until_cleaned(&mut play, Story::Plain).await;
            for plural in ["jobs", "pods"] {
                assert_eq!(left(&play, plural), Vec::<String>::new(), "{fault:?} at {number}, {write}");
            }
            assert_eq!(play.status().phase, Some(Phase::Succeeded));
        }
    }
}

#[tokio::test]
async fn nothing_of_a_run_that_is_gone_stays_in_memory() {
    let mut play = Play::new(SIMULATOR);
    play.play_until(Phase::Running).await;
    // The launcher ends before the operator reads its pod.
    for _ in 0..10 {
        let pods = step(&mut play.server.state(), Story::Plain);
        play.watch(&pods);
    }
    let run = Arc::new(play.cached().unwrap());
    let error = Error::Conflict { kind: "Job".into(), name: "chat-2db482-a1".into() };
    on_error(Arc::clone(&run), &error, Arc::clone(&play.context));
    let uid = run.uid().unwrap();
    let sizes = |play: &Play| (play.context.ended_pods.count(), play.context.failures.count(&uid));
    assert_eq!(sizes(&play), (1, 1));
    play.context.forget("another");
    assert_eq!(sizes(&play), (1, 1));
    play.context.forget(&uid);
    assert_eq!(sizes(&play), (0, 0));
}
