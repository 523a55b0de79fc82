//! Renders the page of a sweep: the answers, the Pareto front of all cells, every figure over the levels, and the table of cells.
//!
//! The page depends on the sweep's document alone.

mod figures;

use charts::Size;
use serde::Serialize;
use sweep::{Answer, ComparisonDocument, SweepDocument, Verdict};

use crate::{
    PageError,
    frame::{self, Frame},
    table::{Cell, Table, cut, lines},
    text::{minute, plural},
};

/// The size of the frame of the Pareto front, in pixels.
const LARGE: Size = Size { width: 640.0, height: 320.0 };
/// The size of the frame of a figure over the levels, in pixels.
const SMALL: Size = Size { width: 300.0, height: 190.0 };

/// The data for the template. The template escapes every text.
#[derive(Serialize)]
struct View {
    name: String,
    meta: Vec<String>,
    sentence: String,
    /// The answers after the first.
    answers: Vec<String>,
    tags: Vec<Tag>,
    /// Markup of the Pareto front; empty without one.
    front: String,
    /// Markup of the figures over the levels.
    over_levels: Vec<String>,
    cells: Table,
    comparisons: Option<Table>,
    failures: Vec<String>,
    legend: String,
    written_by: String,
}

#[derive(Serialize)]
struct Tag {
    tone: &'static str,
    text: String,
}

/// Renders the page.
///
/// # Errors
/// The template cannot be rendered, which is a defect of this program.
pub fn render(sweep: &SweepDocument) -> Result<String, PageError> {
    let mut answers = lines(sweep.answers.iter().cloned()).into_iter();
    let failures: Vec<String> = failures(sweep);
    let sentence = answers.next().unwrap_or_else(|| format!("{} so far", ::sweep::progress(sweep)));
    let view = View {
        name: cut(&sweep.name),
        meta: vec![
            format!("{} with {}", plural(sweep.cells.len() as u64, "cell"), plural(sweep.repeats.into(), "repeat")),
            minute(sweep.started),
        ],
        sentence,
        answers: answers.collect(),
        tags: tags(sweep, failures.len()),
        front: figures::front(sweep).map(|it| frame::figure(&it, LARGE)).unwrap_or_default(),
        over_levels: figures::over_levels(sweep).iter().map(|it| frame::figure(it, SMALL)).collect(),
        cells: cells(sweep),
        comparisons: comparisons(sweep).filled(),
        failures: lines(failures),
        legend: ::sweep::legend(sweep),
        written_by: sweep.tool_version.clone(),
    };
    frame::render(&Frame { title: &view.name, template: include_str!("page.html"), view: &view })
}

fn tags(sweep: &SweepDocument, failures: usize) -> Vec<Tag> {
    let progress = Tag { tone: "", text: ::sweep::progress(sweep) };
    let ended = match sweep.ended {
        Some(_) => None,
        None => Some(Tag { tone: "doubt", text: "not complete".to_owned() }),
    };
    let failed = (failures > 0)
        .then(|| Tag { tone: "bad", text: format!("{} without valid figures", plural(failures as u64, "run")) });
    [Some(progress), ended, failed].into_iter().flatten().collect()
}

fn cells(sweep: &SweepDocument) -> Table {
    let caption = "One row per cell and stage. Values are means over the runs of the cell. The rows with * are on the Pareto front.";
    let header = ::sweep::columns(sweep);
    let (last, others) = header.split_last().map_or(("", &[][..]), |(last, others)| (last.as_str(), others));
    Table::new("cells", "All cells", caption)
        .section()
        .texts(others.first().map(String::as_str))
        .numbers(others.iter().skip(1).cloned())
        .texts([last])
        .rows(::sweep::rows(sweep))
}

fn comparisons(sweep: &SweepDocument) -> Table {
    let caption = "The difference of each cell from its baseline, with intervals that are right together.";
    let row = |it: &ComparisonDocument| -> Vec<Cell> {
        let text = |it: &str| Cell::from(it.to_owned());
        let verdict = Cell { tone: tone(it.answer), ..text(::sweep::word(it.answer)) };
        let differing = it.figures.iter().filter(|it| it.verdict != Verdict::NoDifferenceFound);
        let figures = differing.map(::sweep::with_interval).collect::<Vec<_>>().join("; ");
        let figures = if figures.is_empty() { it.sentence.clone() } else { figures };
        vec![text(&it.cell), text(&it.stage), text(&it.baseline), verdict, text(&figures)]
    };
    Table::new("comparisons", "Differences from the baseline", caption)
        .section()
        .texts(["cell", "stage", "baseline", "answer", "differences"])
        .rows(sweep.comparisons.iter().map(row))
}

fn tone(answer: Answer) -> &'static str {
    match answer {
        Answer::Better => "good",
        Answer::Worse => "bad",
        Answer::Mixed | Answer::Undecided => "doubt",
        Answer::Equal => "",
    }
}

fn failures(sweep: &SweepDocument) -> Vec<String> {
    let runs = sweep.cells.iter().flat_map(|cell| cell.runs.iter().map(move |run| (cell, run)));
    let failed = runs.filter(|(_, run)| !run.outcome.has_valid_figures());
    let line = |(cell, run): (&::sweep::CellDocument, &::sweep::RunDocument)| {
        format!("{}, repeat {}: {}: {}", cell.name, run.repeat, run.outcome.name(), run.message)
    };
    failed.map(line).collect()
}
