//! Renders the page of `compare --html`: several runs side by side.
//!
//! The page depends on the comparison alone. Warnings about figures that are not comparable come first.

mod figures;
#[cfg(test)]
mod tests;

use charts::Size;
use comparison::{Answer, Comparison, PairDocument, Remark, Severity, StagePairDocument, Verdict, rows};
use serde::Serialize;

use crate::{
    PageError,
    frame::{self, Frame},
    table::{Table, cut, lines},
    text::capitalized,
};

/// Maximum number of stages per pair of runs that the page shows. The JSON contains all stages.
const MOST_STAGES: usize = 40;

/// The size of a figure's frame, in pixels.
const SIZE: Size = Size { width: 300.0, height: 190.0 };

/// The data for the template. The template escapes every text.
#[derive(Serialize)]
struct View {
    /// The answers for all pairs of runs.
    sentence: String,
    runs: Vec<RunView>,
    gate: Option<GateView>,
    accuracy: Option<Table>,
    pairs: Vec<PairView>,
    legend: String,
    written_by: String,
}

#[derive(Serialize)]
struct RunView {
    name: String,
    text: String,
}

#[derive(Serialize)]
struct GateView {
    /// `good`, `bad` or `doubt`; determines the colour.
    tone: &'static str,
    text: String,
    reasons: Vec<String>,
}

#[derive(Serialize)]
struct PairView {
    id: String,
    title: String,
    tone: &'static str,
    answer: String,
    counts: String,
    /// Warnings: what makes figures incomparable, and stages that only one run has.
    grave: Vec<String>,
    notes: Vec<String>,
    /// Markup of the figures over the stages.
    over_stages: Vec<String>,
    stages: Vec<StageView>,
    left_out: usize,
}

#[derive(Serialize)]
struct StageView {
    id: String,
    title: String,
    /// Whether the stage is shown expanded: it has a significant difference, or is the only stage.
    is_open: bool,
    /// The figures as markup.
    figures: Vec<String>,
    columns: Vec<String>,
    rows: Vec<RowView>,
    reasons: Vec<String>,
}

#[derive(Serialize)]
struct RowView {
    tone: &'static str,
    cells: Vec<String>,
}

/// Renders the page.
///
/// # Errors
/// The template cannot be rendered, which is a defect of this program.
pub fn render(comparison: &Comparison) -> Result<String, PageError> {
    let names: Vec<&str> = comparison.runs.iter().map(|it| it.name.as_str()).collect();
    let answers: Vec<String> = comparison.pairs.iter().map(rows::answer).collect();
    let view = View {
        sentence: capitalized(&cut(&answers.join("; "))),
        runs: comparison.runs.iter().map(|it| RunView { name: it.name.clone(), text: cut(&rows::run(it)) }).collect(),
        gate: comparison.gate.as_ref().map(GateView::new),
        accuracy: accuracy(comparison),
        pairs: comparison.pairs.iter().map(PairView::new).collect(),
        legend: rows::legend(comparison),
        written_by: comparison.tool_version.clone(),
    };
    let title = format!("{}: {}", names.join(", "), view.sentence);
    frame::render(&Frame { title: &title, template: include_str!("page.html"), view: &view })
}

fn accuracy(comparison: &Comparison) -> Option<Table> {
    let (head, rows) = rows::accuracy(comparison)?;
    let caption = "Scores of the answers. In brackets: the limit that the run set. These figures have no interval.";
    Some(Table::new("accuracy", "Accuracy", caption).texts(head.iter().map(String::as_str)).rows(rows))
}

impl GateView {
    fn new(gate: &comparison::Gate) -> GateView {
        let (text, reasons) = rows::gate(gate);
        GateView {
            tone: match gate.outcome {
                comparison::GateOutcome::Passed => "good",
                comparison::GateOutcome::Regression => "bad",
                comparison::GateOutcome::Inconclusive => "doubt",
            },
            text,
            reasons: reasons.iter().map(|it| cut(it)).collect(),
        }
    }
}

impl PairView {
    fn new(pair: &PairDocument) -> PairView {
        let remarks = |severity: Severity| {
            let these = pair.remarks.iter().filter(move |it: &&Remark| it.severity == severity);
            these.map(|it| rows::remark(it, pair))
        };
        let grave = lines(remarks(Severity::NotComparable).chain(rows::unmatched(pair)));
        PairView {
            id: pair.run.to_lowercase(),
            title: format!("{} against A", pair.run),
            tone: match pair.answer {
                Answer::Worse | Answer::Mixed => "bad",
                Answer::Undecided | Answer::NotComparable => "doubt",
                Answer::Better | Answer::Equal if !grave.is_empty() => "doubt",
                Answer::Better | Answer::Equal => "good",
            },
            answer: rows::answer(pair),
            counts: rows::counts(pair),
            grave,
            notes: lines(remarks(Severity::Note)),
            over_stages: figures::over_stages(pair).iter().map(|it| frame::figure(it, SIZE)).collect(),
            stages: pair
                .stages
                .iter()
                .take(MOST_STAGES)
                .enumerate()
                .map(|(at, it)| StageView::new(at, it, pair))
                .collect(),
            left_out: pair.stages.len().saturating_sub(MOST_STAGES),
        }
    }
}

impl StageView {
    fn new(at: usize, stage: &StagePairDocument, pair: &PairDocument) -> StageView {
        let id = format!("{}-{at}", pair.run.to_lowercase());
        let row = |it: &comparison::FigureDocument| RowView {
            tone: match it.verdict {
                Verdict::Better => "good",
                Verdict::Worse => "bad",
                Verdict::NoDifferenceFound | Verdict::CannotBeDecided => "",
            },
            cells: rows::cells(it).iter().map(|it| cut(it)).collect(),
        };
        StageView {
            title: cut(&rows::stage_name(stage, pair)),
            is_open: pair.stages.len() == 1 || stage.figures.iter().any(rows::differs),
            figures: figures::of_stage(&id, stage, pair).iter().map(|it| frame::figure(it, SIZE)).collect(),
            columns: rows::columns(pair).to_vec(),
            rows: stage.figures.iter().map(row).collect(),
            reasons: lines(rows::reasons(stage)),
            id,
        }
    }
}
