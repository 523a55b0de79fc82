//! The figures, their bounds, and the table that shows them.

use std::fmt::Write as _;

use serde::Serialize;

/// All figures, in measurement order.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Figures(Vec<Figure>);

/// One figure.
#[derive(Clone, Debug, Serialize)]
struct Figure {
    what: String,
    value: f64,
    unit: String,
    /// Upper bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    /// Lower bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_least: Option<f64>,
}

impl Figures {
    /// Adds a figure without a bound.
    pub fn add(&mut self, what: &str, value: f64, unit: &str) {
        self.push(what, value, unit, None, None);
    }

    /// Adds a figure that should be at most `bound`.
    pub fn add_at_most(&mut self, what: &str, value: f64, unit: &str, bound: f64) {
        self.push(what, value, unit, Some(bound), None);
    }

    /// Adds a figure that should be at least `bound`.
    pub fn add_at_least(&mut self, what: &str, value: f64, unit: &str, bound: f64) {
        self.push(what, value, unit, None, Some(bound));
    }

    fn push(&mut self, what: &str, value: f64, unit: &str, at_most: Option<f64>, at_least: Option<f64>) {
        let bound = at_most.map(|it| format!(" (at most {it})")).or(at_least.map(|it| format!(" (at least {it})")));
        match bound {
            Some(bound) => eprintln!("figure 16: {what}: {}{bound}", [&number(value), unit].join(" ").trim_end()),
            None => eprintln!("scale: {what}: {value:.3} {unit}"),
        }
        self.0.push(Figure { what: what.into(), value, unit: unit.into(), at_most, at_least });
    }

    /// All figures as JSON.
    ///
    /// # Errors
    /// When a figure is not a number.
    pub fn json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    /// All figures as a table.
    pub fn markdown(&self) -> String {
        let mut text = String::from("| figure | measured | bound |\n| --- | ---: | --- |\n");
        for it in &self.0 {
            let bound = match (it.at_most, it.at_least) {
                (Some(most), _) => format!("at most {}", number(most)),
                (_, Some(least)) => format!("at least {}", number(least)),
                _ => String::new(),
            };
            let unit = if it.unit.is_empty() { String::new() } else { format!(", {}", it.unit) };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "| {}{unit} | {} | {bound} |", it.what, number(it.value));
        }
        text
    }

    /// The figures that violate their bounds, or are missing.
    pub fn worse(&self) -> Vec<String> {
        let worse = |it: &&Figure| {
            it.value.is_nan()
                || it.at_most.is_some_and(|most| it.value > most)
                || it.at_least.is_some_and(|least| it.value < least)
        };
        self.0.iter().filter(worse).map(|it| format!("{} is {}", it.what, number(it.value))).collect()
    }
}

/// Three significant digits are enough for each of these figures.
fn number(value: f64) -> String {
    match value.abs() {
        it if it >= 100.0 || it.fract() == 0.0 => format!("{value:.0}"),
        it if it >= 1.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}
