//! The tables of stages: the overview at the top of the page, and the rates.

use crds::{benchmark_run::Stat, wording::percent};
use document::{EstimateDocument, ReportDocument, StageDocument};
use figures::{Figure, text::LARGEST};
use report::profiling::stage_name;
use workload_profiles::workload::Load;

use crate::{
    panels::LoadNames,
    run::{matrix, scale::Scale},
    table::{Cell, Table},
    text::{self, NOTHING},
};

/// A latency with the statistics that have their own columns.
type Shown = (Figure, &'static [Stat]);

const LATENCIES: [Shown; 4] = [
    (Figure::Ttft, &[Stat::P50, Stat::P90, Stat::P99]),
    (Figure::Itl, &[Stat::P99]),
    (Figure::Tpot, &[Stat::P50, Stat::P90]),
    (Figure::Latency, &[Stat::P50, Stat::P90]),
];

/// The table of each stage's figures with their intervals.
pub(crate) fn overview(document: &ReportDocument) -> Option<Table> {
    let caption = "Figures of each stage. Below a figure is its 95 % interval, if there are enough values. * marks a percentile that is the \
                   largest value. In brackets: the stage is not valid.";
    let loads = LoadNames::new(document);
    let has_goals = document.stages.iter().any(|it| it.figures.goodput.is_some());
    let has_failures = document.stages.iter().any(|it| it.figures.failed > 0);
    let mut table = Table::new("figures", "Figures", caption)
        .texts([loads.head.as_str()])
        .texts((loads.title == "Stage").then_some("Load"))
        .numbers(["Answers"])
        .numbers(has_failures.then_some("Failed (%)"))
        .figures([Figure::RequestsPerSecond, Figure::OutputTokensPerSecond])
        .figures(has_goals.then_some(Figure::GoodputRequestsPerSecond));
    let shown: Vec<(Shown, Scale)> = LATENCIES.iter().filter_map(|it| Some((*it, scale(document, it.0)?))).collect();
    for ((figure, stats), scale) in &shown {
        let name = format!("{} ({})", text::heading(*figure), scale.unit);
        table = table.group(&name, stats.iter().map(|it| it.name()));
    }
    let rows = document.stages.iter().zip(&loads.names);
    let rows = rows.map(|(stage, name)| {
        let mut row = vec![named(stage, name, &loads)];
        row.extend((loads.title == "Stage").then(|| Cell::from(load(stage))));
        let texts = row.len() + 1;
        row.push(text::count(stage.figures.succeeded).into());
        row.extend(has_failures.then(|| failed(stage)));
        row.extend([Figure::RequestsPerSecond, Figure::OutputTokensPerSecond].map(|it| rate(stage, it)));
        row.extend(has_goals.then(|| rate(stage, Figure::GoodputRequestsPerSecond)));
        row.extend(shown.iter().flat_map(|((figure, stats), scale)| {
            stats.iter().map(move |stat| quantile(stage, *figure, *stat, *scale))
        }));
        if !document.counts(stage) {
            row.iter_mut().skip(texts).for_each(in_brackets);
        }
        row.push(steady_cell(stage).into());
        row
    });
    table.texts(["Steady?"]).rows(rows).marked(matrix::best(document)).section().filled()
}

/// The unit for the columns of a latency. It is chosen for twice the longest median, because the other quantiles are usually longer than the median.
/// `None` if no stage has the latency.
fn scale(document: &ReportDocument, figure: Figure) -> Option<Scale> {
    let medians = document.stages.iter().filter_map(|it| it.figures.statistics(figure));
    let longest = medians.map(|it| it.p50).reduce(f64::max)?;
    Some(Scale::new("ms", 2.0 * longest))
}

/// The first cell of a row: the load of the stage, and below it the name of the stage.
fn named(stage: &StageDocument, load: &str, loads: &LoadNames) -> Cell {
    let mut below: Vec<&str> = Vec::new();
    below.extend((loads.title != "Stage").then_some(stage.name.as_str()));
    below.extend(stage.profiled.then_some("profiled"));
    below.extend((!stage.invalid.is_empty()).then_some("not valid"));
    Cell { text: load.to_owned(), small: below.join(", "), ..Cell::default() }
}

fn in_brackets(cell: &mut Cell) {
    if cell.text != NOTHING {
        cell.text = format!("({})", cell.text);
    }
}

fn failed(stage: &StageDocument) -> Cell {
    let estimate = stage.uncertainty.error_ratio.as_ref();
    with_interval(stage.figures.number(Figure::ErrorRatio), estimate, Scale::new("share", 0.0))
}

fn rate(stage: &StageDocument, figure: Figure) -> Cell {
    let estimate = stage.uncertainty.estimate(figure);
    with_interval(stage.figures.number(figure), estimate, Scale::new("perSecond", 0.0))
}

fn with_interval(value: Option<f64>, estimate: Option<&EstimateDocument>, scale: Scale) -> Cell {
    Cell {
        text: text::optional(value, |it| scale.measured(it)),
        small: estimate.and_then(EstimateDocument::interval).map_or_else(String::new, |it| scale.interval(it)),
        ..Cell::default()
    }
}

fn quantile(stage: &StageDocument, figure: Figure, stat: Stat, scale: Scale) -> Cell {
    let values = stage.figures.statistics(figure);
    let estimate = stage.uncertainty.latencies(figure).and_then(|it| it.get(stat));
    let mut cell = with_interval(values.map(|it| it.get(stat)), estimate, scale);
    if values.zip(stat.fewest_values()).is_some_and(|(values, fewest)| values.count < fewest) {
        cell.text.push_str(LARGEST);
    }
    cell
}

/// Whether the stage was steady, in a few words.
fn steady_cell(stage: &StageDocument) -> String {
    let sure = &stage.uncertainty;
    let state = sure.steady_state.as_ref().map(|it| steady_in_short(&it.status, &it.verdict).to_owned());
    match (&stage.not_run, state, &sure.absent) {
        (Some(why), ..) => format!("not run: {why}"),
        (None, Some(state), _) => state,
        (None, None, absent) => absent.clone().unwrap_or_default(),
    }
}

/// The load in a few words.
fn load(stage: &StageDocument) -> String {
    match (&stage.load, stage.asked_requests_per_second) {
        (Load::Closed { concurrency, .. }, _) => format!("concurrency\u{a0}{concurrency}"),
        (_, Some(rate)) => format!("{}\u{a0}requests/s", text::number(rate)),
        (Load::Burst { count, .. }, _) => format!("{} at the start", text::plural(*count, "request")),
        (Load::Trace { speed, .. }, _) => format!("a trace at speed {}", text::number(*speed)),
        (Load::Users { users, .. }, _) => text::plural(u64::from(*users), "user"),
        (Load::LoadGen { scenario, .. }, _) => format!("LoadGen {}", scenario.name()),
        (Load::Open { .. }, _) => "a varying rate".to_owned(),
    }
}

/// The steady-state verdict in words.
fn steady_words(status: &str, verdict: &str) -> &'static str {
    match (status, verdict) {
        ("insufficientSamples", _) => "not judged: less than 200 answers after the warm-up",
        ("insufficientDuration", _) => "not judged: shorter than ten times the median latency after the warm-up",
        (_, "steady") => "steady",
        (_, "driftingUp") => "drifting up",
        (_, "driftingDown") => "drifting down",
        (_, "anomaly") => "not steady: parts lie far from the rest",
        _ => "too unsteady to see a drift: no steady state was found",
    }
}

