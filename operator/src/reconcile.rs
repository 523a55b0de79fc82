//! The loop, one line per step, and the error policy.

use std::{sync::Arc, time::Duration};

use crds::{BenchmarkRun, status::Phase};
use jiff::{Timestamp, Unit};
use kube::{Api, ResourceExt as _, runtime::controller::Action};
use tracing::{debug, warn};

use crate::{
    apply::apply,
    context::Context,
    error::Error,
    observe::observe,
    plan::{Refused, Turn, plan, status::full_name},
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

/// One turn of the loop: read the world, decide, write the decision down.
///
/// # Errors
/// The API server's; the next turn goes on from what was written.
pub async fn reconcile(cached: Arc<BenchmarkRun>, context: Arc<Context>) -> Result<Action, Error> {
    let timer = context.metrics.turn();
    let done = tokio::time::timeout(TURN, turns(&cached, &context)).await.unwrap_or(Err(Error::Timeout(TURN)));
    timer.end(done.as_ref().err());
    if done.is_ok() {
        context.failures.clear(&cached.uid().unwrap_or_default());
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
        let mut observed = observe(&context.client, &run, &context.settings, &context.ended_pods).await?;
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
            context.ended_pods.forget(&after.uid().unwrap_or_default());
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
    let wait = backoff(context.failures.add(&run.uid().unwrap_or_default()));
    warn!(run = %full_name(&run), %error, ?wait, "a turn failed");
    Action::requeue(wait)
}

fn backoff(failures: u32) -> Duration {
    FIRST_BACKOFF.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1))).min(MAX_BACKOFF)
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
