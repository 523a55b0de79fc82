//! Queries: which samples are issued, in which order and when. Everything is fixed before a phase begins. A run may issue only the first part of the
//! queries, as SingleStream and MultiStream usually do.

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

/// Generates the queries of one test, phase by phase. Sequence numbers continue from phase to phase. The random draws that select the responses to
/// log continue too.
pub struct QueryGenerator {
    settings: Settings,
    qsl: Qsl,
    effective: Effective,
    accuracy: Option<AccuracySets>,
    /// Draws a number in [0, 1) for each sample of the test. This generator does not depend on the seeds, and is never seeded again.
    log_values: Mt19937,
    next_query: u64,
    next_sample: u64,
}

impl QueryGenerator {
    /// Creates a generator for the start of a test.
    ///
    /// # Errors
    /// The settings do not allow any queries.
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

    /// Returns the effective settings of the test.
    pub fn effective(&self) -> &Effective {
        &self.effective
    }

    /// Generates the queries of the next phase. Phases must be requested in the order in which they run.
    ///
    /// # Errors
    /// The settings yield no queries or too many, or queries for which LoadGen's behaviour is unpredictable.
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

    /// Generates the queries of a trial in a peak search: a Server performance phase at another rate, in queries per second.
    ///
    /// # Errors
    /// The same as [`Self::phase`]; also if the rate is not finite or not above 0.
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

/// Returns the share of responses in a performance phase that are written to the accuracy log. Above 1, all responses are.
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
    /// One query every this many nanoseconds.
    Every(u64),
    /// At these times, in nanoseconds.
    At(Vec<u64>),
}

/// The queries of one phase. Queries and samples are numbered by their position in the phase, from 0. Numbers beyond the last one are neither issued
/// nor logged. A Server query needs 13 bytes of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseQueries {
    /// The samples to load.
    pub set: SampleSet,
    /// Number of samples per query, including all padding.
    pub samples_per_query: usize,
    /// When the query after the last one would be due. LoadGen logs it as the generated duration.
    pub duration: Duration,
    /// Sequence number, in the test, of the first query.
    pub first_query: u64,
    /// Sequence number, in the test, of the first sample.
    pub first_sample: u64,
    queries: usize,
    due: Due,
    samples: Vec<u32>,
    logged: Vec<bool>,
}

impl PhaseQueries {
    /// Returns the number of queries.
    pub fn len(&self) -> usize {
        self.queries
    }

    /// Whether there are no queries. A generator never returns such a phase.
    pub fn is_empty(&self) -> bool {
        self.queries == 0
    }

    /// Returns the number of samples in all queries.
    pub fn sample_count(&self) -> usize {
        self.samples.len()
    }

    /// Returns when a query is due, from the start of the phase. Only the Server scenario uses this. For a number beyond the last query, returns
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

    /// Returns the samples of a query, as positions in the data set.
    pub fn samples(&self, query: usize) -> &[u32] {
        let begin = query.saturating_mul(self.samples_per_query);
        self.samples.get(begin..begin.saturating_add(self.samples_per_query)).unwrap_or(&[])
    }

    /// Returns a sample of the phase, as a position in the data set; `None` beyond the last one.
    pub fn sample(&self, sample: usize) -> Option<u32> {
        self.samples.get(sample).copied()
    }

    /// Returns the query that contains a sample.
    pub fn query_of(&self, sample: usize) -> usize {
        sample / self.samples_per_query.max(1)
    }

    /// Whether the response to a sample is written to the accuracy log. In an accuracy phase, every response is.
    pub fn is_logged(&self, sample: usize) -> bool {
        self.logged.get(sample).copied().unwrap_or(false)
    }

    /// Returns how many responses are written to the accuracy log.
    pub fn logged_count(&self) -> usize {
        self.logged.iter().filter(|it| **it).count()
    }
}
