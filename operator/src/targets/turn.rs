//! [I/O] The part of a turn that requests the target.

use crds::{BenchmarkRun, status::Phase};
use jiff::Timestamp;
use kube::ResourceExt as _;

use super::{Answer, Drain, Targets};
use crate::{
    context::Context,
    error::Error,
    observe::{reader::Reader, target::pods},
    plan::{
        Observed, Unread, Wanted, current_attempt,
        exclusive::{Target, TargetKey},
        would_begin,
    },
};

/// What the turn does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The turn plans.
    Plan,
    /// The turn ends, because some runs are not known yet. The next turn follows soon.
    Later,
}

/// Records the state of a run, and requests its target if an attempt would begin now. Puts the answer into `observed`.
///
/// # Errors
/// The API server's error. The place is returned. [`Observed::unread`] lists permanently unreadable objects.
pub async fn ask(
    context: &Context,
    run: &BenchmarkRun,
    observed: &mut Observed,
    now: Timestamp,
) -> Result<Next, Error> {
    if run.is_finished() {
        // The turn may know only the fields that the cache keeps.
        return Ok(Next::Plan);
    }
    let (targets, settings) = (&context.targets, &context.settings);
    let uid = run.uid().unwrap_or_default();
    let target = match &observed.input {
        Some(Ok(input)) => Target::of_input(&run.spec, &input.run, settings),
        _ => Target::of_run(run, settings),
    };
    let begins = would_begin(run, observed);
    if !begins {
        targets.give_back(&uid, now);
    }
    targets.note_live(run, target, now);
    observed.last_in_line = targets.last_in_line(&uid);
    let is_wanted =
        waits_for_queue(run) && (targets.is_wanted(&uid, now) || context.namespaces.is_wanted(run, &context.policy));
    observed.wanted = context.wanted.since(&uid, is_wanted, now).map(|since| {
        let limits = context.policy.limits(&run.namespace().unwrap_or_default());
        Wanted { since, limit: limits.queue_seconds() }
    });
    let Some(Target { key, .. }) = target.filter(|_| begins) else { return Ok(Next::Plan) };
    match targets.ask(&uid, now) {
        Answer::NotYet => return Ok(Next::Later),
        Answer::Wait(wait) => observed.wait = Some(wait),
        Answer::Begin(drains) => {
            let mut place = TakenPlace { targets, uid: &uid, is_kept: false };
            let mut reader = Reader::of_turn(context, run);
            let in_front = pod_in_front(context, &mut reader, run, key, drains, now).await?;
            if !reader.unread.is_empty() {
                observed.unread.append(&mut reader.unread);
                return Ok(Next::Plan);
            }
            place.is_kept = true;
            if let Some(drain) = in_front {
                observed.wait = targets.wait_for(&uid, &drain, now);
            }
        }
    }
    Ok(Next::Plan)
}

/// A place that is returned if this turn does not reach its plan: a read failed, or the turn timed out.
struct TakenPlace<'a> {
    targets: &'a Targets,
    uid: &'a str,
    is_kept: bool,
}

impl Drop for TakenPlace<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            self.targets.step_back(self.uid);
        }
    }
}

/// An ended or deleted run with a pod that loads the target.
async fn pod_in_front(
    context: &Context,
    reader: &mut Reader,
    run: &BenchmarkRun,
    key: TargetKey,
    drains: Vec<Drain>,
    now: Timestamp,
) -> Result<Option<Drain>, Error> {
    let targets = &context.targets;
    for drain in drains {
        if pods::works(&context.client, reader, &drain, now).await? {
            return Ok(Some(drain));
        }
        if !reader.unread.is_empty() {
            if run.namespace().is_none_or(|it| it != drain.namespace) {
                reader.unread.iter_mut().for_each(hide);
            }
            return Ok(None);
        }
        targets.drained(&drain.uid);
    }
    let is_known = |uid: &str| targets.knows(uid, now);
    pods::of_unknown_run(&context.client, reader, run, key, is_known, now).await
}

/// Replaces the message, because it names another namespace, which this run must not reveal.
fn hide(unread: &mut Unread) {
    unread.message =
        "the operator cannot read Job and pods of a run of another namespace that had this target; see its log, and \
                      the rights that it has there"
            .to_owned();
}

/// Records the result of a turn's write. If the API server refused the write, the run returns its place immediately. If the answer was
/// lost, the run returns its place a moment later, because the write may have succeeded.
pub fn settle(context: &Context, run: &BenchmarkRun, applied: &Result<Option<BenchmarkRun>, Error>, now: Timestamp) {
    let (targets, uid) = (&context.targets, run.uid().unwrap_or_default());
    match applied {
        Ok(Some(after)) => {
            let target = Target::of_run(after, &context.settings);
            targets.written(&uid, true, now);
            if after.status.as_ref().and_then(current_attempt).is_none() {
                // The run waits for something else, such as its namespace.
                targets.give_back(&uid, now);
            }
            targets.note_live(after, target, now);
        }
        Ok(None) => {}
        Err(Error::Outdated) => targets.changed(&uid, now),
        Err(Error::Api(kube::Error::Api(status))) if (400..500).contains(&status.code) => {
            targets.give_back(&uid, now);
            targets.written(&uid, false, now);
        }
        Err(_) => targets.written(&uid, false, now),
    }
}

/// Whether the attempt of a run is known to wait for its queue.
fn waits_for_queue(run: &BenchmarkRun) -> bool {
    let status = run.status.as_ref();
    status.is_some_and(|it| it.phase == Some(Phase::Suspended) && current_attempt(it).is_some()) && !run.spec.suspend
}
