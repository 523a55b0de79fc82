//! Figures: measured numbers with their budgets, over one or several runs. Pure.

use serde::Serialize;

/// A limit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Bound {
    /// The largest value allowed.
    AtMost(f64),
    /// The smallest value allowed.
    AtLeast(f64),
}

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            Bound::AtMost(most) => value <= most,
            Bound::AtLeast(least) => value >= least,
        }
    }
}

/// The limits of a figure: a floor, which is required, and an aim, which is desired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Budget {
    /// The required limit; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<Bound>,
    /// The desired limit; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aim: Option<Bound>,
}

impl Budget {
    /// No limits.
    pub const NONE: Budget = Budget { floor: None, aim: None };

    /// Limits that the value must not exceed.
    pub const fn at_most(floor: f64, aim: f64) -> Budget {
        Budget { floor: Some(Bound::AtMost(floor)), aim: Some(Bound::AtMost(aim)) }
    }

    /// Limits that the value must reach.
    pub const fn at_least(floor: f64, aim: f64) -> Budget {
        Budget { floor: Some(Bound::AtLeast(floor)), aim: Some(Bound::AtLeast(aim)) }
    }

    /// Returns which of its limits a value meets. `None` without a budget.
    pub fn mark(&self, value: f64) -> Option<Mark> {
        match (self.floor.map(|it| it.holds(value)), self.aim.map(|it| it.holds(value))) {
            (None, None) => None,
            (_, Some(true)) => Some(Mark::Aim),
            (Some(true), _) => Some(Mark::Floor),
            _ => Some(Mark::Missed),
        }
    }
}

/// Which limit a figure meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Mark {
    /// The value meets the aim, and therefore also the floor.
    Aim,
    /// The value meets the floor, but not the aim.
    Floor,
    /// The value meets neither.
    Missed,
}

impl Mark {
    /// The text for a table.
    pub fn text(self) -> &'static str {
        match self {
            Mark::Aim => "meets aim",
            Mark::Floor => "meets floor",
            Mark::Missed => "MISSES",
        }
    }
}

/// A figure with one value per run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figure {
    /// The name of the figure. It never changes between releases.
    pub name: String,
    /// What the figure is, as text for people.
    pub title: String,
    /// The unit of the values, such as `ms` or `KiB`; empty for a ratio.
    pub unit: &'static str,
    /// One value per run.
    pub values: Vec<f64>,
    /// The median of the values.
    pub median: f64,
    /// The budget of the figure.
    #[serde(flatten)]
    pub budget: Budget,
    /// Which limit the median meets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
}

impl Figure {
    /// The smallest and the largest value.
    pub fn spread(&self) -> (f64, f64) {
        self.values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), it| (min.min(*it), max.max(*it)))
    }

    fn add(&mut self, value: f64) {
        self.values.push(value);
        self.median = median(&self.values);
        self.mark = self.budget.mark(self.median);
    }
}

/// All figures of one or several runs, in the order of their first measurement, and notes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// The figures.
    pub all: Vec<Figure>,
    /// Notes on the figures, without duplicates.
    pub notes: Vec<String>,
}

impl Figures {
    /// Adds a value of a figure. NaN means "not measured" and is ignored.
    pub fn add(&mut self, name: &str, title: &str, unit: &'static str, value: f64, budget: Budget) {
        if !value.is_finite() {
            return self.note(format!("{title}: not measured"));
        }
        if let Some(figure) = self.all.iter_mut().find(|it| it.name == name) {
            return figure.add(value);
        }
        let (name, title) = (name.to_owned(), title.to_owned());
        let mut figure = Figure { name, title, unit, values: Vec::new(), median: 0.0, budget, mark: None };
        figure.add(value);
        self.all.push(figure);
    }

    /// Adds a note, unless it exists.
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// The median; for an even number of values, the mean of the two middle values. NaN without values.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[middle],
        _ => sorted[middle - 1].midpoint(sorted[middle]),
    }
}

/// Writes 1000 as `1,000`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_commas() {
        for (number, text) in [(7, "7"), (100, "100"), (1_000, "1,000"), (75_000, "75,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), text);
        }
    }

    #[test]
    fn a_value_meets_its_aim_its_floor_or_neither() {
        let most = Budget::at_most(2.0, 1.4);
        for (value, mark) in [(1.4, Mark::Aim), (1.41, Mark::Floor), (2.0, Mark::Floor), (2.01, Mark::Missed)] {
            assert_eq!(most.mark(value), Some(mark), "{value}");
        }
        let least = Budget::at_least(0.99, 0.999);
        for (value, mark) in [(1.0, Mark::Aim), (0.99, Mark::Floor), (0.98, Mark::Missed)] {
            assert_eq!(least.mark(value), Some(mark), "{value}");
        }
        let aim = Budget { floor: None, aim: Some(Bound::AtMost(0.75)) };
        assert_eq!((aim.mark(0.7), aim.mark(0.8)), (Some(Mark::Aim), Some(Mark::Missed)));
        let floor = Budget { floor: Some(Bound::AtLeast(0.99)), aim: None };
        assert_eq!((floor.mark(1.0), floor.mark(0.9)), (Some(Mark::Floor), Some(Mark::Missed)));
        assert_eq!(Budget::NONE.mark(1.0), None);
    }

    #[test]
    fn runs_of_a_figure_are_told_by_median_and_spread() {
        let mut figures = Figures::default();
        for value in [3.0, 1.0, 2.0] {
            figures.add("cpu", "CPU", "", value, Budget::at_most(2.0, 1.0));
        }
        let figure = &figures.all[0];
        assert_eq!((figures.all.len(), figure.median, figure.spread()), (1, 2.0, (1.0, 3.0)));
        assert_eq!(figure.mark, Some(Mark::Floor));
        assert_eq!((median(&[4.0, 1.0]), median(&[3.0, 1.0, 2.0])), (2.5, 2.0));
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn what_was_not_measured_is_said_once_and_is_no_figure() {
        let mut figures = Figures::default();
        for _ in 0..2 {
            figures.add("cpu", "CPU per token", "us", f64::NAN, Budget::NONE);
        }
        assert!(figures.all.is_empty());
        assert_eq!(figures.notes, ["CPU per token: not measured"]);
    }
}
