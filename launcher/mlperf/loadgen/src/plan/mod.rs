//! The plan of a workload's LoadGen tests: what each phase will issue, how long it takes, and what is needed for a VALID result. All of this is known
//! before the first request. `text.rs` prints it.

mod text;

use std::time::Duration;

use serde::{Serialize, Serializer, ser::SerializeSeq as _};
use workload_profiles::{
    loadgen::{Effective, Qsl, Scenario, Settings},
    workload::{AutoQps, LoadGen, LoadGenTest, Phase},
};

use super::{
    queries::{PhaseQueries, QueryError, QueryGenerator},
    results::early_stopping::{EarlyStopping, EarlyStoppingError},
};

/// The BenchmarkRun field that [`Plan::past`] refers to.
pub const DEADLINE: &str = "spec.execution.deadlines.runSeconds";

/// The plan of all tests.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    benchmark: String,
    round: String,
    sut_name: String,
    qsl: Qsl,
    /// Maximum concurrency, in the open-loop scenarios.
    max_concurrency: Option<u32>,
    batch_size: Option<u32>,
    /// If set, the launcher determines the rates in the settings before the tests.
    auto_qps: Option<AutoQps>,
    tests: Vec<TestPlan>,
}

impl Plan {
    /// Returns an error text if all phases together are expected to take longer than the deadline. `None` if they are not, or if a rate must be found
    /// first: the durations are then unknown.
    pub fn past(&self, deadline: Duration) -> Option<String> {
        let phases = self.tests.iter().flat_map(|it| &it.phases);
        let expected: f64 = phases.map(|it| it.expected.seconds).sum();
        let deadline = deadline.as_secs();
        (self.auto_qps.is_none() && expected > deadline as f64)
            .then(|| format!("is {deadline}, and the tests take {expected:.0} s as planned; raise it"))
    }
}

/// The plan of one test.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TestPlan {
    folder: &'static str,
    audited: bool,
    requested: Settings,
    effective: Effective,
    phases: Vec<PhasePlan>,
}

/// The plan of one phase. For a peak search: the plan of its first trial, at the requested rate.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PhasePlan {
    phase: Phase,
    first_query: u64,
    first_sample: u64,
    /// Number of samples to load, without MultiStream's padding.
    loaded_samples: usize,
    /// Number of queries generated before the phase. SingleStream and MultiStream usually issue fewer.
    queries: usize,
    samples: usize,
    samples_per_query: usize,
    /// How often each loaded sample is issued on average.
    passes: f64,
    expected: Expected,
    early_stopping: Option<Needed>,
    /// Number of responses written to the accuracy log, if all queries are issued.
    logged_responses: usize,
    first_queries: Option<FirstQueries>,
}

/// The expected number of queries in a phase, and its expected duration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Expected {
    queries: usize,
    /// Seconds from the start of the phase until the last query is issued; in Offline, until the last response.
    seconds: f64,
    basis: Basis,
}

/// What an expected duration is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Basis {
    /// The times at which queries are due.
    Schedule,
    /// The target rate, assuming that the system reaches exactly this rate.
    TargetQps,
    /// The expected latency, assuming that every query takes exactly this time.
    ExpectedLatency,
}

/// What early stopping requires.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Needed {
    percentile: f64,
    /// Minimum number of queries for a VALID result.
    least_queries: u64,
    /// In Server, how many of the expected queries can exceed the limit. In SingleStream and MultiStream, how many of the slowest queries are
    /// excluded from the estimate. `None` if there are too few queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<u64>,
}

/// The first queries of a phase, which are printed.
#[derive(Debug)]
struct FirstQueries {
    of: PhaseQueries,
    count: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Query<'a> {
    seq: u64,
    due_ns: u128,
    samples: &'a [u32],
}

impl FirstQueries {
    fn iter(&self) -> impl Iterator<Item = Query<'_>> {
        (0..self.count).map(|place| Query {
            seq: self.of.first_query + place as u64,
            due_ns: self.of.due(place).as_nanos(),
            samples: self.of.samples(place),
        })
    }
}

impl Serialize for FirstQueries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.count))?;
        for query in self.iter() {
            list.serialize_element(&query)?;
        }
        list.end()
    }
}

/// The error of the first test that cannot be planned.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("test {number}, {scenario}, {folder}: {cause}", scenario = .scenario.name())]
pub struct PlanError {
    number: usize,
    folder: &'static str,
    scenario: Scenario,
    cause: Cause,
}

