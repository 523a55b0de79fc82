//! Writes a comparison as text for the terminal.

use crate::{
    document::{Comparison, PairDocument},
    rows,
};

/// Returns the text. It ends with a line break.
pub fn text(comparison: &Comparison) -> String {
    let runs = comparison.runs.iter().map(|it| format!("{}  {}\n", it.name, rows::run(it)));
    let mut text: String = runs.collect();
    if let Some((head, rows)) = rows::accuracy(comparison) {
        text.push_str(&format!("\n{}", table([head].into_iter().chain(rows).collect())));
    }
    for it in &comparison.pairs {
        text.push_str(&pair(it));
    }
    text.push_str(&format!("\n{}\n", rows::legend(comparison)));
    if let Some(gate) = &comparison.gate {
        let (head, reasons) = rows::gate(gate);
        text.push_str(&format!("\n{head}\n"));
        text.extend(reasons.iter().map(|it| format!("  {it}\n")));
    }
    text
}

fn pair(pair: &PairDocument) -> String {
    let mut text = format!("\n{}\n{} against A: {}\n", rows::answer(pair), pair.run, rows::counts(pair));
    let remarks = pair.remarks.iter().map(|it| rows::remark(it, pair)).chain(rows::unmatched(pair));
    text.extend(remarks.map(|it| format!("{it}\n")));
    for stage in &pair.stages {
        text.push_str(&format!("\n{}\n", rows::stage_name(stage, pair)));
        let body = stage.figures.iter().map(rows::cells);
        text.push_str(&table([rows::columns(pair)].into_iter().chain(body).collect()));
        text.extend(rows::reasons(stage).into_iter().map(|it| format!("  {it}\n")));
    }
    text
}

/// Aligns the columns of a table, and underlines its first row.
fn table<R: AsRef<[String]>>(rows: Vec<R>) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for row in &rows {
        let row = row.as_ref();
        widths.resize(widths.len().max(row.len()), 0);
        widths.iter_mut().zip(row).for_each(|(width, cell)| *width = cell.chars().count().max(*width));
    }
    let line = |row: &R| {
        let cells = row.as_ref().iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    let rule = "─".repeat(widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1));
    lines.insert(1.min(lines.len()), format!("{rule}\n"));
    lines.concat()
}
