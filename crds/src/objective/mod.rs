//! The results of objectives: what the launcher reports, and what the status shows.

mod limit_fault;

use std::{cmp::Ordering, fmt};

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::{figure::rate_text, units::Span};
pub(crate) use limit_fault::limit_fault;

/// Whether an objective is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Met {
    /// It is met.
    True,
    /// It is missed.
    False,
    /// It cannot be decided.
    Inconclusive,
}

impl Met {
    /// The name in statuses and reports.
    pub fn name(self) -> &'static str {
        match self {
            Met::True => "True",
            Met::False => "False",
            Met::Inconclusive => "Inconclusive",
        }
    }
}

/// Number of objectives per result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct ObjectiveCounts {
    /// Objectives that are met.
    pub met: u32,
    /// Objectives that are missed.
    pub missed: u32,
    /// Objectives that cannot be decided.
    pub inconclusive: u32,
}

impl ObjectiveCounts {
    /// Counts objectives by result.
    pub fn count(all: impl IntoIterator<Item = Met>) -> Self {
        let mut counts = ObjectiveCounts::default();
        for met in all {
            let count = match met {
                Met::True => &mut counts.met,
                Met::False => &mut counts.missed,
                Met::Inconclusive => &mut counts.inconclusive,
            };
            *count = count.saturating_add(1);
        }
        counts
    }

    /// The combined result: `False` if any objective is missed, else `Inconclusive` if any cannot be decided, else `True`.
    pub fn all(self) -> Met {
        match self {
            ObjectiveCounts { missed: 1.., .. } => Met::False,
            ObjectiveCounts { inconclusive: 1.., .. } => Met::Inconclusive,
            _ => Met::True,
        }
    }

    /// Total number of objectives.
    pub fn total(self) -> u32 {
        self.met.saturating_add(self.missed).saturating_add(self.inconclusive)
    }
}

impl fmt::Display for ObjectiveCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} objectives met", self.met, self.total())?;
        let rest = [(self.missed, "missed"), (self.inconclusive, "inconclusive")];
        rest.iter().filter(|(count, _)| *count > 0).try_for_each(|(count, word)| write!(f, ", {count} {word}"))
    }
}

/// One objective in a status, formatted as text. `report.json` has the numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct ObjectiveStatus {
    /// The unique name of the objective.
    #[cfg_attr(feature = "kube", schemars(length(max = 40)))]
    pub name: String,
    /// True, False or Inconclusive.
    pub met: Met,
    /// The measured value, such as `402ms`. The field is absent if nothing was measured. With stage "*", this is the value of the worst stage.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub observed: String,
    /// The limit, such as `500ms`: the stricter of the objective's own limit and the baseline's limit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub limit: String,
    /// If the load was repeated: the repeat with the worst result, such as `r2`. This row shows that result.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 8)))]
    pub run: String,
}

/// The value of a figure, or a limit for one: a time or a number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FigureValue {
    /// A time.
    Time(Span),
    /// A rate per second, or a share from 0 to 1.
    Number(f64),
}

impl FigureValue {
    /// The time in milliseconds, or the number.
    pub fn as_f64(self) -> f64 {
        match self {
            // Computed from whole nanoseconds, so that 81.234567 ms becomes exactly that number.
            FigureValue::Time(time) => time.0.as_nanos() as f64 / 1e6,
            FigureValue::Number(number) => number,
        }
    }

    /// Formats the value for display next to its limit: with four significant digits, or with all digits if rounding would hide whether the value
    /// is above or below the limit.
    pub fn beside(self, limit: FigureValue) -> String {
        let rounded = match self {
            FigureValue::Time(time) => FigureValue::Time(time.rounded()),
            FigureValue::Number(number) => FigureValue::Number(rate_text(number).parse().unwrap_or(number)),
        };
        let side = |it: FigureValue| it.partial_cmp(&limit);
        if side(rounded) == side(self) { self.to_string() } else { self.exact() }
    }

    fn exact(self) -> String {
        match self {
            FigureValue::Time(time) => time.to_string(),
            FigureValue::Number(number) => number.to_string(),
        }
    }
}

/// Compares two times or two numbers. A time and a number, and NaN, cannot be compared.
impl PartialOrd for FigureValue {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (FigureValue::Time(one), FigureValue::Time(other)) => one.partial_cmp(other),
            (FigureValue::Number(one), FigureValue::Number(other)) => one.partial_cmp(other),
            _ => None,
        }
    }
}

impl fmt::Display for FigureValue {
    /// Prints four significant digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FigureValue::Time(time) => time.rounded().fmt(f),
            FigureValue::Number(number) => f.write_str(&rate_text(*number)),
        }
    }
}

#[cfg(test)]
mod tests;
