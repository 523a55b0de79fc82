//! The figures of each stage over the runs of a series.

use analysis::{
    StageAnalysis,
    repeats::{FIGURES, Found, RepeatFigure, Spread, mean, pooled_standard_error},
};
use figures::Unit;

use super::{Repeat, Series, StartTimes};
use crate::text::{self, millis, number};

/// The only meaningful figures for a load of one request with one output token.
const OF_ONE_REQUEST: [&str; 2] = ["ttftMs.mean", "latencyMs.mean"];

/// The unit in which values are shown.
#[derive(Clone, Copy, Debug)]
enum Shown {
    Milliseconds,
    Seconds,
    Number,
    /// A share from 0 to 1.
    Share,
}

/// A stage that occurs in all runs.
pub(super) struct StageRows {
    pub name: String,
    pub rows: Vec<FigureRow>,
}

/// A figure that was measured in all runs.
pub(super) struct FigureRow {
    /// The name of the value in files.
    pub name: String,
    /// The name of the value for people.
    label: String,
    unit: Shown,
    /// Whether the table on a terminal includes it.
    pub is_headline: bool,
    /// One value per run.
    pub values: Vec<f64>,
    pub mean: f64,
    pub min: f64,
    pub max: f64,
    /// The spread between runs; `None` for a single run.
    pub spread: Option<Spread>,
    /// The standard error of a single run according to its interval, as a typical value; `None` if a run has no interval.
    pub standard_error: Option<f64>,
    /// The standard error of a single run on the assumption that its requests are independent.
    pub independent_standard_error: Option<f64>,
    /// For a percentile: (its permille, the smallest number of values in any run).
    percentile: Option<(u64, u64)>,
}

/// The time from launching the server to its being ready, for a run, as a table cell.
pub(super) fn launch_to_ready(run: &Repeat) -> String {
    text::optional(run.start.launch_to_ready, |it| millis(it * 1e3))
}

/// How long the servers took to start, over the runs, if the series measures that. Includes only times that every run has.
pub(super) fn starts(series: &Series<'_>) -> Vec<FigureRow> {
    if !series.measures_start {
        return Vec::new();
    }
    let runs = series.counted();
    let found = |value| Found { value, percentile: None, standard_error: None, independent_standard_error: None };
    let row = |name: &str, label: &str, of: fn(&StartTimes) -> Option<f64>| {
        let values: Vec<Found> = runs.iter().map(|it| of(&it.start).map(found)).collect::<Option<_>>()?;
        FigureRow::new((name.to_owned(), label.to_owned(), Shown::Seconds, true), &values)
    };
    let launch = row("observedReadySeconds", "launch to ready", |it| it.launch_to_ready);
    let start = row("readySeconds", "start to ready", |it| it.start_to_ready);
    launch.into_iter().chain(start).collect()
}

/// The rows for people. In a series that measures how servers start, rows about the starts come first. The load of such a series is one request with
/// one token. So only its TTFT and latency are shown: there is no rate, and all percentiles are equal.
pub(super) fn shown(series: &Series<'_>) -> Vec<StageRows> {
    let mut stages = stages(series);
    if series.measures_start {
        for stage in &mut stages {
            stage.rows.retain(|it| OF_ONE_REQUEST.contains(&it.name.as_str()));
            stage.rows.iter_mut().for_each(|it| it.is_headline = true);
        }
        if let Some(first) = stages.first_mut() {
            first.rows.splice(..0, starts(series));
        }
    }
    stages
}

pub(super) fn stages(series: &Series<'_>) -> Vec<StageRows> {
    let runs = series.counted();
    let Some(first) = runs.first() else { return Vec::new() };
    let names = first.analysis.stages.iter().map(|it| &it.stage.name);
    let of_stage = |name: &String| {
        let found: Vec<&StageAnalysis> = runs.iter().map(|it| stage(it, name)).collect::<Option<_>>()?;
        let row = |figure: &'static RepeatFigure| {
            let of_runs: Vec<Found> = found.iter().map(|stage| figure.read(stage)).collect::<Option<_>>()?;
            let unit = match figure.value.figure.row().unit {
                Unit::Milliseconds => Shown::Milliseconds,
                Unit::Share => Shown::Share,
                _ => Shown::Number,
            };
            FigureRow::new((figure.value.key(), figure.value.label(), unit, figure.is_headline), &of_runs)
        };
        Some(StageRows { name: name.clone(), rows: FIGURES.iter().filter_map(row).collect() })
    };
    names.filter_map(of_stage).collect()
}

fn stage<'a>(run: &'a Repeat, name: &str) -> Option<&'a StageAnalysis> {
    run.analysis.stages.iter().find(|it| it.stage.name == name)
}

impl FigureRow {
    fn new((name, label, unit, is_headline): (String, String, Shown, bool), runs: &[Found]) -> Option<FigureRow> {
        let values: Vec<f64> = runs.iter().map(|it| it.value).collect();
        let pooled = |error: fn(&Found) -> Option<f64>| {
            let errors: Vec<f64> = runs.iter().map(error).collect::<Option<_>>()?;
            pooled_standard_error(&errors)
        };
        let percentile = runs.iter().filter_map(|it| it.percentile).min_by_key(|(_, count)| *count);
        Some(FigureRow {
            name,
            label,
            unit,
            is_headline,
            mean: mean(&values)?,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            spread: Spread::new(&values),
            standard_error: pooled(|it| it.standard_error),
            independent_standard_error: pooled(|it| it.independent_standard_error),
            percentile,
            values,
        })
    }

    /// The label, with a mark if a run has too few values for the percentile.
    pub(super) fn label(&self) -> String {
        let label = self.label.clone();
        match self.percentile {
            Some((permille, count)) => text::percentile(label, permille, count),
            None => label,
        }
    }

    /// A value in the unit of the figure. Bounds of an interval are limited to possible values: not below zero, and shares not above 1.
    pub(super) fn text(&self, value: f64) -> String {
        match self.unit {
            Shown::Milliseconds => millis(value),
            Shown::Seconds => millis(value * 1e3),
            Shown::Number => number(value),
            Shown::Share => number(value.min(1.0)),
        }
    }

    pub(super) fn interval(&self) -> String {
        let of = |it: Spread| format!("{} to {}", self.text(it.interval[0]), self.text(it.interval[1]));
        text::optional(self.spread, of)
    }

    pub(super) fn optional(&self, value: Option<f64>) -> String {
        text::optional(value, |it| self.text(it))
    }
}
