//! Work on a finished run: it writes the run's mark, and cleans up after the retention times. The mark is an annotation, so a backup without the
//! status still contains it. A restored run with a mark does not start again.

use std::time::Duration;

use crds::{
    BenchmarkRun, BenchmarkRunStatus, Outcome, Reason,
    resolve::{Retention, jobs_cleanup, run_cleanup, server_cleanup},
    status::Phase,
};
use jiff::Timestamp;
use kube::ResourceExt as _;
use serde::{Deserialize, Serialize};

use super::{
    Observed, Plan, Presence, Stop, What,
    decision::Decision,
    server::retention,
    status::{self, truncate},
    times::{OFTEN, seconds_since},
};

/// The annotation with the mark. Its value is a [`Mark`] as JSON. The operator writes it after the final status.
pub const FINISHED: &str = "benchwright.dev/finished";
/// Maximum length of a mark's text in a message, in bytes.
const MAX_TEXT: usize = 300;
/// Maximum time between two reconciliations of a finished run, in seconds. It is bounded because the clock can be set in between.
const LONGEST_LOOK_SECONDS: u64 = 86_400;
/// Time to the next reconciliation while a Job is being deleted, or if the operator may not list Jobs. It is long because a watch reports the end of
/// the Job, and because a pod on a lost node can delay that end for a long time.
const JOB_GOES: Duration = Duration::from_secs(3_600);
/// The mark of a finished run is delayed until the pod has ended, at most for this number of seconds. Then the operator can still delete the
/// NetworkPolicy. If the pod takes longer, for example on a lost node, the policy stays until the run is deleted.
const POD_GOES_SECONDS: u32 = 600;

/// The mark of a finished run: how it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mark {
    /// Name of the run. A copy of the object under another name is another run.
    pub name: String,
    /// UID of the run.
    pub uid: String,
    /// Outcome of the run, such as `Passed`.
    pub outcome: String,
    /// Reason of the outcome, such as `RunSucceeded`.
    pub reason: String,
    /// When the run ended.
    pub time: String,
    /// Location of the run's results. Empty if they were not stored.
    pub folder: String,
}

impl Mark {
    fn new(run: &BenchmarkRun, status: &BenchmarkRunStatus) -> Self {
        let uri = status.artifacts.first().map(|it| it.uri.as_str()).filter(|it| it.contains("://"));
        let folder = uri.and_then(|it| it.rsplit_once('/')).map_or("", |(folder, _)| folder);
        Mark {
            name: run.name_any(),
            uid: run.uid().unwrap_or_default(),
            outcome: status.outcome.map_or("", Outcome::name).to_owned(),
            reason: status.reason.to_string(),
            time: status.completion_time.map(|it| it.to_string()).unwrap_or_default(),
            folder: folder.to_owned(),
        }
    }

    /// Parses the mark of this run. After a restore it can have the UID of the original run, but must have the same name.
    pub fn read(run: &BenchmarkRun) -> Option<Self> {
        let mark: Mark = serde_json::from_str(run.annotations().get(FINISHED)?).ok()?;
        (mark.name == run.name_any()).then_some(mark)
    }
}

/// The mark of a run that was restored from a backup without its status. `None` if the run was not restored.
pub fn restored(run: &BenchmarkRun) -> Option<Mark> {
    // A mark on a run that has begun is ignored: if a user adds the annotation later, it must not end an attempt.
    let begun =
        run.status.as_ref().is_some_and(|it| it.phase.is_some_and(Phase::is_terminal) || !it.attempts.is_empty());
    Mark::read(run).filter(|_| !begun)
}

/// The remaining retention time, but at most a day. `None` if the retention time has passed.
pub(super) fn left(
    status: &BenchmarkRunStatus,
    retention: Retention,
    finished: Timestamp,
    now: Timestamp,
) -> Option<Duration> {
    let succeeded = status.phase == Some(Phase::Succeeded);
    let seconds = if succeeded { retention.after_success_seconds } else { retention.after_failure_seconds };
    let left = i64::from(seconds) - now.duration_since(finished).as_secs();
    u64::try_from(left).ok().filter(|it| *it > 0).map(|it| Duration::from_secs(it.min(LONGEST_LOOK_SECONDS)))
}

/// Whether the Jobs of a finished run are due for deletion.
pub fn jobs_are_due(run: &BenchmarkRun, now: Timestamp) -> bool {
    let Some(status) = run.status.as_ref().filter(|_| run.is_finished() && keeps_jobs(run)) else { return false };
    let retention = jobs_cleanup(&run.spec).zip(status.completion_time);
    retention.is_some_and(|(retention, finished)| left(status, retention, finished, now).is_none())
}

/// Whether Jobs of a finished run still have to be deleted, now or later.
pub fn keeps_jobs(run: &BenchmarkRun) -> bool {
    let deleted = run.status.as_ref().and_then(|it| it.jobs_deleted_time);
    run.spec.cleanup.jobs.is_some() && deleted.is_none()
}

