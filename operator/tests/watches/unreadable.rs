//! Tests with runs that this release cannot parse, on a fake API server that records writes.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, StreamBody};
use kube::client::Body;
use operator::context::Context;
use serde_json::{Value, json};

use crate::fixture::{Answer, failure, list, operator, response, run};

/// A fake API server with its runs, and the path and body of each write.
struct Server {
    runs: Vec<Value>,
    written: Mutex<Vec<(String, Value)>>,
}

impl Server {
    async fn answer(&self, request: Request<Body>) -> Answer {
        let path = request.uri().path().to_owned();
        let watches = request.uri().query().unwrap_or_default().contains("watch=true");
        let reads = request.method() == Method::GET;
        let body = request.into_body().collect().await.map(|it| it.to_bytes()).unwrap_or_default();
        let found = match path.rsplit('/').next().unwrap_or_default() {
            _ if watches => return Response::new(StreamBody::new(futures::stream::pending()).boxed_unsync()),
            "benchmarkruns" => list(&self.runs, 1),
            "jobs" | "pods" => list(&[], 1),
            name if reads => match self.runs.iter().find(|it| it["metadata"]["name"] == name) {
                Some(run) => run.clone(),
                None => return failure(404),
            },
            _ => {
                let body: Value = serde_json::from_slice(&body).unwrap_or_default();
                self.written.lock().unwrap_or_else(PoisonError::into_inner).push((path, body.clone()));
                body
            }
        };
        response(200, &found)
    }

    /// The bodies of all writes to paths with this suffix.
    fn written(&self, end: &str) -> Vec<Value> {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.iter().filter(|(path, _)| path.ends_with(end)).map(|(_, body)| body.clone()).collect()
    }
}

/// Starts an operator with these runs, and waits until all pending work is done. The clock is paused, so this takes no time.
async fn operator_on(runs: Vec<Value>) -> (Arc<Server>, Arc<Context>) {
    let server = Arc::new(Server { runs, written: Mutex::default() });
    let service = Arc::clone(&server);
    let (context, _) = operator(move |request| {
        let server = Arc::clone(&service);
        async move { server.answer(request).await }
    });
    tokio::time::sleep(Duration::from_millis(900)).await;
    (server, context)
}

/// A run that has a value of a newer release at this path, such as `/spec/harness`.
fn newer(name: &str, path: &str, value: Value) -> Value {
    let mut run = run(name, "Running", 1);
    run["spec"]["harness"] = json!("loadgen");
    run["status"]["outcome"] = json!("Passed");
    *run.pointer_mut(path).expect("the fixture has the path") = value;
    run
}

#[tokio::test(start_paused = true)]
async fn a_run_of_a_newer_release_is_left_as_it_is_and_the_user_is_told() {
    for (path, value, names) in [
        ("/status/phase", json!("Evaluating"), "status.phase: unknown variant `Evaluating`"),
        ("/status/outcome", json!("Superseded"), "status.outcome: unknown variant `Superseded`"),
        ("/spec/harness", json!("harness-of-tomorrow"), "spec.harness: unknown variant `harness-of-tomorrow`"),
        ("/spec/target/simulator", json!({"preset": "warp"}), "spec.target.simulator.preset: unknown variant `warp`"),
    ] {
        let (server, context) = operator_on(vec![newer("odd", path, value), run("fine", "Running", 1)]).await;
        assert!(server.written("odd/status").is_empty(), "{path}: a status of another release was overwritten");
        let events = server.written("/events");
        let note = events.iter().find(|it| it["reason"] == "Unreadable").map(|it| it["note"].to_string());
        assert!(note.as_ref().is_some_and(|it| it.contains(names)), "{path}: {events:?}");
        assert_eq!(context.failures.count("uid-odd"), 0);
        assert!(!server.written("fine/status").is_empty(), "{path}: the readable run got no turn");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_no_release_has_begun_is_told_to_be_stalled() {
    let mut fresh = newer("odd", "/spec/harness", json!("harness-of-tomorrow"));
    fresh["status"] = json!({"observedGeneration": -1});
    let (server, _) = operator_on(vec![fresh.clone()]).await;
    let written = server.written("odd/status");
    let [patch] = written.as_slice() else { panic!("{written:?}") };
    let conditions = patch["status"]["conditions"].as_array().unwrap();
    let found: Vec<_> =
        conditions.iter().map(|it| (it["type"].as_str().unwrap(), it["status"].as_str().unwrap())).collect();
    assert_eq!(found, [("Ready", "False"), ("Stalled", "True")]);
    assert!(
        conditions
            .iter()
            .all(|it| it["reason"] == "Unreadable" && it["message"].to_string().contains("`harness-of-tomorrow`"))
    );
    assert_eq!(patch["metadata"]["uid"], "uid-odd");

    // The status is complete, so a restarted operator writes nothing.
    fresh["status"] = patch["status"].clone();
    let (server, _) = operator_on(vec![fresh]).await;
    assert!(server.written("odd/status").is_empty());
}

#[tokio::test(start_paused = true)]
async fn reasons_of_a_newer_release_are_read() {
    let mut run = newer("odd", "/status/outcome", json!(null));
    run["status"]["reason"] = json!("Evaluating");
    run["status"]["attempts"][0]["reason"] = json!("Evaluating");
    run["status"]["conditions"] = json!([{
        "type": "Ready", "status": "False", "reason": "Evaluating", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z",
    }]);
    let read: crds::BenchmarkRun = serde_json::from_value(run.clone()).unwrap();
    let status = serde_json::to_value(read.status).unwrap();
    assert_eq!((&status["reason"], &status["attempts"][0]["reason"]), (&json!("Evaluating"), &json!("Evaluating")));
}
