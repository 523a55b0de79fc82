//! Runs a search for the highest load that meets the objectives: one load whose stages are its trials.

mod drain;
mod objectives;
mod saved;
mod searcher;
#[cfg(test)]
mod tests;

use std::{path::Path, sync::Arc};

use analysis::search::{SearchAnswer, SearchResult, TrialObjective};
use crds::{
    benchmark_run::{Metric, SearchOver, SearchRecovery},
    resolve::{ResolvedRun, ResolvedSearch},
};
use measurement::load_result::LoadResult;
use search::{Recovery, Role, Settings, Unit, Verdict};
use workload_profiles::{
    Workload,
    workload::{Arrivals, Load, Stage},
};

use super::{Failure, RunOptions};
pub(super) use drain::Drain;
pub(super) use saved::{Earlier, FILE as TRIALS_FILE, end as end_file};
use saved::{Ledger, SavedTrial};
use searcher::{ClientLimits, Found, Template};
pub(super) use searcher::{SearchStanding, Searcher};

/// Maximum number of trials. The longest budgets end with fewer.
const MOST_TRIALS: usize = 64;
/// Two trials of about the same load contradict each other if one has at most this belief, and the other at least 1 minus this belief. A belief is
/// the probability that the objectives hold.
const SURELY: f64 = 0.05;
/// Two loads are about the same if their ratio is at most this factor.
const SAME_LOAD: f64 = 1.03;

/// A search that is ready to begin.
pub(super) struct Search {
    settings: Settings,
    over: SearchOver,
    at_least: Option<f64>,
    searcher: Arc<Searcher>,
    /// The folder of the earlier search from which this one goes on. Empty if there is none.
    earlier: String,
    /// The workload with one stage for each possible trial.
    pub(super) workload: Workload,
}

impl Search {
    /// Prepares the search of a run. It goes on from an earlier search if the command line requests it, or in a pod if an earlier attempt of the run left
    /// trials. `folder`: where the trials are saved; `None` if no results are stored.
    ///
    /// # Errors
    /// The profile's load cannot be varied, or the search cannot go on from the requested one.
    pub(super) fn prepare(
        run: &ResolvedRun,
        search: &ResolvedSearch,
        workload: &Workload,
        options: &RunOptions,
        folder: Option<&Path>,
        drain: Drain,
    ) -> Result<Search, Failure> {
        let objectives = objectives::of_run(run, &workload.goodput);
        let conditions = saved::conditions(run, workload, &objectives);
        let earlier = saved::find(run, options, &conditions, objectives.len())?;
        let ledger = folder.map(|it| Ledger::new(it, run, conditions));
        Search::new(run, search, workload, earlier, ledger, Some(drain))
    }

    fn new(
        run: &ResolvedRun,
        search: &ResolvedSearch,
        workload: &Workload,
        earlier: Earlier,
        ledger: Option<Ledger>,
        drain: Option<Drain>,
    ) -> Result<Search, Failure> {
        let (over, template) = template(search, workload).map_err(Failure::configuration)?;
        if has_itl_goal(run, workload) {
            let message = "spec.slo.objectives: goodputShare cannot be searched while a goal of the profile bounds itl, which has no value \
                           per request; bound tpot in the profile instead";
            return Err(Failure::configuration(message.to_owned()));
        }
        let unit = match over {
            SearchOver::Rate => Unit::RequestsPerSecond,
            SearchOver::Concurrency => Unit::Concurrency,
        };
        let settings = Settings {
            first: search.first,
            highest: search.highest,
            budget: search.budget.0.as_secs_f64(),
            risk: search.risk,
            recovery: match search.recovery {
                SearchRecovery::Required => Recovery::Required,
                SearchRecovery::Reported => Recovery::Reported,
                SearchRecovery::Off => Recovery::Off,
            },
            ..Settings::new(unit)
        };
        let objectives = objectives::of_run(run, &workload.goodput);
        let limits = ClientLimits { send_lag: run.validity.max_send_lag_p99.0, cpu_share: run.validity.max_cpu_share };
        let Earlier { trials, folder } = earlier;
        let searcher = Searcher::new(settings, objectives, template, limits, trials, ledger, drain);
        let place = |number: usize| Stage::new(format!("trial-{number:02}"), first_load(over, template));
        let workload = Workload { stages: (1..=MOST_TRIALS).map(place).collect(), ..workload.clone() };
        Ok(Search {
            settings,
            over,
            at_least: search.at_least,
            searcher: Arc::new(searcher),
            earlier: folder,
            workload,
        })
    }

    /// The searcher, which chooses the trials while the load runs.
    pub(super) fn searcher(&self) -> Arc<Searcher> {
        Arc::clone(&self.searcher)
    }

    /// Ends the search. Removes the stages that were not run from the load. Returns the workload as it was issued, and the result of the search.
    pub(super) fn end(self, load: &mut LoadResult) -> (Workload, SearchResult) {
        let Found { trials, stages, busy_before, answer } = self.searcher.end(load.wall);
        load.keep_stages(stages.len());
        let result = self.result(trials, &busy_before, answer);
        (Workload { stages, ..self.workload }, result)
    }

