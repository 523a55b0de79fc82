//! The settings in the detail log: as requested, and as LoadGen normalises them (the effective settings).

use workload_profiles::loadgen::{Effective, Scenario, Settings};

use super::entry::Entries;

pub(super) fn requested(settings: &Settings, entries: &mut Entries) {
    let tokens = settings.use_token_latencies;
    entries.add("requested_scenario", settings.scenario.name());
    entries.add("requested_test_mode", settings.mode.name());
    of_scenario(settings, entries);
    entries.add("requested_min_duration_ms", settings.min_duration_ms);
    entries.add("requested_max_duration_ms", settings.max_duration_ms);
    entries.add("requested_min_query_count", settings.min_query_count);
    entries.add("requested_max_query_count", settings.max_query_count);
    common("requested", settings, entries);
    entries.add("requested_performance_sample_count_override", settings.performance_sample_count_override);
    entries.add("requested_accuracy_sample_count_override", settings.accuracy_sample_count_override);
    entries.add("requested_sample_concatenate_permutation", settings.sample_concatenate_permutation);
    if tokens {
        entries.add("requested_use_token_latencies", tokens);
        if settings.scenario != Scenario::Offline {
            entries.add("requested_server_ttft_latency", settings.server_ttft_latency);
            entries.add("requested_server_tpot_latency", settings.server_tpot_latency);
        }
    }
}

fn of_scenario(settings: &Settings, entries: &mut Entries) {
    match settings.scenario {
        Scenario::SingleStream => {
            entries.add("requested_single_stream_expected_latency_ns", settings.single_stream_expected_latency_ns);
            entries.add(
                "requested_single_stream_target_latency_percentile",
                settings.single_stream_target_latency_percentile,
            );
        }
        Scenario::MultiStream => {
            entries.add("requested_multi_stream_expected_latency_ns", settings.multi_stream_expected_latency_ns);
            entries.add(
                "requested_multi_stream_target_latency_percentile",
                settings.multi_stream_target_latency_percentile,
            );
            entries.add("requested_multi_stream_samples_per_query", settings.multi_stream_samples_per_query);
        }
        Scenario::Server => {
            entries.add("requested_server_target_qps", settings.server_target_qps);
            entries.add("requested_server_target_latency_ns", settings.server_target_latency_ns);
            entries.add("requested_server_target_latency_percentile", settings.server_target_latency_percentile);
            entries.add("requested_server_coalesce_queries", settings.server_coalesce_queries);
            entries.add(
                "requested_server_find_peak_qps_decimals_of_precision",
                i64::from(settings.server_find_peak_qps_decimals_of_precision),
            );
            entries.add(
                "requested_server_find_peak_qps_boundary_step_size",
                settings.server_find_peak_qps_boundary_step_size,
            );
            entries.add("requested_server_max_async_queries", settings.server_max_async_queries);
            entries.add("requested_server_num_issue_query_threads", settings.server_num_issue_query_threads);
        }
        Scenario::Offline => entries.add("requested_offline_expected_qps", settings.offline_expected_qps),
    }
}

pub(super) fn effective(settings: &Settings, effective: &Effective, entries: &mut Entries) {
    entries.add("effective_scenario", settings.scenario.name());
    entries.add("effective_test_mode", settings.mode.name());
    entries.add("effective_samples_per_query", effective.samples_per_query);
    entries.add("effective_target_qps", effective.target_qps);
    entries.add("effective_target_latency_ns", effective.target_latency_ns);
    entries.add("effective_target_latency_percentile", effective.target_latency_percentile);
    entries.add("effective_max_async_queries", effective.max_async_queries);
    entries.add("effective_target_duration_ms", effective.target_duration_ms);
    entries.add("effective_min_duration_ms", effective.min_duration_ms);
    entries.add("effective_max_duration_ms", effective.max_duration_ms);
    entries.add("effective_min_query_count", effective.min_query_count);
    entries.add("effective_max_query_count", effective.max_query_count);
    entries.add("effective_min_sample_count", effective.min_sample_count);
    common("effective", settings, entries);
    entries.add("effective_performance_sample_count", effective.performance_sample_count);
    entries.add("effective_accuracy_sample_count", effective.accuracy_sample_count);
    entries.add("effective_sample_concatenate_permutation", effective.sample_concatenate_permutation);
}

/// Adds the settings whose requested and effective values are equal.
fn common(prefix: &str, settings: &Settings, entries: &mut Entries) {
    let key = |name: &str| format!("{prefix}_{name}");
    entries.add(key("qsl_rng_seed"), settings.qsl_rng_seed);
    entries.add(key("sample_index_rng_seed"), settings.sample_index_rng_seed);
    entries.add(key("schedule_rng_seed"), settings.schedule_rng_seed);
    entries.add(key("accuracy_log_rng_seed"), settings.accuracy_log_rng_seed);
    entries.add(key("accuracy_log_probability"), settings.accuracy_log_probability);
    entries.add(key("accuracy_log_sampling_target"), settings.accuracy_log_sampling_target);
    entries.add(key("print_timestamps"), settings.print_timestamps);
    entries.add(key("performance_issue_unique"), settings.performance_issue_unique);
    entries.add(key("performance_issue_same"), settings.performance_issue_same);
    entries.add(key("performance_issue_same_index"), settings.performance_issue_same_index);
}
