//! The watches and what they keep, on an API server that plays three scripted watches.

use std::{
    collections::HashMap,
    convert::Infallible,
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
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use kube::{Client, client::Body};
use operator::{
    connection::{Health, Limits},
    context::Context,
    plan::Ended,
    watches::{self, Runs},
};
use serde_json::{Value, json};

use crate::fixture::{context, list, run};

type Answer = UnsyncBoxBody<Bytes, Infallible>;

/// Lists `first`, then streams what is sent to it; everything that is no list and no watch fails.
struct Script {
    first: HashMap<&'static str, Vec<Value>>,
    watches: Mutex<HashMap<&'static str, mpsc::UnboundedReceiver<Value>>>,
    live_reads: AtomicUsize,
}

impl Script {
    fn answer(&self, request: &Request<Body>) -> Response<Answer> {
        let path = request.uri().path();
        let kind = path.rsplit('/').next().unwrap_or_default();
        let Some((kind, items)) = self.first.get_key_value(kind) else {
            self.live_reads.fetch_add(1, Ordering::Relaxed);
            let failure =
                json!({"kind": "Status", "status": "Failure", "code": 500, "reason": "InternalError", "message": "x"});
            return response(500, full(&failure));
        };
        if !request.uri().query().unwrap_or_default().contains("watch=true") {
            return response(200, full(&list(items, 1)));
        }
        let watch = self.watches.lock().unwrap_or_else(std::sync::PoisonError::into_inner).remove(kind);
        let events = watch.map_or_else(|| futures::stream::pending().boxed(), futures::StreamExt::boxed);
        let frames = events.map(|event: Value| Ok(http_body::Frame::data(Bytes::from(format!("{event}\n")))));
        response(200, StreamBody::new(frames).boxed_unsync())
    }
}

fn full(value: &Value) -> Answer {
    Full::new(Bytes::from(value.to_string())).boxed_unsync()
}

fn response(status: u16, body: Answer) -> Response<Answer> {
    let mut response = Response::new(body);
    *response.status_mut() = http::StatusCode::from_u16(status).expect("the script's codes are codes");
    response
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
        let client = Client::new(
            tower::service_fn(move |request| {
                let answer = service.answer(&request);
                async move { Ok::<_, Infallible>(answer) }
            }),
            "bench",
        );
        let context = context(client, Arc::new(Health::new(Limits::default())));
        let (turns, runs) = watches::controller(None, &context, futures::future::pending());
        tokio::spawn(turns);
        Operator { context, script, runs, run_events, pod_events }
    }

    /// Lets all that can happen happen; the clock is paused, so that this takes no time.
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
    assert_eq!(operator.runs.phases().iter().flatten().collect::<Vec<_>>(), [&Phase::Running]);
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

    // The garbage collector deletes the pods after their run.
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
