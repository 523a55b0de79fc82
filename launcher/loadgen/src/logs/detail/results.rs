//! The figures of a performance phase in the detail log.

use workload_profiles::loadgen::Scenario;

use super::entry::Entries;
use crate::{
    logs::number::label,
    results::{
        PERCENTILES, Results, Series,
        stopping::Stopping,
        validity::{EXITED_EARLY, Validity},
    },
};

/// Adds the lines of the figures and of the judgement on them.
pub(super) fn of(results: &Results, validity: &Validity, errors: u64, entries: &mut Entries) {
    judgement(results, validity, entries);
    rates(results, validity, entries);
    series(&results.samples, "result", "latency_ns", entries);
    tokens(results, entries);
    entries.add("num_errors", errors);
}

fn judgement(results: &Results, validity: &Validity, entries: &mut Entries) {
    entries.add("result_validity", validity.word());
    if results.settings.scenario == Scenario::Server {
        entries.add("result_perf_constraints_met", validity.perf_constraints_met);
    }
    entries.add("result_min_duration_met", validity.min_duration_met);
    entries.add("result_min_queries_met", validity.min_queries_met);
    entries.add("early_stopping_met", validity.stopping.met);
    if !validity.valid() {
        entries.add("result_invalid_reason", reason(validity).as_str());
    }
    let text = |it: &Option<Stopping>| it.as_ref().map(|it| one_line(&it.text)).unwrap_or_default();
    let stops = &validity.stopping;
    if results.settings.use_token_latencies {
        entries.add("early_stopping_ttft_result", text(&stops.ttft).as_str());
        entries.add("early_stopping_tpot_result", text(&stops.tpot).as_str());
    } else {
        entries.add("early_stopping_result", text(&stops.latency).as_str());
    }
}

/// Empty where only early stopping is not met, as in LoadGen.
fn reason(validity: &Validity) -> String {
    let mut reason = String::new();
    if !validity.perf_constraints_met {
        reason += &format!("{} ", validity.perf_advice);
    }
    if !validity.min_duration_met {
        reason += &format!("{} ", validity.duration_advice);
    }
    if !validity.min_queries_met {
        reason += EXITED_EARLY;
    }
    for fault in &validity.faults {
        if !reason.is_empty() && !reason.ends_with(' ') {
            reason.push(' ');
        }
        reason += fault;
    }
    one_line(&reason)
}

fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}

fn rates(results: &Results, validity: &Validity, entries: &mut Entries) {
    entries.add("result_query_count", results.measured.queries_issued);
    let (of_target, of_99) = validity.stopping.estimates();
    match results.settings.scenario {
        Scenario::SingleStream => {
            entries.add("result_qps_with_loadgen_overhead", results.qps_with_overhead());
            entries.add("result_qps_without_loadgen_overhead", results.qps_without_overhead());
            entries.add("early_stopping_latency_ss", of_target);
            entries.add("early_stopping_latency_ms", of_99);
        }
        Scenario::MultiStream => {
            let queries = &results.queries;
            entries.add("result_min_query_latency_ns", queries.min());
            entries.add("result_max_query_latency_ns", queries.max());
            entries.add("result_mean_query_latency_ns", queries.mean());
            for percentile in PERCENTILES {
                let key = format!("result_{}_percentile_per_query_latency_ns", label(percentile, 2));
                entries.add(key, queries.percentile(percentile));
            }
            entries.add("early_stopping_latency_ms", of_target);
        }
        Scenario::Server => {
            let over = results.samples.over(results.effective.target_latency_ns);
            entries.add("result_overlatency_query_count", over);
            entries.add("result_scheduled_samples_per_sec", results.scheduled_per_second());
            entries.add("result_completed_samples_per_sec", results.completed_per_second());
        }
        Scenario::Offline => entries.add("result_samples_per_second", results.offline_per_second()),
    }
}

fn series(series: &Series, prefix: &str, suffix: &str, entries: &mut Entries) {
    entries.add(format!("{prefix}_min_{suffix}"), series.min());
    entries.add(format!("{prefix}_max_{suffix}"), series.max());
    entries.add(format!("{prefix}_mean_{suffix}"), series.mean());
    for percentile in PERCENTILES {
        let key = format!("{prefix}_{}_percentile_{suffix}", label(percentile, 2));
        entries.add(key, series.percentile(percentile));
    }
}

fn tokens(results: &Results, entries: &mut Entries) {
    let settings = results.settings;
    let offline = settings.scenario == Scenario::Offline;
    if settings.use_token_latencies && offline {
        entries.add("result_tokens_per_second", results.offline_tokens_per_second());
    } else if settings.use_token_latencies {
        series(&results.first_tokens, "result_first_token", "latency_ns", entries);
        entries.add("result_token_throughput_with_loadgen_overhead", results.tokens_with_overhead());
        entries.add("result_token_throughput", results.token_throughput());
        let per_token = &results.per_token;
        for percentile in PERCENTILES {
            let key = format!("result_time_per_output_token_{}_percentile_ns", label(percentile, 2));
            entries.add(key, per_token.percentile(percentile));
        }
        entries.add("result_time_to_output_token_min", per_token.min());
        entries.add("result_time_to_output_token_max", per_token.max());
        entries.add("result_time_to_output_token_mean", per_token.mean());
        entries.add("result_completed_tokens_per_second", results.completed_tokens_per_second());
    }
    if settings.infer_token_latencies {
        match settings.scenario {
            Scenario::Server => {
                entries.add("result_inferred_completed_tokens_per_second", results.inferred_tokens_per_second());
            }
            Scenario::Offline => {
                entries.add("result_inferred_tokens_per_second", results.inferred_offline_tokens_per_second());
            }
            Scenario::SingleStream | Scenario::MultiStream => {}
        }
    }
}
