//! The difference of each cell from its baseline.

use crds::benchmark_sweep::ResolvedSweep;
use figures::{Value, Way, text::listed};
use statistics::{Interval, blocks::Blocks};

use crate::{
    document::{Answer, ComparisonDocument, DifferenceDocument, Verdict},
    engaged::unmet,
    readings::{DECIDING, Readings, Scale},
};

/// Maximum probability that at least one interval of a difference, over all comparisons of a sweep, misses the true difference.
pub const SWEEP_ERROR: f64 = 0.05;
/// The smallest difference that counts: in percent for times and rates, in percentage points for shares. Equal settings differ by as much, for
/// example because a process has another memory layout.
const SMALLEST: f64 = 1.0;
/// Cells are equal only if the intervals exclude a larger difference, in percent or percentage points.
const EQUAL_WITHIN: f64 = 10.0;

/// Compares every stage of every cell with the same stage of its baseline.
pub(crate) fn all(sweep: &ResolvedSweep, readings: &Readings<'_>) -> Vec<ComparisonDocument> {
    let partners = || sweep.baselines.iter().enumerate().filter_map(|(cell, base)| Some((cell, (*base)?)));
    let of_stage = |stage: &String| -> Vec<(Value, Blocks)> {
        DECIDING.iter().map(|it| (*it, readings.blocks(stage, *it))).collect()
    };
    let stages: Vec<(&String, Vec<(Value, Blocks)>)> = readings.stages.iter().map(|it| (it, of_stage(it))).collect();
    let has_value = |blocks: &Blocks, (cell, base): (usize, usize)| blocks.difference(cell, base, 1.0).is_some();
    // Bonferroni correction: every difference of a figure counts as one comparison.
    let count =
        partners().map(|pair| stages.iter().flat_map(|it| &it.1).filter(|(_, blocks)| has_value(blocks, pair)).count());
    let error = SWEEP_ERROR / count.sum::<usize>().max(1) as f64;
    let compared = |(cell, base): (usize, usize)| {
        stages.iter().filter_map(move |(stage, figures)| {
            let figures = figures.iter().filter_map(|(value, blocks)| difference(*value, blocks, cell, base, error));
            let figures: Vec<DifferenceDocument> = figures.collect();
            let (mut answer, mut sentence) = answer(&figures)?;
            let unmet: Vec<String> =
                [cell, base].into_iter().flat_map(|it| unmet(sweep, readings, it, stage)).collect();
            if !unmet.is_empty() {
                answer = Answer::Undecided;
                sentence = format!("undecided, because a setting was not active: {}", unmet.join("; "));
            }
            Some(ComparisonDocument {
                cell: sweep.cells[cell].name.clone(),
                baseline: sweep.cells[base].name.clone(),
                stage: (*stage).clone(),
                answer,
                sentence,
                figures,
            })
        })
    };
    partners().flat_map(compared).collect()
}

fn difference(value: Value, blocks: &Blocks, cell: usize, base: usize, error: f64) -> Option<DifferenceDocument> {
    let scale = Scale::of(value);
    let (between, interval) = blocks.difference(cell, base, error)?;
    // Both means are over the repeats of the cell, so that they are the values in the table.
    let mean = |of: usize| blocks.cell(of, error).map(|it| scale.back(it.0));
    let shown = |it: f64| match scale {
        Scale::Logarithmic => 100.0 * it.exp_m1(),
        Scale::Linear => 100.0 * it,
    };
    let bound = |it: f64| it.is_finite().then(|| shown(it));
    let better = value.figure.row().better;
    Some(DifferenceDocument {
        figure: value.name(),
        better: better.into(),
        base: mean(base)?,
        value: mean(cell)?,
        difference: shown(between),
        low: bound(interval.low),
        high: bound(interval.high),
        verdict: verdict(better, shown(between), interval),
    })
}

fn verdict(better: Way, difference: f64, interval: Interval) -> Verdict {
    let is_small = difference.abs() < SMALLEST;
    match interval.contains(0.0) || is_small {
        true => Verdict::NoDifferenceFound,
        false if (difference > 0.0) == (better == Way::Up) => Verdict::Better,
        false => Verdict::Worse,
    }
}

/// The answer of a comparison, and its sentence. `None` without figures.
fn answer(figures: &[DifferenceDocument]) -> Option<(Answer, String)> {
    let of = |verdict: Verdict| figures.iter().filter(move |it| it.verdict == verdict);
    let differing = || figures.iter().filter(|it| it.verdict != Verdict::NoDifferenceFound);
    let widest = figures.iter().max_by(|one, other| reach(one).total_cmp(&reach(other)))?;
    let answer = match (of(Verdict::Better).count(), of(Verdict::Worse).count()) {
        (0, 0) if reach(widest) <= EQUAL_WITHIN => Answer::Equal,
        (0, 0) => Answer::Undecided,
        (_, 0) => Answer::Better,
        (0, _) => Answer::Worse,
        _ => Answer::Mixed,
    };
    let sentence = match answer {
        Answer::Equal => format!("no difference, at most {}", rounded_up(reach(widest), widest)),
        Answer::Undecided if reach(widest).is_finite() => {
            format!("undecided: {} may differ by up to {}", title(widest), rounded_up(reach(widest), widest))
        }
        Answer::Undecided => "undecided: the spread between runs is unknown".to_owned(),
        Answer::Better | Answer::Worse | Answer::Mixed => {
            let named = |it| listed(&of(it).map(with_interval).collect::<Vec<_>>());
            match answer {
                Answer::Mixed => format!("better: {}; worse: {}", named(Verdict::Better), named(Verdict::Worse)),
                _ => listed(&differing().map(with_interval).collect::<Vec<_>>()),
            }
        }
    };
    Some((answer, sentence))
}

/// The largest difference that an interval does not exclude.
fn reach(of: &DifferenceDocument) -> f64 {
    match (of.low, of.high) {
        (Some(low), Some(high)) => low.abs().max(high.abs()),
        _ => f64::INFINITY,
    }
}

/// The name of a figure in tables, such as `TTFT mean`.
fn title(of: &DifferenceDocument) -> String {
    let value = DECIDING.into_iter().find(|it| it.name() == of.figure);
    value.map_or_else(|| of.figure.clone(), Value::label)
}

fn unit(of: &DifferenceDocument) -> &'static str {
    let is_share = DECIDING.into_iter().any(|it| it.name() == of.figure && Scale::of(it) == Scale::Linear);
    if is_share { "points" } else { "%" }
}

/// A difference without its interval: `TPOT mean -10.2 %`.
pub(crate) fn without_interval(of: &DifferenceDocument) -> String {
    format!("{} {} {}", title(of), tenths(of.difference), unit(of))
}

/// A difference with its interval: `TPOT mean -10.2 % (-11.0 to -9.3)`.
pub fn with_interval(of: &DifferenceDocument) -> String {
    let bounds = of.low.zip(of.high).map(|(low, high)| format!(" ({} to {})", tenths(low), tenths(high)));
    format!("{}{}", without_interval(of), bounds.unwrap_or_default())
}

fn tenths(value: f64) -> String {
    let text = format!("{value:+.1}");
    if matches!(text.as_str(), "+0.0" | "-0.0") { "0.0".to_owned() } else { text }
}

fn rounded_up(value: f64, of: &DifferenceDocument) -> String {
    format!("{:.1} {}", (value * 10.0).ceil() / 10.0, unit(of))
}
