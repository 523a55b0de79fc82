//! MLPerf's language benchmarks: the number of samples, and the maximum tokens per answer.

/// A benchmark.
#[derive(Debug)]
pub(super) struct Benchmark {
    /// LoadGen's name for the benchmark's model.
    pub name: &'static str,
    /// Number of samples in the data set.
    pub samples: u64,
    /// Maximum tokens per answer. `None` if the rule for this benchmark is not known to this project.
    pub max_tokens: Option<u32>,
}

const fn benchmark(name: &'static str, samples: u64, max_tokens: Option<u32>) -> Benchmark {
    Benchmark { name, samples, max_tokens }
}

const BENCHMARKS: [Benchmark; 15] = [
    benchmark("llama3_1-8b", 13_368, Some(128)),
    benchmark("llama3_1-8b-interactive", 13_368, Some(128)),
    benchmark("llama3_1-8b-edge", 5_000, Some(128)),
    benchmark("llama2-70b", 24_576, Some(1_024)),
    benchmark("llama2-70b-interactive", 24_576, Some(1_024)),
    benchmark("mixtral-8x7b", 15_000, None),
    benchmark("llama3_1-405b", 8_313, None),
    benchmark("llama3_1-405b-interactive", 8_313, None),
    benchmark("deepseek-r1", 4_388, None),
    benchmark("deepseek-r1-interactive", 4_388, None),
    benchmark("gpt-oss-120b", 6_396, None),
    benchmark("gpt-oss-120b-interactive", 6_396, None),
    benchmark("qwen3-vl-235b-a22b", 48_289, None),
    benchmark("whisper", 1_633, None),
    benchmark("gptj", 13_368, None),
];

/// Returns the benchmark with this LoadGen name.
pub(super) fn find(name: &str) -> Option<&'static Benchmark> {
    BENCHMARKS.iter().find(|it| it.name == name)
}

/// Converts the name of a benchmark to LoadGen's name. The names in MLPerf's tables, such as `llama3.1-8b` or `llama2-70b-99.9`, are accepted in
/// upper or lower case. Any other name is returned unchanged.
pub(super) fn canonical(name: &str) -> String {
    let plain = name.to_lowercase().replacen("-99.9", "", 1).replacen("-99", "", 1).replace('.', "_");
    if find(&plain).is_some() { plain } else { name.to_owned() }
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    BENCHMARKS.iter().map(|it| it.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loadgen::{ConfFile, Round, Scenario, Settings, apply_config};

    #[test]
    fn the_names_of_mlperfs_tables_are_known() {
        for (written, expected) in [
            ("llama3_1-8b", "llama3_1-8b"),
            ("llama3.1-8b", "llama3_1-8b"),
            ("llama3.1-8b-edge", "llama3_1-8b-edge"),
            ("llama2-70b-99.9", "llama2-70b"),
            ("llama2-70b-99", "llama2-70b"),
            ("llama2-70b-interactive-99.9", "llama2-70b-interactive"),
            ("Llama3.1-8B", "llama3_1-8b"),
            ("my.model-99", "my.model-99"),
        ] {
            assert_eq!(canonical(written), expected);
        }
    }

    #[test]
    fn every_benchmark_is_one_of_the_built_in_mlperf_conf() {
        for benchmark in BENCHMARKS {
            let mut settings = Settings::default();
            let text = Round::default().mlperf_conf();
            apply_config(ConfFile::MlperfConf, Some(&text), benchmark.name, Scenario::Offline, &mut settings).unwrap();
            assert_eq!(settings.performance_sample_count_override, benchmark.samples, "{}", benchmark.name);
        }
    }
}
