//! The operator's Prometheus metrics. No label names a run, so that the number of series does not grow with the runs.

use std::time::Instant;

use crds::{Reason, Word as _, status::Phase};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use crate::error::Error;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PhaseLabels {
    phase: &'static str,
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
    runs: Family<PhaseLabels, Gauge>,
    attempts: Family<ReasonLabels, Counter>,
    message_sizes: Histogram,
    writes: Family<WriteLabels, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let metrics = Metrics {
            registry: Registry::with_prefix("benchwright_operator"),
            turns: Counter::default(),
            errors: Family::default(),
            duration: Histogram::new([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0]),
            phases: Family::default(),
            runs: Family::default(),
            attempts: Family::default(),
            message_sizes: Histogram::new([256.0, 512.0, 1_024.0, 1_536.0, 2_048.0, 3_072.0, 4_096.0]),
            writes: Family::default(),
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
        registry.register("runs", "Runs, by the phase they are in", self.runs.clone());
        registry.register("attempts", "Attempts that ended, by reason", self.attempts.clone());
        registry.register(
            "termination_message_bytes",
            "Size of the launchers' termination messages",
            self.message_sizes.clone(),
        );
        registry.register("api_writes", "Writes to the API server, by verb and resource", self.writes.clone());
        self
    }

    /// Counts a turn and starts its clock.
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

    /// Sets the number of runs in each phase. A run without a phase has not had its first turn yet.
    pub fn count_runs(&self, phases: impl Iterator<Item = Option<Phase>>) {
        let mut counts = Phase::ALL.map(|phase| (phase.name(), 0_i64)).to_vec();
        counts.push(("None", 0));
        for phase in phases {
            let name = phase.map_or("None", Phase::name);
            if let Some((_, count)) = counts.iter_mut().find(|(it, _)| *it == name) {
                *count += 1;
            }
        }
        for (phase, count) in counts {
            self.runs.get_or_create(&PhaseLabels { phase }).set(count);
        }
    }

    /// Counts the end of an attempt.
    pub fn attempt_ended(&self, reason: Reason) {
        self.attempts.get_or_create(&ReasonLabels { reason: reason.name() }).inc();
    }

    /// Records the size of a termination message that was read.
    pub fn termination_message(&self, bytes: usize) {
        self.message_sizes.observe(f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)));
    }

    /// Counts a write to the API server.
    pub fn write(&self, verb: &'static str, resource: &str) {
        self.writes.get_or_create(&WriteLabels { verb, resource: resource.to_owned() }).inc();
    }

    /// All metrics in the format of Prometheus.
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

/// The clock of one turn.
pub struct Turn<'a> {
    metrics: &'a Metrics,
    began: Instant,
}

impl Turn<'_> {
    /// Records the duration of the turn, and its error.
    pub fn end(self, error: Option<&Error>) {
        self.metrics.duration.observe(self.began.elapsed().as_secs_f64());
        if let Some(error) = error {
            self.metrics.errors.get_or_create(&ReasonLabels { reason: error.category() }).inc();
        }
    }
}
