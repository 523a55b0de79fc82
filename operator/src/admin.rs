//! [I/O] `/metrics`, `/healthz` and `/readyz`. Ready: the caches have been filled once.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{Router, extract::State, http::StatusCode, routing::get};
use tokio::net::TcpListener;

use crate::{reconcile::Context, watches::Runs};

#[derive(Clone)]
struct Admin {
    context: Arc<Context>,
    runs: Arc<Vec<Runs>>,
    ready: Arc<AtomicBool>,
}

/// Serves until `end`.
///
/// # Errors
/// When the listener fails.
pub async fn serve(
    listener: TcpListener,
    context: Arc<Context>,
    runs: Vec<Runs>,
    ready: Arc<AtomicBool>,
    end: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let router = Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready_answer))
        .with_state(Admin { context, runs: Arc::new(runs), ready });
    axum::serve(listener, router).with_graceful_shutdown(end).await
}

async fn metrics(State(admin): State<Admin>) -> String {
    admin.context.metrics.count_runs(admin.runs.iter().flat_map(Runs::phases));
    admin.context.metrics.text()
}

async fn ready_answer(State(admin): State<Admin>) -> (StatusCode, &'static str) {
    if admin.ready.load(Ordering::Relaxed) {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "the caches are not filled yet\n")
    }
}
