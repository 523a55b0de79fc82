//! Formats values: durations, shares and large numbers.

/// The kind of values, derived from the unit of their axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A duration. The field is the number of seconds per unit.
    Duration(f64),
    /// A share from 0 to 1, shown as a percentage.
    Share,
    Number,
}

/// A unit for the labels of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Display {
    /// Size of this unit in units of the axis.
    pub per: f64,
    /// Suffix of each label, such as `k`.
    pub suffix: &'static str,
    /// The unit in the title of the axis; `None` for the axis's own unit.
    pub title: Option<&'static str>,
}

/// Units of time: (seconds per unit, smallest number of seconds that is shown in this unit, name).
const TIMES: [(f64, f64, &str); 6] = [
    (3600.0, 3.0 * 3600.0, "h"),
    (60.0, 600.0, "min"),
    (1.0, 1.0, "s"),
    (1e-3, 1e-3, "ms"),
    (1e-6, 1e-6, "µs"),
    (1e-9, 0.0, "ns"),
];

/// Prefixes of numbers: (factor, smallest number that is shown with this prefix, letter).
const PREFIXES: [(f64, f64, &str); 7] = [
    (1e12, 1e12, "T"),
    (1e9, 1e9, "G"),
    (1e6, 1e6, "M"),
    (1e3, 1e4, "k"),
    (1.0, 1e-3, ""),
    (1e-6, 1e-6, "µ"),
    (1e-9, 0.0, "n"),
];

impl Kind {
    pub fn from_unit(unit: &str) -> Kind {
        match unit {
            "ms" => Kind::Duration(1e-3),
            "s" => Kind::Duration(1.0),
            "share" => Kind::Share,
            _ => Kind::Number,
        }
    }

    /// The unit that suits values up to `largest`, which must be above zero.
    pub fn display(self, largest: f64) -> Display {
        match self {
            Kind::Share => Display { per: 0.01, suffix: "%", title: Some("") },
            Kind::Duration(seconds) => {
                // Milliseconds are kept up to 10 s, so that a reader can compare 2,000 ms and 40 ms without conversion.
                if seconds < 1.0 && (1e-3..10.0).contains(&(largest * seconds)) {
                    return Display { per: 1.0, suffix: "", title: Some("ms") };
                }
                let (in_one, _, name) = fitting(&TIMES, largest * seconds);
                Display { per: in_one / seconds, suffix: "", title: Some(name) }
            }
            Kind::Number => {
                let (factor, _, letter) = fitting(&PREFIXES, largest);
                Display { per: factor, suffix: letter, title: None }
            }
        }
    }
}

fn fitting(table: &[(f64, f64, &'static str)], largest: f64) -> (f64, f64, &'static str) {
    let found = table.iter().find(|(_, least, _)| largest >= *least).or(table.last());
    found.copied().unwrap_or((1.0, 0.0, ""))
}

/// A value with its unit and three significant digits, such as `1.25 s`, `12.5%` or `18.2k tok/s`.
pub(crate) fn value(value: f64, unit: &str) -> String {
    if !value.is_finite() {
        return "no value".to_owned();
    }
    // Limited because percent multiplies by a hundred, which makes the largest numbers infinite.
    let value = value.clamp(-1e300, 1e300);
    let kind = Kind::from_unit(unit);
    let size = value.abs();
    if size == 0.0 {
        return if kind == Kind::Share { "0%".to_owned() } else { with_unit("0".to_owned(), unit) };
    }
    match kind {
        Kind::Share => format!("{}%", significant(value * 100.0)),
        Kind::Duration(seconds) => {
            let (in_one, _, name) = fitting(&TIMES, size * seconds);
            format!("{} {name}", significant(value * seconds / in_one))
        }
        Kind::Number => {
            let (factor, _, letter) = fitting(&PREFIXES, size);
            with_unit(format!("{}{letter}", significant(value / factor)), unit)
        }
    }
}

fn with_unit(number: String, unit: &str) -> String {
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}

/// At most three significant digits without trailing zeros, but whole numbers are not rounded: `1234`, `123`, `12.3`, `1.23`, `0.00123`.
fn significant(value: f64) -> String {
    if !(1e-6..1e7).contains(&value.abs()) {
        return format!("{value:.2e}");
    }
    let leading = value.abs().log10().floor() as i32;
    let decimals = usize::try_from(2 - leading).unwrap_or(0);
    without_zeros(&format!("{value:.decimals$}")).to_owned()
}

/// Removes zeros at the end of a number's fraction.
pub(crate) fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}
