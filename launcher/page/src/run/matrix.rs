//! The matrix of stages and objectives. Without objectives, it shows the figures that objectives usually limit.

use crds::{Met, benchmark_run::Stat};
use document::{
    EstimateDocument, ObjectiveDocument, ReportDocument, StageDocument,
    answer::{TagState, best_stage},
};
use figures::{Figure, Unit};
use serde::Serialize;

use super::scale::Scale;
use crate::{
    panels::LoadNames,
    table::cut,
    text::{self, NOTHING},
    verdict,
};

/// Maximum number of rows. Further stages are left out.
const MAX_ROWS: usize = 40;

/// The matrix, with one row per stage.
#[derive(Serialize)]
pub(super) struct Matrix {
    title: String,
    head: String,
    columns: Vec<Column>,
    rows: Vec<Row>,
    has_objectives: bool,
    left_out: usize,
}

#[derive(Serialize)]
struct Column {
    name: String,
    /// The limit of the objective. Without objectives: the unit of the figure.
    limit: String,
}

#[derive(Serialize)]
struct Row {
    name: String,
    /// Whether this is the highest load that meets all objectives.
    is_best: bool,
    cells: Vec<Cell>,
}

#[derive(Clone, Default, Serialize)]
struct Cell {
    sign: &'static str,
    word: &'static str,
    tone: &'static str,
    value: String,
    small: String,
}

impl Matrix {
    pub(super) fn new(document: &ReportDocument, loads: &LoadNames) -> Matrix {
        if document.objectives.is_empty() {
            without_objectives(document, loads)
        } else {
            with_objectives(document, loads)
        }
    }
}

fn with_objectives(document: &ReportDocument, loads: &LoadNames) -> Matrix {
    let best = best(document);
    let cells =
        |stage: &StageDocument| document.objectives.iter().map(|it| cell(document, stage, it)).collect::<Vec<Cell>>();
    let rows = document.stages.iter().take(MAX_ROWS).enumerate();
    let rows = rows.map(|(index, it)| Row {
        name: loads.names[index].clone(),
        is_best: best == Some(index),
        cells: cells(it),
    });
    let mut rows: Vec<Row> = rows.filter(|it| it.cells.iter().any(|it| !it.value.is_empty())).collect();
    let of_run: Vec<Cell> = document.objectives.iter().map(cell_of_run).collect();
    if of_run.iter().any(|it| !it.sign.is_empty()) {
        rows.push(Row { name: "all".to_owned(), is_best: false, cells: of_run });
    }
    Matrix {
        title: format!("Objectives by {}", loads.title.to_lowercase()),
        head: loads.head.clone(),
        columns: document.objectives.iter().map(column).collect(),
        rows,
        has_objectives: true,
        left_out: document.stages.len().saturating_sub(MAX_ROWS),
    }
}

/// The index of the stage with the highest load that meets all objectives, as in the answer at the top of the page. `None` if there is none, or if
/// the stage is not valid.
pub(super) fn best(document: &ReportDocument) -> Option<usize> {
    best_stage(document).filter(|it| document.stages.get(*it).is_some_and(|it| document.counts(it)))
}

fn column(objective: &ObjectiveDocument) -> Column {
    let sign = if objective.bound == "max" { "≤" } else { "≥" };
    let scale = Scale::new(&objective.unit, objective.limit);
    let limit = scale.plain(objective.deciding_limit());
    Column { name: text::capitalized(&objective.figure()), limit: format!("{sign}\u{a0}{limit}\u{a0}{}", scale.unit) }
}

fn cell(document: &ReportDocument, stage: &StageDocument, objective: &ObjectiveDocument) -> Cell {
    let Some(found) = objective.in_stage(&stage.name) else {
        return Cell::default();
    };
    let scale = Scale::new(&objective.unit, objective.limit);
    let value = text::optional(found.observed, |it| scale.measured(it));
    let small = match (found.low.zip(found.high), found.values) {
        (Some((low, high)), _) => scale.interval((low.max(0.0), high)),
        (None, _) if found.met == Met::Inconclusive && !found.reason.is_empty() => {
            cut(found.reason.trim_end_matches(" values"))
        }
        (None, Some(values)) => format!("of {}", text::count(values)),
        (None, None) => String::new(),
    };
    if !document.counts(stage) {
        return Cell { value: format!("({value})"), small, ..Cell::default() };
    }
    judged(found.met, value, small)
}

fn judged(met: Met, value: String, small: String) -> Cell {
    let state = TagState::from(met);
    Cell { sign: state.sign(), word: state.word(), tone: verdict::tone(state), value, small }
}

/// The result for the whole run, if the report has no results per stage.
fn cell_of_run(objective: &ObjectiveDocument) -> Cell {
    if !objective.stages.is_empty() {
        return Cell::default();
    }
    let scale = Scale::new(&objective.unit, objective.limit);
    let value = text::optional(objective.observed, |it| scale.measured(it));
    let small = objective.values.map_or_else(String::new, |it| format!("of {}", text::count(it)));
    judged(objective.met, value, small)
}

/// The figures that the matrix shows if there are no objectives.
const FREE: [(Figure, Option<Stat>); 4] = [
    (Figure::Ttft, Some(Stat::P90)),
    (Figure::Tpot, Some(Stat::P90)),
    (Figure::Latency, Some(Stat::P90)),
    (Figure::ErrorRatio, None),
];

fn without_objectives(document: &ReportDocument, loads: &LoadNames) -> Matrix {
    let scales = FREE.map(|(figure, stat)| {
        let most = document.stages.iter().filter_map(|it| value(it, figure, stat)).fold(0.0, f64::max);
        Scale::new(if figure.row().unit == Unit::Share { "share" } else { "ms" }, most)
    });
    let columns = FREE.iter().zip(&scales).map(|((figure, stat), scale)| Column {
        name: stat.map_or_else(|| text::heading(*figure), |it| text::heading_of(*figure, it)),
        limit: scale.unit.to_owned(),
    });
    let rows = document.stages.iter().zip(&loads.names).take(MAX_ROWS).map(|(stage, name)| Row {
        name: name.clone(),
        is_best: false,
        cells: FREE
            .iter()
            .zip(&scales)
            .map(|((figure, stat), scale)| free(document, stage, *figure, *stat, *scale))
            .collect(),
    });
    Matrix {
        title: format!("Figures by {}", loads.title.to_lowercase()),
        head: loads.head.clone(),
        columns: columns.collect(),
        rows: rows.collect(),
        has_objectives: false,
        left_out: document.stages.len().saturating_sub(MAX_ROWS),
    }
}

fn value(stage: &StageDocument, figure: Figure, stat: Option<Stat>) -> Option<f64> {
    match stat {
        Some(stat) => stage.figures.statistics(figure).map(|it| it.get(stat)),
        None => stage.figures.number(figure),
    }
}

fn free(document: &ReportDocument, stage: &StageDocument, figure: Figure, stat: Option<Stat>, scale: Scale) -> Cell {
    let Some(found) = value(stage, figure, stat) else {
        return Cell { value: NOTHING.to_owned(), ..Cell::default() };
    };
    let estimate = stat.and_then(|it| stage.uncertainty.latencies(figure)?.get(it));
    let small = match (estimate.and_then(EstimateDocument::interval), stat) {
        (Some(interval), _) => scale.interval(interval),
        (None, None) => format!("of {}", text::count(stage.figures.decided())),
        (None, Some(_)) => String::new(),
    };
    let value = scale.measured(found);
    let value = if document.counts(stage) { value } else { format!("({value})") };
    Cell { value, small, ..Cell::default() }
}
