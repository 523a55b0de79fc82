//! Writes the status as users see it: conditions, reasons and figures.

use std::collections::BTreeSet;

use crds::{
    BenchmarkRun, BenchmarkRunStatus, Envelope, Outcome, Reason,
    accuracy::MAX_FIGURES,
    benchmark_run::{MAX_OBJECTIVE_NAME, MAX_OBJECTIVES, MAX_REPEATS},
    envelope::{MAX_ARTIFACTS, MAX_STAGES},
    objective::{Met, ObjectiveCounts},
    resolve::{effective::Storage, results_uri},
    status::{Columns, Condition, ConditionStatus, Phase},
};
use jiff::Timestamp;
use kube::ResourceExt;

use super::{Plan, PlannedEvent, PodState};

/// Maximum length of the messages of Ready, Reconciling and Stalled, in bytes. It is larger than for other conditions, because users and tools read
/// these first.
const MAX_MESSAGE: usize = 1_500;
/// Maximum length of the message of any other condition, in bytes.
const MAX_SHORT_MESSAGE: usize = 250;
/// Maximum size of a status, in bytes of JSON.
pub const MAX_STATUS_BYTES: usize = 16 * 1024;
/// Type of the condition about the objectives.
const SLO_MET: &str = "SLOMet";
/// Type of the condition about the results folder.
const RESULTS_STORED: &str = "ResultsStored";
/// Type of the condition about the origin of the figures.
const VERIFIED: &str = "Verified";
/// Maximum length of the message of an event, in bytes.
const MAX_NOTE: usize = 1_000;

/// The earlier attempts whose results folders the next attempt may report again: their Jobs completed, but their results were lost.
pub fn finished_attempts(run: &BenchmarkRun) -> Vec<u32> {
    let attempts = run.status.iter().flat_map(|it| &it.attempts);
    attempts.filter(|it| it.reason == Reason::ResultLost).map(|it| it.number).collect()
}

/// The phase of the next status, with its reason.
#[derive(Clone, Debug)]
pub struct NextStatus {
    /// The phase of the status.
    pub phase: Phase,
    /// The outcome of the run. Only set in a terminal phase.
    pub outcome: Option<Outcome>,
    /// The reason why the run is in this phase.
    pub reason: Reason,
    /// The reason as a sentence, with the remedy.
    pub message: String,
}

impl NextStatus {
    /// A next status without outcome.
    pub fn new(phase: Phase, reason: Reason, message: impl Into<String>) -> Self {
        NextStatus { phase, outcome: None, reason, message: message.into() }
    }

    /// Whether the time in this status counts toward the preparation deadline.
    fn is_preparing(&self) -> bool {
        let in_line = [Reason::TargetBusy, Reason::NamespaceBusy, Reason::ServerStarting].contains(&self.reason);
        matches!(self.phase, Phase::Pending | Phase::Preparing) && !in_line
    }

    fn is_warning(&self) -> bool {
        let stuck = [
            Reason::ImagePull,
            Reason::VolumePending,
            Reason::Unschedulable,
            Reason::PodRefused,
            Reason::MountPending,
            Reason::ContainerRefused,
            Reason::ReadFailed,
            Reason::Retrying,
            Reason::QueueNotFound,
        ];
        self.phase == Phase::Failed || stuck.contains(&self.reason)
    }
}

/// A plan that only writes a status. It includes an event if the phase changes, or if the run becomes stuck.
pub fn plan(run: &BenchmarkRun, before: &BenchmarkRunStatus, next: NextStatus, now: Timestamp) -> Plan {
    let changed = before.phase != Some(next.phase);
    let stuck = next.is_warning() && before.reason != next.reason;
    // A change to Preparing gets no event, because this phase is short.
    let news = (changed && next.phase != Phase::Preparing) || stuck;
    let note = || truncate(&next.message, MAX_NOTE);
    let event = news.then(|| PlannedEvent { warning: next.is_warning(), reason: next.reason, note: note() });
    let status = BenchmarkRunStatus {
        observed_generation: run.metadata.generation.unwrap_or_default(),
        phase: Some(next.phase),
        outcome: next.outcome,
        reason: next.reason.into(),
        conditions: conditions(run, before, &next, now),
        preparing_since: next.is_preparing().then(|| before.preparing_since.unwrap_or(now)),
        ..before.clone()
    };
    Plan { status, event, ..Plan::default() }
}

/// A Warning event that is independent of a change of phase.
pub fn warning(reason: Reason, message: &str) -> PlannedEvent {
    PlannedEvent { warning: true, reason, note: truncate(message, MAX_NOTE) }
}

/// A Normal event that is independent of a change of phase.
pub fn news(reason: Reason, message: &str) -> PlannedEvent {
    PlannedEvent { warning: false, reason, note: truncate(message, MAX_NOTE) }
}

