//! Every reason and every exit code that a process reports to another process or to a user.

use std::{fmt, marker::PhantomData};

use serde::{Deserialize, Serialize};

use crate::benchmark_run::RetryCause;

/// A value from a fixed list of words.
pub trait Word: Copy + PartialEq + 'static {
    /// All words of this type.
    const ALL: &'static [Self];

    /// The word as it appears in status, events, metrics and reports.
    fn name(self) -> &'static str;

    /// The value with this name, if there is one.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.name() == name)
    }
}

/// Defines an enum with one variant per word.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $word:ident,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$doc])* $word,)+
        }

        impl Word for $name {
            const ALL: &'static [Self] = &[$($name::$word,)+];

            fn name(self) -> &'static str {
                match self {
                    $($name::$word => stringify!($word),)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

words! {
    /// The reason for a phase, a condition, an event or an attempt. The operator writes it.
    Reason {
        /// The operator creates ConfigMap, claim and Job.
        Preparing,
        /// The server that the run describes is starting.
        ServerStarting,
        /// `spec.suspend` is true.
        Suspended,
        /// The Job waits for the queue that `spec.queueName` names.
        Queued,
        /// The queue that `spec.queueName` names does not exist.
        QueueNotFound,
        /// Another run uses the target, or comes before this run in the line for the target.
        TargetBusy,
        /// The Gateway, route or InferencePool of the target does not exist, or is not ready.
        TargetNotFound,
        /// No node accepts the pod.
        Unschedulable,
        /// The claim is not bound to a volume yet.
        VolumePending,
        /// The image cannot be pulled.
        ImagePull,
        /// The pod is being created or starts on its node.
        PodStarting,
        /// The Job has created no pod.
        PodRefused,
        /// The node has not mounted the pod's volumes.
        MountPending,
        /// The node cannot create the container.
        ContainerRefused,
        /// The launcher runs and waits for the target.
        TargetNotReady,
        /// The launcher sends the load.
        Measuring,
        /// The launcher has prepared everything and waits for a person: `spec.launcher.debug` is true.
        Debugging,
        /// The Job has ended and the operator reads the result.
        ReadingResult,
        /// The run has ended, and its server is being removed.
        ServerStopping,
        /// A user cancelled the run, and the launcher drains.
        Cancelling,
        /// An object that the run needs cannot be read.
        ReadFailed,
        /// The last attempt failed. The next attempt begins when the pod of the last one is gone.
        Retrying,
        /// The run passed: its figures are valid.
        RunSucceeded,
        /// There are figures, but they are not valid.
        MeasurementInvalid,
        /// An objective of `spec.slo` is missed.
        SLOViolated,
        /// An objective of `spec.slo` cannot be decided, and no objective is missed.
        SLOInconclusive,
        /// Every objective of `spec.slo` is met.
        SLOMet,
        /// The spec cannot be run.
        InvalidSpec,
        /// The namespace already has the maximum number of attempts that its administrators allow.
        NamespaceBusy,
        /// The spec requests something that the administrators of this installation do not allow.
        PolicyDenied,
        /// The run has a value that this release of the operator cannot read.
        Unreadable,
        /// The profile cannot be run.
        ProfileInvalid,
        /// The ConfigMap that holds the profile or one of its files does not exist, or lacks the key.
        ProfileNotFound,
        /// An object of another owner has the name that this run needs.
        NameConflict,
        /// The launcher refused its configuration.
        ConfigInvalid,
        /// The server serves several models, and the spec names none.
        AmbiguousModel,
        /// Two pods match the launcher's Job, so it is not clear which one is the launcher.
        AmbiguousPod,
        /// The target did not become ready in time.
        TargetUnavailable,
        /// The server of the run ended, or was not ready in time, before the load began.
        ServerFailed,
        /// The server of the run ended while the launcher needed it.
        ServerDied,
        /// The server of a finished run was not removed in time.
        ServerNotGone,
        /// The results could not be stored.
        StorageFailed,
        /// The pod was evicted, preempted, deleted or lost with its node.
        Disrupted,
        /// The Job completed, and its pod was gone before the operator had read the result.
        ResultLost,
        /// The launcher exceeded its memory limit.
        OOMKilled,
        /// ConfigMap, claim and Job were not created in time.
        PrepareTimeout,
        /// The launcher did not start to measure in time.
        StartTimeout,
        /// The launcher did not end in time.
        DeadlineExceeded,
        /// The launcher ended without a result.
        LauncherFailed,
        /// The Job was deleted while it ran.
        JobLost,
        /// A user cancelled the run.
        Cancelled,
        /// The run had finished before it was restored from a backup.
        Restored,
        /// The results folder is on the claim.
        Stored,
        /// The results folder could not be written.
        NotStored,
        /// `storage.none` is set: the spec requested no results folder.
        NotAsked,
        /// The run used the operator's own image as launcher.
        OwnLauncher,
        /// The run used the launcher image in its spec, so the figures depend on that image.
        CustomImage,
        /// The figures come from the existing results folder that `spec.execution.collect` names.
        Collected,
        /// The figures come from the results folder of an earlier attempt, whose pod the cluster lost after the measurement had ended. Or a search went
        /// on from the trials in such a folder.
        Reread,
        /// A schedule waits for its next time, or for a change of its trigger.
        Scheduled,
        /// A run of the schedule or sweep is in progress.
        RunActive,
        /// A schedule or sweep started a run.
        RunStarted,
        /// A scheduled time passed without starting a run, because another run was in progress or the time had passed too long ago.
        RunSkipped,
        /// The API server refused to create a run of a schedule or sweep.
        StartRefused,
        /// The run of a schedule's trigger did not succeed.
        TriggeredRunFailed,
        /// A sweep pauses before its next run.
        CoolingDown,
        /// A run of a sweep used all of its attempts without valid figures.
        RunFailed,
        /// Every run of the sweep has valid figures.
        SweepSucceeded,
        /// A sweep ended, and at least one of its runs has no valid figures.
        SweepFailed,
        /// The time limit of the sweep passed before its last run.
        BudgetExceeded,
    }
}

impl Reason {
    /// The entry of `spec.execution.retry.reasons` that allows another attempt after a failure with this reason.
    pub fn retry_cause(self) -> Option<RetryCause> {
        match self {
            Reason::Disrupted | Reason::ResultLost => Some(RetryCause::Disrupted),
            Reason::TargetUnavailable => Some(RetryCause::TargetUnavailable),
            // Only this general timeout can be retried. After a more specific reason, such as ImagePull, the next attempt would fail in the same way.
            Reason::StartTimeout => Some(RetryCause::StartTimeout),
            _ => None,
        }
    }
}

words! {
    /// The reason for the outcome of a launcher's run. The launcher writes it into its report and its termination message.
    LauncherReason {
        /// The measurement is valid.
        RunSucceeded,
        /// An objective of `spec.slo` is missed.
        SLOViolated,
        /// An objective of `spec.slo` cannot be decided, and no objective is missed.
        SLOInconclusive,
        /// A signal stopped the run.
        Cancelled,
        /// The deadline of the run passed before all requests had ended.
        DeadlineExceeded,
        /// The target stopped answering during the load.
        TargetLost,
        /// A stop rule of the profile ended a stage, or the load.
        StopRule,
        /// A stage was not run because its rate depends on a measurement that earlier stages did not produce.
        StageNotRun,
        /// The number of successful requests is below `minSuccessfulRequests`.
        TooFewSuccesses,
        /// The share of failed requests is above `maxErrorRatio`.
        TooManyErrors,
        /// The launcher sent requests too late.
        SendLagTooLarge,
        /// The launcher read answers too late.
        ReceiveDelayTooLarge,
        /// Too many reads were late and contained several tokens.
        ReadsCoalesced,
        /// A load thread used a CPU, or waited for one, for too large a share of the time.
        CpuSaturated,
        /// The launcher reached its CPU limit in too many periods.
        CpuThrottled,
        /// The hypervisor gave too much CPU time to other machines.
        CpuStolen,
        /// The launcher could not run for too large a share of the time.
        SchedulerStalled,
        /// The clock stepped, or the machine slept.
        ClockStepped,
        /// The recorder ran out of space and dropped values.
        EventsDropped,
        /// LoadGen's own rules declare the test invalid.
        LoadGenInvalid,
        /// The accuracy of the answers misses a limit of the profile.
        AccuracyMissed,
        /// The answers do not suffice to decide whether they meet the accuracy limits of the profile.
        AccuracyUndecided,
        /// The run file, the profile, the model or the token cannot be used.
        ConfigInvalid,
        /// The server serves several models, and none was named.
        AmbiguousModel,
        /// The target did not become ready in time.
        TargetUnavailable,
        /// The results could not be stored.
        StorageFailed,
        /// The system refused threads, memory or files to the launcher, or the launcher has a bug.
        LauncherFailed,
    }
}

words! {
    /// Why a search ended. The launcher writes it.
    SearchEnd {
        /// A load was confirmed. Another trial would not raise the answer much, or there was no time for one.
        Confirmed,
        /// The time did not suffice for a confirmation.
        Budget,
        /// Every load failed.
        NoLoadPasses,
        /// The highest load was confirmed.
        HighestLoadPasses,
        /// The launcher cannot send more.
        ClientLimited,
        /// The server did not meet the objectives again at any confirmed load.
        DoesNotRecover,
        /// No confirmation passed.
        NotConfirmed,
    }
}

impl LauncherReason {
    /// The operator's reason for an attempt that ended with this launcher reason.
    pub fn attempt_reason(self) -> Reason {
        match self {
            LauncherReason::ConfigInvalid => Reason::ConfigInvalid,
            LauncherReason::AmbiguousModel => Reason::AmbiguousModel,
            LauncherReason::TargetUnavailable => Reason::TargetUnavailable,
            LauncherReason::StorageFailed => Reason::StorageFailed,
            LauncherReason::DeadlineExceeded => Reason::DeadlineExceeded,
            _ => Reason::LauncherFailed,
        }
    }
}

/// A word that another process or another release wrote. A word that this release does not know is kept as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Reported<T> {
    text: String,
    #[serde(skip)]
    word: PhantomData<T>,
}

impl<T: Word> Reported<T> {
    /// The value, if this release knows the word.
    pub fn known(&self) -> Option<T> {
        T::named(&self.text)
    }
}

impl<T> Reported<T> {
    /// The word as it was written. Empty if none was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether no word was written.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

impl<T> Default for Reported<T> {
    fn default() -> Self {
        Reported { text: String::new(), word: PhantomData }
    }
}

impl<T> From<&str> for Reported<T> {
    fn from(text: &str) -> Self {
        Reported { text: text.to_owned(), word: PhantomData }
    }
}

impl From<Reason> for Reported<Reason> {
    fn from(word: Reason) -> Self {
        word.name().into()
    }
}

impl From<SearchEnd> for Reported<SearchEnd> {
    fn from(word: SearchEnd) -> Self {
        word.name().into()
    }
}

impl From<LauncherReason> for Reported<LauncherReason> {
    fn from(word: LauncherReason) -> Self {
        word.name().into()
    }
}

impl<T: Word> PartialEq<T> for Reported<T> {
    fn eq(&self, word: &T) -> bool {
        self.text == word.name()
    }
}

impl<T> PartialEq<&str> for Reported<T> {
    fn eq(&self, text: &&str) -> bool {
        self.text == *text
    }
}

impl<T> fmt::Display for Reported<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(feature = "kube")]
impl<T> schemars::JsonSchema for Reported<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Reported".into()
    }

    // The schema accepts any word, because the API server must accept the words of other releases.
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "maxLength": 64})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_as_it_is_printed() {
        for word in Reason::ALL {
            assert_eq!(Reported::from(*word).known(), Some(*word));
            assert_eq!(serde_json::to_value(word).unwrap(), word.to_string());
        }
        for word in LauncherReason::ALL {
            assert_eq!(Reported::from(*word).known(), Some(*word));
        }
        for word in SearchEnd::ALL {
            assert_eq!(Reported::from(*word).known(), Some(*word));
        }
    }

    #[test]
    fn a_word_of_another_release_is_kept() {
        let read: Reported<Reason> = serde_json::from_str("\"SomethingNew\"").unwrap();
        assert_eq!((read.known(), read.as_str()), (None, "SomethingNew"));
        assert_eq!(serde_json::to_string(&read).unwrap(), "\"SomethingNew\"");
    }
}
