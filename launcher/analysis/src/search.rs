//! The result of a search for the highest load that meets the objectives, and its part in the verdict.

use crds::{
    LauncherReason, Milli, SearchEdge, SearchEnd, SearchStatus,
    benchmark_run::SearchOver,
    figure::rate_text,
    outcome::Outcome,
    resolve::{ResolvedObjective, ResolvedSlo},
    wording::percent,
};
use serde::{Deserialize, Serialize};

use crate::validity::{Reason, Verdict};

pub use search::{Edge, Role, Stopped, Verdict as TrialResult};

/// The result of a search.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchResult {
    /// The quantity that differs between trials: the rate or the concurrency.
    pub over: SearchOver,
    /// The highest load that a trial confirmed. If the search requires recovery: the highest such load to which the server also returns after an
    /// overload. Absent if there is none.
    pub answer: Option<SearchAnswer>,
    /// A load above `answer` that a trial confirmed, but to which the server does not return after an overload.
    pub from_calm: Option<f64>,
    /// An estimate of the capacity, from all trials. `risk` of the answer does not apply to it.
    pub edge: Option<Edge>,
    /// The objective that limits the load: in the lowest failed trial above the answer, it had the most misses relative to the allowed number.
    pub binding: Option<String>,
    /// The reason why the search ended. Absent if the run was stopped before the search ended.
    pub stopped: Option<Stopped>,
    /// The smallest answer that passes. Absent if any answer passes.
    pub at_least: Option<f64>,
    /// Time limit for all trials, in seconds.
    pub budget_seconds: f64,
    /// The time that all trials took, in seconds.
    pub used_seconds: f64,
    /// Every trial, in order. Each is a stage of the run, except for resumed trials.
    pub trials: Vec<SearchTrial>,
    /// Warnings about the answer, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

/// A load that a trial confirmed.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchAnswer {
    /// Requests per second, or users.
    pub load: f64,
    /// Upper limit of the probability that the load is above the capacity.
    pub risk: f64,
    /// The stage of the trial that confirmed the load, or that found that the server returns to it. Absent if only an earlier search, from which this
    /// one went on, has such a stage.
    pub stage: Option<String>,
}

/// A trial: a stage that tests one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchTrial {
    /// The name of the trial's stage. A resumed trial has no stage in this report.
    pub stage: String,
    pub role: Role,
    /// Requests per second, or users.
    pub load: f64,
    /// The duration of the trial and of the pause after it, in seconds.
    pub seconds: f64,
    /// Number of requests on which the verdict is based.
    pub requests: u64,
    pub verdict: TrialResult,
    /// The probability, from 0 to 1, that all objectives hold at this load.
    pub belief: f64,
    /// Whether an earlier search made the trial, from which this one went on. The report has no requests of the trial.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumed: bool,
    pub objectives: Vec<TrialObjective>,
}

/// The result of an objective in a trial.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrialObjective {
    pub name: String,
    /// The share of requests that missed the objective. Absent if no request was counted.
    pub share: Option<f64>,
    /// The largest share of requests that can miss the objective.
    pub allowed: f64,
    /// The percentile that the objective limits, over the counted requests. A failed request counts as twice the limit. Absent for an objective on a
    /// share, and if no request was counted.
    pub value_ms: Option<f64>,
    /// The limit of `value_ms`.
    pub limit_ms: Option<f64>,
}

impl TrialObjective {
    /// How close the objective is to its limit, which is at 1: the value divided by its limit, or the share of requests that missed the objective
    /// divided by the allowed share. `None` if no request was counted.
    pub fn ratio(&self) -> Option<f64> {
        match (self.value_ms, self.limit_ms) {
            (Some(value), Some(limit)) if limit > 0.0 => Some(value / limit),
            _ => self.share.map(|it| it / self.allowed),
        }
    }
}

impl SearchResult {
    /// A load with its unit, such as `14.2 requests/s` or `48 users`.
    pub fn load_text(&self, load: f64) -> String {
        match self.over {
            SearchOver::Rate => format!("{} requests/s", rate_text(load)),
            SearchOver::Concurrency if load == 1.0 => "1 user".to_owned(),
            SearchOver::Concurrency => format!("{load} users"),
        }
    }

