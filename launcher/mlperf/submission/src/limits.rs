//! Limits: what a round requires of each benchmark. Pure; one table.
//!
//! The accuracy limits are those of v6.1, which are the same in earlier rounds. In v5.0, Interactive is not a scenario: llama2-70b-interactive is a
//! separate benchmark. Also in v5.0, every benchmark needs both Server and Offline.

use workload_profiles::loadgen::Round;

use super::layout::ScenarioFolder;

/// A benchmark of one or more rounds.
#[derive(Debug, PartialEq)]
pub(super) struct Benchmark {
    /// Folder name.
    pub(super) folder: &'static str,
    /// Other folder names that the checker accepts.
    pub(super) other: &'static [&'static str],
    /// LoadGen's name, without the suffix `-interactive` for tests of Interactive.
    pub(super) loadgen: &'static str,
    /// The rounds that have this benchmark.
    rounds: &'static [Round],
    /// A text that `system_type` must contain.
    pub(super) category: &'static str,
    pub(super) required: &'static [ScenarioFolder],
    /// Scenarios of which v6.1 requires at least one, in addition to those in `required`.
    pub(super) one_of: &'static [ScenarioFolder],
    /// Number of samples in a performance run, which is also the minimum for an Offline query.
    pub(super) samples: u64,
    /// Number of samples in an accuracy run.
    pub(super) accuracy_samples: u64,
    /// Limits in the Server scenario.
    pub(super) server: Option<TokenLimits>,
    pub(super) interactive: Option<TokenLimits>,
    /// Maximum of `effective_target_latency_ns` in the Server scenario.
    pub(super) target_latency_ns: u64,
    /// The required accuracy scores. Never empty.
    pub(super) scores: &'static [Score],
    /// The rounds that require TEST06 for this benchmark.
    test06: &'static [Round],
    /// Id of the end-of-sequence token, for TEST06.
    pub(super) end_of_sequence: Option<i64>,
}

/// Limits on the 99th percentiles, in milliseconds. The measured ones must be below these limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TokenLimits {
    pub(super) ttft_ms: u64,
    pub(super) tpot_ms: u64,
}

/// The limits for one score in accuracy.txt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Score {
    /// The key of the score in the dictionary that the evaluation script prints.
    pub(super) key: &'static str,
    /// Minimum value.
    pub(super) floor: f64,
    /// Maximum value; `None` if there is no maximum.
    pub(super) ceiling: Option<f64>,
}

/// Minimum of `effective_min_duration_ms`.
pub(super) const MIN_DURATION_MS: u64 = 600_000;

const ALL: &[Round] = &[Round::V5_1, Round::V6_0, Round::V6_1];
const BEFORE: &[Round] = &[Round::V5_1, Round::V6_0];
const UNTIL_6_0: &[Round] = &[Round::V5_0, Round::V5_1, Round::V6_0];
const ONLY_5_0: &[Round] = &[Round::V5_0];
const SINCE_6_0: &[Round] = &[Round::V6_0, Round::V6_1];
const SECONDS: u64 = 1_000_000_000;

const fn tokens(ttft_ms: u64, tpot_ms: u64) -> Option<TokenLimits> {
    Some(TokenLimits { ttft_ms, tpot_ms })
}

const fn at_least(key: &'static str, floor: f64) -> Score {
    Score { key, floor, ceiling: None }
}

const fn between(key: &'static str, floor: f64, ceiling: f64) -> Score {
    Score { key, floor, ceiling: Some(ceiling) }
}

/// The values that most benchmarks share.
const USUAL: Benchmark = Benchmark {
    folder: "",
    other: &[],
    loadgen: "",
    rounds: ALL,
    category: "datacenter",
    required: &[ScenarioFolder::Offline],
    one_of: &[ScenarioFolder::Server, ScenarioFolder::Interactive],
    samples: 0,
    accuracy_samples: 0,
    server: None,
    interactive: None,
    target_latency_ns: 60 * SECONDS,
    scores: &[],
    test06: ALL,
    end_of_sequence: None,
};

