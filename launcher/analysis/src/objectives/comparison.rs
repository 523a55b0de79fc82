//! Compares a value with its limit and with the value of an earlier run.

use crds::{
    objective::FigureValue,
    resolve::{Bound, ResolvedObjective},
    units::Span,
};

use super::reading::{Reading, Source, profiled};

/// An earlier run to compare figures with.
#[derive(Clone, Copy)]
pub struct Baseline<'a> {
    /// The figures of the earlier run.
    pub source: &'a dyn Source,
    /// Maximum allowed worsening of a figure, in percent of the earlier value.
    pub max_regression_percent: u32,
}

/// The value of an earlier run, and the limit that follows from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BaselineLimit {
    /// The earlier value.
    pub value: FigureValue,
    /// The worst value that is still no regression.
    pub limit: FigureValue,
}

/// The result of comparing a value with an earlier run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Comparison {
    /// The value has not worsened by more than the allowed percentage.
    Within(BaselineLimit),
    /// The value has worsened by more than the allowed percentage. The second field is this percentage.
    Regression(BaselineLimit, u32),
    /// The earlier value is 0, so no percentage of it exists. Only the objective's own limit decides.
    NoShare,
    /// The earlier run has no such value, or measured it differently.
    Undecided(String),
}

impl Comparison {
    /// The earlier value and the limit derived from it; `None` if no comparison was made.
    pub(super) fn limit(&self) -> Option<BaselineLimit> {
        match self {
            Comparison::Within(limit) | Comparison::Regression(limit, _) => Some(*limit),
            Comparison::NoShare | Comparison::Undecided(_) => None,
        }
    }

    /// The reason why no comparison was made; `None` if one was made.
    pub(super) fn note(&self) -> Option<String> {
        let text = "the value of the baseline is 0, so there is no percentage of it: only the limit decides";
        (*self == Comparison::NoShare).then(|| text.into())
    }
}

impl Baseline<'_> {
    /// Compares a value with the value of the earlier run.
    pub(super) fn compare(&self, objective: &ResolvedObjective, stage: Option<&str>, observed: &Reading) -> Comparison {
        let place = stage.map(|it| format!(" in a stage {it}")).unwrap_or_default();
        if let Some(reason) = profiled(self.source, stage) {
            return Comparison::Undecided(format!("the baseline cannot be compared: {reason}"));
        }
        let Some(earlier) = self.source.reading(stage, objective.metric, objective.stat) else {
            return Comparison::Undecided(format!("the baseline has no {}{place}", objective.figure()));
        };
        if earlier.basis != observed.basis {
            let reason = format!(
                "the baseline measured {} in another way: its label is {}, and the label of this run is {}",
                objective.metric.name(),
                earlier.basis,
                observed.basis
            );
            return Comparison::Undecided(reason);
        }
        let value = earlier.value.as_f64();
        if !value.is_finite() {
            return Comparison::Undecided(format!("{} of the baseline is not a number", objective.figure()));
        }
        if value <= 0.0 {
            return Comparison::NoShare;
        }
        let limit = limit(objective.bound, earlier.value, self.max_regression_percent);
        let found = BaselineLimit { value: earlier.value, limit };
        match is_within(objective.bound, limit, observed.value) {
            true => Comparison::Within(found),
            false => Comparison::Regression(found, self.max_regression_percent),
        }
    }
}

/// Whether a value meets a limit. NaN meets no limit.
pub(super) fn is_within(bound: Bound, limit: FigureValue, value: FigureValue) -> bool {
    match bound {
        Bound::Max(_) => value <= limit,
        Bound::Min(_) => value >= limit,
    }
}

/// Returns the stricter of the objective's own limit and `other`.
pub fn stricter(bound: Bound, other: FigureValue) -> FigureValue {
    // `other` is stricter if it meets the objective's limit.
    if is_within(bound, bound.limit(), other) { other } else { bound.limit() }
}

/// The worst value that is not a regression. For an upper bound: earlier value x (1 + percent / 100). For a lower bound: earlier value x (1 - percent
/// / 100), but at least 0.
fn limit(bound: Bound, earlier: FigureValue, percent: u32) -> FigureValue {
    match earlier {
        // Computed in whole nanoseconds, so that 0 percent returns exactly the earlier value.
        FigureValue::Time(time) => {
            let percent = match bound {
                Bound::Max(_) => 100 + u128::from(percent),
                Bound::Min(_) => 100_u128.saturating_sub(u128::from(percent)),
            };
            let nanos = time.0.as_nanos() * percent / 100;
            let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
            FigureValue::Time(Span(std::time::Duration::from_nanos(nanos)))
        }
        FigureValue::Number(number) => {
            let share = f64::from(percent) / 100.0;
            let factor = match bound {
                Bound::Max(_) => 1.0 + share,
                Bound::Min(_) => (1.0 - share).max(0.0),
            };
            FigureValue::Number(number * factor)
        }
    }
}
