//! What both parts share: a BenchmarkRun as the API server sends it, its lists, and an operator.

use std::sync::Arc;

use crds::Settings;
use kube::{Client, runtime::events::Reporter};
use operator::{connection::Health, context::Context};
use serde_json::{Value, json};

/// A run in a phase.
pub fn run(name: &str, phase: &str, version: u64) -> Value {
    json!({
        "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun",
        "metadata": {
            "name": name, "namespace": "bench", "uid": format!("uid-{name}"), "generation": 1,
            "resourceVersion": version.to_string(),
        },
        "spec": {"target": {"simulator": {}}},
        "status": {"observedGeneration": 1, "phase": phase, "attempts": [{
            "number": 1, "jobName": format!("{name}-a1"), "jobUID": format!("uid-{name}-a1"), "podUID": format!("uid-{name}-a1-0"),
            "startTime": "2026-01-02T03:04:05Z",
        }]},
    })
}

/// The answer to a list request.
pub fn list(items: &[Value], version: u64) -> Value {
    json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": version.to_string()}, "items": items})
}

pub fn context(client: Client, health: Arc<Health>) -> Arc<Context> {
    let reporter = Reporter { controller: "test".into(), instance: None };
    Arc::new(Context::new(client, Settings::default(), reporter, health))
}
