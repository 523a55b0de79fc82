"""What `make loadgen-comparison` records: settings under the names of LoadGen's TestSettings, none of them recorded before.

Each takes a few seconds. Seeds need more than 32 bits, of which LoadGen looks at the lower half.
"""

SEEDS = {
    "qsl_rng_seed": 9161354482098761233,
    "sample_index_rng_seed": 13787848793156543929,
    "schedule_rng_seed": 6364136223846793005,
    "accuracy_log_rng_seed": 2862933555777941757,
}


def case(name, samples, performance_samples, sut=None, **settings):
    """A case in the layout of case.json."""
    return {
        "name": name,
        "settings": {"mode": "PerformanceOnly", **settings, **SEEDS},
        "qsl": {"name": "PyQSL", "total_sample_count": samples, "performance_sample_count": performance_samples},
        "sut": {"name": "PySUT", "workers": 8, "first_us": 900, "lat_us": 1700, **(sut or {})},
        "audit_config": None,
    }


CASES = [
    case(
        "server-equal-issue-tokens", 131, 97,
        scenario="Server", server_target_qps=173.0, min_duration_ms=2500, min_query_count=211,
        sample_concatenate_permutation=1, use_token_latencies=1,
        server_ttft_latency=30000000, server_tpot_latency=5000000,
    ),
    case(
        "server-over-latency", 67, 41,
        scenario="Server", server_target_qps=307.5, server_target_latency_ns=3200000,
        server_target_latency_percentile=0.97, min_duration_ms=2000, min_query_count=301,
    ),
    case(
        "server-sampled-accuracy-log", 59, 23,
        scenario="Server", server_target_qps=230.0, server_coalesce_queries=1, min_duration_ms=1500,
        min_query_count=77, accuracy_log_sampling_target=61,
    ),
    case(
        "offline-equal-issue-tokens", 89, 53,
        scenario="Offline", offline_expected_qps=787.0, min_duration_ms=1100, min_query_count=71,
        sample_concatenate_permutation=1, use_token_latencies=1, accuracy_log_probability=0.07,
    ),
    case(
        "singlestream-tokens", 71, 29,
        scenario="SingleStream", single_stream_expected_latency_ns=2500000.0,
        single_stream_target_latency_percentile=0.93, min_duration_ms=2300, min_query_count=131,
        use_token_latencies=1,
    ),
    case(
        "singlestream-equal-issue", 43, 31,
        scenario="SingleStream", single_stream_expected_latency_ns=2300000.0, min_duration_ms=1700,
        min_query_count=67, sample_concatenate_permutation=1,
    ),
    case(
        "multistream-tokens", 61, 37,
        scenario="MultiStream", multi_stream_samples_per_query=5, multi_stream_expected_latency_ns=3000000.0,
        multi_stream_target_latency_percentile=0.95, min_duration_ms=1900, min_query_count=151,
        use_token_latencies=1,
    ),
    case(
        "server-accuracy-tokens", 101, 37,
        scenario="Server", mode="AccuracyOnly", server_target_qps=197.0, use_token_latencies=1,
    ),
    case("offline-accuracy", 83, 47, scenario="Offline", mode="AccuracyOnly"),
]