const LLAMA2_99_9: Benchmark = Benchmark {
    folder: "llama2-70b-99.9",
    loadgen: "llama2-70b",
    samples: 24_576,
    accuracy_samples: 24_576,
    server: tokens(2_000, 200),
    interactive: tokens(450, 40),
    target_latency_ns: 20 * SECONDS,
    scores: &[
        at_least("rouge1", 44.3867688),
        at_least("rouge2", 22.0131648),
        at_least("rougeL", 28.5875838),
        between("tokens_per_sample", 265.005, 323.895),
    ],
    end_of_sequence: Some(2),
    ..USUAL
};

const LLAMA2_99_SCORES: &[Score] = &[
    at_least("rouge1", 43.986888),
    at_least("rouge2", 21.814848),
    at_least("rougeL", 28.330038),
    between("tokens_per_sample", 265.005, 323.895),
];

/// A benchmark that exists only in v5.0.
const LLAMA2_INTERACTIVE: Benchmark = Benchmark {
    folder: "llama2-70b-interactive-99.9",
    loadgen: "llama2-70b-interactive",
    server: LLAMA2_99_9.interactive,
    ..LLAMA2_99_9
};

const LLAMA3_405B: Benchmark = Benchmark {
    folder: "llama3.1-405b",
    other: &["llama3_1-405b"],
    loadgen: "llama3_1-405b",
    rounds: BEFORE,
    samples: 8_313,
    accuracy_samples: 8_313,
    server: tokens(6_000, 175),
    interactive: tokens(4_500, 80),
    scores: &[
        at_least("rougeL", 21.666_6 * 0.99),
        at_least("exact_match", 90.133_5 * 0.99),
        between("tokens_per_sample", 684.68 * 0.9, 684.68 * 1.1),
    ],
    test06: BEFORE,
    end_of_sequence: Some(128_009),
    ..USUAL
};

/// Returns the version of a benchmark for v5.0.
const fn of_5_0(benchmark: Benchmark) -> Benchmark {
    Benchmark {
        rounds: ONLY_5_0,
        required: &[ScenarioFolder::Server, ScenarioFolder::Offline],
        one_of: &[],
        interactive: None,
        test06: ONLY_5_0,
        ..benchmark
    }
}

