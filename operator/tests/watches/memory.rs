//! Tests of what the watches keep in memory, with a fake API server whose three watches are scripted.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use crds::status::Phase;
use futures::{StreamExt as _, channel::mpsc};
use http::{Request, Response};
use http_body_util::{BodyExt as _, StreamBody};
use kube::client::Body;
use operator::{context::Context, plan::Ended, watches::Runs};
use serde_json::{Value, json};

use crate::fixture::{Answer, failure, list, operator, response, run};

/// A scripted API server: lists the objects in `first`, and then streams the events that are sent to it. All other requests fail.
struct Script {
    first: HashMap<&'static str, Vec<Value>>,
    watches: Mutex<HashMap<&'static str, mpsc::UnboundedReceiver<Value>>>,
    live_reads: AtomicUsize,
}

impl Script {
    fn answer(&self, request: &Request<Body>) -> Answer {
        let path = request.uri().path();
        let kind = path.rsplit('/').next().unwrap_or_default();
        let Some((kind, items)) = self.first.get_key_value(kind) else {
            self.live_reads.fetch_add(1, Ordering::Relaxed);
            return failure(500);
        };
        if !request.uri().query().unwrap_or_default().contains("watch=true") {
            return response(200, &list(items, 1));
        }
        let watch = self.watches.lock().unwrap_or_else(std::sync::PoisonError::into_inner).remove(kind);
        let events = watch.map_or_else(|| futures::stream::pending().boxed(), futures::StreamExt::boxed);
        let frames = events.map(|event: Value| Ok(http_body::Frame::data(Bytes::from(format!("{event}\n")))));
        Response::new(StreamBody::new(frames).boxed_unsync())
    }
}

fn ended_pod(run: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("{run}-a1-0"), "namespace": "bench", "resourceVersion": "5", "uid": format!("uid-{run}-a1-0"),
            "deletionTimestamp": "2026-01-02T03:04:05Z",
            "labels": {"benchwright.dev/run": run, "benchwright.dev/run-uid": format!("uid-{run}"), "benchwright.dev/attempt": "1"},
        },
        "status": {"containerStatuses": [{
            "name": "launcher", "image": "i", "imageID": "i", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": 20, "message": "its last word"}},
        }]},
    })
}

struct Operator {
    context: Arc<Context>,
    script: Arc<Script>,
    runs: Runs,
    run_events: mpsc::UnboundedSender<Value>,
    pod_events: mpsc::UnboundedSender<Value>,
}

impl Operator {
    fn start(first: Vec<Value>) -> Operator {
        let (run_events, run_watch) = mpsc::unbounded();
        let (pod_events, pod_watch) = mpsc::unbounded();
        let script = Arc::new(Script {
            first: HashMap::from([("benchmarkruns", first), ("jobs", Vec::new()), ("pods", Vec::new())]),
            watches: Mutex::new(HashMap::from([("benchmarkruns", run_watch), ("pods", pod_watch)])),
            live_reads: AtomicUsize::new(0),
        });
        let service = Arc::clone(&script);
        let (context, runs) = operator(move |request| std::future::ready(service.answer(&request)));
        Operator { context, script, runs, run_events, pod_events }
    }

    /// Waits until all pending work is done. The clock is paused, so this takes no time.
    async fn settle(&self) {
        tokio::time::sleep(Duration::from_millis(900)).await;
    }

    fn tell(events: &mpsc::UnboundedSender<Value>, kind: &str, object: Value) {
        events
            .unbounded_send(json!({"type": kind, "object": object}))
            .expect("the watch lives as long as the operator");
    }

    fn seen(&self, name: &str) -> Option<Ended> {
        let run: crds::BenchmarkRun = serde_json::from_value(run(name, "Running", 1)).expect("the script's run is one");
        let status = run.status.expect("the script's run has one");
        self.context.ended_pods.get(&format!("uid-{name}"), &status.attempts[0])
    }

