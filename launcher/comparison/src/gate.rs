//! The gate: whether a comparison lets a pipeline continue. `docs/compare.md` has the rules.

use figures::Way;

use crate::{
    answer::{DECIDING, NOT_COMPARABLE, Size, percents95},
    document::{Comparison, FigureDocument, Gate, GateOutcome, NotRuledOut, Verdict},
    percent::{rounded_up, tenths},
    remarks::Severity,
};

/// If a worsening above this, in percent, is possible according to the intervals, the gate is inconclusive. Used if the user gives no percentage.
const LARGEST_PERCENT: f64 = 10.0;

/// When a gate fails.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GateRule {
    /// Allowed worsening of a figure in percent of the base. With `None`, every worsening that is found fails the gate.
    pub percent: Option<f64>,
    /// The names of the figures that the gate considers; empty for all.
    pub figures: Vec<String>,
}

impl GateRule {
    /// Applies the rule to each pair of runs.
    pub fn apply(&self, comparison: &Comparison) -> Gate {
        let (mut regressions, mut undecided, mut largest) = (Vec::new(), Vec::new(), None);
        let limit = self.percent.unwrap_or(LARGEST_PERCENT);
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
                if self.figures.is_empty() && !looked_at.iter().any(|it| DECIDING.contains(&it.figure.as_str())) {
                    // The share of failed requests is not enough to decide: a server without failures can still be slower.
                    undecided.push(format!("{name}, stage {}: neither run measured a latency", stage.other));
                }
                for it in looked_at.iter().filter(|it| self.decides(&it.figure)) {
                    let Some(worst) = worst(it) else {
                        // A figure that is not comparable already has a remark.
                        let is_open = it.verdict == Verdict::CannotBeDecided && !it.why.starts_with(NOT_COMPARABLE);
                        undecided.extend(is_open.then(|| format!("{} cannot be decided: {}", at(it), it.why)));
                        continue;
                    };
                    if largest.as_ref().is_none_or(|it: &NotRuledOut| it.percent < worst) {
                        largest = Some(NotRuledOut { figure: at(it), percent: worst });
                    }
                    if worst > limit && !self.fails(it) {
                        undecided.push(format!("{}: {}", at(it), too_wide(it, worst, limit, Size::of_stage(stage))));
                    }
                }
                let missing = self.figures.iter().filter(|name| !stage.figures.iter().any(|it| it.figure == **name));
                undecided.extend(missing.map(|it| format!("{name}, stage {}: neither run has {it}", stage.other)));
            }
        }
        let outcome = match (regressions.is_empty(), undecided.is_empty()) {
            (false, _) => GateOutcome::Regression,
            (true, false) => GateOutcome::Inconclusive,
            (true, true) => GateOutcome::Passed,
        };
        let reasons = regressions.into_iter().chain(undecided).collect();
        let figures = self.figures.clone();
        Gate { outcome, percent: self.percent, figures, largest_not_ruled_out: largest, reasons }
    }

    /// Whether the gate needs a verdict on this figure. It needs one on each mean latency, or on each figure that the user named.
    fn decides(&self, figure: &str) -> bool {
        if self.figures.is_empty() { DECIDING.contains(&figure) } else { self.looks_at(figure) }
    }

    fn looks_at(&self, figure: &str) -> bool {
        self.figures.is_empty() || self.figures.iter().any(|it| it == figure)
    }

    /// Whether a figure is worse by more than the allowed percentage. If the base's value is 0, there is no percentage, and every worsening fails.
    fn fails(&self, figure: &FigureDocument) -> bool {
        let by = figure.percent.map(f64::abs);
        figure.verdict == Verdict::Worse && self.percent.zip(by).is_none_or(|(allowed, by)| by > allowed)
    }
}

/// The worst change that is possible according to the 95 % interval, in percent of the base; above 0 if the figure can be worse. Without an interval:
/// the difference itself if the figure is worse.
fn worst(figure: &FigureDocument) -> Option<f64> {
    let Some([low, high]) = percents95(figure) else {
        return figure.percent.filter(|_| figure.verdict == Verdict::Worse).map(f64::abs);
    };
    Some(match figure.better {
        Way::Down => high,
        Way::Up => -low,
    })
}

/// The sentence about a worsening that is possible according to the intervals. It proposes a longer measurement.
fn too_wide(figure: &FigureDocument, worst: f64, limit: f64, size: Size) -> String {
    let found = figure.percent.map_or(0.0, |it| if figure.better == Way::Down { it } else { -it });
    // How much more must be measured so that the end of the interval comes within the limit.
    let more = size.sufficient(worst - found, limit - found).filter(|_| found < limit);
    let more = more.map_or_else(
        || match size.runs {
            Some(_) => "make the stages longer".to_owned(),
            None => "repeat both runs by `--repeat`".to_owned(),
        },
        |it| format!("{it} would rule out more than {limit} %"),
    );
    format!("the runs cannot rule out that it is {} worse; {more}", rounded_up(worst))
}
