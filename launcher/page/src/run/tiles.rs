//! The headline figures as tiles: each figure with its interval, or why it has none.

use crds::wording::percent;
use document::{EstimateDocument, FiguresDocument, LatenciesDocument, ReportDocument, StageDocument, Statistics};
use figures::Figure;
use serde::Serialize;

use crate::{
    table::cut,
    text::{self, NOTHING},
};

/// One figure, or one latency with its quantiles.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Tile {
    name: String,
    value: String,
    /// Below the value.
    detail: String,
    rows: Vec<Row>,
    /// `bad` if it needs attention, otherwise empty.
    tone: &'static str,
}

/// A quantile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Row {
    name: &'static str,
    value: String,
    interval: String,
}

/// The tiles of a run: the figures of a single load; for several loads, the best and the worst stage.
pub(super) fn tiles(document: &ReportDocument) -> Vec<Tile> {
    match document.stages.as_slice() {
        [stage] => of_one(stage),
        stages => of_several(document, stages),
    }
}

fn of_one(stage: &StageDocument) -> Vec<Tile> {
    let (figures, sure) = (&stage.figures, &stage.uncertainty);
    let why = sure.absent.as_deref();
    vec![
        goodput(figures, sure.estimate(Figure::GoodputRequestsPerSecond)),
        requests(stage, rate(Figure::RequestsPerSecond, stage)),
        rate(Figure::OutputTokensPerSecond, stage),
        errors(figures, sure.estimate(Figure::ErrorRatio)),
        latency(Figure::Ttft, stage, why),
        latency(Figure::Tpot, stage, why),
        latency(Figure::Itl, stage, Some("pooled over the gaps of all requests")),
        latency(Figure::Latency, stage, why),
    ]
}

/// Ranges over the valid stages, or over all stages if none is valid.
fn of_several(document: &ReportDocument, all: &[StageDocument]) -> Vec<Tile> {
    let valid: Vec<&StageDocument> = all.iter().filter(|it| it.invalid.is_empty()).collect();
    let stages = if valid.is_empty() { all.iter().collect() } else { valid };
    let which = if stages.len() < all.len() { " among valid stages" } else { "" };
    let mut good = most(Figure::GoodputRequestsPerSecond, &stages, which);
    if good.value == NOTHING {
        good.detail = NO_GOALS.to_owned();
    }
    vec![
        good,
        most(Figure::RequestsPerSecond, &stages, which),
        most(Figure::OutputTokensPerSecond, &stages, which),
        errors(&document.figures, None),
        span(Figure::Ttft, &stages, which),
        span(Figure::Tpot, &stages, which),
        span(Figure::Itl, &stages, which),
        span(Figure::Latency, &stages, which),
    ]
}

/// The stage with the maximum of a figure.
fn most(figure: Figure, stages: &[&StageDocument], which: &str) -> Tile {
    let found = stages.iter().filter_map(|it| Some((it, it.figures.number(figure)?)));
    let largest = found.reduce(|one, other| if other.1 > one.1 { other } else { one });
    let value = text::optional(largest.map(|it| it.1), text::number);
    let detail = largest.map_or_else(|| NOT_MEASURED.to_owned(), |it| format!("the most{which}: stage {}", it.0.name));
    Tile { name: text::heading(figure), value, detail: cut(&detail), rows: Vec::new(), tone: "" }
}

/// The range of a figure, from the lowest to the highest stage.
fn span(figure: Figure, stages: &[&StageDocument], which: &str) -> Tile {
    let all: Vec<&Statistics> = stages.iter().filter_map(|it| it.figures.statistics(figure)).collect();
    let mut detail = match all.is_empty() {
        true => NOT_MEASURED.to_owned(),
        false => format!("from the fastest to the slowest stage{which}"),
    };
    let mut row = |name, fewest: u64, value: fn(&Statistics) -> f64| {
        // With fewer values, the quantile is the largest value.
        let values: Vec<f64> = all.iter().filter(|it| it.count >= fewest).map(|it| value(it)).collect();
        if values.len() < all.len() {
            let with = if values.is_empty() {
                "no stage has".to_owned()
            } else {
                format!("{} of {} have", values.len(), all.len())
            };
            detail.push_str(&format!("; {name} needs {fewest} values, which {with}"));
        }
        let ends = values.iter().copied().reduce(f64::min).zip(values.iter().copied().reduce(f64::max));
        ends.map(|(low, high)| Row { name, value: text::times(low, high), interval: String::new() })
    };
    let rows = [row("p50", 2, |it| it.p50), row("p99", 100, |it| it.p99)].into_iter().flatten().collect();
    Tile { name: text::heading(figure), value: String::new(), detail, rows, tone: "" }
}

