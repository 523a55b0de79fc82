//! The summary table that a run prints.

use std::time::Duration;

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width};
use crds::{
    Outcome,
    resolve::Hardware,
    wording::{one_line, percent},
};

use super::{
    LoadGenReport, accuracy, loadgen, profiling,
    text::{self, excluded, latencies, lengths, number, percentile, rates, time},
};
use analysis::{Accuracy, Analysis, Distribution, Objectives, StageAnalysis};
use measurement::record::RequestOutcome;

/// A line below the header, and no other.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));
/// What a terminal shows in a line, where nobody made it wider. In a table that needs more the first column is wrapped.
const WIDTH: usize = 80;
const POOLED: &str = "All stages together, pauses included. Compare stages, not these figures.";

/// The figures of a run as text, with a line break at its end. Of several stages each comes first, and the run last: figures
/// of different loads taken together are those of none. `servers`: remarks on their metrics. `hardware`: for rates per accelerator
/// and cost.
pub fn table(
    analysis: &Analysis,
    loadgen: Option<&LoadGenReport>,
    servers: &[String],
    hardware: Option<&Hardware>,
) -> String {
    let tests = loadgen.map(loadgen_tests);
    let objectives = analysis.objectives.as_ref().map(objectives);
    let scores = analysis.accuracy.as_ref().map(scores);
    let mut parts: Vec<String> =
        std::iter::once(verdict(analysis)).chain(objectives).chain(tests).chain(scores).collect();
    let first_table = parts.len();
    if analysis.stages.len() > 1 {
        parts.extend([stages(analysis), format!("{POOLED}\n\n{}", figures(analysis))]);
    } else {
        parts.push(figures(analysis));
    }
    if parts[first_table..].iter().any(|it| text::has_marks(it)) {
        parts.push(format!("* {}", text::LARGEST_MEANS));
    }
    parts.extend([totals(analysis, hardware), trust(analysis)]);
    let remarks = analysis.judgement.remarks.iter().chain(servers);
    let notes: Vec<String> = remarks.map(|it| format!("note: {}", one_line(it))).collect();
    if !notes.is_empty() {
        parts.push(notes.join("\n"));
    }
    parts.join("\n\n") + "\n"
}

fn verdict(analysis: &Analysis) -> String {
    let partial = if analysis.partial { ", partial" } else { "" };
    let outcome = analysis.verdict.outcome;
    let goals = text::goals(analysis).map_or_else(String::new, |it| {
        let only = if it.are_few && outcome == Outcome::Passed { ", a valid measurement" } else { "" };
        format!("{only}; {}", it.text)
    });
    let mut lines = vec![format!("{}{partial}: {}{goals}", outcome.name(), one_line(&analysis.model))];
    for reason in analysis.verdict.reasons.iter().filter(|it| !it.message.is_empty()) {
        lines.push(format!("{}: {}", reason.name, one_line(&reason.message)));
    }
    lines.join("\n")
}

fn objectives(objectives: &Objectives) -> String {
    let baseline = text::baseline(objectives);
    let mut header = vec!["objective", "observed", "limit"];
    header.extend(baseline.iter().flat_map(|_| ["baseline", "its limit"]));
    header.push("met");
    let mut table = new_table(&header);
    for it in &objectives.results {
        let name = format!("{}: {}", it.objective.name, one_line(&text::objective_figure(it)));
        let mut cells = vec![text::objective_observed(it), text::objective_limit(it)];
        cells.extend(baseline.iter().flat_map(|_| text::objective_baseline(it)));
        cells.push(it.met.name().to_owned());
        add_row(&mut table, name, cells);
    }
    let baseline = baseline.map(|it| format!("\nbaseline: {}", one_line(&it))).unwrap_or_default();
    let told = objectives.results.iter().filter(|it| !it.reason.is_empty());
    let notes: String = told.map(|it| format!("\nnote: {}: {}", it.objective.name, one_line(&it.reason))).collect();
    fitted(table) + &baseline + &notes
}

fn loadgen_tests(tests: &LoadGenReport) -> String {
    // A column for each test: there are few of them, and many figures.
    let tested: Vec<loadgen::TestRow> = loadgen::rows(tests).collect();
    let header: Vec<&str> = std::iter::once("LoadGen").chain(tested.iter().map(|it| it.name.as_str())).collect();
    let mut table = new_table(&header);
    for (index, name) in loadgen::COLUMNS.iter().enumerate() {
        add_row(&mut table, (*name).into(), tested.iter().filter_map(|it| it.cells.get(index).cloned()));
    }
    let notes = loadgen::notes(tests).into_iter().map(|it| format!("\nnote: {it}")).collect::<String>();
    fitted(table) + &notes
}

fn scores(found: &Accuracy) -> String {
    let mut table = new_table(&accuracy::COLUMNS);
    for mut row in accuracy::rows(found) {
        let name = row.remove(0);
        add_row(&mut table, name, row);
    }
    let notes: String = accuracy::notes(found).iter().map(|it| format!("\nnote: {}", one_line(it))).collect();
    format!("{}\n\n{}{notes}", accuracy::headline(found), fitted(table))
}

fn figures(analysis: &Analysis) -> String {
    let mut table = new_table(&["", "mean", "p50", "p90", "p99", "max", "count"]);
    for row in latencies(analysis) {
        add_row(&mut table, row.name, distribution(&row.figures.map(time)));
    }
    for row in lengths(analysis) {
        add_row(&mut table, row.name, distribution(&row.figures.map(number)));
    }
    fitted(table)
}

