//! Whether the answers of a load are scored, and the limits for the scores.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::FileSource;

/// The checks for MLPerf's benchmarks, with MLPerf's names. Each name can end with one of [`SHARES`].
pub const BENCHMARK_CHECKS: [&str; 7] =
    ["llama3.1-8b", "llama3.1-8b-edge", "llama2-70b", "mixtral-8x7b", "llama3.1-405b", "deepseek-r1", "gpt-oss-120b"];

/// The suffixes of a check's name. They select the required share of the reference's scores, in percent. The first one is the default.
pub const SHARES: [&str; 2] = ["-99", "-99.9"];

/// The checks that can be used with any data set.
pub const PLAIN_CHECKS: [&str; 5] = ["rouge", "number", "letterAToD", "letterAToJ", "exactMatch"];

/// All figures that a profile may limit, for any check. [`bounded_figures`] returns the figures of one check.
pub const BOUNDED_FIGURES: [&str; 6] = ["rouge1", "rouge2", "rougeL", "rougeLsum", "gsm8k", "exact_match"];

/// How the answers of a load are scored.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Accuracy {
    /// One of [`BENCHMARK_CHECKS`], optionally with one of [`SHARES`], or one of [`PLAIN_CHECKS`].
    pub check: String,
    /// The file with the expected answers. If absent, the file of the prompts contains them. Row i is the answer to sample i.
    pub data_set: Option<FileSource>,
    /// The column of the expected answers. If absent, the check's default column is used.
    pub expected: Option<String>,
    /// The model's `tokenizer.json`, or its folder. It decodes token ids. If absent, the workload's tokenizer is used. Without any tokenizer,
    /// the server's text is scored.
    pub tokenizer: Option<FileSource>,
    /// NLTK's folder `punkt_tab/english`. If absent, the folder from the launcher's environment is used. Without the folder, figures that depend
    /// on sentences are not computed.
    pub punkt: Option<PathBuf>,
    /// The limits for the figures.
    #[serde(default)]
    pub limits: AccuracyLimits,
    /// True: the mode of a LoadGen test requested the check, so it is skipped if the data set has no expected answers. False: the profile requested
    /// the check.
    #[serde(skip)]
    pub optional: bool,
}

impl Accuracy {
    /// The check for a benchmark on the load's data set, as requested by the mode of a LoadGen test.
    pub fn of_benchmark(check: &str) -> Accuracy {
        Accuracy {
            check: check.to_owned(),
            data_set: None,
            expected: None,
            tokenizer: None,
            punkt: None,
            limits: AccuracyLimits::OfBenchmark,
            optional: true,
        }
    }
}

/// The limits for the figures of an accuracy check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AccuracyLimits {
    /// The limits of the benchmark. They require a run over its whole data set. A plain check has no limits.
    #[default]
    OfBenchmark,
    /// No limits: the figures are only reported.
    None,
    /// Minimum values of some of the check's figures (see [`bounded_figures`]), on a scale of 0 to 100.
    AtLeast(BTreeMap<String, f64>),
}

/// Returns the check for a LoadGen benchmark, such as `llama3_1-8b-interactive`. `None` if the benchmark has no check.
pub fn check_of_benchmark(name: &str) -> Option<String> {
    let plain = name.trim().to_lowercase().replace("llama3_1", "llama3.1").replace("-interactive", "");
    is_benchmark_check(&plain).then_some(plain)
}

/// Whether this is the name of a benchmark's check, with or without one of [`SHARES`].
pub fn is_benchmark_check(name: &str) -> bool {
    BENCHMARK_CHECKS.contains(&without_share(name))
}

/// Returns the name of a check without a suffix from [`SHARES`].
pub fn without_share(name: &str) -> &str {
    SHARES.into_iter().find_map(|it| name.strip_suffix(it)).unwrap_or(name)
}

/// Returns the figures of a check that `accuracy.limits` may limit. Their scale is 0 to 100. Empty if no check has this name.
pub fn bounded_figures(check: &str) -> &'static [&'static str] {
    match without_share(check) {
        "rouge" | "llama3.1-8b" | "llama3.1-8b-edge" | "llama2-70b" => &["rouge1", "rouge2", "rougeL", "rougeLsum"],
        "mixtral-8x7b" => &["rouge1", "rouge2", "rougeL", "rougeLsum", "gsm8k"],
        "llama3.1-405b" => &["rougeL", "exact_match"],
        "deepseek-r1" | "gpt-oss-120b" | "number" | "letterAToD" | "letterAToJ" | "exactMatch" => &["exact_match"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loadgens_names_have_their_checks() {
        for (name, expected) in [
            ("llama3_1-8b", Some("llama3.1-8b")),
            ("llama3.1-8b-edge", Some("llama3.1-8b-edge")),
            ("Llama3.1-8B-99", Some("llama3.1-8b-99")),
            ("llama3_1-405b-interactive", Some("llama3.1-405b")),
            ("llama2-70b-99.9", Some("llama2-70b-99.9")),
            ("llama2-70b-interactive-99.9", Some("llama2-70b-99.9")),
            ("llama2-70b-98", None),
            ("whisper", None),
        ] {
            assert_eq!(check_of_benchmark(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn every_check_has_a_figure_that_may_be_bounded() {
        for name in BENCHMARK_CHECKS.into_iter().chain(PLAIN_CHECKS) {
            let figures = bounded_figures(name);
            assert!(
                !figures.is_empty() && figures.iter().all(|it| BOUNDED_FIGURES.contains(it)),
                "{name}: {figures:?}"
            );
        }
        assert_eq!(bounded_figures("llama2-70b-99.9"), bounded_figures("llama2-70b"));
        assert!(bounded_figures("whisper").is_empty());
    }
}
