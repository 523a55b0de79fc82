//! The summary table that a run prints.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};

use super::{
    LoadGenReport, loadgen,
    text::{self, aside, latencies, lengths, number, plain, rates, time},
};
use crate::{analysis::Analysis, record::RequestOutcome};

/// A line below the header, and no other.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// The figures of a run as text, with a line break at its end.
pub fn table(analysis: &Analysis, loadgen: Option<&LoadGenReport>) -> String {
    let tests = loadgen.map(loadgen_tests);
    let mut parts: Vec<String> = std::iter::once(verdict(analysis)).chain(tests).collect();
    parts.extend([figures(analysis), totals(analysis)]);
    if analysis.stages.len() > 1 {
        parts.push(stages(analysis));
    }
    parts.push(trust(analysis));
    if !analysis.judgement.remarks.is_empty() {
        let notes: Vec<String> = analysis.judgement.remarks.iter().map(|it| format!("note: {}", plain(it))).collect();
        parts.push(notes.join("\n"));
    }
    parts.join("\n\n") + "\n"
}

fn verdict(analysis: &Analysis) -> String {
    let partial = if analysis.partial { ", partial" } else { "" };
    let mut lines = vec![format!("{}{partial}: {}", analysis.verdict.outcome.name(), plain(&analysis.model))];
    for reason in analysis.verdict.reasons.iter().filter(|it| !it.message.is_empty()) {
        lines.push(format!("{}: {}", reason.name, plain(&reason.message)));
    }
    lines.join("\n")
}

fn loadgen_tests(tests: &LoadGenReport) -> String {
    let header: Vec<&str> = std::iter::once("LoadGen").chain(loadgen::COLUMNS).collect();
    let mut table = new_table(&header);
    loadgen::rows(tests).for_each(|it| add_row(&mut table, it.name.into(), it.cells));
    let notes = loadgen::notes(tests).into_iter().map(|it| format!("\nnote: {it}")).collect::<String>();
    table.trim_fmt() + &notes
}

fn figures(analysis: &Analysis) -> String {
    let mut table = new_table(&["", "mean", "p50", "p90", "p99", "max", "count"]);
    for row in latencies(analysis) {
        let it = row.figures;
        let times = [it.mean, it.p50, it.p90, it.p99, it.max].map(time);
        add_row(&mut table, row.name, times.into_iter().chain([it.count.to_string()]));
    }
    for row in lengths(analysis) {
        let it = row.figures;
        let numbers = [it.mean, it.p50, it.p90, it.p99, it.max].map(number);
        add_row(&mut table, row.name, numbers.into_iter().chain([it.count.to_string()]));
    }
    table.trim_fmt()
}

fn totals(analysis: &Analysis) -> String {
    let all = &analysis.all;
    let mut table = Table::new();
    table.load_style(STYLE);
    add_row(&mut table, "requests".into(), [all.requests.to_string()]);
    for (outcome, count) in all.outcomes.iter().filter(|(it, _)| !it.is_success()) {
        add_row(&mut table, format!("  {}", outcome.name()), [count.to_string()]);
        if *outcome == RequestOutcome::Timeout {
            for (limit, count) in &all.timeouts {
                add_row(&mut table, format!("    {}", limit.name()), [count.to_string()]);
            }
        }
        for (cause, it) in all.causes.iter().filter(|(cause, _)| cause.outcome() == *outcome) {
            add_row(&mut table, format!("    {}", cause.name()), [it.count.to_string()]);
        }
    }
    if all.retried > 0 {
        add_row(&mut table, "retried".into(), [all.retried.to_string()]);
    }
    for (name, count) in aside(analysis) {
        add_row(&mut table, name.into(), [count.to_string()]);
    }
    add_row(&mut table, "duration".into(), [time(all.duration)]);
    for (name, rate) in rates(analysis) {
        add_row(&mut table, name.into(), [rate]);
    }
    table.trim_fmt()
}

/// What is bounded of the launcher's own part, on one line.
fn trust(analysis: &Analysis) -> String {
    let bounded = text::trust(&analysis.judgement).into_iter().filter(|it| it.bound.is_some());
    let found: Vec<String> = bounded.filter_map(|it| Some(format!("{} {}", it.name, it.found?))).collect();
    format!("launcher: {}", found.join("; "))
}

fn stages(analysis: &Analysis) -> String {
    let mut table = new_table(&[
        "stage",
        "requests",
        "errors",
        "sent/s",
        "TTFT p50",
        "TTFT p99",
        "ITL p99",
        "out tok/s",
        "lag p99",
    ]);
    for stage in &analysis.stages {
        let it = &stage.figures;
        let row = [
            it.requests.to_string(),
            (it.failed + it.cancelled).to_string(),
            text::optional(stage.achieved_rate, number),
            text::optional(it.ttft, |it| time(it.p50)),
            text::optional(it.ttft, |it| time(it.p99)),
            text::optional(it.itl, |it| time(it.p99)),
            text::optional(it.throughput, |it| number(it.output_tokens)),
            text::optional(it.send_lag, |it| time(it.p99)),
        ];
        add_row(&mut table, stage.stage.name.clone(), row);
    }
    table.trim_fmt()
}

fn new_table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(header.iter().map(|it| right(it)));
    table
}

fn add_row(table: &mut Table, name: String, cells: impl IntoIterator<Item = String>) {
    table.add_row(std::iter::once(Cell::new(name)).chain(cells.into_iter().map(|it| right(&it))));
}

fn right(text: &str) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}