fn totals(analysis: &Analysis, hardware: Option<&Hardware>) -> String {
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
    for (name, count) in excluded(analysis) {
        add_row(&mut table, name.into(), [count.to_string()]);
    }
    add_row(&mut table, "duration".into(), [time(all.duration)]);
    for (name, rate) in rates(analysis) {
        add_row(&mut table, name.into(), [rate]);
    }
    for (name, figure) in hardware.map(|it| text::cost(all, it)).unwrap_or_default() {
        add_row(&mut table, name, [text::optional(figure, number)]);
    }
    fitted(table)
}

/// What is bounded of the launcher's own part.
fn trust(analysis: &Analysis) -> String {
    let bounded = text::trust(&analysis.judgement).into_iter().filter(|it| it.bound.is_some());
    let found: Vec<String> = bounded.filter_map(|it| Some(format!("{} {}", it.name, it.found?))).collect();
    let mut lines = vec!["launcher:".to_owned()];
    for (index, each) in found.iter().enumerate() {
        let each = if index + 1 < found.len() { format!("{each};") } else { each.clone() };
        match lines.last_mut().filter(|line| line.len() + 1 + each.len() <= WIDTH) {
            Some(line) => *line += &format!(" {each}"),
            None => lines.push(format!("  {each}")),
        }
    }
    lines.join("\n")
}

fn stages(analysis: &Analysis) -> String {
    let stages: &[StageAnalysis] = &analysis.stages;
    // There is no room for all: goals say more than the rate that left and the launcher's lag, which are in report.md.
    let goals = stages.iter().any(|it| it.figures.goodput.is_some());
    let paced = !goals && stages.iter().any(|it| it.achieved_rate.is_some());
    let mut header = vec!["stage", "requests", "failed or\ncancelled"];
    header.extend(paced.then_some("sent\n/s"));
    header.extend(["TTFT\np50", "TTFT\np99", "ITL\np99", "output\ntok/s"]);
    header.extend(goals.then_some(["goodput\n/s", "good\nshare"]).into_iter().flatten());
    header.extend((!goals).then_some("lag\np99"));
    let mut table = new_table(&header);
    for stage in stages {
        let it = &stage.figures;
        let p99 = |of: Option<Distribution<Duration>>| text::optional(of, |it| percentile(time(it.p99), 990, it.count));
        let mut row = vec![it.requests.to_string(), (it.failed + it.cancelled).to_string()];
        row.extend(paced.then(|| text::optional(stage.achieved_rate, number)));
        row.push(text::optional(it.ttft, |it| percentile(time(it.p50), 500, it.count)));
        row.extend([p99(it.ttft), p99(it.itl)]);
        row.push(text::optional(it.throughput, |it| number(it.output_tokens)));
        if goals {
            row.push(text::optional(it.goodput.and_then(|it| it.per_second), number));
            row.push(text::optional(it.goodput.and_then(|it| it.share), percent));
        } else {
            row.push(p99(it.send_lag));
        }
        let name = profiling::stage_name(stage, analysis.profiling.as_ref());
        add_row(&mut table, one_line(&name), row);
    }
    fitted(table)
}

/// The columns behind the first: mean, p50, p90, p99, max and count.
fn distribution(it: &Distribution<String>) -> [String; 6] {
    let marked = |text: &String, permille| percentile(text.clone(), permille, it.count);
    [
        it.mean.clone(),
        marked(&it.p50, 500),
        marked(&it.p90, 900),
        marked(&it.p99, 990),
        it.max.clone(),
        it.count.to_string(),
    ]
}

pub(super) fn new_table(header: &[&str]) -> Table {
    let mut table = Table::new();
    let cells = header.iter().enumerate().map(|(column, it)| if column == 0 { Cell::new(it) } else { right(it) });
    table.load_style(STYLE).set_header(cells);
    table
}

/// The text of a table in the width of a terminal: two blanks between columns, or one where the first column needs the room.
/// Only that one, which holds words, may be wrapped.
pub(super) fn fitted(table: Table) -> String {
    fitted_beside(table, 0)
}

/// The same; the first column keeps so many letters where it has them, and the table is wider than a terminal then.
pub(super) fn fitted_beside(mut table: Table, first: u16) -> String {
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH as u16);
    let widths: Vec<usize> = table.column_max_content_widths().into_iter().map(usize::from).collect();
    let numbers = widths.iter().skip(1).map(|it| it + 2).sum::<usize>();
    let of_first = widths.first().copied().unwrap_or_default();
    let narrow = of_first + 2 + numbers > WIDTH;
    let first = usize::from(first).min(of_first);
    for (index, column) in table.column_iter_mut().enumerate() {
        if index > 0 {
            column.set_constraint(ColumnConstraint::ContentWidth);
        } else if first > 0 {
            // The padding of one is within it.
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed((first + 1) as u16)));
        }
        if narrow {
            column.set_padding((1, 0));
        }
    }
    table.trim_fmt()
}

pub(super) fn add_row(table: &mut Table, name: String, cells: impl IntoIterator<Item = String>) {
    table.add_row(std::iter::once(Cell::new(name)).chain(cells.into_iter().map(|it| right(&it))));
}

fn right(text: &str) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}
