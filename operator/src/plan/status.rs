//! Conditions, reasons and figures as the user sees them.

use crds::{
    BenchmarkRun, BenchmarkRunStatus, Envelope, Outcome,
    resolve::claim,
    status::{Condition, ConditionStatus, Phase},
};
use jiff::Timestamp;
use kube::ResourceExt as _;

use super::{Plan, PlannedEvent};
use crate::reason::Reason;

/// The longest message of a condition, in bytes.
const MAX_MESSAGE: usize = 4_000;
/// The longest note of an event, in bytes.
const MAX_NOTE: usize = 1_000;

/// Where a run stands, in words.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The phase.
    pub phase: Phase,
    /// What it came to; only in a terminal phase.
    pub outcome: Option<Outcome>,
    /// Why, in one word.
    pub reason: Reason,
    /// Why, in a sentence that says what to do.
    pub message: String,
}

impl Standing {
    /// A phase that is not terminal.
    pub fn new(phase: Phase, reason: Reason, message: impl Into<String>) -> Self {
        Standing { phase, outcome: None, reason, message: message.into() }
    }

    fn is_warning(&self) -> bool {
        let stuck = [Reason::ImagePull, Reason::VolumePending, Reason::Unschedulable, Reason::Retrying];
        self.phase == Phase::Failed || stuck.contains(&self.reason)
    }
}

/// A plan that only tells where the run stands.
pub fn plan(run: &BenchmarkRun, before: &BenchmarkRunStatus, standing: Standing, now: Timestamp) -> Plan {
    let changed = before.phase != Some(standing.phase);
    let stuck = standing.is_warning() && before.reason != standing.reason.name();
    // The making of a ConfigMap is no news; what comes of it is.
    let news = (changed && standing.phase != Phase::Preparing) || stuck;
    let event = news.then(|| PlannedEvent {
        warning: standing.is_warning(),
        reason: standing.reason,
        note: cut(&standing.message, MAX_NOTE),
    });
    let status = BenchmarkRunStatus {
        observed_generation: run.metadata.generation.unwrap_or_default(),
        phase: Some(standing.phase),
        outcome: standing.outcome,
        reason: standing.reason.name(),
        conditions: conditions(run, before, &standing, now),
        ..before.clone()
    };
    Plan { status, event, ..Plan::default() }
}

/// Puts the launcher's figures into a status.
pub fn take(status: &mut BenchmarkRunStatus, run: &BenchmarkRun, envelope: &Envelope) {
    let core = &envelope.core;
    status.start_time = core.started;
    status.summary.clone_from(&core.summary);
    status.stages.clone_from(&envelope.stages);
    status.stages_truncated = envelope.stages_truncated;
    if let Some(resolved) = status.resolved.as_mut().filter(|_| !core.model.is_empty()) {
        resolved.model.clone_from(&core.model);
    }
    status.artifacts.clone_from(&core.artifacts);
    if let (Some(pvc), Some(folder)) = (claim(&run.spec), &core.folder) {
        for artifact in &mut status.artifacts {
            artifact.uri = format!("pvc://{}/{folder}/{}", pvc.claim_name, artifact.name);
        }
    }
    let stored = match (claim(&run.spec), &core.folder) {
        (None, _) => (ConditionStatus::False, "NotAsked", "storage.none is set".to_owned()),
        (Some(pvc), Some(folder)) => (ConditionStatus::True, "Stored", format!("in {folder} on claim {}", pvc.claim_name)),
        (Some(_), None) => (ConditionStatus::False, "NotStored", cut(&core.message, MAX_MESSAGE)),
    };
    let time = status.completion_time.unwrap_or_default();
    set(&mut status.conditions, status.observed_generation, time, "ResultsStored", stored);
}

fn conditions(run: &BenchmarkRun, before: &BenchmarkRunStatus, standing: &Standing, now: Timestamp) -> Vec<Condition> {
    use ConditionStatus::{False, True, Unknown};
    let mut all = before.conditions.clone();
    let generation = run.metadata.generation.unwrap_or_default();
    let reason = standing.reason.name();
    let message = cut(&standing.message, MAX_MESSAGE);
    let mut put = |kind: &str, status: ConditionStatus| {
        set(&mut all, generation, now, kind, (status, &reason, message.clone()));
    };
    let terminal = standing.phase.is_terminal();
    let succeeded = standing.phase == Phase::Succeeded;
    put("Ready", if succeeded { True } else { False });
    put("Finished", if terminal { True } else { False });
    put("Succeeded", match (terminal, succeeded) {
        (false, _) => Unknown,
        (true, true) => True,
        (true, false) => False,
    });
    match standing.phase {
        Phase::Running | Phase::Succeeded => put("TargetReady", True),
        _ if standing.reason == Reason::TargetUnavailable => put("TargetReady", False),
        _ => {}
    }
    if terminal {
        if !succeeded {
            put("Stalled", True);
        }
        all.retain(|it| it.kind != "Reconciling");
    } else {
        put("Reconciling", True);
        all.retain(|it| it.kind != "Stalled");
    }
    all
}

/// Sets one condition; its time changes only with its status.
fn set(
    all: &mut Vec<Condition>,
    observed_generation: i64,
    now: Timestamp,
    kind: &str,
    (status, reason, message): (ConditionStatus, &str, String),
) {
    let before = all.iter_mut().find(|it| it.kind == kind);
    let same = before.as_ref().filter(|it| it.status == status);
    let last_transition_time = same.map_or(now, |it| it.last_transition_time);
    let condition = Condition {
        kind: kind.to_owned(),
        status,
        reason: reason.to_owned(),
        message,
        last_transition_time,
        observed_generation,
    };
    match before {
        Some(before) => *before = condition,
        None => all.push(condition),
    }
}

/// At most so many bytes, cut between characters.
pub fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let mut end = max - '…'.len_utf8();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

/// `namespace/name`, for logs.
pub fn full_name(run: &BenchmarkRun) -> String {
    format!("{}/{}", run.namespace().unwrap_or_default(), run.name_any())
}