const TABLE: &[Benchmark] = &[
    Benchmark {
        folder: "llama3.1-8b",
        other: &["llama3_1-8b"],
        loadgen: "llama3_1-8b",
        samples: 13_368,
        accuracy_samples: 13_368,
        server: tokens(2_000, 100),
        interactive: tokens(500, 30),
        target_latency_ns: 20 * SECONDS,
        scores: &[
            at_least("rouge1", 38.391408),
            at_least("rouge2", 15.748425),
            at_least("rougeL", 24.250743),
            at_least("rougeLsum", 35.43507),
            between("gen_len", 7_350_879.6, 8_984_408.4),
        ],
        end_of_sequence: Some(128_009),
        ..USUAL
    },
    Benchmark {
        folder: "llama3.1-8b-edge",
        other: &["llama3_1-8b-edge"],
        loadgen: "llama3_1-8b-edge",
        category: "edge",
        required: &[ScenarioFolder::SingleStream, ScenarioFolder::Offline],
        one_of: &[],
        samples: 5_000,
        accuracy_samples: 5_000,
        scores: &[
            at_least("rouge1", 38.6694),
            at_least("rouge2", 15.953553),
            at_least("rougeL", 24.391125),
            at_least("rougeLsum", 35.76276),
            between("gen_len", 2_746_001.7, 3_356_224.3),
        ],
        test06: &[],
        end_of_sequence: Some(128_009),
        ..USUAL
    },
    LLAMA2_99_9,
    Benchmark { folder: "llama2-70b-99", rounds: BEFORE, scores: LLAMA2_99_SCORES, ..LLAMA2_99_9 },
    of_5_0(LLAMA2_99_9),
    of_5_0(Benchmark { folder: "llama2-70b-99", scores: LLAMA2_99_SCORES, ..LLAMA2_99_9 }),
    of_5_0(LLAMA2_INTERACTIVE),
    of_5_0(Benchmark { folder: "llama2-70b-interactive-99", scores: LLAMA2_99_SCORES, ..LLAMA2_INTERACTIVE }),
    Benchmark {
        folder: "mixtral-8x7b",
        loadgen: "mixtral-8x7b",
        rounds: UNTIL_6_0,
        required: &[ScenarioFolder::Server, ScenarioFolder::Offline],
        one_of: &[],
        samples: 15_000,
        accuracy_samples: 15_000,
        server: tokens(2_000, 200),
        target_latency_ns: 20 * SECONDS,
        scores: &[
            at_least("rouge1", 45.598_9 * 0.99),
            at_least("rouge2", 23.352_6 * 0.99),
            at_least("rougeL", 30.460_8 * 0.99),
            at_least("gsm8k", 73.66 * 0.99),
            at_least("mbxp", 60.16 * 0.99),
            between("tokens_per_sample", 144.84 * 0.9, 145.9 * 1.1),
        ],
        test06: UNTIL_6_0,
        ..USUAL
    },
    LLAMA3_405B,
    Benchmark { test06: &[], ..of_5_0(LLAMA3_405B) },
    Benchmark {
        folder: "deepseek-r1",
        loadgen: "deepseek-r1",
        samples: 4_388,
        accuracy_samples: 4_388,
        server: tokens(2_000, 80),
        interactive: tokens(1_500, 15),
        scores: &[
            at_least("exact_match", 81.358_2 * 0.99),
            between("tokens_per_sample", 3_886.227_4 * 0.9, 3_886.227_4 * 1.1),
        ],
        ..USUAL
    },
    Benchmark {
        folder: "gpt-oss-120b",
        loadgen: "gpt-oss-120b",
        rounds: SINCE_6_0,
        samples: 6_396,
        accuracy_samples: 4_395,
        server: tokens(3_000, 80),
        interactive: tokens(2_000, 15),
        scores: &[at_least("exact_match", 83.13 * 0.99)],
        test06: &[],
        ..USUAL
    },
];

impl Benchmark {
    /// Returns the benchmarks of a round.
    pub(super) fn all(round: Round) -> impl Iterator<Item = &'static Benchmark> {
        TABLE.iter().filter(move |it| it.rounds.contains(&round))
    }

    /// Finds a benchmark by its folder name.
    pub(super) fn from_folder(name: &str, round: Round) -> Option<&'static Benchmark> {
        Benchmark::all(round).find(|it| it.folder == name || it.other.contains(&name))
    }

    /// Finds a benchmark by its folder name or its LoadGen name, with or without `-interactive`. Ignores case, and treats dots and underscores alike.
    pub(super) fn from_name(name: &str, round: Round) -> Option<&'static Benchmark> {
        let known = |wanted: &str| {
            let of =
                |name: fn(&Benchmark) -> &'static str| Benchmark::all(round).find(|it| spelling(name(it)) == wanted);
            of(|it| it.folder).or_else(|| of(|it| it.loadgen))
        };
        let name = spelling(name);
        known(&name).or_else(|| known(&name.replacen("-interactive", "", 1)))
    }

    /// Returns the limits in the folder of a scenario; `None` if there are none.
    pub(super) fn token_limits(&self, scenario_folder: ScenarioFolder) -> Option<TokenLimits> {
        match scenario_folder {
            ScenarioFolder::Server => self.server,
            ScenarioFolder::Interactive => self.interactive,
            _ => None,
        }
    }

    /// Whether the benchmark is run in this scenario.
    pub(super) fn takes(&self, scenario_folder: ScenarioFolder) -> bool {
        self.required.contains(&scenario_folder)
            || (self.one_of.contains(&scenario_folder) && self.token_limits(scenario_folder).is_some())
    }

    /// Whether a round requires TEST06 for this benchmark.
    pub(super) fn test06(&self, round: Round) -> bool {
        self.test06.contains(&round)
    }
}

