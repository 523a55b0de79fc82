//! One reconciliation of the loop, and the delay after a failed reconciliation.

use std::{sync::Arc, time::Duration};

use crds::{BenchmarkRun, status::Phase};
use futures::future::BoxFuture;
use jiff::{Timestamp, Unit};
use kube::{Api, ResourceExt, runtime::controller::Action};
use tokio::sync::OwnedMutexGuard;
use tracing::{Instrument as _, debug, warn};

use crate::{
    apply::{apply, stop_deleted},
    cached_run,
    context::Context,
    error::Error,
    namespaces,
    observe::observe,
    plan::{
        Observed, Plan, Turn, plan,
        server::retention::{begins_to_share, removes_shared},
        status::full_name,
    },
    targets::{self, turn::Next},
    traces,
};

/// Delay after the first failed reconciliation of a run. Each further consecutive failure doubles the delay.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(300);
/// The kind of the claim for the results.
const CLAIM: &str = "PersistentVolumeClaim";
/// Time limit of a reconciliation. It is needed because the number of concurrent reconciliations is limited, and a request may never be answered.
pub const TURN_LIMIT: Duration = Duration::from_secs(60);
/// Maximum number of plans per reconciliation. A run needs three at its end: the first writes what will be done, the second does it, and the third
/// marks the run. The maximum stops an endless cycle.
const MAX_STEPS: usize = 6;
/// How often a reconciliation can start again because the run has changed while it was planned. After that, the next reconciliation handles the
/// change.
const MAX_CONFLICTS: usize = 3;

/// Runs one reconciliation of the loop: read the state, decide, write the decision.
///
/// # Errors
/// The error of the API server. The next reconciliation continues from what was written before.
pub async fn reconcile(cached: Arc<BenchmarkRun>, context: Arc<Context>) -> Result<Action, Error> {
    let timer = context.metrics.turn();
    // This future and those of the steps below are boxed because they are large, and moving them would need much stack.
    let turn = tokio::time::timeout(TURN_LIMIT, Box::pin(run_turn(&cached, &context)));
    let done = turn.await.unwrap_or(Err(Error::Timeout(TURN_LIMIT)));
    timer.end(done.as_ref().err());
    done
}

/// Runs a reconciliation, and starts it again if the run has changed between the read and the write. Such a change is not a failure.
async fn run_turn(cached: &BenchmarkRun, context: &Context) -> Result<Action, Error> {
    // For a finished run with its mark, the cached fields are enough, unless the API server reports a conflict.
    let mut known = Some(cached.clone()).filter(cached_run::is_enough);
    for _ in 0..MAX_CONFLICTS {
        let run = match known.take() {
            Some(run) => Some(run),
            None => read_live(cached, context).await?,
        };
        let Some(run) = run else { return forget(cached, context).await };
        traces::before(&run);
        match Box::pin(run_steps(run, context)).await {
            Err(Error::Outdated) => debug!(run = %full_name(cached), "the run has changed and is read again"),
            done => return done,
        }
    }
    Ok(Action::requeue(FIRST_BACKOFF))
}

/// Plans and applies until no work is left that can be done immediately.
async fn run_steps(mut run: BenchmarkRun, context: &Context) -> Result<Action, Error> {
    for _ in 0..MAX_STEPS {
        if run.metadata.deletion_timestamp.is_some() {
            // No new children can be created for a run that is being deleted.
            return forget(&run, context).await;
        }
        match Box::pin(step(&run, context)).await? {
            Step::RunGone => {
                // A single response is not enough evidence that the run is gone. It is read again before its Job is deleted.
                let found = read_live(&run, context).await?;
                if found.is_some_and(|it| it.uid() == run.uid()) {
                    return Ok(Action::requeue(FIRST_BACKOFF));
                }
                return forget(&run, context).await;
            }
            Step::Again(after) => run = *after,
            Step::Wait(next_look) => {
                let namespace = run.namespace().unwrap_or_default();
                let next_look = context.looks.next(&run.uid().unwrap_or_default(), &namespace, next_look);
                return Ok(next_look.map_or_else(Action::await_change, Action::requeue));
            }
        }
    }
    Ok(Action::requeue(FIRST_BACKOFF))
}

/// Reads a run from the API server, because a decision on an outdated status could create a second Job.
async fn read_live(cached: &BenchmarkRun, context: &Context) -> Result<Option<BenchmarkRun>, Error> {
    let runs: Api<BenchmarkRun> = Api::namespaced(context.client.clone(), &cached.namespace().unwrap_or_default());
    Ok(runs.get_opt(&cached.name_any()).await?)
}

enum Step {
    /// The run no longer exists.
    RunGone,
    /// Another plan must follow immediately.
    Again(Box<BenchmarkRun>),
    /// Nothing is left to do until a watch reports a change, or until this time has passed.
    Wait(Option<Duration>),
}

