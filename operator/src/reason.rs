//! Every reason that a phase, a condition, an event or an attempt may carry, in one word.

use crds::benchmark_run::RetryCause;

/// Why a run is where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Being made: ConfigMap, volume.
    Preparing,
    /// `spec.suspend` is true.
    Suspended,
    /// The pod waits for a node.
    Unschedulable,
    /// The pod waits for its volume.
    VolumePending,
    /// The image does not come.
    ImagePull,
    /// The pod is being made.
    PodStarting,
    /// The launcher runs and waits for the target.
    TargetNotReady,
    /// The launcher measures.
    Measuring,
    /// The Job has ended, the result is being read.
    ReadingResult,
    /// Somebody asked to end; the launcher drains.
    Cancelling,
    /// The last attempt ended badly; its pod has to go before the next one begins.
    Retrying,
    /// The figures count.
    RunSucceeded,
    /// There are figures, and they do not count.
    MeasurementInvalid,
    /// The spec cannot be run.
    InvalidSpec,
    /// The profile cannot be run.
    ProfileInvalid,
    /// The ConfigMap that holds the profile is not there, or has no such key.
    ProfileNotFound,
    /// An object of another owner has the name that this run needs.
    NameConflict,
    /// The launcher refused what it was given.
    ConfigInvalid,
    /// The server serves several models, and the spec names none.
    AmbiguousModel,
    /// Two pods could be the launcher's.
    AmbiguousPod,
    /// The target did not become ready.
    TargetUnavailable,
    /// The results could not be stored.
    StorageFailed,
    /// The pod was evicted, preempted or lost with its node.
    Disrupted,
    /// The launcher outgrew its memory limit.
    OOMKilled,
    /// ConfigMap or volume were not made in time.
    PrepareTimeout,
    /// The launcher did not measure in time.
    StartTimeout,
    /// The launcher did not end in time.
    DeadlineExceeded,
    /// The launcher ended without a result.
    LauncherFailed,
    /// Somebody deleted the Job.
    JobLost,
    /// Ended early because somebody asked.
    Cancelled,
}

impl Reason {
    /// All of them, for the documentation's test.
    pub const ALL: [Reason; 30] = [
        Reason::Preparing,
        Reason::Suspended,
        Reason::Unschedulable,
        Reason::VolumePending,
        Reason::ImagePull,
        Reason::PodStarting,
        Reason::TargetNotReady,
        Reason::Measuring,
        Reason::ReadingResult,
        Reason::Cancelling,
        Reason::Retrying,
        Reason::RunSucceeded,
        Reason::MeasurementInvalid,
        Reason::InvalidSpec,
        Reason::ProfileInvalid,
        Reason::ProfileNotFound,
        Reason::NameConflict,
        Reason::ConfigInvalid,
        Reason::AmbiguousModel,
        Reason::AmbiguousPod,
        Reason::TargetUnavailable,
        Reason::StorageFailed,
        Reason::Disrupted,
        Reason::OOMKilled,
        Reason::StartTimeout,
        Reason::DeadlineExceeded,
        Reason::LauncherFailed,
        Reason::JobLost,
        Reason::Cancelled,
        Reason::PrepareTimeout,
    ];

    /// The word.
    pub fn name(self) -> String {
        format!("{self:?}")
    }

    /// The reason of that name, where there is one.
    pub fn named(name: &str) -> Option<Reason> {
        Reason::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Which entry of `spec.execution.retry.reasons` allows another attempt.
    pub fn retry_cause(self) -> Option<RetryCause> {
        match self {
            Reason::Disrupted => Some(RetryCause::Disrupted),
            Reason::TargetUnavailable => Some(RetryCause::TargetUnavailable),
            Reason::StartTimeout | Reason::ImagePull | Reason::VolumePending | Reason::Unschedulable => {
                Some(RetryCause::StartTimeout)
            }
            _ => None,
        }
    }
}