#[derive(Debug, PartialEq, thiserror::Error)]
enum Cause {
    #[error("{0}")]
    Queries(#[from] QueryError),
    #[error("{0}")]
    EarlyStopping(#[from] EarlyStoppingError),
}

/// Plans all phases of all tests. Of each phase, up to `shown` queries are kept for printing.
///
/// # Errors
/// Returns the first test that cannot be run.
pub fn plan(loadgen: &LoadGen, shown: usize) -> Result<Plan, PlanError> {
    let tests = loadgen.tests.iter().enumerate().map(|(place, test)| {
        let (folder, scenario) = (test.folder(), test.settings.scenario);
        plan_test(test, &loadgen.qsl, shown).map_err(|cause| PlanError { number: place + 1, folder, scenario, cause })
    });
    Ok(Plan {
        tests: tests.collect::<Result<_, _>>()?,
        benchmark: loadgen.benchmark.clone(),
        round: loadgen.round.clone(),
        sut_name: loadgen.sut_name.clone(),
        qsl: loadgen.qsl.clone(),
        max_concurrency: loadgen.max_concurrency,
        batch_size: loadgen.batch_size,
        auto_qps: loadgen.auto_qps,
    })
}

fn plan_test(test: &LoadGenTest, qsl: &Qsl, shown: usize) -> Result<TestPlan, Cause> {
    let settings = &test.settings;
    let mut generator = QueryGenerator::new(settings, qsl)?;
    let effective = generator.effective().clone();
    let phases = test.phases(qsl).into_iter().map(|phase| {
        let queries = generator.phase(phase)?;
        plan_phase(settings, &effective, phase, queries, shown)
    });
    let phases = phases.collect::<Result<_, Cause>>()?;
    let (folder, audited, requested) = (test.folder(), test.audited, settings.clone());
    Ok(TestPlan { folder, audited, requested, effective, phases })
}

fn plan_phase(
    settings: &Settings,
    effective: &Effective,
    phase: Phase,
    queries: PhaseQueries,
    shown: usize,
) -> Result<PhasePlan, Cause> {
    let measured = phase == Phase::Performance;
    let expected = expected(settings, effective, &queries, measured);
    let early_stopping = if measured { needed(settings, effective, expected.queries as u64)? } else { None };
    let loaded_samples = queries.set.end;
    Ok(PhasePlan {
        phase,
        first_query: queries.first_query,
        first_sample: queries.first_sample,
        loaded_samples,
        queries: queries.len(),
        samples: queries.sample_count(),
        samples_per_query: queries.samples_per_query,
        passes: queries.sample_count() as f64 / loaded_samples.max(1) as f64,
        expected,
        early_stopping,
        logged_responses: queries.logged_count(),
        first_queries: (shown > 0).then(|| FirstQueries { count: shown.min(queries.len()), of: queries }),
    })
}

/// Returns the expected number of queries, and their duration. `measured` states whether it is a performance phase, which ends by its limits.
fn expected(settings: &Settings, effective: &Effective, queries: &PhaseQueries, measured: bool) -> Expected {
    let latency = 1.0 / effective.target_qps;
    let longest = if measured && effective.max_duration_ms > 0 {
        Duration::from_millis(effective.max_duration_ms).as_secs_f64()
    } else {
        f64::INFINITY
    };
    let most = |count: usize| match usize::try_from(effective.max_query_count) {
        Ok(most) if measured && most > 0 => count.min(most),
        _ => count,
    };
    let all = queries.len();
    match settings.scenario {
        Scenario::Server => {
            let in_time = (0..most(all)).take_while(|it| queries.due(*it).as_secs_f64() <= longest).count();
            let seconds = queries.due(in_time.saturating_sub(1)).as_secs_f64();
            Expected { queries: in_time, seconds, basis: Basis::Schedule }
        }
        Scenario::Offline => {
            Expected { queries: all, seconds: queries.sample_count() as f64 * latency, basis: Basis::TargetQps }
        }
        Scenario::SingleStream | Scenario::MultiStream => {
            // The number of queries that are issued until one is issued at or after the given time.
            let issued_until = |seconds: f64| ((seconds / latency).ceil() as usize).saturating_add(1);
            let target = Duration::from_millis(effective.target_duration_ms).as_secs_f64();
            let least = usize::try_from(effective.min_query_count).unwrap_or(usize::MAX);
            let wanted = if measured { least.max(issued_until(target)) } else { all };
            let count = most(wanted.min(issued_until(longest)).min(all));
            let seconds = count.saturating_sub(1) as f64 * latency;
            Expected { queries: count, seconds, basis: Basis::ExpectedLatency }
        }
    }
}

/// Returns what early stopping requires of a performance phase with this number of queries.
fn needed(settings: &Settings, effective: &Effective, queries: u64) -> Result<Option<Needed>, EarlyStoppingError> {
    let percentile = effective.target_latency_percentile;
    let (least_queries, budget) = match settings.scenario {
        Scenario::Offline => return Ok(None),
        Scenario::Server => {
            let test = EarlyStopping::at(percentile)?;
            (test.queries(0), test.budget(queries))
        }
        Scenario::SingleStream | Scenario::MultiStream => {
            let test = EarlyStopping::at(percentile)?;
            (test.least_for_estimate(), test.estimate_budget(queries).map(|above| above - 1))
        }
    };
    let least_queries = least_queries.max(effective.min_query_count);
    Ok(Some(Needed { percentile, least_queries, budget: budget.filter(|_| queries >= least_queries) }))
}

/// Returns a workload with one Server test of at least this many queries, in whole passes over the samples of Llama-3.1-8B. It is used to measure how
/// long planning takes.
pub fn yardstick(queries: u64) -> LoadGen {
    const SAMPLES: u64 = 13_368;
    let settings = Settings {
        scenario: Scenario::Server,
        server_target_qps: 1_000.0,
        min_duration_ms: 0,
        min_query_count: queries,
        sample_concatenate_permutation: true,
        use_token_latencies: true,
        qsl_rng_seed: 2_085_463_073_848_966_840,
        sample_index_rng_seed: 2_747_215_439_041_700_203,
        schedule_rng_seed: 16_159_082_839_903_944_936,
        ..Settings::default()
    };
    LoadGen {
        benchmark: "llama3_1-8b".into(),
        round: "v6.1".into(),
        sut_name: "yardstick".into(),
        qsl: Qsl { name: "yardstick".into(), total_sample_count: SAMPLES, performance_sample_count: SAMPLES },
        batch_size: None,
        max_concurrency: None,
        tests: vec![LoadGenTest { settings, audited: false, trials_before: Vec::new() }],
        auto_qps: None,
        user_conf: String::new(),
    }
}

#[cfg(test)]
mod tests;
