//! The real loop on an API server of our own that loses, refuses and repeats, with an operator that is killed.

mod server;
mod world;

use std::{collections::BTreeSet, sync::Arc};

use crds::{BenchmarkRun, BenchmarkRunStatus, Outcome, status::Phase};
use k8s_openapi::api::core::v1::Pod;
use kube::{ResourceExt as _, runtime::events::Reporter};
use operator::{
    connection::{Health, Limits},
    context::Context,
    error::Error,
    reconcile::{on_error, reconcile},
};
use serde_json::{Value, json};

use self::{
    server::{Fault, Server, State},
    world::{Story, owner, step},
};
use crate::fixture::{SIMULATOR, UID, envelope, run, said, settings};

/// Far more than any story takes; what needs more goes in circles.
const MAX_ROUNDS: usize = 60;

/// What is left when all has come to rest.
#[derive(Debug, PartialEq)]
struct End {
    status: Value,
    children: BTreeSet<String>,
}

impl End {
    /// The last word of a pod that was deleted can be seen only while it goes: who is away in that moment has no figures.
    fn without_figures(&self) -> (Vec<&Value>, Vec<&String>) {
        let fields = ["phase", "outcome", "reason", "attempts", "observedGeneration"];
        let kept = self.children.iter().filter(|it| !it.starts_with("jobs/"));
        (fields.map(|it| &self.status[it]).into(), kept.collect())
    }
}

struct Play {
    server: Server,
    context: Arc<Context>,
}

impl Play {
    fn new(spec: &str) -> Self {
        let server = Server::default();
        let mut object = serde_json::to_value(run(spec)).unwrap();
        object["metadata"]["creationTimestamp"] = json!(server::now());
        server.state().put("benchmarkruns", "chat", object);
        let context = context(&server);
        Play { server, context }
    }

    fn cached(&self) -> Option<BenchmarkRun> {
        let object = self.server.state().find("benchmarkruns", "chat").cloned()?;
        Some(serde_json::from_value(object).unwrap())
    }

    /// One turn of the operator, then one step of everything else. False when nothing is left to be done.
    async fn round(&mut self, story: Story) -> bool {
        let Some(run) = self.cached() else { return false };
        let before = self.server.state().writes.len();
        let run = Arc::new(run);
        let turn = reconcile(Arc::clone(&run), Arc::clone(&self.context)).await;
        if let Err(error) = &turn {
            on_error(run, error, Arc::clone(&self.context));
        }
        if std::mem::take(&mut self.server.state().dead) {
            // Nothing that was only in memory is left.
            self.context = context(&self.server);
        }
        let wrote = self.server.state().writes.len() > before;
        let pods = step(&mut self.server.state(), story);
        self.watch(&pods);
        let terminal = self.status().phase.is_some_and(Phase::is_terminal);
        turn.is_err() || wrote || !terminal
    }

    /// What the watch on pods does with each event.
    fn watch(&self, pods: &[Pod]) {
        let Some(run) = self.cached() else { return };
        pods.iter().for_each(|it| self.context.ended_pods.note(&run, it));
    }

    async fn play_until(&mut self, phase: Phase) {
        for _ in 0..MAX_ROUNDS {
            if self.status().phase == Some(phase) {
                return;
            }
            self.round(Story::Plain).await;
        }
        panic!("never {phase:?}: {:#?}", self.status());
    }

    async fn play_out(&mut self, story: Story) -> End {
        for _ in 0..MAX_ROUNDS {
            if !self.round(story).await {
                return self.end();
            }
        }
        panic!("it goes in circles: {:#?}", self.status());
    }

    /// Pods that work on, and that nobody has asked to end.
    fn loading(&self) -> Vec<String> {
        let state = self.server.state();
        let works = |pod: &&Value| {
            pod["metadata"]["deletionTimestamp"].is_null()
                && pod["status"]["containerStatuses"][0]["state"]["terminated"].is_null()
        };
        state.all("pods").filter(works).map(|it| it["metadata"]["name"].to_string()).collect()
    }

    fn status(&self) -> BenchmarkRunStatus {
        self.cached().and_then(|it| it.status).unwrap_or_default()
    }

    fn end(&self) -> End {
        let status = timeless(serde_json::to_value(self.status()).unwrap());
        let state = self.server.state();
        assert!(state.most_live_jobs <= 1, "{} Jobs at once", state.most_live_jobs);
        End { status, children: children(&state) }
    }
}

fn context(server: &Server) -> Arc<Context> {
    let reporter = Reporter { controller: "benchwright-operator".into(), instance: Some("test".into()) };
    Arc::new(Context::new(server.client(), settings(), reporter, Arc::new(Health::new(Limits::default()))))
}

fn children(state: &State) -> BTreeSet<String> {
    let plurals = ["configmaps", "persistentvolumeclaims", "jobs"];
    let kept = state.objects.keys().filter(|(plural, _)| plurals.contains(&plural.as_str()));
    kept.map(|(plural, name)| format!("{plural}/{name}")).collect()
}

/// The same value with every time taken out.
fn timeless(value: Value) -> Value {
    match value {
        Value::String(text) if text.parse::<jiff::Timestamp>().is_ok() => json!("a time"),
        Value::Array(items) => items.into_iter().map(timeless).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, timeless(value))).collect(),
        other => other,
    }
}

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
    println!("{} writes: {writes:#?}", writes.len());
    assert!(writes.len() <= 12, "{writes:#?}");
    assert_eq!(writes.len() as u64, play.context.metrics.writes(), "the metric counts the same");
}

/// Plays a story once for each of its writes, and lets that write come to harm.
async fn check_every_write(story: Story, faults: &[Fault]) {
    if story == Story::JobOrphanedEarly {
        // An operator that lost the answer to the Job's creation makes the Job again, so that the end depends on the fault.
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
        [(None, "the run waits for it 900 seconds"), (Some(json!({"other.csv": ""})), "it has other.csv")]
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
    // The cache still has the first one; what is live counts, and it meets nothing of its namesake.
    reconcile(stale, Arc::clone(&play.context)).await.unwrap();
    assert_eq!(play.cached().unwrap().uid().as_deref(), Some("another"));
    let status = play.status();
    assert_eq!((status.phase, status.attempts.len()), (Some(Phase::Starting), 1), "{status:?}");
    assert_ne!(status.attempts[0].job_name, first);
}

#[tokio::test]
async fn a_finished_run_is_deleted_when_its_time_is_over() {
    let mut play = Play::new("{target: {simulator: {}}, ttlSecondsAfterFinished: {succeeded: 0}}");
    play.play_out(Story::Plain).await;
    assert!(play.cached().is_none());
    assert!(play.server.state().writes.contains(&"DELETE benchmarkruns".to_owned()));
}

#[tokio::test]
async fn nothing_of_a_run_that_is_gone_stays_in_memory() {
    let mut play = Play::new(SIMULATOR);
    play.play_until(Phase::Running).await;
    // The launcher ends, and nobody has looked yet.
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

const JOB: &str = "chat-2db482-a1";

/// A pod with all labels of the true one, whose container says that the run has passed with figures of its own.
fn forged(owners: Value) -> Value {
    let mut envelope = envelope(Outcome::Passed, "RunSucceeded");
    envelope.core.model = "forged".into();
    let said = said(&envelope);
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            // Its name comes before that of the true one in every list, and its time after.
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

/// One that works on, made in the second in which the Job made its own.
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