/// Copies the launcher's figures into a status. `storage` is the storage of the attempt, and `namespace` is the run's namespace.
pub fn apply_envelope(status: &mut BenchmarkRunStatus, storage: &Storage, namespace: &str, envelope: &Envelope) {
    let core = &envelope.core;
    status.load_start_time = core.load_start_time;
    status.partial = core.partial;
    status.summary.clone_from(&core.summary);
    status.search.clone_from(&core.search);
    status.stages.clone_from(&envelope.stages);
    status.stages_truncated = envelope.stages_truncated;
    if let Some(resolved) = status.resolved.as_mut().filter(|_| !core.model.is_empty()) {
        resolved.model.clone_from(&core.model);
    }
    status.artifacts.clone_from(&core.artifacts);
    let uri = results_uri(storage, namespace);
    if let (Some(uri), Some(folder)) = (&uri, &core.folder) {
        for artifact in &mut status.artifacts {
            artifact.uri = format!("{uri}/{folder}/{}", artifact.name);
        }
    }
    status.objectives.clone_from(&envelope.objectives);
    status.accuracy.clone_from(&envelope.accuracy);
    limit_fields(status);
    let counts = status.outcome.is_some_and(Outcome::has_valid_figures) && !status.partial;
    status.columns =
        status.summary.as_ref().filter(|_| counts).map(|it| Box::new(Columns::new(it, status.search.as_deref())));
    let time = status.completion_time.unwrap_or_default();
    if let Some(counts) = core.objectives {
        status.objectives_truncated = counts.total() as usize > status.objectives.len();
        let met = slo_met(status, counts);
        set_condition(&mut status.conditions, status.observed_generation, time, SLO_MET, met);
    }
    let stored = match (&uri, &core.folder) {
        (None, _) => (
            ConditionStatus::False,
            Reason::NotAsked,
            "storage.none is set, so that no results folder was written".to_owned(),
        ),
        (Some(uri), Some(folder)) => {
            let place = match &storage.pvc {
                Some(pvc) => format!("in {folder} on claim {}{}", pvc.claim_name, deleted(core.deleted_folders)),
                None => format!("in {uri}/{folder}"),
            };
            (ConditionStatus::True, Reason::Stored, place)
        }
        (Some(_), None) => (ConditionStatus::False, Reason::NotStored, core.message.clone()),
    };
    let stored = (stored.0, stored.1, truncate(&stored.2, MAX_SHORT_MESSAGE));
    set_condition(&mut status.conditions, status.observed_generation, time, RESULTS_STORED, stored);
}

/// Text about the number of results folders that retention deleted on the claim.
fn deleted(folders: u32) -> String {
    match folders {
        0 => String::new(),
        1 => "; retention deleted 1 folder of an earlier run".into(),
        folders => format!("; retention deleted {folders} folders of earlier runs"),
    }
}

/// Status, reason and message of the condition about the objectives. They derive from the counts, which are always complete, and not from the rows,
/// some of which might be missing.
fn slo_met(status: &BenchmarkRunStatus, counts: ObjectiveCounts) -> (ConditionStatus, Reason, String) {
    let all = counts.all();
    let (condition, reason) = match all {
        Met::True => (ConditionStatus::True, Reason::SLOMet),
        Met::False => (ConditionStatus::False, Reason::SLOViolated),
        Met::Inconclusive => (ConditionStatus::Unknown, Reason::SLOInconclusive),
    };
    let against = status.objectives.iter().filter(|it| all != Met::True && it.met == all);
    let named: Vec<String> = against
        .map(|it| match (it.observed.as_str(), it.run.as_str()) {
            ("", "") => it.name.clone(),
            ("", run) => format!("{} (in run {run})", it.name),
            (observed, "") => format!("{} ({observed}, limit {})", it.name, it.limit),
            (observed, run) => format!("{} ({observed} in run {run}, limit {})", it.name, it.limit),
        })
        .collect();
    let colon = if named.is_empty() { "" } else { ": " };
    let message = format!("{counts}{colon}{}", named.join(", "));
    (condition, reason, truncate(&message, MAX_SHORT_MESSAGE))
}

/// Sets the condition Verified: whether the operator's own image measured the figures, or else where they come from.
pub fn verify(status: &mut BenchmarkRunStatus, reason: Reason, message: &str, now: Timestamp) {
    let verified = if reason == Reason::OwnLauncher { ConditionStatus::True } else { ConditionStatus::False };
    let condition = (verified, reason, truncate(message, MAX_SHORT_MESSAGE));
    set_condition(&mut status.conditions, status.observed_generation, now, VERIFIED, condition);
}