    fn result(&self, ended: Vec<SavedTrial>, busy_before: &[String], answer: Option<search::Answer>) -> SearchResult {
        let trials: Vec<search::Trial> = ended.iter().map(|it| it.trial.clone()).collect();
        let load = answer.and_then(|it| it.load);
        let mut notices = notices(&trials);
        if !busy_before.is_empty() {
            notices.push(format!(
                "The server still had work of an earlier trial when these trials began: {}.",
                busy_before.join(", ")
            ));
        }
        let resumed = ended.iter().filter(|it| it.shown.resumed).count();
        if resumed > 0 {
            notices.push(format!(
                "{resumed} trials were made by an earlier search, in {}; this report has no requests of them.",
                self.earlier
            ));
        }
        SearchResult {
            over: self.over,
            answer: load.and_then(|load| self.answer(&ended, load)),
            from_calm: answer.and_then(|it| it.from_calm),
            edge: search::edge(&self.settings, &trials),
            binding: binding(&ended, load.unwrap_or_default()),
            stopped: answer.map(|it| it.stopped),
            at_least: self.at_least,
            budget_seconds: self.settings.budget,
            used_seconds: trials.iter().map(|it| it.seconds).sum(),
            trials: ended.into_iter().map(|it| it.shown).collect(),
            notices,
        }
    }

    fn answer(&self, ended: &[SavedTrial], load: f64) -> Option<SearchAnswer> {
        // To let the server recover, the search may have lowered the load below the confirmed one. The confirmation at the higher load covers it.
        let confirms = |it: &&SavedTrial| {
            it.trial.role == Role::Confirm && it.trial.verdict == Verdict::Passed && it.trial.load >= load
        };
        let by = ended.iter().filter(confirms).min_by(|one, two| one.trial.load.total_cmp(&two.trial.load))?;
        let recovered = |it: &&SavedTrial| it.trial.role == Role::FromAbove && it.trial.load == load;
        let confirmed = Some(by).filter(|it| it.trial.load == load);
        let recovered = ended.iter().rfind(recovered);
        let candidates = [confirmed, recovered, Some(by)].into_iter().flatten();
        // A resumed trial has no stage in this report.
        let shown = candidates.into_iter().find(|it| !it.shown.resumed);
        Some(SearchAnswer { load, risk: self.settings.risk, stage: shown.map(|it| it.shown.stage.clone()) })
    }
}

/// The objective that limits the load: in the lowest failed trial above `load`, it had the most misses relative to the allowed number. `None` without a
/// failed trial.
fn binding(ended: &[SavedTrial], load: f64) -> Option<String> {
    let failed = ended.iter().filter(|it| it.trial.verdict == Verdict::Failed && it.trial.load > load);
    let lowest = failed.min_by(|one, other| one.trial.load.total_cmp(&other.trial.load))?;
    let missed = |it: &TrialObjective| it.share.map(|share| share / it.allowed);
    let missed = lowest.shown.objectives.iter().filter_map(|it| Some((it, missed(it)?)));
    missed.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|it| it.0.name.clone())
}

/// Returns what the search varies, and what its trials take from the profile's load.
///
/// # Errors
/// The load cannot be varied. The text contains the remedy.
fn template(search: &ResolvedSearch, workload: &Workload) -> Result<(SearchOver, Template), String> {
    let open = |arrivals, max_concurrency| Template { arrivals, max_concurrency };
    let of_profile = workload.stages.iter().find_map(|it| match it.load {
        Load::Open { arrivals, max_concurrency, .. } => Some((SearchOver::Rate, open(arrivals, max_concurrency))),
        Load::Closed { .. } => Some((SearchOver::Concurrency, open(Arrivals::Poisson, None))),
        _ => None,
    });
    match (search.over, of_profile) {
        (None, Some(found)) => Ok(found),
        (Some(over), Some((kind, template))) if kind == over => Ok((over, template)),
        (Some(over), _) => Ok((over, open(Arrivals::Poisson, None))),
        (None, None) => Err(
            "spec.search.over: is missing, and the profile's load is neither a rate nor a concurrency; write Rate or \
                             Concurrency"
                .to_owned(),
        ),
    }
}

/// The load of a stage before its trial is chosen. Its kind (open or closed) determines how latencies count.
fn first_load(over: SearchOver, template: Template) -> Load {
    match over {
        SearchOver::Rate => searcher::open_load(template, 1.0, None, std::time::Duration::ZERO),
        SearchOver::Concurrency => searcher::closed_load(1.0, std::time::Duration::ZERO),
    }
}

fn has_itl_goal(run: &ResolvedRun, workload: &Workload) -> bool {
    let bounds_goodput = run.slo.iter().flat_map(|it| &it.objectives).any(|it| it.metric == Metric::GoodputShare);
    bounds_goodput && workload.goodput.itl.is_some()
}

/// Warnings about the answer, one sentence each.
fn notices(trials: &[search::Trial]) -> Vec<String> {
    let decided = || trials.iter().filter(|it| matches!(it.role, Role::Grow | Role::Narrow | Role::Confirm));
    let contradicts = |one: &search::Trial, other: &search::Trial| {
        let ratio = one.load.max(other.load) / one.load.min(other.load);
        ratio <= SAME_LOAD && one.belief <= SURELY && other.belief >= 1.0 - SURELY
    };
    let changed = decided().find_map(|one| decided().find(|other| contradicts(one, other)).map(|other| (one, other)));
    let changed = changed.map(|(one, other)| {
        format!(
            "The server changed between trials: load {} failed and load {} passed; the risk of the answer assumes a server that stays the \
             same.",
            one.load, other.load
        )
    });
    changed.into_iter().collect()
}
