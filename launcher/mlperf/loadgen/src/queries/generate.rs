//! Generates the queries of one phase. Makes all random draws in LoadGen's order, even those with a result that is not used.

use std::time::Duration;

use workload_profiles::{
    loadgen::{Effective, Qsl, Scenario, Settings},
    workload::MAX_REQUESTS,
};

use super::{Due, QueryError, error};
use crate::queries::{random::Mt19937, samples::SampleSet};

/// The generated queries of one phase.
pub(super) struct Generated {
    pub queries: usize,
    pub samples_per_query: usize,
    pub due: Due,
    pub samples: Vec<u32>,
    /// When the query after the last one would be due.
    pub end: Duration,
}

/// The values that are fixed before the first query of a phase.
struct Frame<'a> {
    settings: &'a Settings,
    effective: &'a Effective,
    set: &'a SampleSet,
    accuracy: bool,
    /// The time, in nanoseconds, until which queries are generated. The last query is due at this time or later.
    until: u64,
    least: u64,
    samples_per_query: u64,
    random: Mt19937,
    /// The positions at which queries of an accuracy phase begin. Each is used once.
    once: std::vec::IntoIter<u32>,
    /// The positions at which queries begin if all samples must be unique.
    unique: Vec<u32>,
    /// The positions at which queries begin in an equal issue, which makes whole passes over the set.
    passes: Vec<u32>,
}

/// Generates the queries of a phase from a sample set. `accuracy` states whether it is an accuracy phase.
pub(super) fn generate(
    settings: &Settings,
    effective: &Effective,
    qsl: &Qsl,
    set: &SampleSet,
    accuracy: bool,
) -> Result<Generated, QueryError> {
    let frame = Frame::new(settings, effective, qsl, set, accuracy)?;
    if frame.least == 0 && frame.until == 0 {
        return Err(error::nothing(settings));
    }
    frame.run()
}

impl<'a> Frame<'a> {
    fn new(
        settings: &'a Settings,
        effective: &'a Effective,
        qsl: &Qsl,
        set: &'a SampleSet,
        accuracy: bool,
    ) -> Result<Self, QueryError> {
        let (length, end) = (set.indices.len() as u64, set.end as u64);
        let scenario = settings.scenario;
        if settings.performance_issue_same && settings.performance_issue_same_index >= end {
            return Err(error::no_such_sample(settings, set.end));
        }
        let target = effective.target_duration_ms.saturating_mul(1_000_000);
        let mut until = if scenario == Scenario::Server { target } else { target.saturating_mul(2) };
        let mut least = effective.min_query_count;
        let mut samples_per_query =
            if accuracy && scenario == Scenario::Offline { end } else { effective.samples_per_query };
        if accuracy || settings.performance_issue_unique {
            until = 0;
            least = length / samples_per_query.max(1);
            if least == 0 {
                return Err(error::not_unique(settings, effective, qsl));
            }
        }
        let fits = |queries: u64, each: u64| {
            let samples = queries.checked_mul(each);
            samples.filter(|it| *it <= MAX_REQUESTS).ok_or_else(|| error::too_many_at_least(settings, effective))
        };
        fits(least, samples_per_query)?;
        let stride = if scenario == Scenario::MultiStream { samples_per_query as usize } else { 1 };
        let mut random = Mt19937::new(settings.sample_index_rng_seed);
        let mut places = |wanted: bool| {
            let mut places: Vec<u32> = if wanted { (0..end as u32).step_by(stride).collect() } else { Vec::new() };
            random.shuffle(&mut places);
            places
        };
        let once = places(accuracy).into_iter();
        let unique = places(true);
        let equal = settings.sample_concatenate_permutation;
        let one_at_a_time = matches!(scenario, Scenario::SingleStream | Scenario::Server);
        if equal && one_at_a_time && least == 0 {
            return Err(error::no_pass());
        }
        let passes = passes(&mut random, length, least, equal && one_at_a_time);
        if equal && !accuracy {
            let whole = |count: u64| count.next_multiple_of(length);
            match scenario {
                Scenario::Offline => samples_per_query = whole(samples_per_query),
                Scenario::SingleStream | Scenario::MultiStream | Scenario::Server => least = whole(least),
            }
            fits(least, samples_per_query)?;
        }
        if settings.performance_issue_unique && scenario != Scenario::Offline && least > unique.len() as u64 {
            return Err(error::not_unique(settings, effective, qsl));
        }
        Ok(Frame { settings, effective, set, accuracy, until, least, samples_per_query, random, once, unique, passes })
    }

