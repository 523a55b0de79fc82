//! The summary table that a run prints.

use analysis::Accuracy;
use crds::{
    Outcome,
    wording::{one_line, percent},
};
use document::{LoadGenDocument, Renderer, ReportDocument, Section, Statistics};

use super::{
    accuracy, failures, loadgen, objectives, profiling,
    text::{self, excluded, latencies, lengths, millis, number, p50, p99, percentile, rates},
    text_table::{WIDTH, add_row, fitted, new_table, without_header},
};

const POOLED: &str = "All stages together, pauses included. Compare stages, not these figures.";

/// The figures of a run as text, with a line break at its end. With several stages, the table shows each stage and then the run, because pooled
/// figures of different loads describe no load.
pub fn table(document: &ReportDocument) -> String {
    let parts: Vec<String> =
        Section::of(document, Renderer::Terminal).flat_map(|section| parts(section, document)).collect();
    parts.join("\n\n") + "\n"
}

/// The parts of a section, with a blank line between them.
fn parts(section: Section, document: &ReportDocument) -> Vec<String> {
    match section {
        Section::Head => vec![verdict(document)],
        Section::Objectives => vec![objectives(document)],
        Section::LoadGen => document.loadgen.iter().map(loadgen_tests).collect(),
        Section::Accuracy => document.accuracy.iter().map(scores).collect(),
        Section::Stages => vec![stages(document)],
        Section::Figures => figures(document),
        Section::Judgement => std::iter::once(trust(document)).chain(notes(document)).collect(),
        // Shown within other sections, or only in `report.md`.
        Section::Headline
        | Section::Profiling
        | Section::Classes
        | Section::Steps
        | Section::Interactivity
        | Section::Cost
        | Section::Sureness
        | Section::Sessions
        | Section::ManagedServer
        | Section::Replicas
        | Section::Server
        | Section::Startups
        | Section::Failures
        | Section::Contamination
        | Section::Identity
        | Section::Repeat => Vec::new(),
    }
}

fn verdict(document: &ReportDocument) -> String {
    let partial = if document.partial { ", partial" } else { "" };
    let outcome = document.outcome;
    let goals = text::goals(document).map_or_else(String::new, |it| {
        let only = if it.are_few && outcome == Outcome::Passed { ", a valid measurement" } else { "" };
        format!("{only}; {}", it.text)
    });
    let mut lines = vec![format!("{}{partial}: {}{goals}", outcome.name(), one_line(&document.model))];
    for reason in document.reasons.iter().filter(|it| !it.message.is_empty()) {
        lines.push(format!("{}: {}", one_line(&reason.reason), one_line(&reason.message)));
    }
    lines.join("\n")
}

fn objectives(document: &ReportDocument) -> String {
    let baseline = objectives::baseline(document);
    let mut header = vec!["objective", "observed", "limit"];
    header.extend(baseline.iter().flat_map(|_| ["baseline", "its limit"]));
    header.push("met");
    let mut table = new_table(&header);
    let rows = objectives::rows(document);
    for it in &rows {
        let name = format!("{}: {}", it.result.name, it.figure());
        let mut cells = vec![it.observed(), it.limit()];
        cells.extend(baseline.iter().flat_map(|_| it.baseline()));
        cells.push(it.result.met.name().to_owned());
        add_row(&mut table, name, cells);
    }
    let baseline = baseline.map(|it| format!("\nbaseline: {}", one_line(&it))).unwrap_or_default();
    let told = rows.iter().map(|it| it.result).filter(|it| !it.reason.is_empty());
    let notes: String =
        told.map(|it| format!("\nnote: {}", one_line(&format!("{}: {}", it.name, it.reason)))).collect();
    fitted(table) + &baseline + &notes
}

fn loadgen_tests(tests: &LoadGenDocument) -> String {
    // One column per test: there are few tests, and many figures.
    let tested: Vec<loadgen::TestRow> = loadgen::rows(tests).collect();
    let header: Vec<&str> = std::iter::once("LoadGen").chain(tested.iter().map(|it| it.name.as_str())).collect();
    let mut table = new_table(&header);
    for (index, name) in loadgen::COLUMNS.iter().enumerate() {
        add_row(&mut table, (*name).into(), tested.iter().filter_map(|it| it.cells.get(index).cloned()));
    }
    let notes = loadgen::notes(tests).iter().map(|it| format!("\nnote: {}", one_line(it))).collect::<String>();
    fitted(table) + &notes
}

fn scores(found: &Accuracy) -> String {
    let mut table = new_table(&accuracy::COLUMNS);
    for mut row in accuracy::rows(found) {
        let name = row.remove(0);
        add_row(&mut table, name, row);
    }
    let notes: String = accuracy::notes(found).iter().map(|it| format!("\nnote: {}", one_line(it))).collect();
    format!("{}\n\n{}{notes}", one_line(&accuracy::headline(found)), fitted(table))
}

