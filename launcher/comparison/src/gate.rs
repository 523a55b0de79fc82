//! Whether a comparison lets a pipeline go on. `docs/compare.md` has the rules.

use serde::Serialize;

use crate::{
    document::{Comparison, FigureDocument, Verdict},
    remarks::Severity,
    rows::tenths,
};

/// What fails a gate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GateRule {
    /// A figure may be worse by this many percent of the base; `None`: by nothing that is found.
    pub percent: Option<f64>,
    /// The figures that decide, by name; empty: all of them.
    pub figures: Vec<String>,
}

/// How a gate came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum GateOutcome {
    Passed,
    /// A figure is worse.
    Regression,
    /// No figure is worse, and not all that has to be decided is.
    Inconclusive,
}

impl GateOutcome {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            GateOutcome::Passed => "passed",
            GateOutcome::Regression => "regression",
            GateOutcome::Inconclusive => "inconclusive",
        }
    }
}

/// The result of a gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gate {
    pub outcome: GateOutcome,
    /// Absent: every difference to the worse fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// Empty: all figures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<String>,
    /// Why it did not pass, one by one.
    pub reasons: Vec<String>,
}

impl GateRule {
    /// Applies the rule to each pair.
    pub fn apply(&self, comparison: &Comparison) -> Gate {
        let (mut regressions, mut undecided) = (Vec::new(), Vec::new());
        for pair in &comparison.pairs {
            let name = &pair.run;
            for remark in pair.remarks.iter().filter(|it| it.severity == Severity::NotComparable) {
                if remark.figures.is_empty() || remark.figures.iter().any(|it| self.looks_at(it)) {
                    undecided.push(format!("{name}: not comparable: {}", remark.label));
                }
            }
            undecided.extend(
                pair.unmatched
                    .iter()
                    .map(|it| format!("{name}: stage {} of {} is not compared: {}", it.stage, it.run, it.why)),
            );
            for stage in &pair.stages {
                let looked_at: Vec<&FigureDocument> =
                    stage.figures.iter().filter(|it| self.looks_at(&it.figure)).collect();
                let at = |it: &FigureDocument| format!("{name}, stage {}: {}", stage.other, it.title);
                let worse = looked_at.iter().filter(|it| self.fails(it));
                regressions.extend(worse.map(|it| match it.percent {
                    Some(percent) => format!("{} is worse: {} %", at(it), tenths(percent)),
                    None => format!("{} is worse", at(it)),
                }));
                let is_open = |it: &&&FigureDocument| it.verdict == Verdict::CannotBeDecided;
                // Failures alone do not say that a server is not slower.
                if self.figures.is_empty() && looked_at.iter().filter(|it| is_latency(it)).all(|it| is_open(&it)) {
                    undecided.push(format!("{name}, stage {}: no latency can be decided", stage.other));
                } else if !self.figures.is_empty() {
                    undecided.extend(
                        looked_at.iter().filter(is_open).map(|it| format!("{} cannot be decided: {}", at(it), it.why)),
                    );
                    let missing =
                        self.figures.iter().filter(|name| !stage.figures.iter().any(|it| it.figure == **name));
                    undecided.extend(missing.map(|it| format!("{name}, stage {}: neither run has {it}", stage.other)));
                }
            }
        }
        let outcome = match (regressions.is_empty(), undecided.is_empty()) {
            (false, _) => GateOutcome::Regression,
            (true, false) => GateOutcome::Inconclusive,
            (true, true) => GateOutcome::Passed,
        };
        let reasons = regressions.into_iter().chain(undecided).collect();
        Gate { outcome, percent: self.percent, figures: self.figures.clone(), reasons }
    }

    fn looks_at(&self, figure: &str) -> bool {
        self.figures.is_empty() || self.figures.iter().any(|it| it == figure)
    }

    /// A figure that is worse, by more than is allowed. A base of 0 has no percentage: whatever is found is too much.
    fn fails(&self, figure: &FigureDocument) -> bool {
        let by = figure.percent.map(f64::abs);
        figure.verdict == Verdict::Worse && self.percent.zip(by).is_none_or(|(allowed, by)| by > allowed)
    }
}

/// One of TTFT, TPOT, NTPOT and E2E. ITL has no interval.
fn is_latency(figure: &FigureDocument) -> bool {
    ["ttft.", "tpot.", "ntpot.", "e2e."].iter().any(|it| figure.figure.starts_with(it))
}