/// Observes, plans and applies once.
async fn step(run: &BenchmarkRun, context: &Context) -> Result<Step, Error> {
    let now = Timestamp::now().round(Unit::Second).unwrap_or_default();
    let turn = Turn { settings: &context.settings, now };
    let _removing = lock_shared(context, run, removes_shared(run, now)).await;
    let mut observed = observe(context, run, now).instrument(traces::step("observe")).await?;
    if targets::turn::ask(context, run, &mut observed, now).await? == Next::Later {
        return Ok(Step::Wait(Some(FIRST_BACKOFF)));
    }
    observed.namespace_line = context.namespaces.turn(run, &context.policy, namespaces::asks(run, &observed));
    let mut refusal = None;
    // If the API server refuses a part of the plan, the refusal is recorded in `observed` and the run is planned again, at most once per reason.
    let (decided, applied) = loop {
        let (decided, applied) = decide(context, run, &mut observed, &turn).await;
        match applied {
            Err(Error::NoChartValues(error)) if observed.values_refused.is_none() => {
                // The run does not need the chart values. While it waits for llm-d, its status shows the error.
                warn!(run = %full_name(run), %error, "the values for llm-d's charts are not written");
                observed.values_refused = Some(error.to_string());
            }
            // A conflicting object ends the run. A conflicting claim does not, because it can be usable for results, and is read instead.
            Err(Error::Conflict { kind, name }) if kind != CLAIM && observed.conflict.is_none() => {
                observed.conflict = Some(name);
            }
            Err(error) if observed.refused.is_none() && error.refusal().is_some() => {
                // The next plan writes the refusal into the status.
                observed.refused = error.refusal();
                refusal = Some(error);
            }
            applied => break (decided, applied),
        }
    };
    targets::turn::settle(context, run, &applied, now);
    let after = match applied {
        Ok(Some(after)) => after,
        Ok(None) => return Ok(Step::RunGone),
        Err(Error::Api(kube::Error::Api(status))) if status.is_not_found() => return Ok(Step::RunGone),
        Err(error) => return Err(error),
    };
    traces::after(&after);
    context.namespaces.note(&after, &context.policy);
    if let Some(refusal) = refusal.filter(|_| !after.is_finished()) {
        return Err(refusal);
    }
    if !observed.unread.iter().any(|it| it.passing) {
        // As long as a read fails, the count of failed reconciliations is kept. Otherwise the next reconciliations would have to fail again before a
        // plan is made without that read.
        context.failures.clear(&run.uid().unwrap_or_default());
    }
    if after.is_finished() {
        if let Some(ended) = observed.ended.filter(|_| !run.is_finished()) {
            context.metrics.termination_message(ended.message.len());
            let collected = observed.job.ended_at.and_then(|it| Duration::try_from(now.duration_since(it)).ok());
            collected.into_iter().for_each(|it| context.metrics.collected(it));
        }
        context.ended_pods.forget(&after.uid().unwrap_or_default());
    }
    let phase = after.status.as_ref().and_then(|it| it.phase).map_or("", Phase::name);
    debug!(run = %full_name(&after), phase, next_look = ?decided.next_look, "step done");
    Ok(if decided.again { Step::Again(Box::new(after)) } else { Step::Wait(decided.next_look) })
}

/// Locks the shared server, so that no other reconciliation can begin to use it or remove it in the meantime.
async fn lock_shared(context: &Context, run: &BenchmarkRun, server: Option<&str>) -> Option<OwnedMutexGuard<()>> {
    let namespace = run.namespace().unwrap_or_default();
    Some(context.shared_servers.lock(&namespace, server?).await)
}

/// Plans, and applies the plan. The future is boxed, so that it does not enlarge the future of its caller.
fn decide<'a>(
    context: &'a Context,
    run: &'a BenchmarkRun,
    observed: &'a mut Observed,
    turn: &'a Turn<'_>,
) -> BoxFuture<'a, (Plan, Result<Option<BenchmarkRun>, Error>)> {
    Box::pin(async move {
        let decided = traces::step("decide").in_scope(|| plan(run, observed, turn));
        let _beginning = lock_shared(context, run, begins_to_share(run, &decided.status)).await;
        let applied = Box::pin(apply(context, run, &decided, &mut observed.config_map_uid));
        let applied = applied.instrument(traces::step("apply")).await;
        (decided, applied)
    })
}

/// Handles a deleted run. Normally the garbage collector deletes its children. It does not if a finalizer keeps the run, or after a deletion with
/// `--cascade=orphan`.
async fn forget(run: &BenchmarkRun, context: &Context) -> Result<Action, Error> {
    traces::deleted();
    context.forget(&run.uid().unwrap_or_default());
    stop_deleted(context, run).await?;
    Ok(Action::await_change())
}

/// Schedules the next reconciliation after a failed reconciliation. The delay is between 1 and 300 seconds, and depends on the number of consecutive
/// failures and on the delay that the API server requests.
pub fn on_error(run: Arc<BenchmarkRun>, error: &Error, context: Arc<Context>) -> Action {
    let wait = wait_after(run.as_ref(), error, &context);
    warn!(run = %full_name(run.as_ref()), %error, ?wait, "a turn failed");
    Action::requeue(wait)
}

/// Counts a failed reconciliation of an object, and returns the delay before the next reconciliation, between 1 and 300 seconds.
pub(crate) fn wait_after(object: &impl ResourceExt, error: &Error, context: &Context) -> Duration {
    let asked = error.retry_after().unwrap_or_default().min(MAX_BACKOFF);
    backoff(context.failures.add(&object.uid().unwrap_or_default())).max(asked)
}

/// The delay after this number of consecutive failures.
pub(crate) fn backoff(failures: u32) -> Duration {
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