fn steady_in_short(status: &str, verdict: &str) -> &'static str {
    match (status, verdict) {
        ("insufficientSamples", _) => "too few answers",
        ("insufficientDuration", _) => "stage too short",
        (_, "anomaly") => "no",
        (_, "steady") => "yes",
        (_, "driftingUp" | "driftingDown") => steady_words(status, verdict),
        _ => "not found",
    }
}

/// The table of requested, sent and answered rates.
pub(crate) fn rates(document: &ReportDocument) -> Table {
    let caption = "Counts and rates of each stage, without the requests of its warm-up and cool-down.";
    let table = Table::new("rates", "Load, rates and lengths", caption)
        .texts(["Stage", "Clock"])
        .numbers(["Duration", "Asked/s", "Sent/s"])
        .figures([Figure::RequestsPerSecond])
        .numbers(["With fill and drain"])
        .figures([Figure::InputTokensPerSecond, Figure::OutputTokensPerSecond, Figure::TotalTokensPerSecond])
        .numbers(["Median 1/TPOT"])
        .numbers([Figure::Isl, Figure::Osl].map(|it| text::heading_of(it, Stat::Mean)))
        .figures([Figure::CachedShare]);
    table.rows(document.stages.iter().map(|stage| {
        let it = &stage.figures;
        let number = |of| text::optional(it.number(of), text::number);
        let mean = |of| text::optional(it.statistics(of).map(|it| it.mean), text::number);
        vec![
            stage_name(stage),
            stage.clock.clone(),
            text::time(it.duration_ms),
            text::optional(stage.asked_requests_per_second, text::number),
            text::optional(stage.achieved_requests_per_second, text::number),
            number(Figure::RequestsPerSecond),
            text::optional(it.whole_throughput.as_ref().map(|it| it.requests_per_second), text::number),
            number(Figure::InputTokensPerSecond),
            number(Figure::OutputTokensPerSecond),
            number(Figure::TotalTokensPerSecond),
            number(Figure::MedianOfInverseTpot),
            mean(Figure::Isl),
            mean(Figure::Osl),
            text::optional(it.cached_share, percent),
        ]
    }))
}

/// The table on steady states and Little's law.
pub(crate) fn steady(document: &ReportDocument) -> Table {
    let caption = "Whether figures drifted while they were measured. Little's law: requests in flight = throughput x time per request; if a queue \
                   grows, the residual is above 0.";
    let table = Table::new("steady", "Steady state and Little's law", caption)
        .texts(["Stage", "Steady state"])
        .numbers(["Judged from", "to", "Requests in flight", "Throughput x time", "Residual"]);
    table.rows(document.stages.iter().map(|stage| {
        let it = &stage.uncertainty;
        let state = it.steady_state.as_ref();
        let window = state.and_then(|it| it.window.as_ref());
        let law = it.littles_law.as_ref();
        let words = state.map(|it| steady_words(&it.status, &it.verdict).to_owned());
        vec![
            stage.name.clone(),
            words.or_else(|| it.absent.clone()).unwrap_or_else(|| NOTHING.to_owned()),
            text::optional(window, |it| text::time(it.from_ms)),
            text::optional(window, |it| text::time(it.to_ms)),
            text::optional(law, |it| text::number(it.mean_concurrency)),
            text::optional(law, |it| text::number(it.ended_per_second * it.mean_time_ms / 1e3)),
            text::optional(law, |it| text::signed_percent(it.residual)),
        ]
    }))
}
