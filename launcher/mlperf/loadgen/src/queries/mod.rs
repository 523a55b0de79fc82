//! Queries: which samples are issued in which order at which times. All of it is fixed before a phase begins. A run may issue fewer
//! queries, as SingleStream and MultiStream mostly do.

mod error;
mod generate;
pub mod random;
pub mod samples;
#[cfg(test)]
mod tests;

use std::time::Duration;

use workload_profiles::{
    loadgen::{Effective, Qsl, Scenario, Settings},
    workload::Phase,
};

pub use error::QueryError;
use generate::{Generated, generate};
use random::Mt19937;
use samples::{AccuracySets, SampleSet};

/// Generates the queries of one test, phase by phase. Sequence numbers continue through all phases, and so do the draws that select logged
/// responses.
pub struct QueryGenerator {
    settings: Settings,
    qsl: Qsl,
    effective: Effective,
    accuracy: Option<AccuracySets>,
    /// Draws a number in [0, 1) for each sample of the test, independent of the seeds. It is never reseeded.
    log_values: Mt19937,
    next_query: u64,
    next_sample: u64,
}

impl QueryGenerator {
    /// At the begin of a test.
    ///
    /// # Errors
    /// Settings from which no queries can be made.
    pub fn new(settings: &Settings, qsl: &Qsl) -> Result<Self, QueryError> {
        let effective = Effective::new(settings, qsl);
        error::check(settings, &effective, qsl)?;
        Ok(QueryGenerator {
            settings: settings.clone(),
            qsl: qsl.clone(),
            effective,
            accuracy: None,
            log_values: Mt19937::new(Mt19937::DEFAULT_SEED),
            next_query: 0,
            next_sample: 0,
        })
    }

    /// The effective settings of the test.
    pub fn effective(&self) -> &Effective {
        &self.effective
    }

    /// The queries of the next phase. Phases must be requested in the order in which they run.
    ///
    /// # Errors
    /// Settings for which there would be no queries, too many, or some that nobody can predict.
    pub fn phase(&mut self, phase: Phase) -> Result<PhaseQueries, QueryError> {
        match phase {
            Phase::Accuracy { set } => {
                let all = || samples::accuracy_sets(&self.settings, &self.effective, &self.qsl);
                let sets = self.accuracy.get_or_insert_with(all);
                let none = QueryError::NoSet { set, sets: sets.len() as u64 };
                let set = sets.get(set).ok_or(none)?;
                self.queries(set, &self.effective.clone(), true)
            }
            Phase::Performance => self.performance(&self.effective.clone()),
        }
    }

    /// The queries of a trial in the search for a peak: a Server performance phase at another rate, in queries per second.
    ///
    /// # Errors
    /// As [`Self::phase`]; a rate that is not above 0 and finite.
    pub fn trial(&mut self, target_qps: f64) -> Result<PhaseQueries, QueryError> {
        let effective = Effective { target_qps, ..self.effective.clone() };
        error::check_pace(&self.settings, &effective)?;
        self.performance(&effective)
    }

    fn performance(&mut self, effective: &Effective) -> Result<PhaseQueries, QueryError> {
        let set = samples::performance_set(&self.settings, effective, &self.qsl);
        self.queries(set, effective, false)
    }

    fn queries(&mut self, set: SampleSet, effective: &Effective, accuracy: bool) -> Result<PhaseQueries, QueryError> {
        let Generated { queries, samples_per_query, due, samples, end } =
            generate(&self.settings, effective, &self.qsl, &set, accuracy)?;
        let share = (!accuracy).then(|| logged_share(&self.settings, effective));
        let offset = Mt19937::new(self.settings.accuracy_log_rng_seed).canonical();
        let logged = samples.iter().map(|_| self.log_values.canonical() + offset);
        let logged = logged.map(|it| share.is_none_or(|share| (if it < 1.0 { it } else { it - 1.0 }) <= share));
        let phase = PhaseQueries {
            set,
            samples_per_query,
            duration: end,
            first_query: self.next_query,
            first_sample: self.next_sample,
            queries,
            due,
            logged: logged.collect(),
            samples,
        };
        self.next_query += queries as u64;
        self.next_sample += phase.sample_count() as u64;
        Ok(phase)
    }
}

/// The share of responses in a performance phase that go to the accuracy log; above 1: all.
fn logged_share(settings: &Settings, effective: &Effective) -> f64 {
    let target = settings.accuracy_log_sampling_target;
    if target == 0 {
        return settings.accuracy_log_probability;
    }
    let queries = (effective.target_qps * effective.min_duration_ms as f64 / 1_000.0) as u64;
    let each = if settings.scenario == Scenario::Offline { 1 } else { effective.samples_per_query };
    target as f64 / queries.saturating_mul(each).max(effective.min_sample_count) as f64
}

/// When the queries of a phase are due.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Due {
    /// Evenly spaced, by this number of nanoseconds.
    Every(u64),
    /// At these nanoseconds.
    At(Vec<u64>),
}

/// The queries of one phase. Queries and samples are numbered by their position in it, from 0; beyond the last there is nothing to issue or
/// log. A Server query takes 13 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseQueries {
    /// The samples to load.
    pub set: SampleSet,
    /// Of every query, after all padding.
    pub samples_per_query: usize,
    /// When a query after the last one would be due, which LoadGen logs as the generated duration.
    pub duration: Duration,
    /// The sequence number of the first query in the test.
    pub first_query: u64,
    /// The sequence number of the first sample in the test.
    pub first_sample: u64,
    queries: usize,
    due: Due,
    samples: Vec<u32>,
    logged: Vec<bool>,
}

impl PhaseQueries {
    /// How many queries.
    pub fn len(&self) -> usize {
        self.queries
    }

    /// Whether there are no queries, which a generator refuses.
    pub fn is_empty(&self) -> bool {
        self.queries == 0
    }

    /// How many samples are issued in all queries.
    pub fn sample_count(&self) -> usize {
        self.samples.len()
    }

    /// When a query is due after the begin of the phase; only the Server scenario issues by it. Behind the last query:
    /// [`Self::duration`].
    pub fn due(&self, query: usize) -> Duration {
        if query >= self.queries {
            return self.duration;
        }
        match &self.due {
            Due::Every(period) => Duration::from_nanos(*period * query as u64),
            Due::At(times) => Duration::from_nanos(times[query]),
        }
    }

    /// The samples of a query, by their places in the data set.
    pub fn samples(&self, query: usize) -> &[u32] {
        let begin = query.saturating_mul(self.samples_per_query);
        self.samples.get(begin..begin.saturating_add(self.samples_per_query)).unwrap_or(&[])
    }

    /// A sample by its position in the phase, as its position in the data set; `None` beyond the last one.
    pub fn sample(&self, sample: usize) -> Option<u32> {
        self.samples.get(sample).copied()
    }

    /// The query of a sample.
    pub fn query_of(&self, sample: usize) -> usize {
        sample / self.samples_per_query.max(1)
    }

    /// Whether the response to a sample goes to the accuracy log; in an accuracy phase all responses do.
    pub fn is_logged(&self, sample: usize) -> bool {
        self.logged.get(sample).copied().unwrap_or(false)
    }

    /// How many responses go to the accuracy log.
    pub fn logged_count(&self) -> usize {
        self.logged.iter().filter(|it| **it).count()
    }
}
