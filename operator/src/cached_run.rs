//! The fields of a run that the cache keeps. They suffice because each reconciliation of an unfinished run reads the run from the API server, and a
//! finished run needs few fields. So the large annotations or profiles of one user cannot fill the operator's memory.

use std::borrow::Cow;

use crds::{
    BenchmarkRun, BenchmarkRunSpec, BenchmarkRunStatus, Outcome, Reason, ServerStatus,
    benchmark_run::{Cleanup, ServerCleanup},
    reason::Reported,
    resolve::server_cleanup,
    status::{Attempt, Phase},
};
use jiff::Timestamp;
use k8s_openapi::{NamespaceResourceScope, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{Resource, core::DeserializeGuard};
use serde::Deserialize;

use crate::plan::{
    current_attempt,
    finished::{FINISHED, Mark, keeps_jobs},
    server::retention::keeps_server,
};

/// A run, or the error if this release cannot deserialize it. An unreadable run must not stop the watch on all other runs.
pub type Guarded = DeserializeGuard<BenchmarkRun>;

/// Number of objects per page of a list request. A page is in memory both as text and as objects. In it, a run takes at most half a megabyte for its
/// spec and half a megabyte for its status, because the CRD bounds both; [`crate::connection::trim`] cuts the rest.
pub const PAGE: u32 = 20;

/// The fields of a run that decisions need. A whole BenchmarkRun would take kilobytes even if all its fields were empty.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Guarded")]
pub struct CachedRun {
    metadata: ObjectMeta,
    /// The fields that the cache keeps. `None` if this release cannot deserialize the run.
    kept: Option<Kept>,
}

#[derive(Clone, Debug)]
struct Kept {
    cleanup: Cleanup,
    status: Option<KeptStatus>,
}

#[derive(Clone, Debug)]
struct KeptStatus {
    observed_generation: i64,
    phase: Option<Phase>,
    outcome: Option<Outcome>,
    completion_time: Option<Timestamp>,
    jobs_deleted_time: Option<Timestamp>,
    /// The current attempt. The watch on pods compares pods with the attempt's pod.
    attempt: Option<Box<Attempt>>,
    reason: Reported<Reason>,
    /// The server, as long as parts of it can have to be removed.
    server: Option<Box<KeptServer>>,
}

#[derive(Clone, Debug)]
struct KeptServer {
    name: String,
    start_time: Timestamp,
}

impl From<Guarded> for CachedRun {
    fn from(mut run: Guarded) -> Self {
        let metadata = std::mem::take(run.meta_mut());
        let mut annotations = metadata.annotations.unwrap_or_default();
        annotations.retain(|key, _| key == FINISHED);
        let metadata = ObjectMeta {
            name: metadata.name,
            namespace: metadata.namespace,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            generation: metadata.generation,
            creation_timestamp: metadata.creation_timestamp,
            deletion_timestamp: metadata.deletion_timestamp,
            annotations: Some(annotations).filter(|it| !it.is_empty()),
            ..ObjectMeta::default()
        };
        let kept = run.0.ok().map(|run| {
            // The default retention depends on the server's lifecycle, which the cache does not keep. So the cache keeps the resolved retention.
            let server = server_cleanup(&run.spec).map(|it| ServerCleanup {
                after_success_seconds: Some(it.after_success_seconds),
                after_failure_seconds: Some(it.after_failure_seconds),
            });
            Kept { cleanup: Cleanup { server, ..run.spec.cleanup }, status: run.status.map(KeptStatus::from) }
        });
        CachedRun { metadata, kept }
    }
}

impl From<BenchmarkRunStatus> for KeptStatus {
    fn from(status: BenchmarkRunStatus) -> Self {
        KeptStatus {
            observed_generation: status.observed_generation,
            phase: status.phase,
            outcome: status.outcome,
            completion_time: status.completion_time,
            jobs_deleted_time: status.jobs_deleted_time,
            attempt: current_attempt(&status).cloned().map(Box::new),
            server: status.server.filter(|it| it.gone_time.is_none() && it.left_time.is_none()).map(KeptServer::boxed),
            reason: status.reason,
        }
    }
}

impl KeptServer {
    fn boxed(server: ServerStatus) -> Box<KeptServer> {
        Box::new(KeptServer { name: server.name, start_time: server.start_time })
    }
}

impl CachedRun {
    /// The run with only the fields that the cache keeps. `None` if this release cannot deserialize it.
    pub fn run(&self) -> Option<BenchmarkRun> {
        let kept = self.kept.as_ref()?;
        let status = kept.status.as_ref().map(|it| BenchmarkRunStatus {
            observed_generation: it.observed_generation,
            phase: it.phase,
            outcome: it.outcome,
            completion_time: it.completion_time,
            jobs_deleted_time: it.jobs_deleted_time,
            attempts: it.attempt.as_deref().cloned().into_iter().collect(),
            reason: it.reason.clone(),
            server: it.server.as_ref().map(|it| ServerStatus::new(it.name.clone(), 0, it.start_time)),
            ..BenchmarkRunStatus::default()
        });
        let spec = BenchmarkRunSpec { cleanup: kept.cleanup.clone(), ..BenchmarkRunSpec::default() };
        Some(BenchmarkRun { metadata: self.metadata.clone(), spec, status })
    }

    /// Phase and outcome, each if the run has it and this release knows it.
    pub fn state(&self) -> (Option<Phase>, Option<Outcome>) {
        let status = self.kept.as_ref().and_then(|it| it.status.as_ref());
        (status.and_then(|it| it.phase), status.and_then(|it| it.outcome))
    }
}

impl Resource for CachedRun {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        BenchmarkRun::kind(&())
    }

    fn group(_: &()) -> Cow<'_, str> {
        BenchmarkRun::group(&())
    }

    fn version(_: &()) -> Cow<'_, str> {
        BenchmarkRun::version(&())
    }

    fn plural(_: &()) -> Cow<'_, str> {
        BenchmarkRun::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Whether a reconciliation can use the cached run: it has finished, has its mark, and needs no status write. Every other run is read from the API
