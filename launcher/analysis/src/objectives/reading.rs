//! The source from which objectives read their figures.

use ::figures::Figure;
use crds::{
    benchmark_run::{Metric, Stat},
    objective::FigureValue,
};

use super::certainty::Certainty;

/// A value as it was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The value.
    pub value: FigureValue,
    /// Number of values that the value was computed from. For a time: the values in its distribution. For a rate: the successful requests. For a
    /// share: the requests in its denominator.
    pub count: u64,
    /// The label that the value depends on. Two values can be compared only if their bases are equal, see [`basis`].
    pub basis: String,
}

/// The figures that objectives read, from this run or an earlier one.
pub trait Source {
    /// The value of a metric, for the whole run or one stage; `None` if it was not measured, or if there is no such stage.
    fn reading(&self, stage: Option<&str>, metric: Metric, stat: Option<Stat>) -> Option<Reading>;

    /// The model that was measured, if known.
    fn model(&self) -> Option<&str> {
        None
    }

    /// The stages with figures that a profiler affects. Objectives on these stages stay undecided. If there is any such stage, objectives on the
    /// whole run stay undecided too.
    fn profiled(&self) -> &[String] {
        &[]
    }

    /// The invalid stages, each with the reason. Objectives on these stages stay undecided. If there is any such stage, objectives on the whole run
    /// stay undecided too.
    fn invalid(&self) -> Vec<(&str, String)> {
        Vec::new()
    }

    /// The certainty of the value that [`Source::reading`] returns, as far as it is known.
    fn certainty(&self, _stage: Option<&str>, _metric: Metric, _stat: Option<Stat>) -> Certainty {
        Certainty::default()
    }
}

/// The comparability label that a metric depends on: the clock of its times, or the counter of its tokens. Empty if it depends on no label.
pub fn basis<'a>(metric: Metric, clock: &'a str, itl: &'a str, tokens: &'a str) -> &'a str {
    Figure::from_metric(metric).row().basis.choose(clock, itl, tokens)
}

/// The reason why objectives stay undecided because of a profiler; `None` if no profiler affects the figures.
pub(super) fn profiled(source: &dyn Source, stage: Option<&str>) -> Option<String> {
    let touched = source.profiled();
    match stage {
        Some(stage) if touched.iter().any(|it| it == stage) => {
            Some(format!("stage {stage} was profiled, and figures of profiled stages decide no objective"))
        }
        None => {
            let first = touched.first()?;
            Some(format!(
                "stage {first} was profiled and is included in the figures of the run, which therefore decide no objective"
            ))
        }
        Some(_) => None,
    }
}
