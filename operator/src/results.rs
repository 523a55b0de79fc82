//! The text of the launcher's termination message -> figures, or why there are none.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use crds::{BenchmarkRun, Envelope, envelope::EnvelopeError, status::Attempt};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;

use crate::{
    plan::{Ended, job::CONTAINER, phase::current_attempt},
    reason::Reason,
};

/// The longest part of a log that goes into a message.
const MAX_DIAGNOSIS: usize = 600;

/// An attempt that left no figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoResult {
    /// In one word.
    pub reason: Reason,
    /// What is known, and what to do.
    pub message: String,
}

/// Reads how an attempt ended. Only a message of this run and this attempt is believed.
///
/// # Errors
/// The launcher left no envelope, or another one's.
pub fn read(run: &BenchmarkRun, attempt: u32, ended: &Ended) -> Result<Envelope, NoResult> {
    match Envelope::parse(&ended.message) {
        Ok(envelope)
            if Some(&envelope.core.run_uid) == run.metadata.uid.as_ref() && envelope.core.attempt == attempt =>
        {
            Ok(envelope)
        }
        Ok(_) => Err(NoResult {
            reason: Reason::LauncherFailed,
            message: "the termination message is another run's; see that nothing else writes it".into(),
        }),
        Err(error) => Err(without_envelope(ended, &error)),
    }
}

fn without_envelope(ended: &Ended, error: &EnvelopeError) -> NoResult {
    let code = ended.exit_code;
    if ended.reason == "OOMKilled" {
        let message =
            "the launcher outgrew its memory limit; raise launcher.resources.limits.memory, or lower the load".into();
        return NoResult { reason: Reason::OOMKilled, message };
    }
    if let Some(why) = &ended.disrupted {
        return NoResult { reason: Reason::Disrupted, message: format!("the pod was taken away: {why}") };
    }
    let start = ended.message.len().saturating_sub(MAX_DIAGNOSIS);
    let start = (start..).find(|it| ended.message.is_char_boundary(*it)).unwrap_or(ended.message.len());
    let said = ended.message[start..].trim();
    let said = if said.is_empty() { "nothing".to_owned() } else { format!("{said:?}") };
    let reason = match (error, code) {
        (EnvelopeError::Missing, 10) => Reason::ConfigInvalid,
        _ => Reason::LauncherFailed,
    };
    let message = format!("the launcher ended with status {code} ({}) and {error}; it said {said}", ended.reason);
    NoResult { reason, message }
}

/// The reason for a failure that the launcher itself names.
pub fn reason_of(name: &str) -> Reason {
    let own = [
        Reason::ConfigInvalid,
        Reason::AmbiguousModel,
        Reason::TargetUnavailable,
        Reason::StorageFailed,
        Reason::DeadlineExceeded,
    ];
    own.into_iter().find(|it| it.name() == name).unwrap_or(Reason::LauncherFailed)
}

/// How the launcher's container of a pod ended; `None` while it has not.
pub fn ended(pod: &Pod) -> Option<Ended> {
    let status = pod.status.as_ref()?;
    let disrupted = disruption(pod);
    let containers = status.container_statuses.iter().flatten();
    let terminated = containers
        .filter(|it| it.name == CONTAINER)
        .find_map(|it| it.state.as_ref().and_then(|state| state.terminated.as_ref()));
    match terminated {
        Some(terminated) => Some(Ended {
            exit_code: terminated.exit_code,
            reason: terminated.reason.clone().unwrap_or_default(),
            message: terminated.message.clone().unwrap_or_default(),
            disrupted,
        }),
        // A node that is lost, or an eviction before the start, ends a pod without a word of its container.
        None if status.phase.as_deref() == Some("Failed") => Some(Ended {
            exit_code: -1,
            reason: status.reason.clone().unwrap_or_default(),
            message: String::new(),
            disrupted: disrupted.or_else(|| status.message.clone()).or_else(|| Some("the pod failed".into())),
        }),
        None => None,
    }
}

/// Why a pod was taken away, if it was.
pub fn disruption(pod: &Pod) -> Option<String> {
    let conditions = pod.status.iter().flat_map(|it| it.conditions.iter().flatten());
    let condition = conditions.into_iter().find(|it| it.type_ == "DisruptionTarget" && it.status == "True")?;
    let [reason, message] = [&condition.reason, &condition.message].map(|it| it.clone().unwrap_or_default());
    Some(format!("{reason}: {message}"))
}

/// How attempts ended, as the watch on pods saw it: a pod that is asked to end may be gone before anybody looks again.
/// An entry goes when its run has finished or is gone, so that there is at most one for each run that is under way.
#[derive(Debug, Default)]
pub struct Seen(Mutex<HashMap<String, SeenEnd>>);

#[derive(Debug)]
struct SeenEnd {
    pod_uid: String,
    ended: Ended,
}

impl Seen {
    /// Remembers how a pod ended, if it did and is the pod that the status of the run names. That one was found live, with
    /// the Job of the attempt as its controller; labels and owner references of any other pod may be copied.
    pub fn note(&self, run: &BenchmarkRun, pod: &Pod) {
        let attempt = run.status.as_ref().and_then(current_attempt);
        let (Some(run_uid), Some(attempt), Some(pod_uid)) = (run.uid(), attempt, pod.uid()) else { return };
        if attempt.pod_uid.as_ref() == Some(&pod_uid)
            && let Some(ended) = ended(pod)
        {
            self.lock().insert(run_uid, SeenEnd { pod_uid, ended });
        }
    }

    /// How the pod of an attempt ended.
    pub fn get(&self, run_uid: &str, attempt: &Attempt) -> Option<Ended> {
        let seen = self.lock();
        let of_pod = seen.get(run_uid).filter(|it| Some(&it.pod_uid) == attempt.pod_uid.as_ref());
        of_pod.map(|it| it.ended.clone())
    }

    /// Forgets a run.
    pub fn forget(&self, run_uid: &str) {
        self.lock().remove(run_uid);
    }

    /// How many runs are remembered.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, SeenEnd>> {
        // The map is whole at every moment, also after a panic elsewhere.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
