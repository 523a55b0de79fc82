//! A BenchmarkRun as the API server returns it, lists and other responses, and an operator.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use crds::Settings;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use kube::{Client, client::Body, runtime::events::Reporter};
use operator::{
    connection::{Health, Limits},
    context::Context,
    watches::{self, Runs},
};
use serde_json::{Value, json};

/// A response of the API server.
pub type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// A run in this phase. If the phase is Succeeded, it has its mark.
pub fn run(name: &str, phase: &str, version: u64) -> Value {
    let annotations = match phase {
        "Succeeded" => json!({"benchwright.dev/finished": json!({"name": name}).to_string()}),
        _ => json!({}),
    };
    json!({
        "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun",
        "metadata": {
            "name": name, "namespace": "bench", "uid": format!("uid-{name}"), "generation": 1,
            "resourceVersion": version.to_string(), "annotations": annotations,
        },
        "spec": {"target": {"simulator": {}}},
        "status": {"observedGeneration": 1, "phase": phase, "attempts": [{
            "number": 1, "jobName": format!("{name}-a1"), "jobUID": format!("uid-{name}-a1"), "podUID": format!("uid-{name}-a1-0"),
            "startTime": "2026-01-02T03:04:05Z",
        }]},
    })
}

/// The response to a list request.
pub fn list(items: &[Value], version: u64) -> Value {
    json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": version.to_string()}, "items": items})
}

pub fn context(client: Client, health: Arc<Health>) -> Arc<Context> {
    context_with(Settings::default(), client, health)
}

fn context_with(settings: Settings, client: Client, health: Arc<Health>) -> Arc<Context> {
    let reporter = Reporter { controller: "test".into(), instance: None };
    Arc::new(Context::new(client, settings, reporter, health))
}

/// A response with this status code and object.
pub fn response(code: u16, body: &Value) -> Answer {
    let body = Full::new(Bytes::from(body.to_string())).boxed_unsync();
    Response::builder().status(code).body(body).expect("the codes of these tests are HTTP statuses")
}

/// A response with this error code.
pub fn failure(code: u16) -> Answer {
    let reason = match code {
        404 => "NotFound",
        429 => "TooManyRequests",
        _ => "InternalError",
    };
    response(code, &json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "x"}))
}

/// Starts an operator whose requests `answer` handles. Returns its in-memory state and its cache of runs.
pub fn operator<A>(answer: impl Fn(Request<Body>) -> A + Send + 'static) -> (Arc<Context>, Runs)
where
    A: Future<Output = Answer> + Send + 'static,
{
    operator_with(Settings::default(), answer)
}

/// Starts an operator like [`operator`], with these settings.
pub fn operator_with<A>(
    settings: Settings,
    answer: impl Fn(Request<Body>) -> A + Send + 'static,
) -> (Arc<Context>, Runs)
where
    A: Future<Output = Answer> + Send + 'static,
{
    let service = tower::service_fn(move |request| {
        let answer = answer(request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let context = context_with(settings, Client::new(service, "bench"), Arc::new(Health::new(Limits::default())));
    let (turns, runs) = watches::controller(None, &context, futures::future::pending());
    tokio::spawn(turns);
    (context, runs)
}
