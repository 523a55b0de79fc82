//! One turn of the loop, and how long to wait after an error.

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

/// The wait after the first error of a run. Each further error in a row doubles it.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(300);
/// Only this refusal may pass, because a quota can be raised. After any other one the object itself is wrong.
const FORBIDDEN: u16 = 403;
/// The longest turn: the number of concurrent turns is limited, and a request may hang.
const TURN_LIMIT: Duration = Duration::from_secs(60);
/// The most plans in one turn. A run needs two: the first writes the intent, the second carries it out. The limit ends a cycle.
const MAX_STEPS: usize = 4;

/// One turn of the loop: read the state, decide, write the decision.
///
/// # Errors
/// The API server's error. The next turn continues from what was written.
pub async fn reconcile(cached: Arc<BenchmarkRun>, context: Arc<Context>) -> Result<Action, Error> {
    let timer = context.metrics.turn();
    let done =
        tokio::time::timeout(TURN_LIMIT, run_turn(&cached, &context)).await.unwrap_or(Err(Error::Timeout(TURN_LIMIT)));
    timer.end(done.as_ref().err());
    if done.is_ok() {
        context.failures.clear(&cached.uid().unwrap_or_default());
    }
    done
}

async fn run_turn(cached: &BenchmarkRun, context: &Context) -> Result<Action, Error> {
    let Some(mut run) = read_live(cached, context).await? else { return Ok(forget(cached, context)) };
    for _ in 0..MAX_STEPS {
        if run.metadata.deletion_timestamp.is_some() {
            // The garbage collector deletes its children; no new ones may be created.
            return Ok(forget(&run, context));
        }
        match step(&run, context).await? {
            Step::RunGone => return Ok(forget(&run, context)),
            Step::Again(after) => run = *after,
            Step::Wait(next_look) => return Ok(next_look.map_or_else(Action::await_change, Action::requeue)),
        }
    }
    Ok(Action::requeue(FIRST_BACKOFF))
}

/// Reads a run live unless it is finished: a decision on an outdated status could create a second Job.
async fn read_live(cached: &BenchmarkRun, context: &Context) -> Result<Option<BenchmarkRun>, Error> {
    if cached.is_finished() {
        return Ok(Some(cached.clone()));
    }
    let runs: Api<BenchmarkRun> = Api::namespaced(context.client.clone(), &cached.namespace().unwrap_or_default());
    Ok(runs.get_opt(&cached.name_any()).await?)
}

enum Step {
    /// The run was deleted.
    RunGone,
    /// The plan asks for another one right away.
    Again(Box<BenchmarkRun>),
    /// Nothing is left to do until a watch reports a change or this time has passed.
    Wait(Option<Duration>),
}

/// Observes, plans and applies once.
async fn step(run: &BenchmarkRun, context: &Context) -> Result<Step, Error> {
    let now = Timestamp::now().round(Unit::Second).unwrap_or_default();
    let turn = Turn { settings: &context.settings, now };
    let mut observed = observe(&context.client, run, &context.settings, &context.ended_pods).await?;
    let mut decided = plan(run, &observed, &turn);
    let mut applied = apply(context, run, &decided).await;
    let mut refusal = None;
    if let Err(error @ Error::Refused { code, .. }) = applied {
        // The second plan puts the API server's message into the status.
        observed.refused = Some(Refused { message: error.to_string(), for_good: code != FORBIDDEN });
        decided = plan(run, &observed, &turn);
        applied = apply(context, run, &decided).await;
        refusal = Some(error);
    }
    let after = match applied {
        Ok(Some(after)) => after,
        Ok(None) => return Ok(Step::RunGone),
        Err(Error::Api(kube::Error::Api(status))) if status.is_not_found() => return Ok(Step::RunGone),
        Err(error) => return Err(error),
    };
    if let Some(refusal) = refusal.filter(|_| !after.is_finished()) {
        return Err(refusal);
    }
    if after.is_finished() {
        if let Some(ended) = observed.ended.filter(|_| !run.is_finished()) {
            context.metrics.termination_message(ended.message.len());
        }
        context.ended_pods.forget(&after.uid().unwrap_or_default());
    }
    let phase = after.status.as_ref().and_then(|it| it.phase).map_or("", Phase::name);
    debug!(run = %full_name(&after), phase, next_look = ?decided.next_look, "step done");
    Ok(if decided.again { Step::Again(Box::new(after)) } else { Step::Wait(decided.next_look) })
}

fn forget(run: &BenchmarkRun, context: &Context) -> Action {
    context.forget(&run.uid().unwrap_or_default());
    Action::await_change()
}

/// Schedules the next turn after a failed one: 1 to 300 seconds later, depending on the failures in a row.
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
