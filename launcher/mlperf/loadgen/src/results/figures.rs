//! The figures of a performance phase, under LoadGen's names. Both the detail log and the launcher's reports write this list.

use std::borrow::Cow;

use serde_json::Value;
use workload_profiles::loadgen::Scenario;

use crate::{
    logs::number::{label, rounded},
    results::{PERCENTILES, Results, Series, early_stopping_outcome::EarlyStoppingOutcome, validity::Validity},
};

/// The key of the verdict.
pub const VALIDITY: &str = "result_validity";
/// The key of the reasons for an INVALID result.
pub const INVALID_REASON: &str = "result_invalid_reason";

/// A figure, or a part of the verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub key: Cow<'static, str>,
    pub value: FigureValue,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FigureValue {
    Count(u64),
    Signed(i64),
    /// A number. Logs and reports contain it with six significant digits.
    Real(f64),
    Flag(bool),
    Text(String),
}

impl From<&FigureValue> for Value {
    fn from(value: &FigureValue) -> Value {
        match value {
            FigureValue::Count(it) => Value::from(*it),
            FigureValue::Signed(it) => Value::from(*it),
            FigureValue::Real(it) => rounded(*it),
            FigureValue::Flag(it) => Value::from(*it),
            FigureValue::Text(it) => Value::from(it.as_str()),
        }
    }
}

/// Returns all figures of a performance phase and of its verdict, in the order of the detail log.
pub fn figures(results: &Results, validity: &Validity) -> Vec<Figure> {
    let mut figures = Figures(Vec::new());
    judgement(results, validity, &mut figures);
    rates(results, validity, &mut figures);
    series(&results.samples, "result", "latency_ns", &mut figures);
    tokens(results, &mut figures);
    figures.0
}

struct Figures(Vec<Figure>);

impl Figures {
    fn add(&mut self, key: impl Into<Cow<'static, str>>, value: impl Into<FigureValue>) {
        self.0.push(Figure { key: key.into(), value: value.into() });
    }
}

macro_rules! values {
    ($($type:ty => $variant:ident),*) => {
        $(impl From<$type> for FigureValue {
            fn from(it: $type) -> Self {
                FigureValue::$variant(it)
            }
        })*
    };
}
values!(u64 => Count, i64 => Signed, f64 => Real, bool => Flag, String => Text);

fn judgement(results: &Results, validity: &Validity, figures: &mut Figures) {
    figures.add(VALIDITY, validity.word().to_owned());
    if results.settings.scenario == Scenario::Server {
        figures.add("result_perf_constraints_met", validity.perf_constraints_met);
    }
    figures.add("result_min_duration_met", validity.min_duration_met);
    figures.add("result_min_queries_met", validity.min_queries_met);
    figures.add("early_stopping_met", validity.early_stopping.met);
    if !validity.valid() {
        figures.add(INVALID_REASON, validity.invalid_reason());
    }
    let text = |it: &Option<EarlyStoppingOutcome>| it.as_ref().map(EarlyStoppingOutcome::line).unwrap_or_default();
    let stops = &validity.early_stopping;
    if results.settings.use_token_latencies {
        figures.add("early_stopping_ttft_result", text(&stops.ttft));
        figures.add("early_stopping_tpot_result", text(&stops.tpot));
    } else {
        figures.add("early_stopping_result", text(&stops.latency));
    }
}

fn rates(results: &Results, validity: &Validity, figures: &mut Figures) {
    figures.add("result_query_count", results.measured.queries_issued);
    let (of_target, of_99) = validity.early_stopping.estimates();
    match results.settings.scenario {
        Scenario::SingleStream => {
            figures.add("result_qps_with_loadgen_overhead", results.qps_with_overhead());
            figures.add("result_qps_without_loadgen_overhead", results.qps_without_overhead());
            figures.add("early_stopping_latency_ss", of_target);
            figures.add("early_stopping_latency_ms", of_99);
        }
        Scenario::MultiStream => {
            let queries = &results.queries;
            figures.add("result_min_query_latency_ns", queries.min());
            figures.add("result_max_query_latency_ns", queries.max());
            figures.add("result_mean_query_latency_ns", queries.mean());
            for percentile in PERCENTILES {
                let key = format!("result_{}_percentile_per_query_latency_ns", label(percentile, 2));
                figures.add(key, queries.percentile(percentile));
            }
            figures.add("early_stopping_latency_ms", of_target);
        }
        Scenario::Server => {
            let over = results.samples.over(results.effective.target_latency_ns);
            figures.add("result_overlatency_query_count", over);
            figures.add("result_scheduled_samples_per_sec", results.scheduled_per_second());
            figures.add("result_completed_samples_per_sec", results.completed_per_second());
        }
        Scenario::Offline => figures.add("result_samples_per_second", results.offline_per_second()),
    }
}

fn series(series: &Series, prefix: &str, suffix: &str, figures: &mut Figures) {
    figures.add(format!("{prefix}_min_{suffix}"), series.min());
    figures.add(format!("{prefix}_max_{suffix}"), series.max());
    figures.add(format!("{prefix}_mean_{suffix}"), series.mean());
    for percentile in PERCENTILES {
        let key = format!("{prefix}_{}_percentile_{suffix}", label(percentile, 2));
        figures.add(key, series.percentile(percentile));
    }
}

fn tokens(results: &Results, figures: &mut Figures) {
    let settings = results.settings;
    let offline = settings.scenario == Scenario::Offline;
    if settings.use_token_latencies && offline {
        figures.add("result_tokens_per_second", results.offline_tokens_per_second());
    } else if settings.use_token_latencies {
        series(&results.first_tokens, "result_first_token", "latency_ns", figures);
        figures.add("result_token_throughput_with_loadgen_overhead", results.tokens_with_overhead());
        figures.add("result_token_throughput", results.token_throughput());
        let per_token = &results.per_token;
        for percentile in PERCENTILES {
            let key = format!("result_time_per_output_token_{}_percentile_ns", label(percentile, 2));
            figures.add(key, per_token.percentile(percentile));
        }
        figures.add("result_time_to_output_token_min", per_token.min());
        figures.add("result_time_to_output_token_max", per_token.max());
        figures.add("result_time_to_output_token_mean", per_token.mean());
        figures.add("result_completed_tokens_per_second", results.completed_tokens_per_second());
    }
    if settings.infer_token_latencies {
        match settings.scenario {
            Scenario::Server => {
                figures.add("result_inferred_completed_tokens_per_second", results.inferred_tokens_per_second());
            }
            Scenario::Offline => {
                figures.add("result_inferred_tokens_per_second", results.inferred_offline_tokens_per_second());
            }
            Scenario::SingleStream | Scenario::MultiStream => {}
        }
    }
}
