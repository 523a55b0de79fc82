//! Runs the LoadGen tests of a workload. Determines the rate if the profile leaves it to the launcher, searches for the peak rate if a test requests
//! this, and issues the tests. Any other workload is issued unchanged.
//!
//! The caller passes a function that issues a load. Each call issues one trial or the whole workload.

use std::{sync::Arc, time::Duration};

use crds::wording::with_causes;
use tracing::info;
use workload_profiles::{
    Workload,
    loadgen::{Effective, Mode, Scenario, Settings},
    workload::{AutoQps, Load, LoadGenTest, Stage},
};

use super::{Failure, search::Searcher};
use analysis::{
    loadgen::{
        outcome::{TestOutcome, outcomes},
        verdict::TrialVerdict,
    },
    search::SearchResult,
};
use loadgen::{
    logs::{accuracy_log::AccuracyEntry, test_log::PhaseLog},
    peak::{self, Tried},
    phases::{PlannedPhase, planned_phases},
    results::early_stopping::EarlyStopping,
    search::{self, Trial},
};
use measurement::load_result::LoadResult;

/// Number of samples in the burst that estimates a rate.
const BURST: u64 = 256;
/// The fraction of the burst's rate at which the search begins.
const BEGIN: f64 = 0.8;
/// The reason why a test's result does not count if the search found no rate: the last load was only a trial, not the test itself.
const NO_RATE: &str = "the search found no rate for the test, and only trials were sent";
/// The reason why a test's result does not count if LoadGen's own search for the peak was stopped.
const NO_PEAK: &str = "the search for the peak had not ended";

/// Whether the progress of a load shows a forecast of its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShowForecast {
    Yes,
    /// A short trial has no verdict.
    No,
}

/// A load to issue: the workload, or a trial of the workload.
pub(super) struct OneLoad<'a> {
    pub(super) workload: &'a Workload,
    /// For each stage of the load, its LoadGen phase, if any. Empty for a workload without phases.
    pub(super) phases: &'a [Option<Arc<PlannedPhase>>],
    pub(super) show_forecast: ShowForecast,
    /// The search that chooses the stages of the load. `None` if the load is not a search.
    pub(super) search: Option<Arc<Searcher>>,
}

/// An issued load, and its result.
pub(super) struct Issued {
    /// The workload that was issued in the load that counts, including the rate that was found.
    pub(super) workload: Workload,
    /// The result of the load that counts.
    pub(super) load: LoadResult,
    /// The tests of the load; empty for a workload without tests.
    pub(super) tests: Vec<TestOutcome>,
    /// The verdicts on the trials before this load.
    pub(super) trials: Vec<TrialVerdict>,
    /// The result of the search. `None` if the load is not a search.
    pub(super) search: Option<SearchResult>,
}

