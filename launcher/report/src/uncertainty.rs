//! How sure the figures are, in words: for the Markdown report.

use std::time::Duration;

use analysis::{
    Analysis, StageAnalysis, Uncertainty,
    uncertainty::{
        Estimate, Figure, JudgedFigure, Latencies, Measure, PERCENTILES, Rate, State, Status, SteadyVerdict,
    },
};

use super::text::{number, optional, time};

/// The columns of the table of figures and their intervals.
pub(super) const COLUMNS: [&str; 6] =
    ["figure", "stage", "value", "95 % interval", "effective values", "within the steady window"];

/// A row for each figure of each stage that has an interval: of several stages the headline figures alone.
pub(super) fn rows(analysis: &Analysis) -> Vec<Vec<String>> {
    let all = analysis.stages.len() == 1;
    let told = analysis.stages.iter().filter_map(|stage| Some((stage, stage.uncertainty.as_ref().ok()?)));
    let told = told.filter(|(_, it)| has_interval(it));
    told.flat_map(|(stage, it)| of_stage(stage, it, all)).collect()
}

fn has_interval(it: &Uncertainty) -> bool {
    let of_figure = |it: &Latencies| it.percentiles.into_iter().chain([it.mean]).any(|it| it.interval.is_some());
    let mut rates = [it.rates.requests, it.rates.output_tokens].into_iter().flatten();
    let mut figures = [it.ttft, it.tpot, it.latency].into_iter().flatten();
    figures.any(|it| of_figure(&it)) || rates.any(|it| it.interval.is_some())
}

fn of_stage(stage: &StageAnalysis, it: &Uncertainty, all: bool) -> Vec<Vec<String>> {
    let window = it.steady_state.window.as_ref();
    let mut rows = Vec::new();
    let figures = [
        ("TTFT", it.ttft, window.and_then(|it| it.ttft)),
        ("TPOT", it.tpot, window.and_then(|it| it.tpot)),
        ("latency", it.latency, window.and_then(|it| it.latency)),
    ];
    for (name, whole, window) in figures {
        let Some(whole) = whole else { continue };
        let window = |pick: &dyn Fn(&Latencies) -> Estimate| window.map(|it| it.map(|it| pick(&it)));
        if all {
            rows.push(row(stage, &format!("{name} mean"), &whole.mean, window(&|it| it.mean), millis));
        }
        for (place, (percentile, _)) in PERCENTILES.iter().enumerate().filter(|it| all || it.0 != 1) {
            let estimate = &whole.percentiles[place];
            let window = window(&|it| it.percentiles[place]);
            rows.push(row(stage, &format!("{name} {percentile}"), estimate, window, millis));
        }
    }
    let rates = [
        ("requests/s", it.rates.requests, window.and_then(|it| it.requests_per_second)),
        ("output tokens/s", it.rates.output_tokens, window.and_then(|it| it.output_tokens_per_second)),
    ];
    rows.extend(rates.into_iter().filter_map(|(name, whole, window)| Some(row(stage, name, &whole?, window, number))));
    rows
}

fn row(
    stage: &StageAnalysis,
    name: &str,
    whole: &Estimate,
    window: Option<Result<Estimate, State>>,
    unit: fn(f64) -> String,
) -> Vec<String> {
    let interval = |it: &Estimate| {
        it.interval.map_or_else(|| "too few".to_owned(), |it| format!("{} to {}", unit(it.low), unit(it.high)))
    };
    let within = optional(window, |it| match it {
        Ok(it) => format!("{} ({})", optional(it.value, unit), interval(&it)),
        Err(state) => format!("none: {}", in_words(state)),
    });
    let stage = stage.stage.name.clone();
    // The cast rounds down, as the rules on too few values do.
    let effective = (whole.effective_values as u64).to_string();
    vec![name.to_owned(), stage, optional(whole.value, unit), interval(whole), effective, within]
}

/// Milliseconds. The lower bound of a mean may be below zero.
fn millis(millis: f64) -> String {
    time(Duration::try_from_secs_f64(millis.max(0.0) / 1e3).unwrap_or_default())
}

