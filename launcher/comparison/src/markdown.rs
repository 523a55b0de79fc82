//! Writes a comparison as Markdown for a pull request comment: the differences first, and all figures in folded sections.

use report::markup::{cell, cut_at_line};

use crate::{
    document::{Comparison, FigureDocument, PairDocument, StagePairDocument},
    remarks::{Remark, Severity},
    rows,
};

/// Maximum number of stages with all figures, over all pairs of runs. A GitHub comment can have 65,536 characters, and a stage needs up to 5,000.
const MOST_STAGES: usize = 10;

/// Maximum size of the Markdown in bytes, so that it fits into a GitHub comment.
const MOST_BYTES: usize = 60_000;
const REST: &str = "\nThe rest is in the JSON, and in the table on stdout.\n";

pub fn markdown(comparison: &Comparison) -> String {
    let mut page = String::from("## Comparison of benchmark runs\n\n");
    if let Some(gate) = &comparison.gate {
        let (head, reasons) = rows::gate(gate);
        page.push_str(&format!("**{}**\n\n", cell(&head)));
        page.extend(reasons.iter().map(|it| format!("- {}\n", cell(it))));
        page.push('\n');
    }
    page.extend(comparison.runs.iter().map(|it| format!("- {}: {}\n", it.name, cell(&rows::run(it)))));
    if let Some((head, rows)) = rows::accuracy(comparison) {
        let body: String = rows.iter().map(|it| line(it)).collect();
        page.push_str(&format!("\n{}{}{body}", line(&head), rule(head.len())));
    }
    let mut shown = 0;
    for it in &comparison.pairs {
        page.push_str(&pair(it, &mut shown));
    }
    page.push_str(&format!("\n{}\n", cell(&rows::legend(comparison))));
    cut_at_line(page, MOST_BYTES, REST)
}

fn pair(pair: &PairDocument, shown: &mut usize) -> String {
    let (answer, counts) = (cell(&rows::answer(pair)), rows::counts(pair));
    let mut page = format!("\n### {} against A\n\n**{answer}.**\n\n{counts}.\n", pair.run);
    let list = |remarks: &mut dyn Iterator<Item = &Remark>| -> String {
        remarks.map(|it| format!("- {}\n", cell(&rows::remark(it, pair)))).collect()
    };
    let grave = list(&mut pair.remarks.iter().filter(|it| it.severity == Severity::NotComparable));
    let unmatched: String = rows::unmatched(pair).into_iter().map(|it| format!("- {}\n", cell(&it))).collect();
    if !grave.is_empty() || !unmatched.is_empty() {
        page.push_str(&format!("\n{grave}{unmatched}"));
    }
    for stage in &pair.stages {
        let found: Vec<&FigureDocument> = stage.figures.iter().filter(|it| rows::differs(it)).collect();
        if !found.is_empty() {
            page.push_str(&format!("\n{}\n\n{}", cell(&rows::stage_name(stage, pair)), table(pair, &found)));
        }
    }
    let notes = list(&mut pair.remarks.iter().filter(|it| it.severity == Severity::Note));
    if !notes.is_empty() {
        page.push_str(&folded("What else differs", &notes));
    }
    let room = MOST_STAGES.saturating_sub(*shown);
    *shown += pair.stages.len();
    let all: String = pair.stages.iter().take(room).map(|it| all_figures(it, pair)).collect();
    if !all.is_empty() {
        page.push_str(&folded("All figures", &all));
    }
    if pair.stages.len() > room {
        page.push_str(&format!("\nThe figures of {} more stages are in the JSON.\n", pair.stages.len() - room));
    }
    page
}

fn all_figures(stage: &StagePairDocument, pair: &PairDocument) -> String {
    let figures: Vec<&FigureDocument> = stage.figures.iter().collect();
    let reasons: String = rows::reasons(stage).iter().map(|it| format!("- {}\n", cell(it))).collect();
    let gap = if reasons.is_empty() { "" } else { "\n" };
    format!("{}\n\n{}{gap}{reasons}\n", cell(&rows::stage_name(stage, pair)), table(pair, &figures))
}

fn folded(title: &str, text: &str) -> String {
    format!("\n<details><summary>{title}</summary>\n\n{}\n</details>\n", text.trim_end_matches('\n').to_owned() + "\n")
}

fn table(pair: &PairDocument, figures: &[&FigureDocument]) -> String {
    let columns = rows::columns(pair);
    let head = line(&columns) + &rule(columns.len());
    figures.iter().fold(head, |text, it| text + &line(&rows::cells(it)))
}

fn line(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|it| cell(it)).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn rule(columns: usize) -> String {
    format!("|{}\n", " --- |".repeat(columns))
}