/// Copies the conditions about the result from the status of an ended run. Only a result can change these conditions.
pub fn keep_results(status: &mut BenchmarkRunStatus, ended: &BenchmarkRunStatus) {
    for kind in [SLO_MET, RESULTS_STORED, VERIFIED] {
        let Some(kept) = ended.conditions.iter().find(|it| it.kind == kind) else { continue };
        status.conditions.retain(|it| it.kind != kind);
        status.conditions.push(kept.clone());
    }
}

/// Records the pod, node and image of the last attempt in a status. They are only written together with another status change, because a write for
/// each step of the pod would be too many.
pub fn locate(status: &mut BenchmarkRunStatus, pod: &PodState) {
    let Some(attempt) = status.attempts.last_mut().filter(|it| it.pod_uid.is_some() && it.pod_uid == pod.uid) else {
        return;
    };
    let name = pod.name.as_deref().unwrap_or_default();
    let found = [(&mut attempt.pod_name, name, 253), (&mut attempt.node_name, &pod.node, 253)];
    for (field, found, max) in found.into_iter().chain([(&mut attempt.image_id, pod.image_id.as_str(), 512)]) {
        if !found.is_empty() {
            *field = truncate(found, max);
        }
    }
}

fn conditions(run: &BenchmarkRun, before: &BenchmarkRunStatus, next: &NextStatus, now: Timestamp) -> Vec<Condition> {
    use ConditionStatus::{False, True, Unknown};
    let mut all = before.conditions.clone();
    let generation = run.metadata.generation.unwrap_or_default();
    let reason = next.reason;
    let mut put = |kind: &str, status: ConditionStatus| {
        let main = ["Ready", "Reconciling", "Stalled"].contains(&kind);
        let message = if main { truncate_message(&next.message) } else { truncate(&next.message, MAX_SHORT_MESSAGE) };
        set_condition(&mut all, generation, now, kind, (status, reason, message));
    };
    let terminal = next.phase.is_terminal();
    let succeeded = next.phase == Phase::Succeeded;
    put("Ready", if succeeded { True } else { False });
    put("Finished", if terminal { True } else { False });
    put(
        "Succeeded",
        match (terminal, succeeded) {
            (false, _) => Unknown,
            (true, true) => True,
            (true, false) => False,
        },
    );
    if !run.spec.slo.objectives.is_empty() {
        // The condition is unknown until there is a result.
        put(SLO_MET, Unknown);
    }
    if next.reason == Reason::TargetUnavailable {
        put("TargetReady", False);
    }
    let gone = if terminal {
        if !succeeded {
            put("Stalled", True);
        }
        "Reconciling"
    } else if reason == Reason::QueueNotFound {
        // The run is marked as stalled, because tools that wait for it would otherwise wait forever. It continues when somebody creates the queue.
        put("Stalled", True);
        "Reconciling"
    } else {
        put("Reconciling", True);
        "Stalled"
    };
    if reason == Reason::Debugging {
        let reached = (True, reason, "the launcher has reached the target".to_owned());
        set_condition(&mut all, generation, now, "TargetReady", reached);
    } else if matches!(next.phase, Phase::Running | Phase::Succeeded)
        && reason != Reason::Restored
        && run.spec.execution.collect.is_none()
    {
        let met = (True, Reason::Measuring, "the launcher measures or has measured the target".to_owned());
        set_condition(&mut all, generation, now, "TargetReady", met);
    }
    // The next attempt must check anew whether the target is ready.
    let unknown = matches!(next.phase, Phase::Preparing | Phase::Suspended).then_some("TargetReady");
    all.retain(|it| it.kind != gone && Some(it.kind.as_str()) != unknown);
    all.iter_mut().for_each(|it| it.observed_generation = generation);
    all
}

/// Whether an object is ready, whether it will become ready without an intervention, and the reason and message for both.
pub type Verdict = (bool, bool, Reason, String);

/// Sets Ready, and either removes Reconciling and Stalled or sets one of them, as kstatus expects.
pub fn set_verdict(
    all: &mut Vec<Condition>,
    generation: i64,
    now: Timestamp,
    (ready, reconciling, reason, message): Verdict,
) {
    use ConditionStatus::{False, True};
    let message = truncate_message(&message);
    let mut put = |kind: &str, status| {
        set_condition(all, generation, now, kind, (status, reason, message.clone()));
    };
    put("Ready", if ready { True } else { False });
    let gone: &[&str] = match (ready, reconciling) {
        (true, _) => &["Reconciling", "Stalled"],
        (false, true) => {
            put("Reconciling", True);
            &["Stalled"]
        }
        (false, false) => {
            put("Stalled", True);
            &["Reconciling"]
        }
    };
    all.retain(|it| !gone.contains(&it.kind.as_str()));
}

