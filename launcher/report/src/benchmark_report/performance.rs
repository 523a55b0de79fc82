//! The results of a stage: request counts, latencies and rates.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::values::{insert, seconds, statistics};
use analysis::{Distribution, Figures, TokenCount};

pub(super) fn aggregate(figures: &Figures) -> Value {
    let counted = has_token_counts(figures);
    let mut requests = Map::new();
    requests.insert("total".into(), json!(figures.requests));
    requests.insert("failures".into(), json!(figures.failed));
    requests.insert("incomplete".into(), json!(figures.cancelled + figures.abandoned + figures.incomplete));
    insert(&mut requests, "input_length", figures.isl.map(|it| statistics("count", &it)));
    insert(&mut requests, "output_length", figures.osl.filter(|_| counted).map(|it| statistics("count", &it)));

    let mut latency = Map::new();
    let time = |units, it: Option<Distribution<Duration>>| it.map(|it| statistics(units, &it.map(seconds)));
    insert(&mut latency, "time_to_first_token", time("s", figures.ttft));
    let ntpot = figures.ntpot.filter(|_| counted);
    insert(&mut latency, "normalized_time_per_output_token", time("s/token", ntpot));
    insert(&mut latency, "time_per_output_token", time("s/token", figures.tpot.filter(|_| counted)));
    let itl = figures.itl.filter(|_| has_token_gaps(figures));
    insert(&mut latency, "inter_token_latency", time("s/token", itl));
    insert(&mut latency, "request_latency", time("s", figures.latency));

    let mut throughput = Map::new();
    let rate = |units, rate: Option<f64>| rate.map(|rate| json!({"units": units, "mean": rate}));
    let rates = figures.throughput;
    insert(&mut throughput, "input_token_rate", rate("tokens/s", rates.and_then(|it| it.input_tokens)));
    let tokens = rates.filter(|_| counted);
    insert(&mut throughput, "output_token_rate", rate("tokens/s", tokens.map(|it| it.output_tokens)));
    insert(&mut throughput, "total_token_rate", rate("tokens/s", tokens.and_then(|it| it.total_tokens)));
    insert(&mut throughput, "request_rate", rate("queries/s", rates.map(|it| it.requests)));

    let mut aggregate = Map::new();
    aggregate.insert("requests".into(), Value::Object(requests));
    insert(&mut aggregate, "latency", Some(latency).filter(|it| !it.is_empty()).map(Value::Object));
    insert(&mut aggregate, "throughput", Some(throughput).filter(|it| !it.is_empty()).map(Value::Object));
    Value::Object(aggregate)
}

/// Whether all output tokens were counted in the same way. A total that mixes the server's counts with the launcher's counts is not comparable.
pub(super) fn has_token_counts(figures: &Figures) -> bool {
    figures.token_count != Some(TokenCount::Mixed)
}

/// Whether the gap between two events is the gap between two tokens. If events contain several tokens, only the mean time between tokens is known,
/// which is TPOT.
pub(super) fn has_token_gaps(figures: &Figures) -> bool {
    figures.has_several_tokens_an_event() != Some(true)
}
