//! The operator's Prometheus metrics. No label contains the name of a run, so the number of series does not grow with the number of runs.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use crds::{Outcome, Reason, Word as _, status::Phase};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use crate::{error::Error, traces};

/// Reasons of failed attempts that are probably caused by the cluster, and not by the model server or the profile. An alert in the chart counts them.
pub const OF_THE_CLUSTER: [Reason; 15] = [
    Reason::AmbiguousPod,
    Reason::ContainerRefused,
    Reason::Disrupted,
    Reason::ImagePull,
    Reason::JobLost,
    Reason::LauncherFailed,
    Reason::MountPending,
    Reason::OOMKilled,
    Reason::PodRefused,
    Reason::PrepareTimeout,
    Reason::ResultLost,
    Reason::StartTimeout,
    Reason::StorageFailed,
    Reason::Unschedulable,
    Reason::VolumePending,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PhaseLabels {
    phase: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RunLabels {
    phase: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WatchLabels {
    resource: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WriteLabels {
    verb: &'static str,
    resource: String,
}

/// All metrics of the operator.
pub struct Metrics {
    registry: Registry,
    turns: Counter,
    errors: Family<ReasonLabels, Counter>,
    duration: Histogram,
    phases: Family<PhaseLabels, Counter>,
    phase_durations: Family<PhaseLabels, Histogram, fn() -> Histogram>,
    collect_durations: Histogram,
    render_durations: Histogram,
    runs: Family<RunLabels, Gauge>,
    waiting_turns: Gauge,
    waiting_events: Gauge,
    dropped_events: Counter,
    dropped_spans: Counter,
    watch_errors: Family<WatchLabels, Counter>,
    attempts: Family<ReasonLabels, Counter>,
    message_sizes: Histogram,
    writes: Family<WriteLabels, Counter>,
    leader: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let metrics = Metrics {
            registry: Registry::with_prefix("benchwright_operator"),
            turns: Counter::default(),
            errors: Family::default(),
            duration: Histogram::new([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0]),
            phases: Family::default(),
            phase_durations: Family::new_with_constructor(|| Histogram::new([1.0, 5.0, 30.0, 120.0, 600.0, 3_600.0])),
            collect_durations: Histogram::new([0.5, 1.0, 2.0, 5.0, 30.0, 300.0]),
            render_durations: Histogram::new([0.001, 0.01, 0.1, 1.0, 10.0]),
            runs: Family::default(),
            waiting_turns: Gauge::default(),
            waiting_events: Gauge::default(),
            dropped_events: Counter::default(),
            dropped_spans: Counter::default(),
            watch_errors: Family::default(),
            attempts: Family::default(),
            message_sizes: Histogram::new([256.0, 512.0, 1_024.0, 1_536.0, 2_048.0, 3_072.0, 4_096.0]),
            writes: Family::default(),
            leader: Gauge::default(),
        };
        metrics.registered()
    }
}

impl Metrics {
    fn registered(mut self) -> Self {
        let registry = &mut self.registry;
        registry.register("reconcile", "Turns of the reconcile loop", self.turns.clone());
        registry.register("reconcile_errors", "Turns that failed, by cause", self.errors.clone());
        registry.register("reconcile_duration_seconds", "How long a turn took", self.duration.clone());
        registry.register("phase_transitions", "Runs that entered a phase", self.phases.clone());
        registry.register(
            "phase_duration_seconds",
            "How long runs were in a phase that they left",
            self.phase_durations.clone(),
        );
        registry.register(
            "collect_duration_seconds",
            "Time from the end of the Job to the result in the status",
            self.collect_durations.clone(),
        );
        registry.register(
            "render_duration_seconds",
            "How long the rendering of a profile took",
            self.render_durations.clone(),
        );
        registry.register("runs", "Runs, by phase and outcome", self.runs.clone());
        registry.register("waiting_turns", "Turns that are due and wait for a place", self.waiting_turns.clone());
        registry.register("waiting_events", "Events that are not written yet", self.waiting_events.clone());
        registry.register("dropped_events", "Events that were not written", self.dropped_events.clone());
        registry.register("dropped_spans", "Spans of traces that were not sent", self.dropped_spans.clone());
        registry.register("watch_errors", "Failures of watches, by resource", self.watch_errors.clone());
        registry.register("attempts", "Attempts that ended, by reason", self.attempts.clone());
        registry.register(
            "termination_message_bytes",
            "Size of the launchers' termination messages",
            self.message_sizes.clone(),
        );
        registry.register("api_writes", "Writes to the API server, by verb and resource", self.writes.clone());
        registry.register("leader", "1 while this replica leads", self.leader.clone());
        // Every series is created with the value zero, because Prometheus detects no increase when a series first appears with a larger value.
        for phase in Phase::ALL {
            self.phases.get_or_create(&PhaseLabels { phase: phase.name() }).inc_by(0);
        }
        for reason in OF_THE_CLUSTER {
            self.attempts.get_or_create(&ReasonLabels { reason: reason.name() }).inc_by(0);
        }
        self
    }

    /// Records that this replica is now the leader. It stays the leader until its process ends.
    pub fn leads(&self) {
        self.leader.set(1);
    }

    /// Counts a reconciliation, and starts the measurement of its duration.
    pub fn turn(&self) -> Turn<'_> {
        self.turns.inc();
        Turn { metrics: self, began: Instant::now() }
    }

    /// Counts a change of phase.
    pub fn phase_changed(&self, phase: Option<Phase>) {
        if let Some(phase) = phase {
            self.phases.get_or_create(&PhaseLabels { phase: phase.name() }).inc();
        }
    }

    /// Records how long a run was in the phase that it has left.
    pub fn phase_left(&self, phase: Phase, after: Duration) {
        self.phase_durations.get_or_create(&PhaseLabels { phase: phase.name() }).observe(after.as_secs_f64());
    }

    /// Records the time between the end of a Job and the moment when its result is in the status.
    pub fn collected(&self, after: Duration) {
        self.collect_durations.observe(after.as_secs_f64());
    }

    /// Records how long the rendering of a profile took.
    pub fn rendered(&self, after: Duration) {
        self.render_durations.observe(after.as_secs_f64());
    }

    /// Sets the number of runs for each phase and outcome. A run without a phase has not had its first reconciliation.
    pub fn count_runs(&self, states: impl Iterator<Item = (Option<Phase>, Option<Outcome>)>) {
        let unfinished = Phase::ALL.into_iter().filter(|it| !it.is_terminal()).map(|it| (it.name(), ""));
        let mut counts: BTreeMap<_, i64> = unfinished.chain([("None", "")]).map(|it| (it, 0)).collect();
        for (phase, outcome) in states {
            let labels = (phase.map_or("None", Phase::name), outcome.map_or("", Outcome::name));
            *counts.entry(labels).or_default() += 1;
        }
        // Removes the series of states that no run has any more.
        self.runs.clear();
        for ((phase, outcome), count) in counts {
            self.runs.get_or_create(&RunLabels { phase, outcome }).set(count);
        }
    }

    /// Sets the number of waiting reconciliations and the number of waiting events.
    pub fn waiting(&self, turns: usize, events: usize) {
        self.waiting_turns.set(i64::try_from(turns).unwrap_or(i64::MAX));
        self.waiting_events.set(i64::try_from(events).unwrap_or(i64::MAX));
    }

    /// Counts an event that was not written.
    pub fn event_dropped(&self) {
        self.dropped_events.inc();
    }

    /// Counts spans that were not sent.
    pub fn spans_dropped(&self, count: u64) {
        self.dropped_spans.inc_by(count);
    }

    /// Counts a failure of a watch.
    pub fn watch_failed(&self, resource: &str) {
        self.watch_errors.get_or_create(&WatchLabels { resource: resource.to_owned() }).inc();
    }

    /// Counts the end of an attempt.
    pub fn attempt_ended(&self, reason: Reason) {
        self.attempts.get_or_create(&ReasonLabels { reason: reason.name() }).inc();
    }

    /// Records the size of a termination message that was read.
    pub fn termination_message(&self, bytes: usize) {
        self.message_sizes.observe(f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)));
    }

    /// Counts a write to the API server, and records it in the trace of the reconciliation.
    pub fn write(&self, verb: &'static str, resource: &str) {
        traces::wrote(verb, resource);
        self.writes.get_or_create(&WriteLabels { verb, resource: resource.to_owned() }).inc();
    }

    /// Returns all metrics in Prometheus' text format.
    pub fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a String takes everything");
        text
    }

    /// Number of writes to the API server so far.
    pub fn writes(&self) -> u64 {
        let text = self.text();
        let lines = text.lines().filter(|it| it.starts_with("benchwright_operator_api_writes_total{"));
        lines.filter_map(|it| it.rsplit(' ').next()?.parse::<u64>().ok()).sum()
    }
}

/// Measures one reconciliation.
pub struct Turn<'a> {
    metrics: &'a Metrics,
    began: Instant,
}

impl Turn<'_> {
    /// Records the duration of the reconciliation, and its error if it failed.
    pub fn end(self, error: Option<&Error>) {
        self.metrics.duration.observe(self.began.elapsed().as_secs_f64());
        if let Some(error) = error {
            self.metrics.errors.get_or_create(&ReasonLabels { reason: error.category() }).inc();
        }
    }
}