/// Normalises a name for comparison. LoadGen's names have underscores where folder names have dots.
fn spelling(name: &str) -> String {
    name.trim().to_lowercase().replace('_', ".")
}

#[cfg(test)]
mod tests {
    use workload_profiles::loadgen::{ConfFile, Scenario, Settings, apply_config};

    use super::*;

    #[test]
    fn benchmarks_are_found_by_every_name_of_theirs() {
        let check = |name: &str, round: Round, folder: Option<&str>| {
            assert_eq!(Benchmark::from_name(name, round).map(|it| it.folder), folder, "{name} {}", round.name());
        };
        check("llama3_1-8b-interactive", Round::V6_1, Some("llama3.1-8b"));
        check("llama3.1-8b", Round::V5_1, Some("llama3.1-8b"));
        check("Llama3.1-8B", Round::V6_1, Some("llama3.1-8b"));
        check("llama2-70b-interactive-99.9", Round::V6_1, Some("llama2-70b-99.9"));
        check("llama3_1-8b-edge", Round::V6_1, Some("llama3.1-8b-edge"));
        check("llama2-70b", Round::V6_0, Some("llama2-70b-99.9"));
        check("llama2-70b-99", Round::V6_0, Some("llama2-70b-99"));
        check("llama2-70b-99", Round::V6_1, None);
        check("llama3.1-8b", Round::V5_0, None);
        check("llama2-70b-interactive-99.9", Round::V5_0, Some("llama2-70b-interactive-99.9"));
        check("llama2-70b-interactive", Round::V5_0, Some("llama2-70b-interactive-99.9"));
        check("llama2-70b-99", Round::V5_0, Some("llama2-70b-99"));
        check("mixtral-8x7b", Round::V5_0, Some("mixtral-8x7b"));
        check("bert-99", Round::V6_1, None);
    }

    #[test]
    fn every_benchmark_has_the_floors_of_the_official_checker() {
        assert!(TABLE.iter().all(|it| !it.scores.is_empty()));
        // The messages of MLPerf's checker contain these values.
        for (folder, key, floor) in [
            ("mixtral-8x7b", "rouge1", 45.1429),
            ("mixtral-8x7b", "mbxp", 59.5584),
            ("llama3.1-405b", "exact_match", 89.2322),
            ("deepseek-r1", "exact_match", 80.5446),
            ("gpt-oss-120b", "exact_match", 82.2987),
        ] {
            let benchmark = TABLE.iter().find(|it| it.folder == folder).unwrap();
            let score = benchmark.scores.iter().find(|it| it.key == key).unwrap();
            assert!((score.floor - floor).abs() < 1e-4, "{folder} {key} {}", score.floor);
        }
    }

    #[test]
    fn limits_and_counts_are_those_of_mlperf_conf() {
        let mut compared = 0;
        for benchmark in Benchmark::all(Round::V6_1).chain(Benchmark::all(Round::V6_0)) {
            for (suffix, limits) in [("", benchmark.server), ("-interactive", benchmark.interactive)] {
                let Some(limits) = limits else { continue };
                let model = format!("{}{suffix}", benchmark.loadgen);
                let mut settings = Settings::default();
                let conf = Round::V6_1.mlperf_conf();
                apply_config(ConfFile::MlperfConf, Some(&conf), &model, Scenario::Server, &mut settings).unwrap();
                assert_eq!(settings.server_ttft_latency, limits.ttft_ms * 1_000_000, "{model}");
                assert_eq!(settings.server_tpot_latency, limits.tpot_ms * 1_000_000, "{model}");
                assert_eq!(settings.performance_sample_count_override, benchmark.samples, "{model}");
                compared += 1;
            }
        }
        assert!(compared > 10, "{compared}");
    }
}
