//! How good the answers of a run were, and how that changes its verdict. Pure: the answers are scored elsewhere in the launcher.

use crds::{
    AccuracyFigureStatus, AccuracyStatus, AccuracyVerdict, LauncherReason, Met, Outcome, accuracy::MAX_FIGURES,
};
use serde::{Deserialize, Serialize};

use crate::validity::{Reason, Verdict};

/// Maximum number of missed limits that a reason names.
const MAX_NAMED: usize = 3;

/// How good the answers of a run were, in the form of `report.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Accuracy {
    /// Name of the check that scored the answers: an MLPerf benchmark such as `llama3.1-8b`, or a check such as `rouge` or `mmlu`.
    pub check: String,
    /// Whether the limits are met.
    pub verdict: AccuracyVerdict,
    /// The reason why the verdict is undecided; empty otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// The figures, the most important first.
    pub figures: Vec<AccuracyFigure>,
    /// The limits, each with the figure that it bounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<AccuracyLimit>,
    /// Figures that were not computed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_computed: Vec<NotComputed>,
    /// Number of scored answers.
    pub scored: u64,
    /// Number of requests that failed and therefore have no answer.
    pub without_answer: u64,
    /// Number of samples that must be scored so that the limits apply; absent if the check defines no such number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<u64>,
    /// Reasons why the scores may not describe the model, such as answers with tokens that the tokenizer does not know. They do not change the
    /// verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// How the figures were computed, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub method: Vec<String>,
}

/// A figure of the accuracy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccuracyFigure {
    /// The name of the figure in the reference implementation, such as `rouge1`.
    pub name: String,
    /// The value.
    pub value: f64,
    /// The value as the reference prints it.
    pub text: String,
}

/// An upper or lower limit on a figure.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccuracyLimit {
    /// The name of the figure.
    pub figure: String,
    /// True: the figure must not exceed the limit. False: it must not be below the limit.
    pub is_upper: bool,
    /// The limit. A figure that equals the limit meets it.
    pub limit: f64,
    /// The value of the figure; absent if it was not computed.
    pub value: Option<f64>,
    /// Whether the limit is met; absent if undecided.
    pub met: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NotComputed {
    /// The name of the figure.
    pub figure: String,
    /// The reason why the figure was not computed.
    pub reason: String,
}

impl AccuracyLimit {
    /// The limit as text, such as `at least 38.3914`.
    pub fn text(&self) -> String {
        let bound = if self.is_upper { "at most" } else { "at least" };
        // Four decimal places, as the reference prints its figures.
        format!("{bound} {}", (self.limit * 10_000.0).round() / 10_000.0)
    }

    /// Whether the limit is met, as the result of an objective.
    pub fn met(&self) -> Met {
        match self.met {
            Some(true) => Met::True,
            Some(false) => Met::False,
            None => Met::Inconclusive,
        }
    }
}

impl Accuracy {
    pub fn limits_of<'a>(&'a self, figure: &'a str) -> impl Iterator<Item = &'a AccuracyLimit> {
        self.limits.iter().filter(move |it| it.figure == figure)
    }

    /// The figures for a status: figures with a limit first, then the others.
    pub fn status(&self) -> AccuracyStatus {
        let row = |name: &str, value: &str| {
            let limits: Vec<&AccuracyLimit> = self.limits_of(name).collect();
            let met = limits.iter().map(|it| it.met());
            let worst = met.reduce(|one, other| match (one, other) {
                (Met::False, _) | (_, Met::False) => Met::False,
                (Met::Inconclusive, _) | (_, Met::Inconclusive) => Met::Inconclusive,
                _ => Met::True,
            });
            AccuracyFigureStatus {
                name: name.to_owned(),
                value: value.to_owned(),
                limit: limits.iter().map(|it| it.text()).collect::<Vec<_>>().join(", "),
                met: worst,
            }
        };
        let computed = self.figures.iter().map(|it| row(&it.name, &it.text));
        let (mut rows, others): (Vec<_>, Vec<_>) =
            computed.chain(self.not_computed.iter().map(|it| row(&it.figure, ""))).partition(|it| it.met.is_some());
        rows.extend(others);
        rows.truncate(MAX_FIGURES);
        AccuracyStatus { check: self.check.clone(), verdict: self.verdict, scored: self.scored, figures: rows }
    }

