//! How sure the figures are, in words: for the Markdown report.

use std::time::Duration;

use analysis::{
    Analysis, StageAnalysis, Uncertainty,
    uncertainty::{Estimate, JudgedFigure, Latencies, PERCENTILES, State, Status, SteadyVerdict, enough},
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
    // Only a stage that was steady as a whole has a window whose figures stand for it.
    let window = it.steady_state.window.as_ref().filter(|_| it.steady_state.verdict == SteadyVerdict::Steady);
    let mut rows = Vec::new();
    let figures = [
        ("TTFT", it.ttft, window.and_then(|it| it.ttft)),
        ("TPOT", it.tpot, window.and_then(|it| it.tpot)),
        ("latency", it.latency, window.and_then(|it| it.latency)),
    ];
    for (name, whole, window) in figures {
        let Some(whole) = whole else { continue };
        let window = |pick: &dyn Fn(&Latencies) -> Estimate| within(window.map(|it| it.map(|it| pick(&it))), millis);
        let mean = interval(&whole.mean, Some("values".to_owned()), millis);
        rows.push(row(stage, &format!("{name} mean"), &whole.mean, millis, [mean, window(&|it| it.mean)]));
        for (place, (percentile, p)) in PERCENTILES.iter().enumerate().filter(|it| all || it.0 != 1) {
            let estimate = &whole.percentiles[place];
            let few = few_for_percentile(&whole, estimate, *p);
            let cells = [interval(estimate, few, millis), window(&|it| it.percentiles[place])];
            rows.push(row(stage, &format!("{name} {percentile}"), estimate, millis, cells));
        }
    }
    let rates = [
        ("requests/s", it.rates.requests, window.and_then(|it| it.requests_per_second)),
        ("output tokens/s", it.rates.output_tokens, window.and_then(|it| it.output_tokens_per_second)),
    ];
    rows.extend(rates.into_iter().filter_map(|(name, whole, window)| {
        let whole = whole?;
        let whole_interval = interval(&whole, Some("requests".to_owned()), number);
        Some(row(stage, name, &whole, number, [whole_interval, within(window, number)]))
    }));
    rows
}

/// `cells`: the interval, and the figure within the steady window.
fn row(
    stage: &StageAnalysis,
    name: &str,
    whole: &Estimate,
    unit: fn(f64) -> String,
    [interval, within]: [String; 2],
) -> Vec<String> {
    let stage = stage.stage.name.clone();
    let effective = rounded_down(whole.effective_values).to_string();
    vec![name.to_owned(), stage, optional(whole.value, unit), interval, effective, within]
}

/// The interval, or why there is none.
fn interval(it: &Estimate, few: Option<String>, unit: fn(f64) -> String) -> String {
    match (it.interval, few) {
        (Some(it), _) => format!("{} to {}", unit(it.low), unit(it.high)),
        (None, Some(few)) => format!("too few {few}"),
        (None, None) => "none".to_owned(),
    }
}

/// How many effective values there are of how many needed; `None` where they are enough.
fn needed(effective: f64, needed: f64) -> Option<String> {
    (effective < needed).then(|| format!("independent values: {} of {needed}", rounded_down(effective)))
}

/// As the rules on too few values count.
fn rounded_down(effective: f64) -> u64 {
    effective as u64
}

fn few_for_percentile(of: &Latencies, percentile: &Estimate, p: f64) -> Option<String> {
    let mean = needed(of.mean.effective_values, enough::for_quantile_interval(p));
    mean.map(|it| format!("{it} of the mean")).or_else(|| needed(percentile.effective_values, enough::for_ranks(p)))
}

/// A figure within the steady window. `window`: `None` where there is no such window.
fn within(window: Option<Result<Estimate, State>>, unit: fn(f64) -> String) -> String {
    optional(window, |it| match it {
        Ok(it) => {
            let interval =
                it.interval.map_or_else(|| "too few".to_owned(), |it| format!("{} to {}", unit(it.low), unit(it.high)));
            format!("{} ({interval})", optional(it.value, unit))
        }
        Err(state) => format!("none: {}", in_words(state)),
    })
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
    let text = "no intervals: the stage has too few requests";
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
        state.judged.iter().filter(of).map(ToString::to_string).collect::<Vec<_>>().join(", ")
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

fn littles_law(it: &Uncertainty) -> Option<String> {
    let law = it.littles_law?;
    let product = number(law.throughput * law.latency);
    Some(format!(
        "Little's law: {} requests were under way on average, throughput x time of a request is {product} (residual {:+.1} %)",
        number(law.concurrency),
        law.residual * 100.0
    ))
}