fn in_words(state: State) -> &'static str {
    match state {
        State::Plateau => "steady",
        State::DriftingUp => "drifting up",
        State::DriftingDown => "drifting down",
        State::Anomaly => "parts of the window are far from the rest",
        State::Unclear => "too unsteady to see a drift",
    }
}

/// A sentence or two for each stage: its steady state, and Little's law.
pub(super) fn sentences(analysis: &Analysis) -> Vec<String> {
    let named = |stage: &StageAnalysis, text: String| match analysis.stages.len() {
        1 => text,
        _ => format!("{}: {text}", stage.stage.name),
    };
    let sentences = analysis.stages.iter().flat_map(|stage| match &stage.uncertainty {
        Err(absent) => vec![named(stage, format!("neither intervals nor a steady state: {}", absent.reason()))],
        Ok(it) => [too_few(it), Some(steady_state(it)), littles_law(it)]
            .into_iter()
            .flatten()
            .map(|it| named(stage, it))
            .collect(),
    });
    sentences.collect()
}

fn too_few(it: &Uncertainty) -> Option<String> {
    let text = "no intervals: they need 30 effective values, which are requests that do not depend on each other";
    (!has_interval(it)).then(|| text.to_owned())
}

fn steady_state(it: &Uncertainty) -> String {
    let state = &it.steady_state;
    let window = state.window.as_ref().map_or_else(String::new, |it| {
        let at = |secs: f64| time(Duration::try_from_secs_f64(secs).unwrap_or_default());
        format!("from {} to {} of the run", at(it.from), at(it.to))
    });
    let because = |wanted: &[State]| {
        let of = |it: &&JudgedFigure| it.decides && wanted.contains(&it.judged.state);
        state.judged.iter().filter(of).map(change).collect::<Vec<_>>().join(", ")
    };
    match (state.status, state.verdict) {
        (Status::InsufficientSamples, _) => "steady state not judged: that needs 200 answers after the warm-up".into(),
        (Status::InsufficientDuration, _) => {
            "steady state not judged: that needs ten times the median latency after the warm-up".into()
        }
        (_, SteadyVerdict::Steady) => format!("steady {window}"),
        (_, SteadyVerdict::DriftingUp) => format!("drifting up {window}: {}", because(&[State::DriftingUp])),
        (_, SteadyVerdict::DriftingDown) => format!("drifting down {window}: {}", because(&[State::DriftingDown])),
        (_, SteadyVerdict::Anomaly) => {
            format!("not steady {window}: parts lie far from the rest: {}", because(&[State::Anomaly]))
        }
        (_, SteadyVerdict::NotFound) => {
            format!("no steady state found {window}: too unsteady to see a drift: {}", because(&[State::Unclear]))
        }
    }
}

/// Such as `TTFT p90 by +34 % (+20 % to +48 %)`.
fn change(it: &JudgedFigure) -> String {
    let of = |figure| match figure {
        Figure::Ttft => "TTFT",
        Figure::Tpot => "TPOT",
        Figure::Ntpot => "NTPOT",
        Figure::Latency => "latency",
    };
    let name = match it.measure {
        Measure::P50(figure) => format!("{} p50", of(figure)),
        Measure::P90(figure) => format!("{} p90", of(figure)),
        Measure::Rate(Rate::Requests) => "requests/s".to_owned(),
        Measure::Rate(Rate::OutputTokens) => "output tokens/s".to_owned(),
    };
    let percent = |share: f64| format!("{:+.0} %", share * 100.0);
    let Some(trend) = it.judged.trend else { return name };
    let interval =
        trend.interval.map_or_else(String::new, |it| format!(" ({} to {})", percent(it.low), percent(it.high)));
    format!("{name} by {}{interval}", percent(trend.change))
}

fn littles_law(it: &Uncertainty) -> Option<String> {
    let law = it.littles_law?;
    let product = number(law.throughput * law.latency);
    Some(format!(
        "Little's law: {} requests were under way on average, throughput x time of a request is {product} (residual {:+.1} %)",
        number(law.concurrency),
        law.residual * 100.0
    ))
}
