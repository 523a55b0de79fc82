//! The headline figures as tiles: each figure with its interval, or why it has none.

use crds::wording::percent;
use document::{EstimateDocument, FiguresDocument, LatenciesDocument, ReportDocument, StageDocument, Statistics};
use serde::Serialize;

use crate::{
    table::cut,
    text::{self, NOTHING},
};

/// One figure, or one latency with its quantiles.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Tile {
    name: &'static str,
    value: String,
    /// Below the value.
    detail: String,
    rows: Vec<Row>,
    /// `bad` where it wants attention, else empty.
    tone: &'static str,
}

/// A quantile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Row {
    name: &'static str,
    value: String,
    interval: String,
}

/// The tiles of a run: of one load its figures, of several ones where the best and the worst stage stands.
pub(super) fn tiles(document: &ReportDocument) -> Vec<Tile> {
    match document.stages.as_slice() {
        [stage] => of_one(stage),
        stages => of_several(document, stages),
    }
}

fn of_one(stage: &StageDocument) -> Vec<Tile> {
    let (figures, sure) = (&stage.figures, &stage.uncertainty);
    let throughput = figures.throughput.as_ref();
    let why = sure.absent.as_deref();
    vec![
        goodput(figures, sure.good_requests_per_second.as_ref()),
        requests(
            stage,
            rate("Requests/s", throughput.map(|it| it.requests_per_second), sure.requests_per_second.as_ref(), why),
        ),
        rate(
            "Output tokens/s",
            throughput.map(|it| it.output_tokens_per_second),
            sure.output_tokens_per_second.as_ref(),
            why,
        ),
        errors(figures, sure.error_ratio.as_ref()),
        latency("TTFT", figures.ttft_ms.as_ref(), sure.ttft_ms.as_ref(), why),
        latency("TPOT", figures.tpot_ms.as_ref(), sure.tpot_ms.as_ref(), why),
        latency("ITL", figures.itl_ms.as_ref(), None, Some("pooled over the gaps of all requests")),
        latency("E2E latency", figures.latency_ms.as_ref(), sure.latency_ms.as_ref(), why),
    ]
}

/// Ranges over the valid stages, or over all stages if none is valid.
fn of_several(document: &ReportDocument, all: &[StageDocument]) -> Vec<Tile> {
    let valid: Vec<&StageDocument> = all.iter().filter(|it| it.invalid.is_empty()).collect();
    let stages = if valid.is_empty() { all.iter().collect() } else { valid };
    let which = if stages.len() < all.len() { " among valid stages" } else { "" };
    let most = |name, of: fn(&FiguresDocument) -> Option<f64>| {
        let found = stages.iter().filter_map(|it| Some((it, of(&it.figures)?)));
        let largest = found.reduce(|one, other| if other.1 > one.1 { other } else { one });
        let value = text::optional(largest.map(|it| it.1), text::number);
        let detail =
            largest.map_or_else(|| NOT_MEASURED.to_owned(), |it| format!("the most{which}: stage {}", it.0.name));
        Tile { name, value, detail: cut(&detail), rows: Vec::new(), tone: "" }
    };
    let span = |name, of: fn(&FiguresDocument) -> Option<&Statistics>| {
        let all: Vec<&Statistics> = stages.iter().filter_map(|it| of(&it.figures)).collect();
        let mut detail = match all.is_empty() {
            true => NOT_MEASURED.to_owned(),
            false => format!("from the fastest to the slowest stage{which}"),
        };
        let mut row = |name, fewest: u64, value: fn(&Statistics) -> f64| {
            // With fewer values it is the largest one.
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
        Tile { name, value: String::new(), detail, rows, tone: "" }
    };
    let mut good = most("Goodput/s", |it| it.goodput.as_ref()?.good_requests_per_second);
    if good.value == NOTHING {
        good.detail = NO_GOALS.to_owned();
    }
    vec![
        good,
        most("Requests/s", |it| Some(it.throughput.as_ref()?.requests_per_second)),
        most("Output tokens/s", |it| Some(it.throughput.as_ref()?.output_tokens_per_second)),
        errors(&document.figures, None),
        span("TTFT", |it| it.ttft_ms.as_ref()),
        span("TPOT", |it| it.tpot_ms.as_ref()),
        span("ITL", |it| it.itl_ms.as_ref()),
        span("E2E latency", |it| it.latency_ms.as_ref()),
    ]
}

const NOT_MEASURED: &str = "not measured";
const NO_GOALS: &str = "the profile sets no goals";

fn goodput(figures: &FiguresDocument, estimate: Option<&EstimateDocument>) -> Tile {
    let Some(goodput) = &figures.goodput else {
        return Tile {
            name: "Goodput/s",
            value: NOTHING.to_owned(),
            detail: NO_GOALS.to_owned(),
            rows: vec![],
            tone: "",
        };
    };
    let share = text::optional(goodput.good_share, percent);
    let interval = interval(estimate, text::numbers).map(|it| format!("{it}; ")).unwrap_or_default();
    Tile {
        name: "Goodput/s",
        value: text::optional(goodput.good_requests_per_second, text::number),
        detail: format!("{interval}{share} of the requests met every goal"),
        rows: Vec::new(),
        tone: "",
    }
}

fn rate(name: &'static str, value: Option<f64>, estimate: Option<&EstimateDocument>, why: Option<&str>) -> Tile {
    let detail = match value {
        None => NOT_MEASURED.to_owned(),
        Some(_) => interval(estimate, text::numbers).or_else(|| why.map(cut)).unwrap_or_default(),
    };
    Tile { name, value: text::optional(value, text::number), detail, rows: Vec::new(), tone: "" }
}

/// The rate with those that the stage asks for and that its requests left with.
fn requests(stage: &StageDocument, tile: Tile) -> Tile {
    let told = [("asked", stage.asked_requests_per_second), ("sent", stage.achieved_requests_per_second)];
    let row = |(name, value): (&'static str, Option<f64>)| {
        Some(Row { name, value: text::number(value?), interval: String::new() })
    };
    Tile { rows: told.into_iter().filter_map(row).collect(), ..tile }
}

fn errors(figures: &FiguresDocument, estimate: Option<&EstimateDocument>) -> Tile {
    let judged = figures.failed + figures.succeeded;
    let share = if judged == 0 { NOTHING.to_owned() } else { percent(figures.failed as f64 / judged as f64) };
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
    Tile { name: "Errors", value: share, detail, rows: Vec::new(), tone }
}

fn latency(
    name: &'static str,
    values: Option<&Statistics>,
    estimates: Option<&LatenciesDocument>,
    why: Option<&str>,
) -> Tile {
    let Some(values) = values else {
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
