//! [I/O] `/metrics`, `/healthz` and `/readyz`. Ready: the caches have been filled, and every watch is answered. Healthy: every
//! watch is at least asked for; what is not would be helped by a new start, an API server that is away would not.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{Router, extract::State, http::StatusCode, routing::get};
use tokio::net::TcpListener;

use crate::{context::Context, watches::Runs};

#[derive(Clone)]
struct Admin {
    context: Arc<Context>,
    runs: Arc<Vec<Runs>>,
}

/// Serves until `end`.
///
/// # Errors
/// When the listener fails.
pub async fn serve(
    listener: TcpListener,
    context: Arc<Context>,
    runs: Vec<Runs>,
    end: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let router = Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(health))
        .route("/readyz", get(readiness))
        .with_state(Admin { context, runs: Arc::new(runs) });
    axum::serve(listener, router).with_graceful_shutdown(end).await
}

async fn metrics(State(admin): State<Admin>) -> String {
    admin.context.metrics.count_runs(admin.runs.iter().flat_map(Runs::phases));
    admin.context.metrics.text()
}

async fn health(State(admin): State<Admin>) -> (StatusCode, String) {
    unless("not even asked for", &admin.context.health.stuck())
}

async fn readiness(State(admin): State<Admin>) -> (StatusCode, String) {
    if !admin.runs.iter().all(Runs::is_filled) {
        return (StatusCode::SERVICE_UNAVAILABLE, "the caches are not filled yet\n".into());
    }
    unless("without an answer, so that changes are not seen", &admin.context.health.silent())
}

fn unless(what: &str, watches: &BTreeMap<String, Duration>) -> (StatusCode, String) {
    if watches.is_empty() {
        return (StatusCode::OK, "ok\n".into());
    }
    let lines = watches.iter().map(|(path, age)| format!("the watch on {path} is {what}, for {} s\n", age.as_secs()));
    (StatusCode::SERVICE_UNAVAILABLE, lines.collect())
}