/// Distributions, the legend of their marks, and counts and rates.
fn figures(document: &ReportDocument) -> Vec<String> {
    let several = Section::Stages.is_in(document);
    let table = distributions(document);
    // The legend also covers the stages.
    let marked = text::has_marks(&table) || several && text::has_marks(&stages(document));
    let legend = marked.then(|| format!("* {}", text::LARGEST_MEANS));
    let pooled = several.then(|| POOLED.to_owned());
    pooled.into_iter().chain([table]).chain(legend).chain([totals(document)]).collect()
}

fn distributions(document: &ReportDocument) -> String {
    let mut table = new_table(&["", "mean", "p50", "p90", "p99", "max", "count"]);
    for row in latencies(document) {
        add_row(&mut table, row.name, distribution(row.figures, millis));
    }
    for row in lengths(document) {
        add_row(&mut table, row.name, distribution(row.figures, number));
    }
    fitted(table)
}

fn totals(document: &ReportDocument) -> String {
    let all = &document.figures;
    let mut table = without_header();
    add_row(&mut table, "requests".into(), [all.requests.to_string()]);
    for it in failures::rows(all) {
        let name = it.part.map_or_else(|| format!("  {}", it.kind), |part| format!("    {part}"));
        add_row(&mut table, name, [it.count.to_string()]);
    }
    if all.retried > 0 {
        add_row(&mut table, "retried".into(), [all.retried.to_string()]);
    }
    for (name, count) in excluded(document) {
        add_row(&mut table, name.into(), [count.to_string()]);
    }
    add_row(&mut table, "duration".into(), [millis(all.duration_ms)]);
    for (name, rate) in rates(document) {
        add_row(&mut table, name, [rate]);
    }
    for (name, figure) in document.hardware.as_ref().map(|it| text::cost(it, &it.figures)).unwrap_or_default() {
        add_row(&mut table, name, [text::optional(figure, number)]);
    }
    fitted(table)
}

/// The launcher's own figures that have a bound.
fn trust(document: &ReportDocument) -> String {
    let bounded = text::trust(&document.self_judgement).into_iter().filter(|it| it.bound.is_some());
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

/// Caveats, one per line; `None` if there are none.
fn notes(document: &ReportDocument) -> Option<String> {
    let servers = document.server_metrics.iter().flat_map(|it| &it.remarks);
    let remarks = document.self_judgement.remarks.iter().chain(servers);
    let notes: Vec<String> = remarks.map(|it| format!("note: {}", one_line(it))).collect();
    (!notes.is_empty()).then(|| notes.join("\n"))
}

fn stages(document: &ReportDocument) -> String {
    let stages = &document.stages;
    // There is no room for everything: goals are more informative than the sent rate and the launcher's lag, which are in report.md.
    let goals = stages.iter().any(|it| it.figures.goodput.is_some());
    let paced = !goals && stages.iter().any(|it| it.achieved_requests_per_second.is_some());
    let mut header = vec!["stage", "requests", "failed or\ncancelled"];
    header.extend(paced.then_some("sent\n/s"));
    header.extend(["TTFT\np50", "TTFT\np99", "ITL\np99", "output\ntok/s"]);
    header.extend(goals.then_some(["goodput\n/s", "good\nshare"]).into_iter().flatten());
    header.extend((!goals).then_some("lag\np99"));
    let mut table = new_table(&header);
    for stage in stages {
        let it = &stage.figures;
        let mut row = vec![it.requests.to_string(), it.failed.saturating_add(it.cancelled).to_string()];
        row.extend(paced.then(|| text::optional(stage.achieved_requests_per_second, number)));
        row.extend([p50(it.ttft_ms.as_ref()), p99(it.ttft_ms.as_ref()), p99(it.itl_ms.as_ref())]);
        row.push(text::optional(it.throughput.as_ref(), |it| number(it.output_tokens_per_second)));
        if goals {
            let goodput = it.goodput.as_ref();
            row.push(text::optional(goodput.and_then(|it| it.goodput_requests_per_second), number));
            row.push(text::optional(goodput.and_then(|it| it.goodput_share), percent));
        } else {
            row.push(p99(it.send_lag_ms.as_ref()));
        }
        add_row(&mut table, one_line(&profiling::stage_name(stage)), row);
    }
    fitted(table)
}

/// The columns after the first: mean, p50, p90, p99, max and count.
fn distribution(it: &Statistics, show: fn(f64) -> String) -> [String; 6] {
    let marked = |value, permille| percentile(show(value), permille, it.count);
    [show(it.mean), marked(it.p50, 500), marked(it.p90, 900), marked(it.p99, 990), show(it.max), it.count.to_string()]
}