    /// The reason that makes an otherwise valid run invalid. `None` if the run stays valid.
    fn reason(&self) -> Option<Reason> {
        let missed = self.limits.iter().filter(|it| it.met == Some(false));
        match self.verdict {
            AccuracyVerdict::Passed | AccuracyVerdict::NotJudged => None,
            AccuracyVerdict::Failed => {
                let mut named: Vec<String> = missed
                    .map(|it| format!("{} is {}, and must be {}", it.figure, it.value.unwrap_or_default(), it.text()))
                    .collect();
                if named.len() > MAX_NAMED {
                    let more = named.split_off(MAX_NAMED).len();
                    named.push(format!("and {more} more limits are missed"));
                }
                let message = format!(
                    "the answers are worse than {} allows: {}; check the model, its precision and its tokenizer on the server",
                    self.check,
                    named.join("; ")
                );
                Some(Reason { name: LauncherReason::AccuracyMissed, message })
            }
            AccuracyVerdict::Undecided => {
                let message = format!(
                    "whether the answers meet the limits of {} is not decided: {}; to measure without limits, set accuracy.limits to none in the profile, or take minAccuracy out",
                    self.check,
                    self.reasons.join("; ")
                );
                Some(Reason { name: LauncherReason::AccuracyUndecided, message })
            }
        }
    }

    /// Applies the accuracy to the verdict. A run with wrong answers, or with undecided accuracy, is not valid, however fast the server is.
    pub(crate) fn judge(&self, verdict: &mut Verdict) {
        add_reason(verdict, self.reason());
    }

    /// One sentence per doubt that is not already a reason of the verdict.
    pub(crate) fn remarks(&self) -> impl Iterator<Item = String> {
        let doubts = self.doubts.iter().filter(|it| !self.reasons.contains(it));
        doubts.map(|it| format!("the scores may not describe the model: {it}"))
    }
}

fn add_reason(verdict: &mut Verdict, reason: Option<Reason>) {
    let Some(reason) = reason else { return };
    verdict.reasons.push(reason);
    if verdict.outcome == Outcome::Passed {
        verdict.reasons.retain(|it| it.name != LauncherReason::RunSucceeded);
        verdict.outcome = Outcome::Invalid;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accuracy(verdict: AccuracyVerdict) -> Accuracy {
        let figure = |name: &str, value: f64| AccuracyFigure { name: name.into(), value, text: value.to_string() };
        let limit = |figure: &str, is_upper, limit, value: Option<f64>, met| AccuracyLimit {
            figure: figure.into(),
            is_upper,
            limit,
            value,
            met,
        };
        Accuracy {
            check: "llama3.1-8b".into(),
            verdict,
            reasons: vec!["the run covers 3 samples".into()],
            figures: vec![figure("gen_num", 3.0), figure("rouge1", 30.5), figure("gen_len", 12.0)],
            limits: vec![
                limit("rouge1", false, 38.391_408, Some(30.5), Some(false)),
                limit("gen_len", false, 10.0, Some(12.0), Some(true)),
                limit("gen_len", true, 20.0, Some(12.0), Some(true)),
                limit("rougeLsum", false, 35.0, None, None),
            ],
            not_computed: vec![NotComputed { figure: "rougeLsum".into(), reason: "no tables".into() }],
            scored: 3,
            without_answer: 0,
            wanted: None,
            doubts: Vec::new(),
            method: Vec::new(),
        }
    }

    #[test]
    fn a_status_has_the_figures_with_limits_first() {
        let status = accuracy(AccuracyVerdict::Failed).status();
        let rows: Vec<(&str, &str, &str, Option<Met>)> =
            status.figures.iter().map(|it| (it.name.as_str(), it.value.as_str(), it.limit.as_str(), it.met)).collect();
        assert_eq!(
            rows,
            [
                ("rouge1", "30.5", "at least 38.3914", Some(Met::False)),
                ("gen_len", "12", "at least 10, at most 20", Some(Met::True)),
                ("rougeLsum", "", "at least 35", Some(Met::Inconclusive)),
                ("gen_num", "3", "", None),
            ]
        );
    }

    #[test]
    fn a_missed_limit_makes_a_valid_measurement_invalid_and_names_the_figure() {
        let passed = || Verdict {
            outcome: Outcome::Passed,
            reasons: vec![Reason { name: LauncherReason::RunSucceeded, message: String::new() }],
        };
        for (verdict, outcome, name) in [
            (AccuracyVerdict::Passed, Outcome::Passed, LauncherReason::RunSucceeded),
            (AccuracyVerdict::NotJudged, Outcome::Passed, LauncherReason::RunSucceeded),
            (AccuracyVerdict::Failed, Outcome::Invalid, LauncherReason::AccuracyMissed),
            (AccuracyVerdict::Undecided, Outcome::Invalid, LauncherReason::AccuracyUndecided),
        ] {
            let mut judged = passed();
            add_reason(&mut judged, accuracy(verdict).reason());
            assert_eq!((judged.outcome, judged.headline().name), (outcome, name));
            assert_eq!(judged.reasons.len(), 1);
        }
        let message = accuracy(AccuracyVerdict::Failed).reason().unwrap().message;
        assert!(message.contains("rouge1 is 30.5, and must be at least 38.3914;"), "{message}");
        let mut cancelled = Verdict { outcome: Outcome::Cancelled, ..passed() };
        add_reason(&mut cancelled, accuracy(AccuracyVerdict::Failed).reason());
        assert_eq!((cancelled.outcome, cancelled.reasons.len()), (Outcome::Cancelled, 2));
    }
}
