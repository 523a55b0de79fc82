//! The phases of LoadGen tests as stages of a plan. Pure.

use std::{sync::Arc, time::Duration};

use workload_profiles::{
    Workload,
    loadgen::{Effective, Scenario},
    workload::{Load, Phase},
};

use super::{
    outputs::KeepOutputs,
    phase_progress::{PhaseProgress, SampleLimits},
};
use loadgen::{
    phase_end::{PhaseEnd, PhaseEndRules},
    queries::{PhaseQueries, QueryError, QueryGenerator},
};
use measurement::{record::RequestRecord, schedule::Schedule};

/// A phase before it is issued. Request i of its stage is sample i of the phase.
#[derive(Debug)]
pub struct PlannedPhase {
    pub queries: Arc<PhaseQueries>,
    scenario: Scenario,
    /// Limits of single samples in a performance phase.
    limits: Option<SampleLimits>,
    /// What ends a performance phase; `None` for an accuracy phase, which issues all its queries.
    pub(super) rules: Option<PhaseEndRules>,
}

impl PlannedPhase {
    /// The sample of the data set that a request asks for.
    pub fn sample(&self, number: u64) -> u64 {
        // Every request number is below the number of samples.
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        self.queries.sample(place).map_or(number, u64::from)
    }

    /// The samples whose responses go to the accuracy log.
    pub(super) fn outputs(&self) -> KeepOutputs {
        let places = 0..u32::try_from(self.queries.sample_count()).unwrap_or(u32::MAX);
        match self.queries.logged_count() {
            0 => KeepOutputs::None,
            count if count == self.queries.sample_count() => KeepOutputs::All,
            _ => KeepOutputs::Some(places.filter(|it| self.queries.is_logged(*it as usize)).collect()),
        }
    }

    /// Starts the progress of this phase.
    pub(super) fn begin(&self, progress: &PhaseProgress) {
        progress.begin(self.queries.len() as u64, self.queries.samples_per_query as u64);
    }

    /// Counts one of its samples that has ended.
    pub(super) fn ended(&self, record: &RequestRecord, began: Duration, progress: &PhaseProgress) {
        progress.ended(record, began, self.limits);
    }

    /// Whether it may end before its schedule does. A phase of one query does not.
    pub(super) fn ends_by_queries(&self) -> bool {
        self.rules.is_some() && self.scenario == Scenario::Server
    }

    /// Whether the phase ends with the query that was issued last; see [`Rules::after`].
    pub(super) fn after(&self, issued: u64, elapsed: Duration, outstanding: impl FnOnce() -> u64) -> Option<PhaseEnd> {
        self.rules?.after(issued, elapsed, outstanding)
    }

    /// Why it ends when all its queries are issued; `None` for an accuracy phase.
    pub(super) fn at_the_end(&self) -> Option<PhaseEnd> {
        self.rules.map(|it| it.at_the_end())
    }

    /// When its samples are due; `None` for a scenario in which that depends on the answers.
    pub(super) fn schedule(&self) -> Option<Schedule> {
        match self.scenario {
            Scenario::SingleStream | Scenario::MultiStream => None,
            Scenario::Server | Scenario::Offline => {
                let queries = (0..self.queries.len()).map(|it| (self.queries.due(it), self.queries.samples(it).len()));
                Some(queries.flat_map(|(due, samples)| std::iter::repeat_n(due, samples)).collect())
            }
        }
    }
}

/// Generates the queries of every phase of a workload, one entry for each stage; `None` for a stage of another load.
///
/// # Errors
/// The settings of a test give no query, or too many.
pub(super) fn planned_phases(workload: &Workload) -> Result<Vec<Option<Arc<PlannedPhase>>>, QueryError> {
    let Some(loadgen) = &workload.loadgen else { return Ok(vec![None; workload.stages.len()]) };
    // The numbers and draws of a test continue from phase to phase.
    let generator = |it: &workload_profiles::workload::LoadGenTest| {
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
        let rules = (phase == Phase::Performance).then(|| PhaseEndRules::new(scenario, &effective));
        let limits = rules.and_then(|_| SampleLimits::from_settings(&test.settings));
        Ok(Some(Arc::new(PlannedPhase { queries: Arc::new(generator.phase(phase)?), scenario, limits, rules })))
    });
    planned.collect()
}
