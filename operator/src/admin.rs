//! [I/O] Serves `/metrics`, `/healthz` and `/readyz`.
//!
//! The operator is ready if the API server answers every watch and the requests for the lease, and if the caches are filled. A replica that does not
//! lead has no watches. It is ready if it can take over. The operator is healthy if it makes progress: it sends requests for every watch and the
//! lease, its reconciliations (reconciliations of one run) end, and its tasks are alive. `/healthz` does not depend on the API server, because a
//! restart would not help while that is down.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::{Router, extract::State, http::StatusCode, routing::get};
use tokio::net::TcpListener;

use crate::{context::Context, reconcile::TURN_LIMIT, turns::Turns, watches::Runs};

/// A turn that runs for longer than this is reported as stuck. The 30 seconds are for busy machines, on which a turn ends a little after its time
/// limit.
const LONGEST_TURN: Duration = Duration::from_secs(TURN_LIMIT.as_secs() + 30);
/// If turns wait and none has ended for longer than this, they are reported as stuck. A running turn always ends at its time limit.
const LONGEST_IDLE: Duration = Duration::from_secs(300);

/// The caches of the leading replica. Empty until this replica leads.
pub type Caches = Arc<OnceLock<Vec<Runs>>>;

#[derive(Clone)]
struct Admin {
    context: Arc<Context>,
    caches: Caches,
}

impl Admin {
    fn runs(&self) -> &[Runs] {
        self.caches.get().map_or(&[], Vec::as_slice)
    }
}

/// Serves requests until `end` is ready.
///
/// # Errors
/// The listener failed.
pub async fn serve(
    listener: TcpListener,
    context: Arc<Context>,
    caches: Caches,
    end: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let router = Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(health))
        .route("/readyz", get(readiness))
        .with_state(Admin { context, caches });
    axum::serve(listener, router).with_graceful_shutdown(end).await
}

async fn metrics(State(admin): State<Admin>) -> String {
    let Context { metrics, turns, events, .. } = admin.context.as_ref();
    metrics.count_runs(admin.runs().iter().flat_map(Runs::states));
    metrics.waiting(turns.waiting(), events.waiting());
    metrics.text()
}

async fn health(State(admin): State<Admin>) -> (StatusCode, String) {
    let context = &admin.context;
    let mut problems = lines("was not requested", &context.health.stuck());
    problems.extend(stuck_turns(&context.turns));
    if !context.events.is_alive() {
        problems.push("the task that writes events has ended\n".into());
    }
    answer(problems)
}

/// Returns the problems with reconciliations. Every reconciliation should end at its time limit, even if the API server does not answer.
fn stuck_turns(turns: &Turns) -> Vec<String> {
    let oldest = turns.oldest().filter(|it| *it > LONGEST_TURN);
    let idle = turns.idle().filter(|it| *it > LONGEST_IDLE);
    let running = oldest.map(|it| format!("a reconciliation has been running for {} s\n", it.as_secs()));
    let waiting = idle.map(|it| format!("reconciliations are waiting, and none has ended for {} s\n", it.as_secs()));
    running.into_iter().chain(waiting).collect()
}

async fn readiness(State(admin): State<Admin>) -> (StatusCode, String) {
    if !admin.runs().iter().all(Runs::is_filled) {
        return (StatusCode::SERVICE_UNAVAILABLE, "the caches are not filled yet\n".into());
    }
    answer(lines("was not answered, so the operator sees no changes,", &admin.context.health.silent()))
}

/// One line per watch with this problem. The lease is listed like a watch.
fn lines(problem: &str, failed: &BTreeMap<String, Duration>) -> Vec<String> {
    failed.iter().map(|(path, age)| format!("{path} {problem} for {} s\n", age.as_secs())).collect()
}

/// Status 200 if there are no problems, otherwise 503 with one line per problem.
fn answer(problems: Vec<String>) -> (StatusCode, String) {
    if problems.is_empty() {
        return (StatusCode::OK, "ok\n".into());
    }
    (StatusCode::SERVICE_UNAVAILABLE, problems.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turns::COMMON;

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_never_ends_is_a_problem_and_a_slow_one_is_none() {
        let turns = Arc::<Turns>::default();
        let _places = futures::future::join_all((0..COMMON).map(|_| turns.enter("a"))).await;
        let waiting = Arc::clone(&turns);
        tokio::spawn(async move { waiting.enter("a").await });
        tokio::time::sleep(TURN_LIMIT).await;
        assert_eq!(stuck_turns(&turns), Vec::<String>::new());
        tokio::time::sleep(LONGEST_TURN).await;
        assert_eq!(stuck_turns(&turns), ["a reconciliation has been running for 150 s\n"]);
        tokio::time::sleep(LONGEST_IDLE).await;
        assert_eq!(
            stuck_turns(&turns),
            [
                "a reconciliation has been running for 450 s\n",
                "reconciliations are waiting, and none has ended for 450 s\n"
            ]
        );
    }
}