    /// The answer in one or two sentences. It does not contain how many trials the search had and how long they took.
    pub fn sentence(&self) -> String {
        let Some(answer) = &self.answer else { return self.without_answer() };
        let load = self.load_text(answer.load);
        let verb = if answer.load == 1.0 && self.over == SearchOver::Concurrency { "holds" } else { "hold" };
        let why = match self.stopped {
            Some(Stopped::HighestLoadPasses) => "; this is the highest load of the search".to_owned(),
            Some(Stopped::ClientLimited) => "; this client cannot send more".to_owned(),
            _ => String::new(),
        };
        let edge = self.edge.filter(|_| why.is_empty()).map(|it| {
            let binding = self.binding.as_ref().map(|it| format!(", bound by {it}")).unwrap_or_default();
            format!(
                " The capacity is probably near {} ({} to {}){binding}.",
                rate_text(it.estimate),
                rate_text(it.low),
                rate_text(it.high)
            )
        });
        let risk = percent(answer.risk);
        format!(
            "{load} {verb} all objectives (risk of being too high: {risk} at most){why}.{}",
            edge.unwrap_or_default()
        )
    }

    /// The stages of the trials that the launcher limited.
    pub(crate) fn limited_by_client(&self) -> Vec<&str> {
        let limited = self.trials.iter().filter(|it| it.verdict == TrialResult::ClientLimited && !it.resumed);
        limited.map(|it| it.stage.as_str()).collect()
    }

    /// The result for the status and the termination message.
    pub fn status(&self) -> SearchStatus {
        let seconds = |it: f64| it.round() as u32;
        let answer = self.answer.as_ref();
        SearchStatus {
            over: self.over,
            answer_milli: answer.map(|it| rounded_down(it.load)),
            from_calm_milli: self.from_calm.map(rounded_down),
            risk_milli: answer.map(|it| ((it.risk * 1_000.0 - ROUNDING).ceil() as u64).into()),
            edge: self.edge.map(|it| SearchEdge {
                estimate_milli: it.estimate.into(),
                low_milli: it.low.into(),
                high_milli: it.high.into(),
            }),
            stopped: self.stopped.map(|it| end(it).into()).unwrap_or_default(),
            trials: self.trials.len() as u32,
            resumed_trials: self.trials.iter().filter(|it| it.resumed).count() as u32,
            budget_seconds: seconds(self.budget_seconds),
            used_seconds: seconds(self.used_seconds),
        }
    }

    fn without_answer(&self) -> String {
        let tried: Vec<f64> = self.trials.iter().map(|it| it.load).collect();
        let lowest = tried.iter().copied().fold(f64::INFINITY, f64::min);
        let minutes = (self.budget_seconds / 60.0).round();
        let edge = self.edge.map(|it| format!(" The capacity is probably near {}.", self.load_text(it.estimate)));
        let edge = edge.unwrap_or_default();
        match self.stopped {
            Some(Stopped::NoLoadPasses) if lowest.is_finite() => {
                let missed = self.binding.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
                format!("No load holds all objectives: even {} misses{missed}.", self.load_text(lowest))
            }
            Some(Stopped::DoesNotRecover) => {
                let calm = self.from_calm.map(|it| format!(", although {} hold from calm", self.load_text(it)));
                format!(
                    "After an overload the server did not return to any load that was tried{}.",
                    calm.unwrap_or_default()
                )
            }
            Some(_) if self.from_calm.is_some() => {
                let calm = self.from_calm.map(|it| self.load_text(it)).unwrap_or_default();
                format!("{calm} hold all objectives from calm, but no time was left to test them after an overload.")
            }
            Some(Stopped::ClientLimited) => "This client cannot send the first load in time.".to_owned(),
            Some(Stopped::NotConfirmed) => format!("No load was confirmed: every confirmation failed.{edge}"),
            None => format!("The run was stopped before the search found an answer.{edge}"),
            _ => format!("No load was confirmed in {minutes} min.{edge}"),
        }
    }

    /// The objectives of a run, applied only to the stage of the answer. `None` without an answer, and if the run has no such stage.
    pub(crate) fn objectives(&self, slo: &ResolvedSlo) -> Option<ResolvedSlo> {
        let stage = self.answer.as_ref()?.stage.as_ref()?;
        let at_answer = |it: &ResolvedObjective| ResolvedObjective { stage: Some(stage.clone()), ..it.clone() };
        Some(ResolvedSlo { objectives: slo.objectives.iter().map(at_answer).collect(), ..slo.clone() })
    }

    /// Applies the result of the search to the verdict on a valid measurement: inconclusive without an answer, missed if the answer is below
    /// `at_least`.
    pub(crate) fn judge(&self, verdict: &mut Verdict) {
        if !matches!(verdict.outcome, Outcome::Passed | Outcome::Inconclusive | Outcome::SLOViolated) {
            return;
        }
        let (outcome, name, message) = match (&self.answer, self.at_least) {
            (None, _) => (Outcome::Inconclusive, LauncherReason::SLOInconclusive, self.sentence()),
            (Some(answer), Some(at_least)) if answer.load < at_least => {
                let message = format!(
                    "the highest load that holds all objectives is {}, and spec.search.atLeast is {}",
                    self.load_text(answer.load),
                    rate_text(at_least)
                );
                (Outcome::SLOViolated, LauncherReason::SLOViolated, message)
            }
            _ => return,
        };
        verdict.outcome = outcome;
        verdict.reasons = vec![Reason { name, message }];
    }
}

