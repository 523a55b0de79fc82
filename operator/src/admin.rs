//! [I/O] `/metrics`, `/healthz` and `/readyz`.
//!
//! Ready: the caches are filled, and the API server answers every watch. Healthy: the operator still requests every watch. A
//! restart helps an operator that requests none; it does not help when the API server is down.

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
    status_of_watches("has not been requested", &admin.context.health.stuck())
}

async fn readiness(State(admin): State<Admin>) -> (StatusCode, String) {
    if !admin.runs.iter().all(Runs::is_filled) {
        return (StatusCode::SERVICE_UNAVAILABLE, "the caches are not filled yet\n".into());
    }
    status_of_watches("has had no answer, so that changes are not seen,", &admin.context.health.silent())
}

/// 200 if the list of failed watches is empty.
fn status_of_watches(problem: &str, failed: &BTreeMap<String, Duration>) -> (StatusCode, String) {
    if failed.is_empty() {
        return (StatusCode::OK, "ok\n".into());
    }
    let lines = failed.iter().map(|(path, age)| format!("the watch on {path} {problem} for {} s\n", age.as_secs()));
    (StatusCode::SERVICE_UNAVAILABLE, lines.collect())
}