    fn run(mut self) -> Result<Generated, QueryError> {
        let (settings, effective, scenario) = (self.settings, self.effective, self.settings.scenario);
        let server = scenario == Scenario::Server;
        let grows = settings.sample_concatenate_permutation && scenario != Scenario::Offline;
        let mut schedule = Mt19937::new(settings.schedule_rng_seed);
        // LoadGen multiplies by the reciprocal. A division can be rounded differently.
        let period = ((1.0 / effective.target_qps) * 1e9) as u64;
        self.check_length(if server { 1e9 / effective.target_qps } else { period as f64 })?;
        let mut times = Vec::new();
        let mut samples = Vec::new();
        let (mut at, mut last, mut queries) = (0u64, 0u64, 0u64);
        while last < self.until || queries < self.least {
            if (queries + 1).saturating_mul(self.samples_per_query) > MAX_REQUESTS {
                return Err(error::too_many_at_pace(settings, effective));
            }
            self.query(queries as usize, &mut samples);
            queries += 1;
            last = at;
            let gap = if server {
                times.push(at);
                u64::try_from(schedule.exponential(effective.target_qps).as_nanos()).unwrap_or(u64::MAX)
            } else {
                period
            };
            let next = at.checked_add(gap).filter(|it| i64::try_from(*it).is_ok());
            at = next.ok_or_else(|| error::too_late(settings, effective))?;
            if grows && queries >= self.least && last < self.until {
                self.least += self.set.indices.len() as u64;
            }
        }
        times.shrink_to_fit();
        samples.shrink_to_fit();
        Ok(Generated {
            queries: queries as usize,
            samples_per_query: self.samples_per_query as usize,
            due: if server { Due::At(times) } else { Due::Every(period) },
            samples,
            end: Duration::from_nanos(at),
        })
    }

    /// Rejects lengths far above the limit before anything is drawn. Lengths slightly above it are detected during generation. `gap`: time between
    /// queries, in nanoseconds.
    fn check_length(&self, gap: f64) -> Result<(), QueryError> {
        let samples = self.until as f64 / gap * self.samples_per_query as f64;
        if samples > 1.01 * MAX_REQUESTS as f64 {
            return Err(error::too_many_at_pace(self.settings, self.effective));
        }
        Ok(())
    }

    /// Appends the samples of a query.
    fn query(&mut self, number: usize, samples: &mut Vec<u32>) {
        let set = &self.set.indices;
        let each = self.samples_per_query as usize;
        match self.settings.scenario {
            Scenario::Offline if self.settings.performance_issue_same => {
                let sample = set[self.settings.performance_issue_same_index as usize];
                samples.resize(samples.len() + each, sample);
            }
            Scenario::Offline => {
                for _ in 0..each / set.len() {
                    let begin = samples.len();
                    samples.extend_from_slice(set);
                    if self.settings.sample_concatenate_permutation {
                        self.random.shuffle(&mut samples[begin..]);
                    }
                }
                samples.extend_from_slice(&set[..each % set.len()]);
            }
            Scenario::SingleStream | Scenario::MultiStream | Scenario::Server => {
                let place = self.place(number);
                samples.extend_from_slice(&self.set.indices[place..place + each]);
            }
        }
    }

    /// Returns the position in the set at which a query begins.
    fn place(&mut self, number: usize) -> usize {
        let drawn = if self.settings.performance_issue_unique {
            self.unique[number]
        } else if self.settings.performance_issue_same {
            return self.settings.performance_issue_same_index as usize;
        } else if !self.passes.is_empty() {
            self.passes[number % self.passes.len()]
        } else if self.accuracy {
            self.once.next().expect("an accuracy phase has a query for each of these places")
        } else {
            // The set has at least 1 and at most 10 million samples, so the subtraction and the cast are safe.
            self.random.uniform(self.set.end as u64 - 1) as u32
        };
        drawn as usize
    }
}

/// Returns the positions of whole passes over a set, each in a new order. They are at least `least` positions in total. If `keep` is false, only
/// makes the random draws.
fn passes(random: &mut Mt19937, length: u64, least: u64, keep: bool) -> Vec<u32> {
    let mut order: Vec<u32> = (0..length as u32).collect();
    let mut all = Vec::new();
    for _ in 0..least.div_ceil(length) {
        random.shuffle(&mut order);
        if keep {
            all.extend_from_slice(&order);
        }
    }
    all
}
