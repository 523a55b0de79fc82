//! [I/O] The part of a reconciliation in which a run requests its target.

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

/// How the reconciliation continues after the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The reconciliation continues with the plan.
    Plan,
    /// The reconciliation ends, because some runs are not known yet. The next reconciliation follows soon.
    Later,
}

/// Updates the record of a run, and requests its target if an attempt would begin now. Stores the answer in `observed`.
///
/// # Errors
/// The error of the API server; the slot is then released. Objects that permanently cannot be read are no error, but listed in
/// [`Observed::unread`].
pub async fn ask(
    context: &Context,
    run: &BenchmarkRun,
    observed: &mut Observed,
    now: Timestamp,
) -> Result<Next, Error> {
    if run.is_finished() {
        // A finished run can come from the cache, without most of its fields, so it must not update the record.
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

/// A guard for a slot. It releases the slot on drop, if the reconciliation does not reach its plan because a read fails or the reconciliation
/// times out.
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

/// Finds an ended or deleted run whose pod still loads the target.
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

/// Replaces the message of an unread object in another namespace, because this run's status must not reveal its name.
fn hide(unread: &mut Unread) {
    unread.message =
        "the operator cannot read Job and pods of a run of another namespace that had this target; see its log, and its rights in that namespace"
            .to_owned();
}

/// Updates the record after a reconciliation has written. If the API server refused the write, the run releases its slot immediately. If the
/// response was lost, the run keeps its slot a little longer, because the write might have succeeded.
pub fn settle(context: &Context, run: &BenchmarkRun, applied: &Result<Option<BenchmarkRun>, Error>, now: Timestamp) {
    let (targets, uid) = (&context.targets, run.uid().unwrap_or_default());
    match applied {
        Ok(Some(after)) => {
            let target = Target::of_run(after, &context.settings);
            targets.written(&uid, true, now);
            if after.status.as_ref().and_then(current_attempt).is_none() {
                // The run can begin on the target, but waits for something else, such as a slot in its namespace.
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

/// Whether it is known that the attempt of a run waits for its queue.
fn waits_for_queue(run: &BenchmarkRun) -> bool {
    let status = run.status.as_ref();
    status.is_some_and(|it| it.phase == Some(Phase::Suspended) && current_attempt(it).is_some()) && !run.spec.suspend
}
