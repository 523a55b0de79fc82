//! The figures of a run with one stage, and the request counts of every run.

use crds::wording::one_line;
use document::{ReportDocument, Section, Statistics};
use figures::Figure;
use measurement::record::RequestOutcome;

use super::{
    lines::{WIDTH, indented},
    stages,
};
use crate::{
    failures,
    paint::Paint,
    text::{self, excluded, latencies, lengths, millis, number, percentile, rates},
    text_table::{Cell, add_row, new_table},
};

/// With one stage: its distributions, the legend of marks, request counts and rates. With several stages: only the legend and the counts.
pub(super) fn parts(document: &ReportDocument, paint: Paint) -> Vec<String> {
    let all_count = document.stages.iter().all(|it| document.counts(it));
    let several = Section::Stages.is_in(document);
    let table = if several { stages::table(document, Paint::OFF) } else { distributions(document, all_count, paint) };
    let legend = text::has_marks(&table).then(|| format!("* {}", text::LARGEST_MEANS));
    let brackets = (!all_count).then(|| BRACKETS.to_owned());
    let signs = (several && table.contains(['\u{2717}', '?'])).then(|| SIGNS.to_owned());
    let rates = (!several).then(|| rates_line(document)).flatten();
    let lines: Vec<String> =
        legend.into_iter().chain(signs).chain(brackets).chain([counts(document)]).chain(rates).collect();
    (!several).then_some(table).into_iter().chain([lines.join("\n")]).collect()
}

const SIGNS: &str = "\u{2717} misses an objective, ? undecided";
const BRACKETS: &str = "(values in brackets are not valid)";

fn distributions(document: &ReportDocument, is_valid: bool, paint: Paint) -> String {
    let mut table = new_table(&["", "mean", "p50", "p90", "p99", "max", "count"]);
    for row in latencies(document) {
        let is_decisive = matches!(row.figure, Figure::Ttft | Figure::Itl);
        add_row(&mut table, row.name, distribution(row.figures, millis, is_decisive, is_valid));
    }
    for row in lengths(document) {
        add_row(&mut table, row.name, distribution(row.figures, number, false, is_valid));
    }
    table.painted(WIDTH, paint)
}

/// The columns after the first: mean, p50, p90, p99, max and count.
fn distribution(it: &Statistics, show: fn(f64) -> String, is_decisive: bool, is_valid: bool) -> Vec<Cell> {
    let marked = |value, permille| percentile(show(value), permille, it.count);
    let value = |text| stages::value(text, false, is_valid);
    vec![
        value(show(it.mean)),
        value(marked(it.p50, 500)),
        value(marked(it.p90, 900)),
        stages::value(marked(it.p99, 990), is_decisive, is_valid),
        value(show(it.max)),
        it.count.to_string().into(),
    ]
}

/// A text, followed by details in brackets.
type Item = (String, Vec<String>);

fn joined(items: &[Item], separator: &str) -> String {
    let item = |(text, details): &Item| match details.is_empty() {
        true => text.clone(),
        false => format!("{text} ({})", details.join(", ")),
    };
    items.iter().map(item).collect::<Vec<_>>().join(separator)
}

/// The requests by outcome, on one line if possible.
fn counts(document: &ReportDocument) -> String {
    let all = &document.figures;
    let mut kinds: Vec<Item> = vec![(format!("{} ok", all.succeeded), Vec::new())];
    for it in failures::rows(all) {
        match (it.part, kinds.last_mut()) {
            (Some(part), Some((_, details))) => details.push(format!("{part} {}", it.count)),
            _ => kinds.push((format!("{} {}", it.count, it.kind), meaning(&it.kind))),
        }
    }
    let retried = (all.retried > 0).then(|| format!("{} retried", all.retried));
    let excluded = excluded(document).into_iter().map(|(name, count)| format!("{count} {name}"));
    let also: String = retried.into_iter().chain(excluded).map(|it| format!("; {it}")).collect();
    let duration = millis(all.duration_ms);
    indented(&format!("{} requests in {duration}: {}{also}", all.requests, joined(&kinds, ", ")), usize::MAX)
}

/// Explains a kind of outcome if its name is not clear by itself.
fn meaning(kind: &str) -> Vec<String> {
    let is_incomplete = kind == RequestOutcome::Incomplete.name();
    is_incomplete.then(|| "their stage ended".to_owned()).into_iter().collect()
}

/// The line with rates and costs. Each has its details in brackets.
fn rates_line(document: &ReportDocument) -> Option<String> {
    let cost = document.hardware.as_ref().map(|it| text::cost(it, &it.figures)).unwrap_or_default();
    let cost = cost.into_iter().map(|(name, figure)| (name, text::optional(figure, number)));
    let mut items: Vec<Item> = Vec::new();
    for (name, rate) in rates(document).into_iter().chain(cost) {
        match (name.strip_prefix("  "), items.last_mut()) {
            (Some(detail), Some((_, details))) => details.push(format!("{detail} {rate}")),
            _ => items.push((format!("{name} {rate}"), Vec::new())),
        }
    }
    (!items.is_empty()).then(|| indented(&one_line(&joined(&items, "; ")), usize::MAX))
}
