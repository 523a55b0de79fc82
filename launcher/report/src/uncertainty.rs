//! The uncertainty of the figures as text, for the Markdown report and the comment.

use analysis::uncertainty::{PERCENTILES, State, Status, SteadyVerdict, enough};
use crds::benchmark_run::Stat;
use document::{
    EstimateDocument, JudgedDocument, LatenciesDocument, ReportDocument, StageDocument, UncertaintyDocument,
};
use figures::Figure;

use super::text::{millis, number, optional, signed_percent};

/// The columns of the table of figures and their intervals.
pub(super) const COLUMNS: [&str; 6] =
    ["figure", "stage", "value", "95 % interval", "effective values", "within the steady window"];

/// For each stage, one row per figure; with several stages, only the headline figures. Leaves out stages without any interval.
pub(super) fn rows(document: &ReportDocument) -> Vec<Vec<String>> {
    let all = document.stages.len() == 1;
    let told = document.stages.iter().filter(|it| has_interval(&it.uncertainty));
    told.flat_map(|it| of_stage(it, all)).collect()
}

fn has_interval(it: &UncertaintyDocument) -> bool {
    let has = |it: &EstimateDocument| it.low.is_some();
    let figures = [&it.ttft_ms, &it.tpot_ms, &it.latency_ms, &it.itl_ms].into_iter().flatten();
    let mut of_figures = figures.flat_map(|it| [&it.mean, &it.p50, &it.p90, &it.p99]).flatten();
    let mut rates = [&it.requests_per_second, &it.output_tokens_per_second].into_iter().flatten();
    of_figures.any(has) || rates.any(has)
}

fn of_stage(stage: &StageDocument, all: bool) -> Vec<Vec<String>> {
    let it = &stage.uncertainty;
    // The figures of a window describe the server only if the stage was in a steady state.
    let steady = it.steady_state.as_ref().filter(|it| it.verdict == SteadyVerdict::Steady.name());
    let window = steady.and_then(|it| it.window.as_ref());
    let mut rows = Vec::new();
    for figure in [Figure::Ttft, Figure::Itl, Figure::Tpot, Figure::Latency] {
        let Some(whole) = it.latencies(figure) else { continue };
        let window = window.and_then(|it| it.latencies(figure));
        let Some(mean) = &whole.mean else { continue };
        let within = |stat| match window {
            Some(LatenciesDocument { withheld: Some(state), .. }) => withheld(state),
            _ => within(window.and_then(|it| it.get(stat)), millis),
        };
        let cells = [interval(mean, Some("values".to_owned()), millis), within(Stat::Mean)];
        rows.push(row(stage, figure.titled(Stat::Mean), mean, millis, cells));
        let percentiles = [Stat::P50, Stat::P90, Stat::P99].into_iter().zip(PERCENTILES);
        for (stat, (_, p)) in percentiles.filter(|it| all || it.0 != Stat::P90) {
            let Some(estimate) = whole.get(stat) else { continue };
            let few = match figure {
                // For ITL, each time bin counts as one effective value.
                Figure::Itl => Some("bins of time".to_owned()),
                _ => few_for_percentile(mean, estimate, p),
            };
            let cells = [interval(estimate, few, millis), within(stat)];
            rows.push(row(stage, figure.titled(stat), estimate, millis, cells));
        }
    }
    for figure in [Figure::RequestsPerSecond, Figure::OutputTokensPerSecond] {
        let Some(whole) = it.estimate(figure) else { continue };
        let whole_interval = interval(whole, Some("requests".to_owned()), number);
        let within = within(window.and_then(|it| it.estimate(figure)), number);
        rows.push(row(stage, figure.label(), whole, number, [whole_interval, within]));
    }
    rows
}

/// A row of the table. `cells` is the interval, and the figure within the steady window.
fn row(
    stage: &StageDocument,
    name: String,
    whole: &EstimateDocument,
    unit: fn(f64) -> String,
    [interval, within]: [String; 2],
) -> Vec<String> {
    let effective = rounded_down(whole.effective_values.unwrap_or(0.0)).to_string();
    vec![name, stage.name.clone(), optional(whole.value, unit), interval, effective, within]
}

/// The interval, or the reason why there is none.
fn interval(it: &EstimateDocument, few: Option<String>, unit: fn(f64) -> String) -> String {
    match (it.low.zip(it.high), few) {
        (Some((low, high)), _) => format!("{} to {}", unit(low), unit(high)),
        (None, Some(few)) => format!("too few {few}"),
        (None, None) => "none".to_owned(),
    }
}

/// Describes how many effective values there are and how many are needed; `None` if there are enough.
fn needed(effective: f64, needed: f64) -> Option<String> {
    (effective < needed).then(|| format!("effective values: {} of {needed} needed", rounded_down(effective)))
}

/// Rounds down, because the rules on too few values do so too.
fn rounded_down(effective: f64) -> u64 {
    effective as u64
}

