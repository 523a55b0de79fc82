//! LoadGen's measurements of a phase, from the records of its requests. Pure.
//!
//! A sample is complete when its answer has ended. A failed sample also counts as complete, so that the test continues. It has no latency, its reason
//! is counted, and it makes its phase invalid.

use std::{collections::BTreeMap, time::Duration};

use workload_profiles::loadgen::{Scenario, Settings};

use loadgen::{
    logs::messages::Event,
    queries::PhaseQueries,
    results::{
        PhaseResult,
        completion::{CompletedSample, nanos},
    },
};
use measurement::record::RequestRecord;

/// The failure reason of a sample without a first token. LoadGen reads undefined memory for such a sample.
const NO_FIRST_TOKEN: &str = "no_first_token";

/// The results of a phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The measurements of the samples that were completed.
    pub result: PhaseResult,
    /// Number of failed samples by reason.
    pub failed: BTreeMap<String, u64>,
    /// LoadGen's error events for samples that did complete, with the time at which the sample ended, on the clock of the records.
    pub errors: Vec<(Duration, Event)>,
    /// The time of the last completion, from the start of the phase.
    pub last_completion: Duration,
}

/// Computes the results of a phase that began at `began`. `records` has one record per issued sample, in any order.
pub fn measure(settings: &Settings, queries: &PhaseQueries, began: Duration, records: &[&RequestRecord]) -> Measured {
    let mut records = records.to_vec();
    records.sort_unstable_by_key(|it| it.number);
    let mut measured = Measured::default();
    let query_of = |record: &RequestRecord| queries.query_of(usize::try_from(record.number).unwrap_or(usize::MAX));
    for samples in records.chunk_by(|a, b| query_of(a) == query_of(b)) {
        let complete = samples.iter().filter(|it| measured.add(it, settings)).count();
        let done = samples.iter().map(|it| it.ended).max().unwrap_or_default();
        let Some(first) = samples.first() else { continue };
        let result = &mut measured.result;
        if settings.scenario == Scenario::MultiStream && complete == samples.len() {
            result.query_latencies_ns.push(nanos(done.saturating_sub(first.scheduled)));
        }
        // Each query overwrites these values, so they finally describe the last query.
        result.queries_issued += 1;
        result.final_query_scheduled_time_s = seconds(queries.due(query_of(first)));
        result.final_query_issued_time_s = seconds(issued(first, settings.scenario).saturating_sub(began));
        result.final_query_all_samples_done_time_s = seconds(done.saturating_sub(began));
        measured.last_completion = measured.last_completion.max(done.saturating_sub(began));
    }
    let longest = measured.result.sample_latencies_ns.iter().max();
    measured.result.max_latency_s = longest.map_or(0.0, |it| *it as f64 / 1e9);
    measured
}

impl Measured {
    /// Adds a sample to the results. Returns whether the sample succeeded.
    fn add(&mut self, record: &RequestRecord, settings: &Settings) -> bool {
        let Some(sample) = CompletedSample::from_record(record) else {
            *self.failed.entry(record.outcome.name()).or_default() += 1;
            return false;
        };
        if settings.use_token_latencies {
            let streams = settings.scenario != Scenario::Offline;
            if streams && sample.first_token_ns.is_none() {
                *self.failed.entry(NO_FIRST_TOKEN.into()).or_default() += 1;
                return false;
            }
            self.errors.extend(sample.error().map(|it| (record.ended, it)));
            self.result.tokens_per_sample.push(sample.counted_tokens());
            if let Some(first) = sample.first_token_ns.filter(|_| streams) {
                self.result.first_token_latencies_ns.push(first);
                self.result.time_per_output_token_ns.push(sample.per_token_ns());
            }
        }
        self.result.sample_latencies_ns.push(sample.latency_ns);
        true
    }
}

/// The time at which LoadGen would have issued the sample. In SingleStream and MultiStream, this is the scheduled time.
fn issued(record: &RequestRecord, scenario: Scenario) -> Duration {
    match scenario {
        Scenario::SingleStream | Scenario::MultiStream => record.scheduled,
        Scenario::Server | Scenario::Offline => record.sent.unwrap_or(record.scheduled),
    }
}

fn seconds(time: Duration) -> f64 {
    nanos(time) as f64 / 1e9
}
