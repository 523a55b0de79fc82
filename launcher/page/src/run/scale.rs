//! The unit for the figures in a column of a table.

use crate::text;

/// The unit for all values of a column.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    /// The factor from the unit in `report.json` to this unit.
    pub(super) factor: f64,
    pub(super) unit: &'static str,
}

impl Scale {
    /// Chooses the unit. `unit` is `ms`, `share` or `perSecond`. Times are shown in seconds if `typical`, a time in ms, is at least one second.
    pub(super) fn new(unit: &str, typical: f64) -> Scale {
        match unit {
            "ms" if typical >= 1_000.0 => Scale { factor: 1e-3, unit: "s" },
            "ms" => Scale { factor: 1.0, unit: "ms" },
            "share" => Scale { factor: 100.0, unit: "%" },
            _ => Scale { factor: 1.0, unit: "/s" },
        }
    }

    /// A measured value with three digits.
    pub(super) fn measured(self, value: f64) -> String {
        text::three(value * self.factor)
    }

    /// A value as a user writes it: `80`.
    pub(super) fn plain(self, value: f64) -> String {
        text::number(value * self.factor)
    }

    /// An interval: `65.0 to 75.0`.
    pub(super) fn interval(self, (low, high): (f64, f64)) -> String {
        text::interval(low * self.factor, high * self.factor)
    }
}