/// Issues a workload. `last_offline` returns the result of an earlier Offline run against the same target, in samples per second.
pub(super) fn issue(
    workload: &Workload,
    last_offline: impl FnOnce() -> Option<f64>,
    mut load: impl FnMut(&OneLoad<'_>) -> Result<LoadResult, Failure>,
) -> Result<Issued, Failure> {
    let Some(loadgen) = &workload.loadgen else {
        let load = load(&OneLoad { workload, phases: &[], show_forecast: ShowForecast::Yes, search: None })?;
        return Ok(Issued { workload: workload.clone(), load, tests: Vec::new(), trials: Vec::new(), search: None });
    };
    let mut one = |workload: Workload, show_forecast: ShowForecast| -> Result<Issued, Failure> {
        let phases = planned_phases(&workload).map_err(|it| Failure::configuration(with_causes(&it)))?;
        let load = load(&OneLoad { workload: &workload, phases: &phases, show_forecast, search: None })?;
        let tests = workload.loadgen.as_ref().map(|it| outcomes(it, &workload.stages, &phases, &load));
        let tests = tests.unwrap_or_default();
        Ok(Issued { workload, load, tests, trials: Vec::new(), search: None })
    };
    let known = match loadgen.auto_qps {
        Some(AutoQps::LastOffline { share }) => last_offline().map(|rate| rate * share),
        _ => None,
    };
    let first = loadgen.tests.first().map(|it| &it.settings);
    match (loadgen.auto_qps, known, first.map(|it| it.scenario)) {
        (Some(_), Some(rate), _) => {
            info!(rate, "the target rate comes from the last Offline run against this target");
            one(at_rate(workload, rate), ShowForecast::Yes)
        }
        (Some(_), None, Some(Scenario::Server)) => match performance(workload) {
            Some(settings) => searched(workload, &settings, &mut one),
            // Without limits, a search could not tell whether a rate is too high.
            None => guessed(workload, first, BEGIN, &mut one),
        },
        (Some(_), None, Some(Scenario::Offline)) => guessed(workload, performance(workload).as_ref(), 1.0, &mut one),
        _ if loadgen.tests.iter().any(|it| it.settings.mode == Mode::FindPeakPerformance) => {
            peak_of(workload, &mut one)
        }
        _ => one(workload.clone(), ShowForecast::Yes),
    }
}

/// The function that issues a workload or a trial.
type One<'a> = &'a mut dyn FnMut(Workload, ShowForecast) -> Result<Issued, Failure>;

/// Returns a workload whose only test has these settings, and whose stages are the phases of this test.
fn with_test(workload: &Workload, settings: Settings) -> Workload {
    let mut workload = workload.clone();
    if let Some(loadgen) = &mut workload.loadgen {
        let scenario = settings.scenario;
        let audited = loadgen.tests.iter().any(|it| it.audited);
        let test = LoadGenTest { settings, audited, trials_before: Vec::new() };
        let phases = test.phases(&loadgen.qsl);
        loadgen.tests = vec![test];
        loadgen.auto_qps = None;
        let stage = |phase| Stage::new("performance", Load::LoadGen { test: 0, phase, scenario });
        workload.stages = phases.into_iter().map(stage).collect();
    }
    workload
}

/// Returns the workload with another rate, in queries per second, or samples per second in Offline.
fn at_rate(workload: &Workload, rate: f64) -> Workload {
    let mut workload = workload.clone();
    for test in workload.loadgen.iter_mut().flat_map(|it| &mut it.tests) {
        test.settings.server_target_qps = rate;
        test.settings.offline_expected_qps = rate;
    }
    workload
}

/// Returns the settings of the test that measures performance.
fn performance(workload: &Workload) -> Option<Settings> {
    let tests = workload.loadgen.iter().flat_map(|it| &it.tests);
    tests.map(|it| &it.settings).rfind(|it| it.mode != Mode::AccuracyOnly).cloned()
}

/// Whether all limits of the Server scenario are met, and no sample failed.
fn met(issued: &Issued) -> bool {
    let judged = issued
        .tests
        .iter()
        .rev()
        .find_map(|it| it.log.judged(|_, validity| validity.perf_constraints_met && validity.faults.is_empty()));
    judged.unwrap_or(false)
}

/// Whether a trial of the launcher's own search succeeded. The trial must have run to its end and met the limits. A trial of full length must also
/// meet the limits with the margin that LoadGen's early stopping requires. There is one exception: with too few queries, early stopping cannot
/// succeed even if no query exceeds the limit. A lower rate would not help then, so the margin is not required.
fn held(issued: &Issued, full: bool) -> bool {
    let test = issued.tests.iter().rev();
    let held = test.map(|it| &it.log).find_map(|log| {
        log.judged(|results, validity| {
            let provable = EarlyStopping::at(results.target_percentile())
                .is_ok_and(|it| it.queries(0) <= results.measured.queries_issued);
            let stopping = validity.early_stopping.met || !(full && provable);
            validity.perf_constraints_met
                && validity.min_duration_met
                && validity.min_queries_met
                && validity.faults.is_empty()
                && stopping
        })
    });
    held.unwrap_or(false)
}

/// Marks the result of a trial as one that does not count as a test.
fn no_test(mut issued: Issued) -> Issued {
    for phase in issued.tests.iter_mut().flat_map(|it| &mut it.log.phases) {
        phase.stopped_early.get_or_insert_with(|| NO_RATE.to_owned());
    }
    issued
}

/// Searches the rate of a Server test. First issues short trials, then the workload itself, at a lower rate each time that its limits are not met.
fn searched(workload: &Workload, settings: &Settings, one: One<'_>) -> Result<Issued, Failure> {
    let mut tried: Vec<(Trial, bool)> = Vec::new();
    let mut last: Option<Issued> = None;
    let mut accuracy = Vec::new();
    let (_, rate) = burst(workload, settings, one)?;
    let begin = rate.map(|it| it * BEGIN);
    loop {
        let trial = match search::next(begin, &tried) {
            search::Next::Run(trial) => trial,
            end => {
                info!(?end, "the search for a rate has ended");
                break;
            }
        };
        info!(rate = trial.rate, full = trial.full, "a trial of the search for a rate begins");
        let mut issued = if !trial.full {
            let short = Settings { mode: Mode::PerformanceOnly, ..search::settings(settings, trial) };
            one(with_test(workload, short), ShowForecast::No)?
        } else if accuracy.is_empty() {
            one(at_rate(workload, trial.rate), ShowForecast::Yes)?
        } else {
            // The accuracy result of the first run at full length is also valid for a lower rate, so only the performance test is repeated.
            one(with_test(workload, search::settings(settings, trial)), ShowForecast::Yes)?
        };
        if trial.full {
            let of_accuracy = |it: &TestOutcome| it.log.settings.mode == Mode::AccuracyOnly;
            match accuracy.is_empty() {
                true => accuracy = issued.tests.iter().filter(|it| of_accuracy(it)).cloned().collect(),
                false => issued.tests.splice(0..0, accuracy.iter().cloned()).for_each(drop),
            }
        }
        let held = held(&issued, trial.full);
        info!(rate = trial.rate, full = trial.full, held, "a trial of the search is over");
        tried.push((trial, held));
        let stopped = issued.load.stopped.is_some();
        last = Some(if trial.full { issued } else { no_test(issued) });
        if stopped {
            break;
        }
    }
    let verdicts = tried.iter().map(|(trial, met)| TrialVerdict { rate: trial.rate, full: trial.full, met: *met });
    let trials = verdicts.collect();
    last.map(|it| Issued { trials, ..it }).ok_or_else(|| Failure::configuration("the search made no trial".into()))
}

/// Issues a workload that has neither a rate nor limits. A short burst with these settings measures the highest rate, and the workload is issued at
/// `share` of it. Without settings no rate can be set, so the workload is issued unchanged.
fn guessed(workload: &Workload, settings: Option<&Settings>, share: f64, one: One<'_>) -> Result<Issued, Failure> {
    let Some(settings) = settings else { return one(workload.clone(), ShowForecast::Yes) };
    let (burst, rate) = burst(workload, settings, one)?;
    let Some(rate) = rate.map(|it| it * share) else { return Ok(no_test(burst)) };
    info!(rate, "the rate comes from a short trial");
    let trials = vec![TrialVerdict { rate, full: false, met: met(&burst) }];
    one(at_rate(workload, rate), ShowForecast::Yes).map(|it| Issued { trials, ..it })
}

/// Sends a burst of samples. Returns the number of samples that were completed per second, or `None` if it is unknown.
fn burst(workload: &Workload, settings: &Settings, one: One<'_>) -> Result<(Issued, Option<f64>), Failure> {
    let short = Settings {
        scenario: Scenario::Offline,
        mode: Mode::PerformanceOnly,
        min_duration_ms: 0,
        min_query_count: BURST,
        sample_concatenate_permutation: false,
        performance_issue_unique: false,
        accuracy_log_sampling_target: 0,
        accuracy_log_probability: 0.0,
        ..settings.clone()
    };
    let issued = one(with_test(workload, short), ShowForecast::No)?;
    let rate = issued.tests.iter().find_map(|it| it.log.judged(|results, _| results.offline_per_second()));
    let rate = rate.filter(|it| it.is_finite() && *it > 0.0).filter(|_| issued.load.stopped.is_none());
    Ok((issued, rate))
}

/// LoadGen's own search for the peak rate. Every trial has full length, and the first rate must succeed.
fn peak_of(workload: &Workload, one: One<'_>) -> Result<Issued, Failure> {
    let Some(settings) = performance(workload) else { return one(workload.clone(), ShowForecast::Yes) };
    if settings.scenario != Scenario::Server {
        return Err(Failure::configuration(format!(
            "{} The scenario is {}.",
            peak::SERVER_ONLY,
            settings.scenario.name()
        )));
    }
    let (mut tried, mut phases): (Vec<Tried>, Vec<PhaseLog>) = (Vec::new(), Vec::new());
    let (mut best, mut answers): (Option<Issued>, Vec<AccuracyEntry>) = (None, Vec::new());
    let (mut started, mut elapsed) = (None, Duration::ZERO);
    while let peak::Next::Run(trial) = peak::next(&settings, &tried) {
        let trial_settings = Settings { server_target_qps: trial.rate(), ..settings.clone() };
        let mut trial_of = with_test(workload, trial_settings);
        for test in trial_of.loadgen.iter_mut().flat_map(|it| &mut it.tests) {
            test.trials_before = tried.iter().map(|it| it.trial.rate()).collect();
        }
        let mut issued = one(trial_of, ShowForecast::Yes)?;
        let met = met(&issued);
        info!(rate = trial.rate(), met, "a trial of the search for the peak is over");
        tried.push(Tried { trial, met });
        let reported = met || best.is_none();
        if reported {
            // Only one trial reports its figures as the result.
            phases.iter_mut().for_each(|it| it.result = None);
        }
        answers.extend(issued.tests.iter_mut().flat_map(|it| it.answers.drain(..)));
        for phase in issued.tests.iter_mut().flat_map(|it| it.log.phases.drain(..)) {
            let phase = phase.later(elapsed, tried.last().cloned());
            phases.push(PhaseLog { result: phase.result.filter(|_| reported), ..phase });
        }
        elapsed += issued.load.wall;
        started = started.or_else(|| issued.tests.first().map(|it| it.log.started));
        let stopped = issued.load.stopped.is_some();
        if reported {
            best = Some(issued);
        }
        if stopped {
            break;
        }
    }
    let mut best = best.ok_or_else(|| Failure::configuration("the search made no trial".into()))?;
    if let (peak::Next::Run(_), Some(last)) = (peak::next(&settings, &tried), phases.last_mut()) {
        last.stopped_early.get_or_insert_with(|| NO_PEAK.to_owned());
    }
    if let Some(TestOutcome { log, answers: logged, .. }) = best.tests.first_mut() {
        *logged = answers;
        // The log describes the whole search, which began with the rate in the settings.
        log.effective = Effective::new(&settings, &log.qsl);
        log.started = started.unwrap_or(log.started);
        log.settings = settings.clone();
        log.phases = phases;
    }
    let trials = tried.iter().map(|it| TrialVerdict { rate: it.trial.rate(), full: true, met: it.met }).collect();
    Ok(Issued { trials, ..best })
}

#[cfg(test)]
mod tests;
