//! Whether the settings under test were active in a cell.

use crds::{
    benchmark_run::Stat,
    benchmark_sweep::{ResolvedSweep, SweepEngagement},
    wording::suggestion,
};
use figures::{Figure, Value, text::plain};

use crate::readings::{Readings, read};

/// The statistics that a bound may name.
const STATS: [Stat; 6] = [Stat::Mean, Stat::P50, Stat::P90, Stat::P95, Stat::P99, Stat::P99P9];

/// The figure with this name, such as `ttft.p50`.
///
/// # Errors
/// There is no such figure. The text proposes a similar name.
pub fn figure_named(name: &str) -> Result<Value, String> {
    let of = |figure: Figure| match figure.row().unit.has_statistics() {
        true => STATS.into_iter().map(|stat| Value::stat(figure, stat)).collect(),
        false => vec![Value::plain(figure)],
    };
    let all: Vec<Value> = Figure::all().flat_map(of).collect();
    let names: Vec<String> = all.iter().map(|it| it.name()).collect();
    match names.iter().position(|it| it == name) {
        Some(at) => Ok(all[at]),
        None => Err(format!("is {name:?}, which is no figure; {}", suggestion(name, names.iter().map(String::as_str)))),
    }
}

/// Why a stage of a cell shows that a setting was not active: one sentence per bound that it does not meet.
pub(crate) fn unmet(sweep: &ResolvedSweep, readings: &Readings<'_>, cell: usize, stage: &str) -> Vec<String> {
    let of_cell = sweep.engaged.iter().filter(|it| it.cells.contains(&cell));
    of_cell
        .filter_map(|it| problem(it, readings, cell, stage))
        .map(|it| format!("{}: {it}", sweep.cells[cell].name))
        .collect()
}

fn problem(bound: &SweepEngagement, readings: &Readings<'_>, cell: usize, stage: &str) -> Option<String> {
    let SweepEngagement { figure, min, max, .. } = bound;
    let value = figure_named(figure).ok()?;
    let values: Vec<f64> = readings.stages_of(cell, stage).iter().filter_map(|it| read(it, value)).collect();
    if values.is_empty() {
        return Some(format!("{figure} was not measured"));
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let number = |it: f64| if it == 0.0 { "0".to_owned() } else { plain::number(it) };
    match (min.filter(|it| mean < *it), max.filter(|it| mean > *it)) {
        (Some(min), _) => Some(format!("{figure} is {}, below {}", number(mean), number(min))),
        (None, Some(max)) => Some(format!("{figure} is {}, above {}", number(mean), number(max))),
        (None, None) => None,
    }
}