/// A load in thousandths. Rounding it up would report a load that no trial confirmed.
fn rounded_down(load: f64) -> Milli {
    ((load * 1_000.0 + ROUNDING).floor() as u64).into()
}

/// The error of a product of floating-point numbers is below this.
const ROUNDING: f64 = 1e-6;

fn end(of: Stopped) -> SearchEnd {
    match of {
        Stopped::Confirmed => SearchEnd::Confirmed,
        Stopped::Budget => SearchEnd::Budget,
        Stopped::NoLoadPasses => SearchEnd::NoLoadPasses,
        Stopped::HighestLoadPasses => SearchEnd::HighestLoadPasses,
        Stopped::ClientLimited => SearchEnd::ClientLimited,
        Stopped::DoesNotRecover => SearchEnd::DoesNotRecover,
        Stopped::NotConfirmed => SearchEnd::NotConfirmed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(answer: Option<f64>, stopped: Stopped) -> SearchResult {
        SearchResult {
            over: SearchOver::Rate,
            answer: answer.map(|load| SearchAnswer { load, risk: 0.05, stage: Some("07-confirm-r14.2".into()) }),
            from_calm: None,
            edge: Some(Edge { estimate: 15.6, low: 14.9, high: 16.4 }),
            binding: Some("tpot".into()),
            stopped: Some(stopped),
            at_least: None,
            budget_seconds: 1_200.0,
            used_seconds: 948.0,
            trials: Vec::new(),
            notices: Vec::new(),
        }
    }

    #[test]
    fn the_answer_is_one_sentence_with_its_risk() {
        assert_eq!(
            found(Some(14.2), Stopped::Confirmed).sentence(),
            "14.2 requests/s hold all objectives (risk of being too high: 5 % at most). The capacity is probably near 15.6 (14.9 to 16.4), bound \
             by tpot."
        );
        assert_eq!(
            found(Some(64.0), Stopped::HighestLoadPasses).sentence(),
            "64 requests/s hold all objectives (risk of being too high: 5 % at most); this is the highest load of the search."
        );
        assert_eq!(
            found(None, Stopped::Budget).sentence(),
            "No load was confirmed in 20 min. The capacity is probably near 15.6 requests/s."
        );
    }

    #[test]
    fn the_status_never_exceeds_the_answer_or_understates_its_risk() {
        let status = found(Some(14.2), Stopped::Confirmed).status();
        assert_eq!((status.answer_milli, status.risk_milli), (Some(14_200.into()), Some(50.into())));
        let edge = SearchEdge { estimate_milli: 15_600.into(), low_milli: 14_900.into(), high_milli: 16_400.into() };
        assert_eq!((status.edge, status.stopped.known()), (Some(edge), Some(SearchEnd::Confirmed)));
        assert_eq!((status.budget_seconds, status.used_seconds, status.trials), (1_200, 948, 0));
        let mut low = found(Some(1.0 / 64.0), Stopped::Confirmed);
        low.answer = low.answer.map(|it| SearchAnswer { risk: 0.0012, ..it });
        assert_eq!((low.status().answer_milli, low.status().risk_milli), (Some(15.into()), Some(2.into())));
        let without = found(None, Stopped::NoLoadPasses).status();
        assert_eq!((without.answer_milli, without.risk_milli), (None, None));
        assert_eq!(without.stopped.as_str(), "NoLoadPasses");
    }

    #[test]
    fn the_outcome_is_that_of_the_answer() {
        let judged = |result: &SearchResult| {
            let reasons = vec![Reason { name: LauncherReason::RunSucceeded, message: String::new() }];
            let mut verdict = Verdict { outcome: Outcome::Passed, reasons };
            result.judge(&mut verdict);
            verdict.outcome
        };
        let answered = found(Some(14.2), Stopped::Confirmed);
        assert_eq!(judged(&answered), Outcome::Passed);
        assert_eq!(judged(&SearchResult { at_least: Some(14.2), ..answered.clone() }), Outcome::Passed);
        assert_eq!(judged(&SearchResult { at_least: Some(15.0), ..answered }), Outcome::SLOViolated);
        assert_eq!(judged(&found(None, Stopped::NotConfirmed)), Outcome::Inconclusive);
    }
}
