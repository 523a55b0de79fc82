//! The phases of LoadGen tests, in the form in which the engine issues them. Pure.

use std::{iter, sync::Arc, time::Duration};

use workload_profiles::{
    Workload,
    loadgen::{Effective, Scenario},
    workload::{Load, LoadGenTest},
};

use crate::{
    phase_end::PhaseEndRules,
    phase_progress::{PhaseProgress, SampleLimits},
    queries::{PhaseQueries, QueryError, QueryGenerator},
    results::forecast::SoFar,
};
use measurement::{
    phase::{Phase, PhaseEnd},
    record::RequestRecord,
    schedule::Schedule,
};

/// A phase to be issued, and its progress. Request i of its stage is sample i of the phase.
#[derive(Debug)]
pub struct PlannedPhase {
    /// The queries to issue.
    pub queries: PhaseQueries,
    scenario: Scenario,
    /// The limits for single samples; `None` unless it is a Server performance phase.
    limits: Option<SampleLimits>,
    /// The rules that end a performance phase; `None` for an accuracy phase, which issues all its queries.
    rules: Option<PhaseEndRules>,
    progress: PhaseProgress,
    /// Total number of samples in the library.
    row_count: u64,
    max_concurrency: Option<u32>,
    batch_size: Option<u32>,
}

impl PlannedPhase {
    /// Returns what has completed so far. The verdict is predicted from this.
    pub fn so_far(&self) -> SoFar {
        self.progress.so_far(&self.queries)
    }
}

impl Phase for PlannedPhase {
    fn query_count(&self) -> u64 {
        self.queries.len() as u64
    }

    fn samples_per_query(&self) -> u64 {
        self.queries.samples_per_query as u64
    }

    fn row(&self, request: u64) -> u64 {
        self.queries.sample(place(request)).map_or(request, u64::from)
    }

    fn row_count(&self) -> u64 {
        self.row_count
    }

    fn max_concurrency(&self) -> Option<u32> {
        self.max_concurrency
    }

    fn batch_size(&self) -> Option<u32> {
        self.batch_size
    }

    fn keeps_output(&self, request: u64) -> bool {
        self.queries.is_logged(place(request))
    }

    fn schedule(&self) -> Option<Schedule> {
        match self.scenario {
            Scenario::SingleStream | Scenario::MultiStream => None,
            Scenario::Server | Scenario::Offline => {
                let queries = (0..self.queries.len()).map(|it| (self.queries.due(it), self.queries.samples(it).len()));
                Some(queries.flat_map(|(due, samples)| iter::repeat_n(due, samples)).collect())
            }
        }
    }

    fn has_rules(&self) -> bool {
        self.rules.is_some()
    }

    fn may_end_before_schedule(&self) -> bool {
        self.rules.is_some() && self.scenario == Scenario::Server
    }

    fn after(&self, issued: u64, elapsed: Duration, outstanding: &dyn Fn() -> u64) -> Option<PhaseEnd> {
        self.rules?.after(issued, elapsed, outstanding)
    }

    fn at_the_end(&self) -> Option<PhaseEnd> {
        self.rules.map(|it| it.at_the_end())
    }

    fn ended(&self, record: &RequestRecord, began: Duration) {
        self.progress.ended(record, began, self.limits);
    }
}

/// Converts a request number to the position of its sample in the phase. The cast is safe, because there are no more requests than samples.
fn place(request: u64) -> usize {
    usize::try_from(request).unwrap_or(usize::MAX)
}

/// The phases of a workload, with one entry per stage; `None` for a stage that is not a LoadGen phase.
pub type PlannedPhases = Vec<Option<Arc<PlannedPhase>>>;

/// Generates the queries of every phase of a workload. Call it for each load, because the phases count completions.
///
/// # Errors
/// The settings of a test yield no query, or too many.
pub fn planned_phases(workload: &Workload) -> Result<PlannedPhases, QueryError> {
    let Some(loadgen) = &workload.loadgen else { return Ok(vec![None; workload.stages.len()]) };
    // From phase to phase of a test, sequence numbers and random draws continue.
    let generator = |it: &LoadGenTest| {
        let mut generator = QueryGenerator::new(&it.settings, &loadgen.qsl)?;
        it.trials_before.iter().try_for_each(|rate| generator.trial(*rate).map(drop))?;
        Ok(generator)
    };
    let mut generators = loadgen.tests.iter().map(generator).collect::<Result<Vec<_>, QueryError>>()?;
    let planned = workload.stages.iter().map(|stage| {
        let Load::LoadGen { test, phase, scenario } = stage.load else { return Ok(None) };
        let Some((generator, test)) = generators.get_mut(test as usize).zip(loadgen.tests.get(test as usize)) else {
            return Ok(None);
        };
        let effective = Effective::new(&test.settings, &loadgen.qsl);
        let is_performance = phase == workload_profiles::workload::Phase::Performance;
        let rules = is_performance.then(|| PhaseEndRules::new(scenario, &effective));
        let limits = rules.and_then(|_| SampleLimits::from_settings(&test.settings));
        let queries = generator.phase(phase)?;
        Ok(Some(Arc::new(PlannedPhase {
            queries,
            scenario,
            limits,
            rules,
            progress: PhaseProgress::default(),
            row_count: loadgen.qsl.total_sample_count,
            max_concurrency: loadgen.max_concurrency,
            batch_size: loadgen.batch_size,
        })))
    });
    planned.collect()
}

/// Converts the phases to the type that the engine uses.
pub fn to_issue(phases: &[Option<Arc<PlannedPhase>>]) -> Vec<Option<Arc<dyn Phase>>> {
    phases.iter().map(|it| it.clone().map(|it| it as Arc<dyn Phase>)).collect()
}
