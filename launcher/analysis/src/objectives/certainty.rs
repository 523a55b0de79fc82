//! The certainty of an objective's value: its interval, and whether the figure was drifting.

use crds::objective::FigureValue;

/// What is known about a value besides the value itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Certainty {
    /// The 95 % interval as (lower end, upper end).
    pub interval: Option<(FigureValue, FigureValue)>,
    /// Number of independent values that would carry as much information as the measured ones; `None` if unknown.
    pub effective_values: Option<f64>,
    /// The direction in which the stage was drifting; `None` if it was not, or if this is unknown.
    pub drift: Option<Drift>,
}

/// The direction of a drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drift {
    Up,
    Down,
}

impl Certainty {
    /// A note if the decision on a limit is uncertain; `None` otherwise.
    pub(super) fn note(&self, limit: FigureValue) -> Option<String> {
        let holds = |(low, high): &(FigureValue, FigureValue)| (low.as_f64()..=high.as_f64()).contains(&limit.as_f64());
        let interval = self.interval.filter(holds).map(|(low, high)| {
            format!("its 95 % interval, {} to {}, contains the limit", low.beside(limit), high.beside(limit))
        });
        let drift = self.drift.map(|it| match it {
            Drift::Up => "the stage was drifting up".to_owned(),
            Drift::Down => "the stage was drifting down".to_owned(),
        });
        let notes: Vec<String> = [interval, drift].into_iter().flatten().collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}
