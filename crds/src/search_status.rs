//! The result of a search, as the launcher reports it and the status shows it. `report.json` has every trial.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::{
    benchmark_run::SearchOver,
    figure::Milli,
    reason::{Reported, SearchEnd},
    wording::percent,
};

/// The result of a search. Every load is in thousandths: of a request per second if over is Rate, of a user if over is Concurrency.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct SearchStatus {
    /// What differed between trials. Rate: requests per second of an open loop. Concurrency: users of a closed loop.
    pub over: SearchOver,
    /// The answer: the highest load that a trial confirmed, and to which the server also returns after an overload if spec.search.recovery requires
    /// it. Rounded down. Absent without an answer.
    pub answer_milli: Option<Milli>,
    /// A load above the answer that a trial confirmed, but to which the server did not return after an overload.
    pub from_calm_milli: Option<Milli>,
    /// Maximum probability that the answer is above the capacity, in thousandths, rounded up. Absent without an answer.
    pub risk_milli: Option<Milli>,
    /// An estimate of the capacity. The risk does not cover it. Absent without a trial that has a verdict.
    pub edge: Option<SearchEdge>,
    /// Why the search ended, in one word. Absent if the run was stopped before the search ended.
    #[serde(default, skip_serializing_if = "Reported::is_empty")]
    pub stopped: Reported<SearchEnd>,
    /// Number of trials.
    pub trials: u32,
    /// How many of the trials an earlier attempt made. Their results were read from its folder.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resumed_trials: u32,
    /// Time limit for all trials.
    pub budget_seconds: u32,
    /// The time that all trials took.
    pub used_seconds: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// An estimate of the capacity: the load at which exactly the allowed share of requests misses an objective in the long run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct SearchEdge {
    /// The median of the estimate.
    pub estimate_milli: Milli,
    /// The 10th percentile of the estimate.
    pub low_milli: Milli,
    /// The 90th percentile of the estimate.
    pub high_milli: Milli,
}

impl SearchStatus {
    /// The answer as text: `14.2/s`, `43 users`, or `none`.
    pub fn answer_text(&self) -> String {
        match (self.answer_milli, self.over) {
            (None, _) => "none".to_owned(),
            (Some(load), SearchOver::Rate) => format!("{load}/s"),
            (Some(load), SearchOver::Concurrency) if load == Milli::from(1.0) => "1 user".to_owned(),
            (Some(load), SearchOver::Concurrency) => format!("{load} users"),
        }
    }

    /// The risk as text, such as `5 %`. Empty without an answer.
    pub fn risk_text(&self) -> String {
        self.risk_milli.map(|it| percent(u64::from(it) as f64 / 1_000.0)).unwrap_or_default()
    }

    /// The estimate of the capacity as text, such as `15.6 (14.9-16.4)`. Empty without an estimate.
    pub fn edge_text(&self) -> String {
        let text = |it: SearchEdge| format!("{} ({}-{})", it.estimate_milli, it.low_milli, it.high_milli);
        self.edge.map(text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_a_search_have_its_unit() {
        let edge = SearchEdge { estimate_milli: 15_600.into(), low_milli: 14_900.into(), high_milli: 16_400.into() };
        let rate = SearchStatus {
            over: SearchOver::Rate,
            answer_milli: Some(14_200.into()),
            from_calm_milli: None,
            risk_milli: Some(50.into()),
            edge: Some(edge),
            stopped: SearchEnd::Confirmed.into(),
            trials: 15,
            resumed_trials: 0,
            budget_seconds: 1_200,
            used_seconds: 948,
        };
        let users = |count: u64| SearchStatus {
            over: SearchOver::Concurrency,
            answer_milli: Some((count * 1_000).into()),
            ..rate.clone()
        };
        let none = SearchStatus { answer_milli: None, risk_milli: None, edge: None, ..rate.clone() };
        let texts = |it: &SearchStatus| [it.answer_text(), it.risk_text(), it.edge_text()];
        assert_eq!(texts(&rate), ["14.2/s", "5 %", "15.6 (14.9-16.4)"]);
        assert_eq!(texts(&users(43))[0], "43 users");
        assert_eq!(texts(&users(1))[0], "1 user");
        assert_eq!(texts(&none), ["none", "", ""]);
    }
}
