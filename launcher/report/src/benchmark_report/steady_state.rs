//! The steady state of a stage. It is written to `results.observability`, the only place of the format that allows custom keys.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    performance::has_token_counts,
    values::{at, insert},
};
use analysis::{
    Figures, StageAnalysis,
    uncertainty::{Estimate, Latencies, PERCENTILES, State, SteadyState, Window},
};

/// Returns the steady state; `None` if it is unknown.
pub(super) fn find(stage: &StageAnalysis) -> Option<&SteadyState> {
    stage.uncertainty.as_ref().ok().map(|it| &it.steady_state)
}

/// The status, the verdict, and the figures of the window. A figure that was not on a plateau has its state instead of values.
pub(super) fn document(of: &SteadyState, figures: &Figures, zero: Timestamp) -> Value {
    let counted = has_token_counts(figures);
    let mut document = Map::new();
    document.insert("status".into(), json!(of.status.name()));
    document.insert("verdict".into(), json!(of.verdict.name()));
    insert(&mut document, "window", of.window.as_ref().map(|it| window(it, counted, zero)));
    Value::Object(document)
}

/// The figures of the window. `counted` states whether all output tokens were counted in the same way.
fn window(of: &Window, counted: bool, zero: Timestamp) -> Value {
    let time = |it: f64| Duration::try_from_secs_f64(it).ok().and_then(|it| at(zero, it)).map(Value::from);
    let mut window = Map::new();
    insert(&mut window, "start", time(of.from));
    insert(&mut window, "end", time(of.to));
    window.insert("requests".into(), json!(of.requests));
    for (name, units, latency) in [
        ("time_to_first_token", "s", of.ttft),
        ("time_per_output_token", "s/token", of.tpot.filter(|_| counted)),
        ("request_latency", "s", of.latency),
    ] {
        insert(&mut window, name, latency.map(|it| judged(units, &it, latencies)));
    }
    let rate = |it: &Estimate| figure(it, 1.0, "mean");
    insert(&mut window, "request_rate", of.requests_per_second.as_ref().map(|it| judged("queries/s", it, rate)));
    let tokens = of.output_tokens_per_second.as_ref().filter(|_| counted);
    insert(&mut window, "output_token_rate", tokens.map(|it| judged("tokens/s", it, rate)));
    Value::Object(window)
}

fn judged<T>(units: &str, of: &Result<T, State>, show: impl Fn(&T) -> Map<String, Value>) -> Value {
    let mut figures: Map<String, Value> = [("units".to_owned(), json!(units))].into_iter().collect();
    match of {
        Ok(it) => figures.extend(show(it)),
        Err(state) => figures.extend([("withheld".to_owned(), json!(state.name()))]),
    }
    Value::Object(figures)
}

fn latencies(of: &Latencies) -> Map<String, Value> {
    // Converts milliseconds to seconds.
    let mut figures = figure(&of.mean, 1e3, "mean");
    for ((name, _), estimate) in PERCENTILES.iter().zip(&of.percentiles) {
        figures.extend(figure(estimate, 1e3, name));
    }
    figures
}

/// A figure and its interval, if known. Values are divided by `unit`.
fn figure(of: &Estimate, unit: f64, name: &str) -> Map<String, Value> {
    let interval = of.interval.map(|it| json!([it.low / unit, it.high / unit]));
    let mut figures = Map::new();
    insert(&mut figures, name, of.value.map(|it| json!(it / unit)));
    insert(&mut figures, &format!("{name}_interval95"), interval);
    figures
}