fn few_for_percentile(mean: &EstimateDocument, percentile: &EstimateDocument, p: f64) -> Option<String> {
    let effective = |it: &EstimateDocument| it.effective_values.unwrap_or(0.0);
    let of_mean = needed(effective(mean), enough::for_quantile_interval(p));
    of_mean
        .map(|it| format!("{it} in the series of the mean"))
        .or_else(|| needed(effective(percentile), enough::for_ranks(p)))
}

/// A figure within the steady window. `window`: `None` if there is no such figure.
fn within(window: Option<&EstimateDocument>, unit: fn(f64) -> String) -> String {
    optional(window, |it| match &it.withheld {
        None => {
            let interval = it.low.zip(it.high);
            let interval =
                interval.map_or_else(|| "too few".to_owned(), |(low, high)| format!("{} to {}", unit(low), unit(high)));
            format!("{} ({interval})", optional(it.value, unit))
        }
        Some(state) => withheld(state),
    })
}

fn withheld(state: &str) -> String {
    format!("none: {}", in_words(state))
}

/// Describes a state in words. `state` is the name of a [`State`].
fn in_words(state: &str) -> &str {
    let words = [
        (State::Plateau, "steady"),
        (State::DriftingUp, "drifting up"),
        (State::DriftingDown, "drifting down"),
        (State::Anomaly, "parts of the window are far from the rest"),
        (State::Unclear, "too unsteady to see a drift"),
    ];
    words.into_iter().find(|(it, _)| it.name() == state).map_or(state, |(_, words)| words)
}

/// One or two sentences per stage, about its steady state and Little's law.
pub(super) fn sentences(document: &ReportDocument) -> Vec<String> {
    let named = |stage: &StageDocument, text: String| match document.stages.len() {
        1 => text,
        _ => format!("{}: {text}", stage.name),
    };
    let sentences = document.stages.iter().flat_map(|stage| match &stage.uncertainty {
        UncertaintyDocument { absent: Some(why), .. } => {
            vec![named(stage, format!("no intervals, and no steady state judged: {why}"))]
        }
        it => {
            [too_few(it), steady_state(it), littles_law(it)].into_iter().flatten().map(|it| named(stage, it)).collect()
        }
    });
    sentences.collect()
}

fn too_few(it: &UncertaintyDocument) -> Option<String> {
    let text = "no intervals: the stage has too few requests";
    (!has_interval(it)).then(|| text.to_owned())
}

fn steady_state(it: &UncertaintyDocument) -> Option<String> {
    let state = it.steady_state.as_ref()?;
    let window = state
        .window
        .as_ref()
        .map_or_else(String::new, |it| format!("from {} to {} of the run", millis(it.from_ms), millis(it.to_ms)));
    let because = |wanted: State| {
        let of = |it: &&JudgedDocument| it.decides && it.state == wanted.name();
        state.judged.iter().filter(of).map(judged).collect::<Vec<_>>().join(", ")
    };
    let is = |verdict: SteadyVerdict| state.verdict == verdict.name();
    Some(if state.status == Status::InsufficientSamples.name() {
        "steady state not judged: this needs 200 answers after the warm-up".into()
    } else if state.status == Status::InsufficientDuration.name() {
        "steady state not judged: this needs ten times the median latency after the warm-up".into()
    } else if is(SteadyVerdict::Steady) {
        format!("steady {window}")
    } else if is(SteadyVerdict::DriftingUp) {
        format!("drifting up {window}: {}", because(State::DriftingUp))
    } else if is(SteadyVerdict::DriftingDown) {
        format!("drifting down {window}: {}", because(State::DriftingDown))
    } else if is(SteadyVerdict::Anomaly) {
        format!("not steady {window}: parts of it are far from the rest: {}", because(State::Anomaly))
    } else {
        format!("no steady state found {window}: too unsteady to see a drift: {}", because(State::Unclear))
    })
}

/// The trend of a figure in the window, such as `TTFT p50 by +12 % (+8 % to +16 %)`.
fn judged(it: &JudgedDocument) -> String {
    let figure = Figure::from_key(&it.figure).map_or_else(|| it.figure.clone(), Figure::label);
    let share = |share: f64| format!("{:+.0} %", share * 100.0);
    let percentile = it.percentile.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
    let change = it.change.map(|it| format!(" by {}", share(it))).unwrap_or_default();
    let interval = it.change_low.zip(it.change_high);
    let interval = interval.map(|(low, high)| format!(" ({} to {})", share(low), share(high))).unwrap_or_default();
    format!("{figure}{percentile}{change}{interval}")
}

fn littles_law(it: &UncertaintyDocument) -> Option<String> {
    let law = it.littles_law.as_ref()?;
    let product = number(law.ended_per_second * law.mean_time_ms / 1e3);
    Some(format!(
        "Little's law: {} requests were in flight on average, and throughput x time per request gives {product} (residual {})",
        number(law.mean_concurrency),
        signed_percent(law.residual)
    ))
}
