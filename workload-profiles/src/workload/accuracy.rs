//! Whether the answers of a load are scored, and the limits for the scores.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::FileSource;

/// The checks of MLPerf's benchmarks, as MLPerf names them. Each may end in one of [`SHARES`].
pub const BENCHMARK_CHECKS: [&str; 7] =
    ["llama3.1-8b", "llama3.1-8b-edge", "llama2-70b", "mixtral-8x7b", "llama3.1-405b", "deepseek-r1", "gpt-oss-120b"];

/// The shares of the reference's figures that a check name may select, in percent; the first one is the default.
pub const SHARES: [&str; 2] = ["-99", "-99.9"];

/// The checks for any data set.
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
    /// The file with the expected answers; absent: the file of the prompts. Row i belongs to sample i.
    pub data_set: Option<FileSource>,
    /// The column of the expected answers; absent: the check's default column.
    pub expected: Option<String>,
    /// The model's `tokenizer.json`, or its folder, which decodes token ids; absent: the workload's tokenizer. Without any tokenizer, the text
    /// from the server is scored.
    pub tokenizer: Option<FileSource>,
    /// NLTK's folder `punkt_tab/english`; absent: the folder from the launcher's environment. Without the folder, figures that depend on
    /// sentences are not computed.
    pub punkt: Option<PathBuf>,
    /// The limits for the figures.
    #[serde(default)]
    pub limits: AccuracyLimits,
    /// True: the mode of a LoadGen test requested the check, and it is skipped if the data set has no expected answers. False: the profile
    /// requests the check.
    #[serde(skip)]
    pub optional: bool,
}

impl Accuracy {
    /// The check of a benchmark on the data set of the load, as the mode of a LoadGen test requests it.
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
    /// The limits of the benchmark, for a run over its whole data set; a plain check has no limits.
    #[default]
    OfBenchmark,
    /// No limits: the figures are only reported.
    None,
    /// The least value of some of [`bounded_figures`] of the check, on a scale of 0 to 100.
    AtLeast(BTreeMap<String, f64>),
}

/// The check for a LoadGen benchmark name from a profile, such as `llama3_1-8b-interactive`; `None`: it has no check.
pub fn check_of_benchmark(name: &str) -> Option<String> {
    let plain = name.trim().to_lowercase().replace("llama3_1", "llama3.1").replace("-interactive", "");
    is_benchmark_check(&plain).then_some(plain)
}

/// Whether it is a check of a benchmark, with or without a share of the reference.
pub fn is_benchmark_check(name: &str) -> bool {
    BENCHMARK_CHECKS.contains(&without_share(name))
}

/// The name of a check without the share of the reference.
pub fn without_share(name: &str) -> &str {
    SHARES.into_iter().find_map(|it| name.strip_suffix(it)).unwrap_or(name)
}

/// The figures that `accuracy.limits` may bound: the figures of this check from 0 to 100. Empty if no check has this
/// name.
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
