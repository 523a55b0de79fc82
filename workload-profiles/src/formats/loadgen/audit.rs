//! The audit.config files of MLPerf's compliance tests for language models.

/// The name of each test and the text of its file.
const TESTS: [(&str, &str); 3] = [
    (
        "TEST06",
        "*.*.mode = 2\n\
         *.*.accuracy_log_rng_seed = 720381539243781796\n\
         *.*.accuracy_log_sampling_target = 100\n\
         *.*.min_query_count = 100\n\
         *.*.min_duration = 0\n\
         *.*.sample_concatenate_permutation = 0\n",
    ),
    (
        "TEST07",
        "*.*.mode = 2\n\
         *.*.accuracy_log_rng_seed = 720381539243781796\n\
         *.*.accuracy_log_sampling_target = 990\n\
         *.*.min_query_count = 990\n\
         *.*.min_duration = 0\n\
         *.*.performance_issue_unique = 1\n\
         *.*.sample_concatenate_permutation = 0\n",
    ),
    (
        "TEST09",
        "*.*.mode = 2\n\
         *.*.accuracy_log_rng_seed = 720381539243781796\n\
         *.*.accuracy_log_sampling_target = 10000\n\
         *.*.min_query_count = 6396\n\
         *.*.min_duration = 0\n\
         *.*.performance_issue_unique = 1\n\
         *.*.sample_concatenate_permutation = 0\n",
    ),
];

/// Returns the text of the audit.config for a test such as `TEST06`.
pub fn audit_config(test: &str) -> Option<&'static str> {
    TESTS.iter().find(|(name, _)| *name == test).map(|(_, text)| *text)
}

/// The names of the tests.
pub fn audit_tests() -> impl Iterator<Item = &'static str> {
    TESTS.iter().map(|(name, _)| *name)
}
