//! Formats the figures in a status as tables for a terminal.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use crds::{
    AccuracyStatus, BenchmarkRun, BenchmarkRunStatus, Met, Microseconds, Milli, Quantiles, RunSummary,
    wording::one_line,
};
use kube::ResourceExt as _;

use crate::{follow::message_of, server};

/// The table style: a single line below the header.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// The complete output for a finished run.
pub(crate) fn text(run: &BenchmarkRun) -> String {
    let Some(status) = &run.status else { return String::new() };
    let mut parts = vec![headline(run, status)];
    if let Some(summary) = &status.summary {
        parts.push(latencies(summary));
        parts.push(rates(summary));
    }
    if status.stages.len() > 1 {
        let more = if status.stages_truncated { "\nthere are more stages; the results folder has all" } else { "" };
        parts.push(stages(status) + more);
    }
    if let Some(found) = &status.accuracy {
        parts.push(accuracy(found));
    }
    if !status.objectives.is_empty() {
        let more =
            if status.objectives_truncated { "\nthere are more objectives; the results folder has all" } else { "" };
        parts.push(objectives(status) + more);
    }
    if let Some(found) = &status.server {
        parts.push(server::text(found));
    }
    if let Some(folder) = folder(status) {
        parts.push(format!("results: {folder}"));
    }
    parts.retain(|it| !it.is_empty());
    parts.join("\n\n") + "\n"
}

/// The accuracy of the answers, one row per figure.
fn accuracy(found: &AccuracyStatus) -> String {
    let mut table = new_table(&["accuracy", "value", "limit", "met"]);
    for it in &found.figures {
        let value = if it.value.is_empty() { "not computed" } else { &it.value };
        let met = it.met.map_or("", Met::name);
        add_row(&mut table, &one_line(&it.name), [one_line(value), one_line(&it.limit), met.to_owned()]);
    }
    let head = format!("check {}: {}; {} answers scored", one_line(&found.check), found.verdict.name(), found.scored);
    if found.figures.is_empty() { head } else { format!("{head}\n\n{}", table.trim_fmt()) }
}

/// The output for a finished run with only the verdict and the objectives.
pub(crate) fn verdict(run: &BenchmarkRun) -> String {
    let Some(status) = &run.status else { return String::new() };
    let mut text = headline(run, status) + "\n";
    if !status.objectives.is_empty() {
        text += &format!("\n{}\n", objectives(status));
    }
    text
}

/// A line such as `Passed: chat-r42 in bench, model m, 300.1s`, and the reason.
fn headline(run: &BenchmarkRun, status: &BenchmarkRunStatus) -> String {
    let outcome = status.outcome.map(|it| it.name()).unwrap_or("without outcome");
    let mut line = format!("{outcome}: {}", run.name_any());
    let resolved = status.resolved.as_ref();
    let known = |it: &str| (!it.is_empty()).then(|| one_line(it));
    if let Some(model) = resolved.and_then(|it| known(&it.model)) {
        line += &format!(", model {model}");
    }
    if let Some(endpoint) = resolved.and_then(|it| known(&it.endpoint)) {
        line += &format!(", target {endpoint}");
    }
    if status.partial {
        line += ", ended before all requests were sent";
    }
    let message = message_of(run);
    let reason = status.reason.as_str();
    if message.is_empty() { format!("{line}\n{reason}") } else { format!("{line}\n{reason}: {message}") }
}

fn latencies(summary: &RunSummary) -> String {
    let mut table = new_table(&["", "p50", "p90", "p99"]);
    let rows = [("TTFT", summary.ttft), ("ITL", summary.itl), ("TPOT", summary.tpot), ("latency", summary.latency)];
    for (name, quantiles) in rows {
        let Some(Quantiles { p50_microseconds, p90_microseconds, p99_microseconds }) = quantiles else { continue };
        add_row(&mut table, name, [p50_microseconds, p90_microseconds, p99_microseconds].map(|it| it.to_string()));
    }
    if table.row_count() == 0 { String::new() } else { table.trim_fmt() }
}

fn rates(summary: &RunSummary) -> String {
    let mut lines = vec![format!(
        "requests {}, failed {}, cancelled {}, in {}",
        summary.requests, summary.failed, summary.cancelled, summary.duration_microseconds
    )];
    let rate = |name: &str, value: Option<Milli>| value.map(|it| format!("{it} {name}/s"));
    let rates: Vec<String> = [
        rate("requests", summary.requests_per_second_milli),
        rate("output tokens", summary.output_tokens_per_second_milli),
        rate("tokens", summary.total_tokens_per_second_milli),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !rates.is_empty() {
        lines.push(rates.join(", "));
    }
    if let Some(runs) = summary.mean_of_runs {
        lines.push(format!("each figure is the mean of {runs} runs"));
    }
    lines.join("\n")
}

fn stages(status: &BenchmarkRunStatus) -> String {
    let mut table = new_table(&["stage", "requests", "failed", "TTFT p99", "ITL p99", "output tok/s"]);
    let time = |it: Option<Microseconds>| it.map_or_else(|| "-".to_owned(), |it| it.to_string());
    for stage in &status.stages {
        let rate = stage.output_tokens_per_second_milli.map_or_else(|| "-".to_owned(), |it| it.to_string());
        let cells = [
            stage.requests.to_string(),
            stage.failed.to_string(),
            time(stage.ttft_p99_microseconds),
            time(stage.itl_p99_microseconds),
            rate,
        ];
        add_row(&mut table, &stage.name, cells);
    }
    table.trim_fmt()
}

/// One row per objective in a status.
fn objectives(status: &BenchmarkRunStatus) -> String {
    let mut table = new_table(&["objective", "observed", "limit", "met"]);
    for it in &status.objectives {
        let met = match it.met {
            Met::True => "yes",
            Met::False => "NO",
            Met::Inconclusive => "not decided",
        };
        let shown = |it: &str| if it.is_empty() { "-".to_owned() } else { one_line(it) };
        let observed =
            if it.run.is_empty() { shown(&it.observed) } else { format!("{} in {}", shown(&it.observed), it.run) };
        add_row(&mut table, &it.name, [observed, shown(&it.limit), met.to_owned()]);
    }
    table.trim_fmt()
}

/// The URI of the results folder, from the status.
pub(crate) fn folder(status: &BenchmarkRunStatus) -> Option<String> {
    let uri = status.artifacts.iter().find_map(|it| it.uri.strip_suffix(&it.name))?;
    Some(one_line(uri.trim_end_matches('/')))
}

fn new_table(header: &[&str]) -> Table {
    let mut table = Table::new();
    let cells = header.iter().enumerate().map(|(column, it)| if column == 0 { Cell::new(it) } else { right(it) });
    table.load_style(STYLE).set_header(cells);
    table
}

fn add_row(table: &mut Table, name: &str, cells: impl IntoIterator<Item = String>) {
    table.add_row(std::iter::once(Cell::new(one_line(name))).chain(cells.into_iter().map(|it| right(&it))));
}

fn right(text: &str) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}