/// server, because a decision on an outdated status could create a second Job, and because a status write needs the whole status.
pub fn is_enough(run: &BenchmarkRun) -> bool {
    let observed = run.status.as_ref().map(|it| it.observed_generation);
    run.is_finished()
        && Mark::read(run).is_some()
        && observed == Some(run.metadata.generation.unwrap_or_default())
        // A reconciliation that deletes Jobs writes the time of the deletion into the status, so it needs the whole status.
        && !keeps_jobs(run)
        && !keeps_server(run)
}

/// Whether no later reconciliation has work for this run: it has finished, and the operator will never delete it.
pub fn is_settled(run: &BenchmarkRun) -> bool {
    is_enough(run) && run.spec.cleanup.run.is_none()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const MARK: &str = "{\"name\": \"chat\"}";

    fn run(phase: &str) -> Value {
        let text = "x".repeat(1_000);
        json!({
            "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun",
            "metadata": {
                "name": "chat", "namespace": "bench", "uid": "u", "resourceVersion": "7", "generation": 2,
                "creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": "2026-01-02T03:04:06Z",
                "annotations": {"note": text, FINISHED: MARK, "kubectl.kubernetes.io/last-applied-configuration": text},
                "labels": {"note": text}, "finalizers": [text],
                "managedFields": [{"manager": text, "operation": "Apply"}],
                "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": text, "uid": "o"}],
            },
            "spec": {
                "target": {"url": text}, "profile": {"inline": text}, "launcher": {"image": text, "labels": {"note": text}},
                "cleanup": {"run": {"afterSuccessSeconds": 5}},
            },
            "status": {
                "observedGeneration": 2, "phase": phase, "outcome": "Passed", "reason": "RunSucceeded",
                "completionTime": "2026-01-02T03:04:05Z",
                "attempts": [
                    {"number": 1, "jobName": text, "startTime": "2026-01-02T03:04:05Z", "endTime": "2026-01-02T03:04:05Z"},
                    {"number": 2, "jobName": "chat-a2", "podUID": "p", "startTime": "2026-01-02T03:04:05Z"},
                ],
                "conditions": [{
                    "type": "Ready", "status": "True", "reason": "RunSucceeded", "message": text,
                    "lastTransitionTime": "2026-01-02T03:04:05Z",
                }],
                "resolved": {"endpoint": text, "profileSha256": text},
            },
        })
    }

    fn slimmed(run: Value) -> BenchmarkRun {
        serde_json::from_value::<CachedRun>(run).unwrap().run().unwrap()
    }

    #[test]
    fn only_what_a_decision_on_a_cached_run_needs_is_kept() {
        let run = serde_json::to_value(slimmed(run("Running"))).unwrap();
        assert_eq!(
            run["metadata"],
            json!({
                "name": "chat", "namespace": "bench", "uid": "u", "resourceVersion": "7", "generation": 2,
                "creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": "2026-01-02T03:04:06Z",
                "annotations": {FINISHED: MARK},
            })
        );
        assert_eq!(run["spec"], json!({"target": {}, "cleanup": {"run": {"afterSuccessSeconds": 5}}}));
        assert_eq!(
            run["status"],
            json!({
                "observedGeneration": 2, "phase": "Running", "outcome": "Passed", "reason": "RunSucceeded",
                "completionTime": "2026-01-02T03:04:05Z",
                "attempts": [{"number": 2, "jobName": "chat-a2", "podUID": "p", "startTime": "2026-01-02T03:04:05Z"}],
            })
        );
    }

    #[test]
    fn a_run_that_cannot_be_read_keeps_as_little() {
        let mut odd = run("Running");
        odd["spec"]["harness"] = json!("harness-of-tomorrow");
        let odd: CachedRun = serde_json::from_value(odd).unwrap();
        assert!(odd.run().is_none());
        let keys: Vec<_> = odd.meta().annotations.iter().flat_map(|it| it.keys().map(String::as_str)).collect();
        assert_eq!((keys, &odd.meta().labels), (vec![FINISHED], &None));
    }

    #[test]
    fn a_status_that_is_written_is_read_live_before() {
        assert!(!is_enough(&slimmed(run("Running"))));
        assert!(is_enough(&slimmed(run("Succeeded"))));
        let mut edited = run("Succeeded");
        edited["metadata"]["generation"] = json!(3);
        assert!(!is_enough(&slimmed(edited)), "observedGeneration is written, and the figures with it");
        let mut with_jobs = run("Succeeded");
        with_jobs["spec"]["cleanup"] = json!({"jobs": {}});
        assert!(
            !is_enough(&slimmed(with_jobs.clone())),
            "the time of the deletion is written, and the figures with it"
        );
        with_jobs["status"]["jobsDeletedTime"] = json!("2026-01-02T04:04:05Z");
        assert!(is_settled(&slimmed(with_jobs)));
        let mut with_server = run("Succeeded");
        with_server["spec"]["cleanup"] = json!({"server": {}});
        with_server["status"]["server"] = json!({"name": "s", "replicas": 1, "startTime": "2026-01-02T03:04:05Z"});
        let kept = slimmed(with_server.clone());
        assert!(!is_enough(&kept), "the time at which it is gone is written, and its lifecycle is not kept");
        assert_eq!(kept.status.unwrap().server.map(|it| it.name).as_deref(), Some("s"), "a deleted run may leave it");
        with_server["status"]["server"]["goneTime"] = json!("2026-01-02T04:04:05Z");
        assert!(is_settled(&slimmed(with_server)));
        let mut without_mark = run("Succeeded");
        without_mark["metadata"]["annotations"] = json!({});
        assert!(!is_enough(&slimmed(without_mark)), "the mark is made of the whole status");
    }
}
