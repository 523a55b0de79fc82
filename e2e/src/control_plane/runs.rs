//! Runs for tests on the control plane: their specs, and functions that create many of them.

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::{Client, api::PostParams};
use serde_json::{Value, json};

/// Number of concurrent requests. With this number the API server, and not the network, determines the duration.
pub const AT_ONCE: usize = 32;

/// The path of the runs in a namespace.
pub fn runs_path(namespace: &str) -> String {
    format!("/apis/benchwright.dev/v1alpha1/namespaces/{namespace}/benchmarkruns")
}

/// A run whose pod KWOK simulates. `launcher` and `more` are further fields of `spec.launcher` and of `spec`.
pub fn run(name: &str, launcher: Value, more: Value) -> Value {
    let mut spec = json!({
        "target": {"simulator": {}},
        "harness": "inference-perf",
        "profile": {"name": "sanity_random"},
        "storage": {"none": {}},
        "launcher": launcher,
    });
    if let (Some(spec), Value::Object(more)) = (spec.as_object_mut(), more) {
        spec.extend(more);
    }
    json!({
        "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun",
        "metadata": {"name": name, "annotations": BTreeMap::<String, String>::new()}, "spec": spec,
    })
}

/// A run whose pod runs until it is deleted.
pub fn held(name: &str) -> Value {
    run(name, json!({"annotations": {"scale.benchwright.dev/hold": "all"}}), json!({}))
}

/// A run whose pod ends after this number of seconds.
pub fn short(name: &str, seconds: u32) -> Value {
    run(name, json!({"annotations": {"scale.benchwright.dev/duration": format!("{seconds}s")}}), json!({}))
}

/// A suspended run, which does not start.
pub fn suspended(name: &str) -> Value {
    run(name, json!({}), json!({"suspend": true}))
}

/// Creates an object as written, and returns it as the API server stored it.
///
/// # Errors
/// The API server refuses the object.
pub async fn create(client: &Client, path: &str, object: &Value) -> anyhow::Result<Value> {
    let request = kube::core::Request::new(path).create(&PostParams::default(), serde_json::to_vec(object)?)?;
    Ok(client.request(request).await?)
}

/// Changes an object with a merge patch.
///
/// # Errors
/// The API server refuses the patch.
pub async fn merge(client: &Client, path: &str, patch: &Value) -> anyhow::Result<()> {
    let request = http::Request::patch(path)
        .header("content-type", "application/merge-patch+json")
        .body(serde_json::to_vec(patch)?)?;
    client.request::<Value>(request).await?;
    Ok(())
}

/// Creates objects below a path, [`AT_ONCE`] concurrently.
///
/// # Errors
/// The first refusal of the API server.
pub async fn create_all(client: &Client, path: &str, objects: impl Iterator<Item = Value>) -> anyhow::Result<()> {
    stream::iter(objects.map(Ok))
        .try_for_each_concurrent(AT_ONCE, async |object| create(client, path, &object).await.map(drop))
        .await
}

/// Calls `act` with each number below `count`, [`AT_ONCE`] concurrently.
///
/// # Errors
/// The first error.
pub async fn for_each<F>(count: usize, act: impl Fn(usize) -> F) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<()>>,
{
    stream::iter(0..count).map(&act).buffer_unordered(AT_ONCE).try_collect().await
}

/// Deletes all objects below a path.
///
/// # Errors
/// The error of the API server.
pub async fn delete_all(client: &Client, path: &str) -> anyhow::Result<()> {
    let request = http::Request::delete(format!("{path}?propagationPolicy=Background")).body(Vec::new())?;
    client.request::<Value>(request).await?;
    Ok(())
}