/// Completes the plan of a finished run that has retention times: deletes the run, or its Jobs and its server. A run that still has to remove a
/// shared server is only deleted after that, because the server has no owner and would keep its GPUs.
pub(super) fn clean_up(run: &BenchmarkRun, plan: &mut Plan, observed: &Observed, now: Timestamp) {
    let Some(finished) = plan.status.completion_time else { return };
    let left = |retention| left(&plan.status, retention, finished, now);
    let run_left = run_cleanup(&run.spec).map(left);
    let run_is_due = run_left == Some(None);
    let keeps_shared = retention::is_shared(run) && retention::keeps_server(run);
    if run_is_due && !keeps_shared {
        plan.delete_run = true;
        return;
    }
    let jobs_left = match jobs_cleanup(&run.spec).filter(|_| keeps_jobs(run)).map(left) {
        Some(None) => delete_jobs(plan, observed, now),
        jobs_left => jobs_left.flatten(),
    };
    let server_left = match server_cleanup(&run.spec).filter(|_| retention::keeps_server(run)) {
        Some(_) if retention::server_is_due(run, now) => retention::remove(run, plan, observed, now),
        Some(retention) => self::left(&plan.status, retention, finished, now),
        None => None,
    };
    if run_is_due && plan.status.server.as_ref().is_some_and(|it| it.gone_time.or(it.left_time).is_some()) {
        plan.delete_run = true;
        return;
    }
    plan.next_look = run_left.flatten().into_iter().chain(jobs_left).chain(server_left).min();
}

/// Deletes the Jobs, or records that they are gone. Returns the time to the next reconciliation.
fn delete_jobs(plan: &mut Plan, observed: &Observed, now: Timestamp) -> Option<Duration> {
    match &observed.own_jobs {
        Some(jobs) if jobs.is_empty() => {
            plan.status.jobs_deleted_time = Some(now);
            return None;
        }
        Some(jobs) => plan.delete_jobs = jobs.iter().filter(|it| !it.deleting).cloned().collect(),
        // The Jobs could not be read, so a later reconciliation tries again.
        None => {}
    }
    Some(JOB_GOES)
}

/// Completes the plan of a finished run without a mark: ends what still runs, deletes the NetworkPolicy of the last attempt, and requests the mark.
/// `has_policies` states whether attempts in this installation have NetworkPolicies. Returns the time to the next reconciliation.
pub(super) fn conclude(
    run: &BenchmarkRun,
    plan: &mut Plan,
    observed: &Observed,
    has_policies: bool,
    now: Timestamp,
) -> Option<Duration> {
    if Mark::read(run).is_some() {
        return None;
    }
    let (job, pod) = (&observed.job, &observed.pod);
    let last = plan.status.attempts.last().filter(|_| pod.kept);
    plan.stop = match job.presence {
        Presence::Ours => last.filter(|_| !job.deleting).map(|it| Stop::Job(it.job_name.clone())),
        _ => pod.name.clone().filter(|_| pod.kept && pod.deleting.is_none()).map(Stop::Pod),
    };
    plan.stop_pods.clone_from(&observed.other_pods);
    if let Some(last) = plan.status.attempts.last().filter(|_| has_policies) {
        // The policy is kept while a pod can run, because without it the pod could reach more addresses.
        let is_unread = observed.unread.iter().any(|it| matches!(it.what, What::Job | What::Pods));
        let has_ended =
            !is_unread && observed.other_pods.is_empty() && (pod.name.is_none() || observed.ended.is_some());
        let finished = plan.status.completion_time.unwrap_or(now);
        if has_ended {
            plan.delete_policies = vec![last.job_name.clone()];
        } else if seconds_since(finished, now) < POD_GOES_SECONDS {
            // The mark must wait, because a run with a mark gets no further reconciliation.
            return Some(OFTEN);
        }
    }
    plan.mark = serde_json::to_string(&Mark::new(run, &plan.status)).ok();
    None
}

impl Decision<'_> {
    /// Finishes a restored run with the outcome in its mark. Starts nothing.
    pub(super) fn restored(&self, mark: &Mark) -> Plan {
        let outcome = Outcome::ALL.into_iter().find(|it| it.name() == mark.outcome).unwrap_or(Outcome::Error);
        let phase = match outcome {
            Outcome::Passed => Phase::Succeeded,
            Outcome::Cancelled => Phase::Cancelled,
            _ => Phase::Failed,
        };
        let [reason, time, folder] = [&mark.reason, &mark.time, &mark.folder].map(|it| truncate(it, MAX_TEXT));
        let figures = match folder.as_str() {
            "" => "the place of its figures is not known".to_owned(),
            folder => format!("its figures are in {folder}"),
        };
        let message = format!(
            "the run was restored from a backup; it had ended {} ({reason}) at {time}, and {figures}; to run it again, delete it and create it without the annotation {FINISHED}, or under another name",
            outcome.name()
        );
        let mut plan = self.finish(phase, outcome, Reason::Restored, &message);
        status::verify(
            &mut plan.status,
            Reason::Restored,
            "the outcome comes only from the annotation benchwright.dev/finished, which users can edit",
            self.turn.now,
        );
        plan
    }
}
