//! The loop, one line per step, and the error policy.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crds::{BenchmarkRun, Settings, status::Phase};
use jiff::{Timestamp, Unit};
use kube::{
    Api, Client, ResourceExt as _,
    runtime::{controller::Action, events::Recorder},
};
use tracing::{debug, warn};

use crate::{
    apply::apply,
    connection::Health,
    metrics::Metrics,
    observe::observe,
    plan::{Refused, Turn, plan, status::full_name},
    results::Seen,
};

/// The first wait after an error, doubled with each further one of the same run.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(300);
/// A quota may refuse today what it allows tomorrow; whatever else is refused is wrong in itself.
const FORBIDDEN: u16 = 403;
/// The longest turn: a request that hangs must not hold one of the few places for ever.
const TURN: Duration = Duration::from_secs(60);
/// Plans that follow each other in one turn: an intent, then what it intends. More would be a plan that goes in circles.
const MAX_STEPS: usize = 4;

/// What every turn shares.
pub struct Context {
    /// The API server.
    pub client: Client,
    /// What this place decides.
    pub settings: Settings,
    /// Writes events.
    pub recorder: Recorder,
    /// The operator's own metrics.
    pub metrics: Metrics,
    /// How pods ended.
    pub seen: Arc<Seen>,
    /// Signs of life of the watches.
    pub health: Arc<Health>,
    /// Failed turns in a row, by UID of the run; an entry goes with a turn that succeeds.
    pub failures: Mutex<HashMap<String, u32>>,
}

impl Context {
    /// A run is gone: nothing of it may stay in memory. A run that was deleted has no turn in which that could happen.
    pub fn forget(&self, run_uid: &str) {
        self.seen.forget(run_uid);
        failures(self).remove(run_uid);
    }
}

/// Why a turn failed; the run itself is not at fault.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server refused, or was not there.
    #[error("the API server: {0}")]
    Api(#[from] kube::Error),
    /// A profile's rendering broke down.
    #[error("rendering ended badly: {0}")]
    Render(tokio::task::JoinError),
    /// It did not end in time.
    #[error("it took longer than {TURN:?}")]
    Timeout,
    /// The API server does not want an object.
    #[error("the API server refuses {kind} {name:?} with {code}: {message}")]
    Refused {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// The HTTP status.
        code: u16,
        /// Why, in the API server's words.
        message: String,
    },
    /// Somebody else made an object of this name just now.
    #[error("{kind} {name} belongs to somebody else")]
    Conflict {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
    },
}

impl Error {
    /// In one word, for a metric.
    pub fn category(&self) -> &'static str {
        match self {
            Error::Api(_) => "api",
            Error::Render(_) => "render",
            Error::Timeout => "timeout",
            Error::Conflict { .. } => "conflict",
            Error::Refused { .. } => "refused",
        }
    }
}

/// One turn of the loop: read the world, decide, write the decision down.
///
/// # Errors
/// The API server's; the next turn goes on from what was written.
pub async fn reconcile(cached: Arc<BenchmarkRun>, context: Arc<Context>) -> Result<Action, Error> {
    let timer = context.metrics.turn();
    let done = tokio::time::timeout(TURN, turns(&cached, &context)).await.unwrap_or(Err(Error::Timeout));
    timer.end(done.as_ref().err());
    if done.is_ok() {
        failures(&context).remove(&cached.uid().unwrap_or_default());
    }
    done
}

async fn turns(cached: &BenchmarkRun, context: &Context) -> Result<Action, Error> {
    let mut run = cached.clone();
    if !run.is_finished() {
        // The cache may be a moment behind; a second Job would be made of that moment.
        let runs: Api<BenchmarkRun> = Api::namespaced(context.client.clone(), &run.namespace().unwrap_or_default());
        match runs.get_opt(&run.name_any()).await? {
            Some(live) => run = live,
            None => return Ok(forget(cached, context)),
        }
    }
    for _ in 0..MAX_STEPS {
        let now = Timestamp::now().round(Unit::Second).unwrap_or_default();
        if run.metadata.deletion_timestamp.is_some() {
            // Its children go with it, and no other ones may come.
            return Ok(forget(&run, context));
        }
        let turn = Turn { settings: &context.settings, now };
        let mut observed = observe(&context.client, &run, &context.settings, &context.seen).await?;
        let mut decided = plan(&run, &observed, &turn);
        let mut applied = apply(context, &run, &decided).await;
        let mut refusal = None;
        if let Err(error @ Error::Refused { code, .. }) = applied {
            observed.refused = Some(Refused { message: error.to_string(), for_good: code != FORBIDDEN });
            decided = plan(&run, &observed, &turn);
            applied = apply(context, &run, &decided).await;
            refusal = Some(error);
        }
        let after = match applied {
            Ok(Some(after)) => after,
            Ok(None) => return Ok(forget(&run, context)),
            Err(Error::Api(kube::Error::Api(status))) if status.is_not_found() => return Ok(forget(&run, context)),
            Err(error) => return Err(error),
        };
        if let Some(refusal) = refusal.filter(|_| !after.is_finished()) {
            return Err(refusal);
        }
        if after.is_finished() {
            if let Some(ended) = observed.ended.filter(|_| !run.is_finished()) {
                context.metrics.last_word(ended.message.len());
            }
            context.seen.forget(&after.uid().unwrap_or_default());
        }
        debug!(run = %full_name(&after), phase = after.status.as_ref().and_then(|it| it.phase).map_or("", Phase::name), next_look = ?decided.next_look, "looked at");
        run = after;
        if !decided.again {
            return Ok(decided.next_look.map_or_else(Action::await_change, Action::requeue));
        }
    }
    Ok(Action::requeue(FIRST_BACKOFF))
}

fn forget(run: &BenchmarkRun, context: &Context) -> Action {
    context.forget(&run.uid().unwrap_or_default());
    Action::await_change()
}

/// Waits longer after each failure of the same run, from 1 to 300 seconds.
pub fn on_error(run: Arc<BenchmarkRun>, error: &Error, context: Arc<Context>) -> Action {
    let mut failures = failures(&context);
    let count = failures.entry(run.uid().unwrap_or_default()).or_default();
    *count = count.saturating_add(1);
    let wait = backoff(*count);
    warn!(run = %full_name(&run), %error, ?wait, "a turn failed");
    Action::requeue(wait)
}

fn backoff(failures: u32) -> Duration {
    FIRST_BACKOFF.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1))).min(MAX_BACKOFF)
}

fn failures(context: &Context) -> std::sync::MutexGuard<'_, HashMap<String, u32>> {
    // The map is whole at every moment, also after a panic elsewhere.
    context.failures.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_five_minutes() {
        let waits: Vec<u64> = [1, 2, 3, 9, 10, u32::MAX].map(|it| backoff(it).as_secs()).into();
        assert_eq!(waits, [1, 2, 4, 256, 300, 300]);
    }
}
