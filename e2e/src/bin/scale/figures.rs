//! The measured figures with their bounds, and the table that shows them.

use std::fmt::Write as _;

use serde::Serialize;

/// All figures, in the order in which they were measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Figures(Vec<Figure>);

/// A measured figure.
#[derive(Clone, Debug, Serialize)]
struct Figure {
    what: String,
    value: f64,
    unit: String,
    /// The upper bound, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    /// The lower bound, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_least: Option<f64>,
}

impl Figures {
    /// Adds a figure without bounds.
    pub fn add(&mut self, what: &str, value: f64, unit: &str) {
        self.push(what, value, unit, None, None);
    }

    /// Adds a figure that must be at most `bound`.
    pub fn add_at_most(&mut self, what: &str, value: f64, unit: &str, bound: f64) {
        self.push(what, value, unit, Some(bound), None);
    }

    /// Adds a figure that must be at least `bound`.
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

    /// Returns all figures as JSON.
    ///
    /// # Errors
    /// A figure is not a number.
    pub fn json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    /// Returns all figures as a Markdown table.
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

    /// Describes the figures that violate their bounds, or that are not numbers.
    pub fn worse(&self) -> Vec<String> {
        let worse = |it: &&Figure| {
            it.value.is_nan()
                || it.at_most.is_some_and(|most| it.value > most)
                || it.at_least.is_some_and(|least| it.value < least)
        };
        self.0.iter().filter(worse).map(|it| format!("{} is {}", it.what, number(it.value))).collect()
    }
}

/// Formats a figure with three significant digits, which is enough for all of them.
fn number(value: f64) -> String {
    match value.abs() {
        it if it >= 100.0 || it.fract() == 0.0 => format!("{value:.0}"),
        it if it >= 1.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}
