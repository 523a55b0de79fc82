//! Where an objective reads its figure.

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
    /// How many values it comes from: of a time those of the distribution, of a rate the requests that succeeded, of a share the
    /// requests that it is a share of.
    pub count: u64,
    /// What has to be the same for two values to be compared, see [`basis`].
    pub basis: String,
}

/// Figures that objectives read: those of the run, or of an earlier one.
pub trait Source {
    /// The value of a metric, of the run as a whole or of a stage; `None` where it was not measured, or there is no such stage.
    fn reading(&self, stage: Option<&str>, metric: Metric, stat: Option<Stat>) -> Option<Reading>;

    /// The model that was measured, where that is known.
    fn model(&self) -> Option<&str> {
        None
    }

    /// The stages whose figures a profiler touches. They decide nothing, nor do those of the run as a whole if there is one.
    fn profiled(&self) -> &[String] {
        &[]
    }

    /// The stages that do not count, and why. They decide nothing, nor do the figures of the run as a whole if there is one.
    fn invalid(&self) -> Vec<(&str, String)> {
        Vec::new()
    }

    /// How sure that value is, as far as that is known.
    fn certainty(&self, _stage: Option<&str>, _metric: Metric, _stat: Option<Stat>) -> Certainty {
        Certainty::default()
    }
}

/// The comparability label that a metric depends on: from which clock its times count, or who counted its tokens. Empty where it
/// depends on none.
pub fn basis<'a>(metric: Metric, clock: &'a str, itl: &'a str, tokens: &'a str) -> &'a str {
    Figure::from_metric(metric).row().basis.choose(clock, itl, tokens)
}

/// Why figures decide nothing because a profiler touches them; `None`: none does.
pub(super) fn profiled(source: &dyn Source, stage: Option<&str>) -> Option<String> {
    let touched = source.profiled();
    match stage {
        Some(stage) if touched.iter().any(|it| it == stage) => {
            Some(format!("stage {stage} was profiled, and the figures of a profiled stage decide nothing"))
        }
        None => {
            let first = touched.first()?;
            Some(format!(
                "stage {first} was profiled, and is a part of the figures of the run, which therefore decide nothing"
            ))
        }
        Some(_) => None,
    }
}
