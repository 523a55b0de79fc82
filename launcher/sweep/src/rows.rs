//! The table of the cells, for the terminal, Markdown and the page. Texts are not escaped.

use crds::{benchmark_run::Stat, wording::percent};
use figures::{Figure, Unit, Value, text::plain};

use crate::differences::without_interval;
use crate::document::{Answer, CellDocument, CellStageDocument, ComparisonDocument, SweepDocument, Verdict};

/// The figures in the table. Other figures are in the JSON.
const COLUMNS: [Value; 6] = [
    Value::plain(Figure::RequestsPerSecond),
    Value::plain(Figure::OutputTokensPerSecond),
    Value::stat(Figure::Ttft, Stat::P50),
    Value::stat(Figure::Ttft, Stat::P99),
    Value::stat(Figure::Tpot, Stat::P50),
    Value::stat(Figure::Latency, Stat::P99),
];

/// The mark of a row on the Pareto front.
const ON_FRONT: &str = " *";

/// The header of the table. The first column names the cell, and the last one contains a verdict; the others contain figures.
pub fn columns(sweep: &SweepDocument) -> Vec<String> {
    let figures = COLUMNS.iter().map(|it| it.label());
    let others = ["runs", "against the baseline"].map(str::to_owned);
    let cell = if has_stages(sweep) { "cell, stage" } else { "cell" };
    [cell.to_owned()].into_iter().chain(figures).chain(others).collect()
}

/// The rows of the table, one per cell and stage. A cell without figures has one row.
pub fn rows(sweep: &SweepDocument) -> Vec<Vec<String>> {
    let of_cell = |cell: &CellDocument| -> Vec<Vec<String>> {
        match cell.stages.is_empty() {
            true => vec![row(sweep, cell, None)],
            false => cell.stages.iter().map(|stage| row(sweep, cell, Some(stage))).collect(),
        }
    };
    sweep.cells.iter().flat_map(of_cell).collect()
}

/// The number of runs with valid figures, and of all planned runs, such as `5 of 48 runs`.
pub fn progress(sweep: &SweepDocument) -> String {
    let done = sweep.cells.iter().flat_map(|it| &it.runs).filter(|it| it.outcome.has_valid_figures()).count();
    format!("{done} of {} runs", sweep.runs)
}

/// Whether a cell has more than one stage, so that rows need the names of stages.
fn has_stages(sweep: &SweepDocument) -> bool {
    sweep.cells.iter().any(|it| it.stages.len() > 1)
}

/// The name of a cell and, if needed, of a stage.
pub fn label(sweep: &SweepDocument, cell: &CellDocument, stage: &CellStageDocument) -> String {
    if has_stages(sweep) { format!("{}, {}", cell.name, stage.name) } else { cell.name.clone() }
}

fn row(sweep: &SweepDocument, cell: &CellDocument, stage: Option<&CellStageDocument>) -> Vec<String> {
    let mut name = stage.map_or_else(|| cell.name.clone(), |it| label(sweep, cell, it));
    if stage.is_some_and(|it| it.on_front) {
        name.push_str(ON_FRONT);
    }
    let figure = |value: &Value| {
        let found = stage.and_then(|it| it.figure(&value.name()));
        plain::optional(found, |it| shown(*value, it.value))
    };
    let runs = match stage.map_or(0, |it| it.runs) {
        all if all == sweep.repeats as usize => all.to_string(),
        some => format!("{some} of {}", sweep.repeats),
    };
    let comparison =
        stage.and_then(|stage| sweep.comparisons.iter().find(|it| it.cell == cell.name && it.stage == stage.name));
    let verdict = comparison.map_or_else(String::new, short);
    [name].into_iter().chain(COLUMNS.iter().map(figure)).chain([runs, verdict]).collect()
}

fn shown(value: Value, number: f64) -> String {
    match value.figure.row().unit {
        Unit::Milliseconds => plain::time(number),
        Unit::Share => percent(number),
        _ => plain::number(number),
    }
}

/// The answer in one word.
pub fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Better => "better",
        Answer::Worse => "worse",
        Answer::Mixed => "mixed",
        Answer::Equal => "equal",
        Answer::Undecided => "undecided",
    }
}

/// The answer of a comparison in a few letters: the figure that differs most, or the answer.
fn short(of: &ComparisonDocument) -> String {
    let differing = of.figures.iter().filter(|it| it.verdict != Verdict::NoDifferenceFound);
    let most = differing.max_by(|one, other| one.difference.abs().total_cmp(&other.difference.abs()));
    let word = word(of.answer);
    match most {
        Some(it) => format!("{word}: {}", without_interval(it)),
        None => word.to_owned(),
    }
}