/// Sets one condition. Its transition time only changes together with its status.
pub fn set_condition(
    all: &mut Vec<Condition>,
    observed_generation: i64,
    now: Timestamp,
    kind: &str,
    (status, reason, message): (ConditionStatus, Reason, String),
) {
    let before = all.iter_mut().find(|it| it.kind == kind);
    let same = before.as_ref().filter(|it| it.status == status);
    let last_transition_time = same.map_or(now, |it| it.last_transition_time);
    let condition = Condition {
        kind: kind.to_owned(),
        status,
        reason: reason.into(),
        message,
        last_transition_time,
        observed_generation,
    };
    match before {
        Some(before) => *before = condition,
        None => all.push(condition),
    }
}

/// Cuts the launcher's report to the limits of the CRD. The report can have any content, because the user chooses the launcher's image, and the API
/// server refuses a status that exceeds the limits.
fn limit_fields(status: &mut BenchmarkRunStatus) {
    const LARGEST: u64 = i64::MAX as u64;
    status.load_start_time = status.load_start_time.filter(|it| it.as_second() >= 0);
    if let Some(resolved) = &mut status.resolved {
        resolved.model = truncate(&resolved.model, 256);
    }
    if let Some(summary) = &mut status.summary {
        for count in [&mut summary.requests, &mut summary.failed, &mut summary.cancelled] {
            *count = (*count).min(LARGEST);
        }
        summary.mean_of_runs = summary.mean_of_runs.map(|it| it.min(MAX_REPEATS));
    }
    if let Some(search) = &mut status.search {
        search.stopped = truncate(search.stopped.as_str(), 64).as_str().into();
    }
    for stage in &mut status.stages {
        stage.name = truncate(&stage.name, 64);
        for count in [&mut stage.requests, &mut stage.failed, &mut stage.cancelled] {
            *count = (*count).min(LARGEST);
        }
    }
    let found = status.stages.len();
    retain_unique(&mut status.stages, |it| &it.name);
    status.stages.truncate(MAX_STAGES);
    status.stages_truncated |= status.stages.len() < found;
    for objective in &mut status.objectives {
        objective.name = truncate(&objective.name, MAX_OBJECTIVE_NAME);
        objective.observed = truncate(&objective.observed, 32);
        objective.limit = truncate(&objective.limit, 32);
        objective.run = truncate(&objective.run, 8);
    }
    retain_unique(&mut status.objectives, |it| &it.name);
    status.objectives.truncate(MAX_OBJECTIVES);
    if let Some(accuracy) = &mut status.accuracy {
        accuracy.check = truncate(&accuracy.check, 40);
        accuracy.scored = accuracy.scored.min(LARGEST);
        for figure in &mut accuracy.figures {
            figure.name = truncate(&figure.name, 40);
            figure.value = truncate(&figure.value, 32);
            figure.limit = truncate(&figure.limit, 64);
        }
        retain_unique(&mut accuracy.figures, |it| &it.name);
        accuracy.figures.truncate(MAX_FIGURES);
    }
    for artifact in &mut status.artifacts {
        artifact.name = truncate(&artifact.name, 128);
        artifact.uri = truncate(&artifact.uri, 1_024);
        artifact.bytes = artifact.bytes.min(LARGEST);
        artifact.sha256 = truncate(&artifact.sha256, 64);
    }
    retain_unique(&mut status.artifacts, |it| &it.name);
    status.artifacts.truncate(MAX_ARTIFACTS);
}

/// Removes items whose name has occurred before. In the CRD the name is the key of the list, and the API server refuses duplicate keys.
fn retain_unique<T>(items: &mut Vec<T>, name: impl Fn(&T) -> &String) {
    let mut taken = BTreeSet::new();
    items.retain(|it| taken.insert(name(it).clone()));
}

/// Reduces a status to at most [`MAX_STATUS_BYTES`] by removing first files, then the last stages, and then the last objectives.
pub fn limit_size(status: &mut BenchmarkRunStatus) {
    let size = |status: &BenchmarkRunStatus| serde_json::to_vec(status).map_or(0, |it| it.len());
    while size(status) > MAX_STATUS_BYTES {
        if status.artifacts.pop().is_some() {
            continue;
        }
        if status.stages.pop().is_some() {
            status.stages_truncated = true;
            continue;
        }
        // All three lists are empty, and the other fields have limits of their own.
        if status.objectives.pop().is_none() {
            return;
        }
        status.objectives_truncated = true;
    }
}

/// Cuts a message to the maximum length for Ready, Reconciling and Stalled.
pub fn truncate_message(text: &str) -> String {
    truncate(text, MAX_MESSAGE)
}

/// Cuts a text to at most `max` bytes, at a character boundary.
pub fn truncate(text: &str, max: usize) -> String {
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
pub fn full_name(object: &impl ResourceExt) -> String {
    format!("{}/{}", object.namespace().unwrap_or_default(), object.name_any())
}
