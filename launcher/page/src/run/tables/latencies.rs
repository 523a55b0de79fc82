//! Every latency of every stage, and how sure it is.

use document::{
    EstimateDocument, FiguresDocument, LatenciesDocument, ReportDocument, Section, StageDocument, Statistics,
};

use crate::{
    table::Table,
    text::{self, NOTHING},
};

type Pick = fn(&FiguresDocument) -> &Option<Statistics>;

/// The headline figures first: a run of many stages has more rows than a table shows.
const LATENCIES: [(&str, Pick); 10] = [
    ("TTFT", |it| &it.ttft_ms),
    ("Latency", |it| &it.latency_ms),
    ("TPOT", |it| &it.tpot_ms),
    ("ITL", |it| &it.itl_ms),
    ("NTPOT", |it| &it.ntpot_ms),
    ("NTPOT as in llm-d", |it| &it.ntpot_of_llmd_ms),
    ("Send lag", |it| &it.send_lag_ms),
    ("TTFT from sent", |it| &it.ttft_sent_ms),
    ("Latency from sent", |it| &it.latency_sent_ms),
    ("Wait for a permit", |it| &it.permit_wait_ms),
];

pub(super) fn table(document: &ReportDocument) -> Table {
    let caption = "Of the requests that succeeded. * marks a percentile that is the largest value: p90 needs 10 values, p95 20, p99 100, \
                   p99.9 1,000.";
    let table = Table::new("latencies", "Latencies", caption)
        .texts(["Latency", "Stage"])
        .numbers(["Values", "Mean", "p50", "p90", "p95", "p99", "p99.9", "Max"]);
    let rows = LATENCIES.iter().flat_map(|(name, of)| document.stages.iter().filter_map(|it| row(name, *of, it)));
    table.rows(rows)
}

/// `None` if the stage has no such latency, or if the same values stand in another row.
fn row(name: &str, of: Pick, stage: &StageDocument) -> Option<Vec<String>> {
    // A closed loop has one clock: its latencies count from sending.
    if stage.clock == "sent" && name.ends_with("from sent") {
        return None;
    }
    let it = of(&stage.figures).as_ref()?;
    let quantile = |value: f64, fewest: u64| {
        let mark = if it.count < fewest { "*" } else { "" };
        format!("{}{mark}", text::time(value))
    };
    Some(vec![
        name.to_owned(),
        stage.name.clone(),
        text::count(it.count),
        text::time(it.mean),
        quantile(it.p50, 2),
        quantile(it.p90, 10),
        quantile(it.p95, 20),
        quantile(it.p99, 100),
        quantile(it.p99p9, 1_000),
        text::time(it.max),
    ])
}

/// Figures with their intervals, of the whole stage and of its steady window.
pub(super) fn sureness(document: &ReportDocument) -> Table {
    let caption = "Intervals come from the variation within this run: 95 of 100 such intervals hold the true value. Another run may differ by \
                   more. Requests that depend on each other count as fewer effective values.";
    let table = Table::of(Section::Sureness, caption).texts(["Figure", "Stage"]).numbers([
        "Value",
        "95 % interval",
        "Effective values",
        "In the steady window",
    ]);
    table.rows(document.stages.iter().flat_map(sure_rows))
}

/// How values of one kind are written: one of them, and two ends of an interval.
#[derive(Clone, Copy)]
struct Kind {
    one: fn(f64) -> String,
    ends: fn(f64, f64) -> String,
}

const TIME: Kind = Kind { one: text::time, ends: text::times };
const RATE: Kind = Kind { one: text::number, ends: text::numbers };

type Estimates = fn(&LatenciesDocument) -> &Option<EstimateDocument>;

const ESTIMATES: [(&str, Estimates); 4] =
    [("mean", |it| &it.mean), ("p50", |it| &it.p50), ("p90", |it| &it.p90), ("p99", |it| &it.p99)];

fn sure_rows(stage: &StageDocument) -> Vec<Vec<String>> {
    let it = &stage.uncertainty;
    let window = it.steady_state.as_ref().and_then(|it| it.window.as_ref());
    let mut rows = Vec::new();
    let latencies = [
        ("TTFT", &it.ttft_ms, window.and_then(|it| it.ttft_ms.as_ref())),
        ("TPOT", &it.tpot_ms, window.and_then(|it| it.tpot_ms.as_ref())),
        ("Latency", &it.latency_ms, window.and_then(|it| it.latency_ms.as_ref())),
    ];
    for (name, whole, window) in latencies {
        let Some(whole) = whole else { continue };
        for (stat, of) in ESTIMATES {
            let Some(estimate) = of(whole) else { continue };
            let steady = window.map(|it| match &it.withheld {
                Some(state) => format!("none: {state}"),
                None => of(it).as_ref().map_or_else(|| NOTHING.to_owned(), |it| with_interval(it, TIME)),
            });
            rows.push(sure_row(stage, &format!("{name} {stat}"), estimate, steady, TIME));
        }
    }
    let rates = [
        ("Requests/s", &it.requests_per_second, window.and_then(|it| it.requests_per_second.as_ref())),
        ("Output tokens/s", &it.output_tokens_per_second, window.and_then(|it| it.output_tokens_per_second.as_ref())),
    ];
    for (name, whole, window) in rates {
        let Some(estimate) = whole else { continue };
        let steady = window.map(|it| with_interval(it, RATE));
        rows.push(sure_row(stage, name, estimate, steady, RATE));
    }
    rows
}

fn sure_row(
    stage: &StageDocument,
    name: &str,
    estimate: &EstimateDocument,
    steady: Option<String>,
    kind: Kind,
) -> Vec<String> {
    let interval = match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => (kind.ends)(low.max(0.0), high),
        _ => "too few".to_owned(),
    };
    vec![
        name.to_owned(),
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
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => format!("{value} ({})", (kind.ends)(low.max(0.0), high)),
        _ => value,
    }
}