const NOT_MEASURED: &str = "not measured";
const NO_GOALS: &str = "the profile sets no goals";

fn goodput(figures: &FiguresDocument, estimate: Option<&EstimateDocument>) -> Tile {
    let name = text::heading(Figure::GoodputRequestsPerSecond);
    let Some(goodput) = &figures.goodput else {
        return Tile { name, value: NOTHING.to_owned(), detail: NO_GOALS.to_owned(), rows: vec![], tone: "" };
    };
    let share = text::optional(goodput.goodput_share, percent);
    let interval = interval(estimate, text::numbers).map(|it| format!("{it}; ")).unwrap_or_default();
    Tile {
        name,
        value: text::optional(goodput.goodput_requests_per_second, text::number),
        detail: format!("{interval}{share} of the requests met every goal"),
        rows: Vec::new(),
        tone: "",
    }
}

fn rate(figure: Figure, stage: &StageDocument) -> Tile {
    let (value, sure) = (stage.figures.number(figure), &stage.uncertainty);
    let detail = match value {
        None => NOT_MEASURED.to_owned(),
        Some(_) => interval(sure.estimate(figure), text::numbers)
            .or_else(|| sure.absent.as_deref().map(cut))
            .unwrap_or_default(),
    };
    let value = text::optional(value, text::number);
    Tile { name: text::heading(figure), value, detail, rows: Vec::new(), tone: "" }
}

/// The rate of answers, with the requested rate and the rate at which requests were sent.
fn requests(stage: &StageDocument, tile: Tile) -> Tile {
    let told = [("asked", stage.asked_requests_per_second), ("sent", stage.achieved_requests_per_second)];
    let row = |(name, value): (&'static str, Option<f64>)| {
        Some(Row { name, value: text::number(value?), interval: String::new() })
    };
    Tile { rows: told.into_iter().filter_map(row).collect(), ..tile }
}

fn errors(figures: &FiguresDocument, estimate: Option<&EstimateDocument>) -> Tile {
    let judged = figures.decided();
    let share = text::optional(figures.number(Figure::ErrorRatio), percent);
    let mut detail = format!("{} of {} requests failed", text::count(figures.failed), text::count(judged));
    if let Some(interval) = interval(estimate, text::percents) {
        detail = format!("{interval}; {detail}");
    }
    for (name, count) in
        [("cancelled", figures.cancelled), ("abandoned", figures.abandoned), ("incomplete", figures.incomplete)]
    {
        if count > 0 {
            detail.push_str(&format!(", {} {name}", text::count(count)));
        }
    }
    let tone = if figures.failed > 0 { "bad" } else { "" };
    Tile { name: text::heading(Figure::ErrorRatio), value: share, detail, rows: Vec::new(), tone }
}

fn latency(figure: Figure, stage: &StageDocument, why: Option<&str>) -> Tile {
    let name = text::heading(figure);
    let estimates = stage.uncertainty.latencies(figure);
    let Some(values) = stage.figures.statistics(figure) else {
        return Tile { name, value: String::new(), detail: NOT_MEASURED.to_owned(), rows: Vec::new(), tone: "" };
    };
    let mut without: Vec<&str> = Vec::new();
    let mut row = |name, value: f64, fewest: u64, of: fn(&LatenciesDocument) -> Option<&EstimateDocument>| {
        let estimate = estimates.and_then(of).and_then(|it| Some(text::times(it.low?.max(0.0), it.high?)));
        let interval = match estimate {
            _ if values.count < fewest => "the largest value".to_owned(),
            Some(interval) => interval,
            None => {
                without.push(name);
                String::new()
            }
        };
        Row { name, value: text::time(value), interval }
    };
    let rows = vec![
        row("p50", values.p50, 2, |it| it.p50.as_ref()),
        row("p90", values.p90, 10, |it| it.p90.as_ref()),
        row("p99", values.p99, 100, |it| it.p99.as_ref()),
    ];
    let reason = match (estimates, why) {
        (None, Some(why)) => format!("; no intervals: {why}"),
        (Some(_), _) if !without.is_empty() => {
            format!("; too few independent ones for an interval of {}", without.join(", "))
        }
        _ => String::new(),
    };
    let detail = cut(&format!("{}{reason}", text::plural(values.count, "value")));
    Tile { name, value: String::new(), detail, rows, tone: "" }
}

/// The interval of a figure, or why there is none.
fn interval(estimate: Option<&EstimateDocument>, show: fn(f64, f64) -> String) -> Option<String> {
    let estimate = estimate?;
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => Some(show(low.max(0.0), high)),
        _ => Some("too few values for an interval".to_owned()),
    }
}
