//! The objectives, one row each with its verdict in front.

use crds::{Met, Outcome, wording::one_line};
use document::ReportDocument;

use super::{WIDTH, indented};
use crate::{
    objectives::{self, Row},
    paint::{Paint, Style},
    text::shortened,
    text_table::{Cell, Table, add_marked_row, new_table},
};

/// The verdict on each objective, with the measured value beside the limit.
pub(super) fn rows(document: &ReportDocument, paint: Paint) -> String {
    let rows = objectives::rows(document);
    let baseline = objectives::baseline(document);
    let is_valid = document.outcome != Outcome::Invalid;
    // Without a header: each cell contains its meaning.
    let mut table = new_table(&[]);
    let places = document.stages.len() > 1 && rows.iter().any(|it| place(it).is_some());
    for row in &rows {
        let mut cells = vec![observed(row, is_valid)];
        cells.extend(places.then(|| Cell::from(place(row).unwrap_or_default())));
        cells.push(row.limit().into());
        if baseline.is_some() {
            let [value, limit] = row.baseline();
            cells.extend([format!("baseline {value}"), limit].map(Cell::from));
        }
        add(&mut table, row, cells);
    }
    let reasons = rows.iter().filter(|it| has_reason(it));
    let reasons = reasons.map(|it| format!("{}: {}", it.result.name, it.result.reason));
    let baseline = baseline.map(|it| format!("baseline: {it}"));
    let lines = reasons.chain(baseline).map(|it| indented(&one_line(&it), usize::MAX));
    std::iter::once(table.painted(WIDTH, paint)).chain(lines).collect::<Vec<_>>().join("\n")
}

fn add(table: &mut Table, row: &Row<'_>, cells: Vec<Cell>) {
    let (text, style) = match row.result.met {
        Met::True => ("\u{2713} met", Style::Green),
        Met::False => ("\u{2717} missed", Style::Red),
        Met::Inconclusive => ("? undecided", Style::Yellow),
    };
    let (name, figure) = (&row.result.name, row.figure());
    // The name of many objectives is the name of their metric.
    let is_named = figure.split(' ').any(|it| it == name);
    let name = if is_named { figure } else { format!("{name}: {figure}") };
    add_marked_row(table, Cell::styled(text.to_owned(), style), name, cells);
}

/// The measured value, in brackets if the measurement is not valid.
fn observed(row: &Row<'_>, is_valid: bool) -> Cell {
    match (row.result.observed.is_some(), is_valid) {
        (true, false) => Cell::styled(format!("({})", row.observed()), Style::Dim),
        _ => Cell::styled(row.observed(), Style::Bold),
    }
}

/// The stage with the measured value, of an objective for every stage.
fn place(row: &Row<'_>) -> Option<String> {
    let stage = row.result.observed_stage.as_ref().filter(|_| row.is_for_every_stage())?;
    Some(format!("in {}", shortened(stage)))
}

/// Whether the row does not show why: a value beyond the limit needs no reason.
fn has_reason(row: &Row<'_>) -> bool {
    !row.result.reason.is_empty() && (row.result.met == Met::Inconclusive || row.has_baseline())
}