    fn has_failure(&self, run: &str) -> bool {
        self.context.failures.count(&format!("uid-{run}")) > 0
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_be_read_does_not_stop_the_others() {
    let mut malformed = run("odd", "Running", 1);
    malformed["spec"] = json!({"target": 7});
    let operator = Operator::start(vec![malformed, run("fine", "Running", 1)]);
    operator.settle().await;
    assert_eq!(operator.runs.states().iter().filter_map(|it| it.0).collect::<Vec<_>>(), [Phase::Running]);
    assert!(
        operator.has_failure("fine") && !operator.has_failure("odd"),
        "the readable run got its turn, the other got none"
    );
}

#[tokio::test(start_paused = true)]
async fn a_finished_run_and_our_own_status_writes_cause_no_requests() {
    let operator = Operator::start(vec![run("done", "Succeeded", 1)]);
    operator.settle().await;
    Operator::tell(&operator.run_events, "MODIFIED", run("done", "Succeeded", 2));
    operator.settle().await;
    assert_eq!(operator.script.live_reads.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_finished_run_of_an_older_release_is_read_for_its_mark() {
    let mut without_mark = run("done", "Succeeded", 1);
    without_mark["metadata"]["annotations"] = json!({});
    let operator = Operator::start(vec![without_mark]);
    operator.settle().await;
    assert!(operator.script.live_reads.load(Ordering::Relaxed) > 0);
}

/// The cache has no figures of a finished run. A status that was written from the cached run would therefore delete them.
#[tokio::test(start_paused = true)]
async fn a_finished_run_whose_spec_was_edited_is_read_live() {
    let mut edited = run("done", "Succeeded", 1);
    edited["metadata"]["generation"] = json!(2);
    let operator = Operator::start(vec![edited]);
    operator.settle().await;
    assert!(operator.script.live_reads.load(Ordering::Relaxed) > 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_deleted_run_stays_in_memory() {
    let operator = Operator::start(vec![run("chat", "Running", 1)]);
    operator.settle().await;
    Operator::tell(&operator.pod_events, "DELETED", ended_pod("chat"));
    operator.settle().await;
    let word = operator.seen("chat").map(|it| it.message);
    assert_eq!(word.as_deref(), Some("its last word"), "the event of the deletion is all that is left of the pod");

    Operator::tell(&operator.run_events, "DELETED", run("chat", "Running", 9));
    operator.settle().await;
    assert!(operator.seen("chat").is_none() && !operator.has_failure("chat"));

    // The garbage collector deletes the pods after the run is gone.
    Operator::tell(&operator.pod_events, "DELETED", ended_pod("chat"));
    operator.settle().await;
    assert!(operator.seen("chat").is_none(), "a word for nobody is kept");
}

#[tokio::test(start_paused = true)]
async fn only_the_pod_that_the_status_names_is_noted() {
    let operator = Operator::start(vec![run("chat", "Running", 1), run("done", "Succeeded", 1)]);
    operator.settle().await;
    let mut copy = ended_pod("chat");
    copy["metadata"]["uid"] = json!("another");
    let mut elsewhere = copy.clone();
    elsewhere["metadata"]["namespace"] = json!("other");
    for pod in [copy, elsewhere, ended_pod("done"), ended_pod("nobody")] {
        Operator::tell(&operator.pod_events, "MODIFIED", pod);
    }
    operator.settle().await;
    assert_eq!(operator.context.ended_pods.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_watch_on_runs_fills_the_line_of_each_target() {
    let of_target = |name: &str, phase: &str| {
        let mut run = run(name, phase, 1);
        run["spec"] = json!({"target": {"url": "http://gateway.llm-d"}});
        run
    };
    let operator = Operator::start(vec![of_target("chat", "Running"), run("simulated", "Running", 1)]);
    operator.settle().await;
    let knows = |uid: &str| operator.context.targets.knows(uid, jiff::Timestamp::now());
    assert!(knows("uid-chat") && !knows("uid-simulated"), "a simulator is never waited for");
    Operator::tell(&operator.run_events, "ADDED", of_target("later", "Pending"));
    operator.settle().await;
    assert!(knows("uid-later"));
    for name in ["chat", "later"] {
        Operator::tell(&operator.run_events, "DELETED", of_target(name, "Running"));
    }
    operator.settle().await;
    assert!(knows("uid-chat"), "its launcher may still drain");
}
