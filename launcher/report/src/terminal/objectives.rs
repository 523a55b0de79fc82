//! The objectives, one row each. The row begins with the verdict.

use crds::{Met, Outcome, wording::one_line};
use document::{ObjectiveDocument, ReportDocument, answer::TagState};

use super::lines::{WIDTH, indented};
use crate::{
    objectives,
    paint::{Paint, Style},
    text::{NOTHING, shortened},
    text_table::{Cell, Table, add_marked_row, new_table},
};

/// The verdict on each objective, with the measured value beside the limit.
pub(super) fn rows(document: &ReportDocument, paint: Paint) -> String {
    let rows = &document.objectives;
    let baseline = objectives::baseline(document);
    let is_valid = document.outcome != Outcome::Invalid;
    // There is no header, because each cell contains its own label.
    let mut table = new_table(&[]);
    let places = document.stages.len() > 1 && rows.iter().any(|it| place(it).is_some());
    for row in rows {
        let mut cells = vec![observed(row, is_valid)];
        cells.extend(places.then(|| Cell::from(place(row).unwrap_or_default())));
        cells.push(limit(row, Some(row.limit)).into());
        if baseline.is_some() {
            let value = row.baseline.map_or_else(|| NOTHING.to_owned(), |it| row.value_text(it));
            cells.extend([format!("baseline {value}"), limit(row, row.baseline_limit)].map(Cell::from));
        }
        add(&mut table, row, cells);
    }
    let reasons = rows.iter().filter(|it| has_reason(it)).map(|it| format!("{}: {}", it.name, it.reason));
    let baseline = baseline.map(|it| format!("baseline: {it}"));
    let lines = reasons.chain(baseline).map(|it| indented(&one_line(&it), usize::MAX));
    std::iter::once(table.painted(WIDTH, paint)).chain(lines).collect::<Vec<_>>().join("\n")
}

/// The colour of a verdict.
pub(super) fn style(met: Met) -> Style {
    match met {
        Met::True => Style::Green,
        Met::False => Style::Red,
        Met::Inconclusive => Style::Yellow,
    }
}

fn add(table: &mut Table, row: &ObjectiveDocument, cells: Vec<Cell>) {
    let state = TagState::from(row.met);
    let mark = Cell::styled(&format!("{} {}", state.sign(), state.word()), style(row.met));
    let stage = match row.stage.as_deref() {
        Some("*") => " in every stage".to_owned(),
        Some(stage) => format!(" in stage {stage}"),
        None => String::new(),
    };
    // Many objectives have the name of their metric. In that case, the name is not repeated.
    let name = if row.name == row.metric.name() { String::new() } else { format!("{}: ", row.name) };
    add_marked_row(table, mark, format!("{name}{}{stage}", row.figure()), cells);
}

/// The measured value, in brackets if the measurement is not valid.
fn observed(row: &ObjectiveDocument, is_valid: bool) -> Cell {
    match (row.observed.map(|it| row.observed_text(it)), is_valid) {
        (None, _) => NOTHING.to_owned().into(),
        (Some(value), true) => Cell::styled(&value, Style::Bold),
        (Some(value), false) => Cell::styled(&format!("({value})"), Style::Dim),
    }
}

fn limit(row: &ObjectiveDocument, limit: Option<f64>) -> String {
    let side = if row.bound == "max" { "at most" } else { "at least" };
    limit.map_or_else(|| NOTHING.to_owned(), |it| format!("{side} {}", row.exact_text(it)))
}

/// For an objective on every stage: the stage that the measured value comes from.
fn place(row: &ObjectiveDocument) -> Option<String> {
    let stage = row.observed_stage.as_ref().filter(|_| row.stage.as_deref() == Some("*"))?;
    Some(format!("in {}", shortened(stage)))
}

/// Whether the row needs a reason. A value past its limit needs none.
fn has_reason(row: &ObjectiveDocument) -> bool {
    !row.reason.is_empty() && (row.met == Met::Inconclusive || row.baseline.is_some())
}
