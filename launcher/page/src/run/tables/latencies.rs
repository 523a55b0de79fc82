//! The tables of every stage's latencies and of their uncertainty.

use crds::benchmark_run::Stat;
use document::{EstimateDocument, ReportDocument, Section, StageDocument};
use figures::Figure;

use crate::{
    table::Table,
    text::{self, NOTHING},
};

/// The latencies in the order of the rows. Headline figures come first, because the rows of many stages can exceed the maximum, and the last ones are
/// left out.
const LATENCIES: [Figure; 10] = [
    Figure::Ttft,
    Figure::Latency,
    Figure::Tpot,
    Figure::Itl,
    Figure::Ntpot,
    Figure::NtpotOfLlmd,
    Figure::SendLag,
    Figure::TtftSent,
    Figure::LatencySent,
    Figure::PermitWait,
];

pub(crate) fn table(document: &ReportDocument) -> Table {
    let caption = "Latencies of successful requests. * marks a percentile that is the largest value: p90 needs 10 values, p95 20, p99 100, \
                   p99.9 1,000.";
    let table = Table::new("latencies", "Latencies", caption)
        .texts(["Latency", "Stage"])
        .numbers(["Values", "Mean", "p50", "p90", "p95", "p99", "p99.9", "Max"]);
    let rows = LATENCIES.into_iter().flat_map(|of| document.stages.iter().filter_map(move |it| row(of, it)));
    table.rows(rows)
}

/// A row; `None` if the stage does not have this latency, or if another row has the same values.
fn row(figure: Figure, stage: &StageDocument) -> Option<Vec<String>> {
    // In a closed loop all latencies count from sending, so these rows would repeat the headline rows.
    if stage.clock == "sent" && matches!(figure, Figure::TtftSent | Figure::LatencySent) {
        return None;
    }
    let it = stage.figures.statistics(figure)?;
    let quantile = |value, permille| text::percentile(text::time(value), permille, it.count);
    Some(vec![
        text::heading(figure),
        stage.name.clone(),
        text::count(it.count),
        text::time(it.mean),
        quantile(it.p50, 500),
        quantile(it.p90, 900),
        quantile(it.p95, 950),
        quantile(it.p99, 990),
        quantile(it.p99p9, 999),
        text::time(it.max),
    ])
}

/// The table of figures with their intervals, for the whole stage and for its steady window.
pub(crate) fn sureness(document: &ReportDocument) -> Table {
    let caption = "Intervals come from the variation within this run: 95 of 100 such intervals contain the true value. Another run may differ by \
                   more. Requests that depend on each other count as fewer effective values.";
    let table = Table::of(Section::Sureness, caption).texts(["Figure", "Stage"]).numbers([
        "Value",
        "95 % interval",
        "Effective values",
        "In the steady window",
    ]);
    table.rows(document.stages.iter().flat_map(sure_rows))
}

/// How to format a value and an interval of one kind.
#[derive(Clone, Copy)]
struct Kind {
    one: fn(f64) -> String,
    ends: fn(f64, f64) -> String,
}

const TIME: Kind = Kind { one: text::time, ends: text::times };
const RATE: Kind = Kind { one: text::number, ends: text::numbers };

fn sure_rows(stage: &StageDocument) -> Vec<Vec<String>> {
    let it = &stage.uncertainty;
    let window = it.steady_state.as_ref().and_then(|it| it.window.as_ref());
    let mut rows = Vec::new();
    for figure in [Figure::Ttft, Figure::Tpot, Figure::Itl, Figure::Latency] {
        let Some(whole) = it.latencies(figure) else { continue };
        let window = window.and_then(|it| it.latencies(figure));
        for stat in [Stat::Mean, Stat::P50, Stat::P90, Stat::P99] {
            let Some(estimate) = whole.get(stat) else { continue };
            let steady = window.map(|it| match &it.withheld {
                Some(state) => format!("none: {state}"),
                None => text::optional(it.get(stat), |it| with_interval(it, TIME)),
            });
            rows.push(sure_row(stage, text::heading_of(figure, stat), estimate, steady, TIME));
        }
    }
    for figure in [Figure::RequestsPerSecond, Figure::OutputTokensPerSecond] {
        let Some(estimate) = it.estimate(figure) else { continue };
        let steady = window.and_then(|it| it.estimate(figure)).map(|it| with_interval(it, RATE));
        rows.push(sure_row(stage, text::heading(figure), estimate, steady, RATE));
    }
    rows
}

fn sure_row(
    stage: &StageDocument,
    name: String,
    estimate: &EstimateDocument,
    steady: Option<String>,
    kind: Kind,
) -> Vec<String> {
    let interval = estimate.interval().map_or_else(|| "too few".to_owned(), |(low, high)| (kind.ends)(low, high));
    vec![
        name,
        stage.name.clone(),
        text::optional(estimate.value, kind.one),
        interval,
        text::optional(estimate.effective_values, |it| text::number(it.floor())),
        steady.unwrap_or_else(|| NOTHING.to_owned()),
    ]
}

fn with_interval(estimate: &EstimateDocument, kind: Kind) -> String {
    if let Some(state) = &estimate.withheld {
        return format!("none: {state}");
    }
    let value = text::optional(estimate.value, kind.one);
    match estimate.interval() {
        Some((low, high)) => format!("{value} ({})", (kind.ends)(low, high)),
        None => value,
    }
}
