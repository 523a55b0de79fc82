//! Writes the result of a sweep as Markdown: the answers, the table of all cells, every comparison, and the runs without valid figures.

use report::markup::cell;

use crate::{
    differences::with_interval,
    document::{CellDocument, RunDocument, SweepDocument},
    rows::{columns, rows},
    terminal::legend,
};

/// Returns the page.
pub fn markdown(sweep: &SweepDocument) -> String {
    let mut page = format!("# Sweep {}\n\n", cell(&sweep.name));
    page.extend(sweep.answers.iter().map(|it| format!("- {}\n", cell(it))));
    if !sweep.answers.is_empty() {
        page.push('\n');
    }
    let header = columns(sweep);
    page += &line(&header);
    page += &format!("|{}\n", " --- |".repeat(header.len()));
    page.extend(rows(sweep).iter().map(|it| line(it)));
    page += &format!("\n{}\n", cell(&legend(sweep)));
    if !sweep.comparisons.is_empty() {
        page += "\n## Differences from the baseline\n\n| cell | stage | baseline | differences |\n| --- | --- | --- | --- |\n";
        for it in &sweep.comparisons {
            let figures = it.figures.iter().map(with_interval).collect::<Vec<_>>().join("; ");
            page += &line(&[it.cell.clone(), it.stage.clone(), it.baseline.clone(), figures]);
        }
    }
    let failed = |it: &&RunDocument| !it.outcome.has_valid_figures();
    let of_cell = |it: &CellDocument| -> Vec<String> {
        let name = it.name.clone();
        let runs = it.runs.iter().filter(failed);
        runs.map(|run| format!("- {} r{}: {}\n", cell(&name), run.repeat, cell(&run.message))).collect()
    };
    let failures: Vec<String> = sweep.cells.iter().flat_map(of_cell).collect();
    if !failures.is_empty() {
        page += &format!("\n## Runs without valid figures\n\n{}", failures.concat());
    }
    page
}

fn line(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|it| cell(it)).collect();
    format!("| {} |\n", cells.join(" | "))
}
