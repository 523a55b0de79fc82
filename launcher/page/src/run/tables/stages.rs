//! The stages: the table of the first screen, and their rates.

use crds::{benchmark_run::Stat, wording::percent};
use document::{EstimateDocument, LatenciesDocument, ReportDocument, Section, StageDocument, Statistics};
use figures::Figure;
use workload_profiles::workload::Load;

use crate::{
    table::Table,
    text::{self, NOTHING},
};

/// The latencies of the first screen.
const LATENCIES: [Figure; 3] = [Figure::Ttft, Figure::Tpot, Figure::Latency];

/// The headline figures of each stage with their intervals.
pub(crate) fn overview(document: &ReportDocument) -> Option<Table> {
    let caption = "Figures of each stage; in brackets the 95 % interval, where there are values enough. * marks a percentile that is the \
                   largest value. The stages together are no load of their own.";
    let has_goals = document.stages.iter().any(|it| it.figures.goodput.is_some());
    let table = Table::of(Section::Stages, caption)
        .texts(["Stage", "Load"])
        .numbers(["Requests"])
        .figures([Figure::ErrorRatio, Figure::RequestsPerSecond, Figure::OutputTokensPerSecond])
        .figures(has_goals.then_some(Figure::GoodputRequestsPerSecond))
        .numbers(LATENCIES.iter().flat_map(|of| [Stat::P50, Stat::P99].map(|it| text::heading_of(*of, it))))
        .texts(["Steady state"]);
    table.rows(document.stages.iter().map(|it| row(it, has_goals))).filled()
}

/// The name of a stage, with a mark if a profiler affects its figures.
fn name(stage: &StageDocument) -> String {
    match (stage.profiled, stage.invalid.is_empty()) {
        (true, _) => format!("{} (profiled)", stage.name),
        (false, false) => format!("{} (not valid)", stage.name),
        (false, true) => stage.name.clone(),
    }
}

fn row(stage: &StageDocument, has_goals: bool) -> Vec<String> {
    let (it, sure) = (&stage.figures, &stage.uncertainty);
    let number = |of| text::optional(it.number(of), text::number);
    let mut row = vec![
        name(stage),
        load(stage),
        text::count(it.requests),
        text::optional(it.number(Figure::ErrorRatio), percent),
        number(Figure::RequestsPerSecond),
        number(Figure::OutputTokensPerSecond),
    ];
    if has_goals {
        row.push(number(Figure::GoodputRequestsPerSecond));
    }
    for figure in LATENCIES {
        let (values, sure) = (it.statistics(figure), sure.latencies(figure));
        row.push(quantile(values, |it| it.p50, 500, sure, |it| it.p50.as_ref()));
        row.push(quantile(values, |it| it.p99, 990, sure, |it| it.p99.as_ref()));
    }
    let state = sure.steady_state.as_ref().map(|it| steady_in_short(&it.status, &it.verdict).to_owned());
    row.push(match (&stage.not_run, state, &sure.absent) {
        (Some(why), ..) => format!("not run: {why}"),
        (None, Some(state), _) => state,
        (None, None, absent) => absent.clone().unwrap_or_default(),
    });
    row
}

fn quantile(
    values: Option<&Statistics>,
    value: fn(&Statistics) -> f64,
    permille: u64,
    estimates: Option<&LatenciesDocument>,
    estimate: fn(&LatenciesDocument) -> Option<&EstimateDocument>,
) -> String {
    let Some(values) = values else { return NOTHING.to_owned() };
    let interval = estimates.and_then(estimate).and_then(|it| Some((it.low?, it.high?)));
    // The interval is on its own line.
    let interval = interval.map(|(low, high)| format!(" ({})", text::times(low, high).replace(' ', "\u{a0}")));
    text::percentile(text::time(value(values)), permille, values.count) + &interval.unwrap_or_default()
}

/// The load in a few words.
fn load(stage: &StageDocument) -> String {
    match (&stage.load, stage.asked_requests_per_second) {
        (Load::Closed { concurrency, .. }, _) => format!("{concurrency}\u{a0}at once"),
        (_, Some(rate)) => format!("{}\u{a0}requests/s", text::number(rate)),
        (Load::Burst { count, .. }, _) => format!("{} at the start", text::plural(*count, "request")),
        (Load::Trace { speed, .. }, _) => format!("a trace at speed {}", text::number(*speed)),
        (Load::Users { users, .. }, _) => text::plural(u64::from(*users), "user"),
        (Load::LoadGen { scenario, .. }, _) => format!("LoadGen {}", scenario.name()),
        (Load::Open { .. }, _) => "a varying rate".to_owned(),
    }
}

/// The result of the rule for steady states, in words.
pub(crate) fn steady_words(status: &str, verdict: &str) -> &'static str {
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
        ("insufficientSamples", _) => "not judged: few answers",
        ("insufficientDuration", _) => "not judged: too short",
        (_, "anomaly") => "not steady",
        (_, "steady" | "driftingUp" | "driftingDown") => steady_words(status, verdict),
        _ => "not found",
    }
}

/// The requested, sent and answered rates.
pub(crate) fn rates(document: &ReportDocument) -> Table {
    let caption = "Counts and rates of each stage. What warm-up and cool-down sent is in none of them.";
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
            name(stage),
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

/// Whether the stages were in a steady state, and Little's law.
pub(crate) fn steady(document: &ReportDocument) -> Table {
    let caption = "Whether figures drifted while they were measured. Little's law: requests under way are throughput x time of a request; a queue that \
                   grows has a residual above 0.";
    let table = Table::new("steady", "Steady state and Little's law", caption)
        .texts(["Stage", "Steady state"])
        .numbers(["Judged from", "to", "Requests under way", "Throughput x time", "Residual"]);
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
