//! Whether the answers of a load are scored, and what they are held against.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::FileSource;

/// The checks of MLPerf's benchmarks, as MLPerf names them. Each may end in one of [`SHARES`].
pub const BENCHMARK_CHECKS: [&str; 7] =
    ["llama3.1-8b", "llama3.1-8b-edge", "llama2-70b", "mixtral-8x7b", "llama3.1-405b", "deepseek-r1", "gpt-oss-120b"];

/// The shares of the reference's figures that limits may ask for, in percent; without one it is the first.
pub const SHARES: [&str; 2] = ["-99", "-99.9"];

/// The checks for any data set.
pub const PLAIN_CHECKS: [&str; 5] = ["rouge", "number", "letterAToD", "letterAToJ", "exactMatch"];

/// The figures that a profile may bound, of whatever check. [`bounded_figures`] has those of one.
pub const BOUNDED_FIGURES: [&str; 6] = ["rouge1", "rouge2", "rougeL", "rougeLsum", "gsm8k", "exact_match"];

/// How the answers of a load are scored.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Accuracy {
    /// One of [`BENCHMARK_CHECKS`], with one of [`SHARES`] or without, or one of [`PLAIN_CHECKS`].
    pub check: String,
    /// The file that has the expected answers; absent: that of the prompts. Row i belongs to sample i.
    pub data_set: Option<FileSource>,
    /// The column of the expected answers; absent: the one that the check knows.
    pub expected: Option<String>,
    /// The `tokenizer.json` of the model, or its folder, which decodes token ids; absent: that of the workload. Without any, the text is
    /// scored that the server sent.
    pub tokenizer: Option<FileSource>,
    /// NLTK's folder `punkt_tab/english`; absent: the one of the launcher's environment. Without any, what depends on sentences is
    /// not computed.
    pub punkt: Option<PathBuf>,
    /// What the figures are held against.
    #[serde(default)]
    pub limits: AccuracyLimits,
    /// True: the mode of a LoadGen test brought it, and it is left out where the data set has no expected answers. False: the profile
    /// asks for it.
    #[serde(skip)]
    pub optional: bool,
}

impl Accuracy {
    /// The check of a benchmark against the data set that is sent, as the mode of a LoadGen test brings it.
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

/// What the figures of an accuracy check are held against.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AccuracyLimits {
    /// The limits of the benchmark, for a run over its whole data set; a plain check has none.
    #[default]
    OfBenchmark,
    /// Nothing: the figures are only reported.
    None,
    /// The least value of some of [`bounded_figures`] of the check, on a scale of 0 to 100.
    AtLeast(BTreeMap<String, f64>),
}

/// The check of a LoadGen benchmark by the name that a profile gives it, such as `llama3_1-8b-interactive`; `None`: it has none.
pub fn check_of_benchmark(name: &str) -> Option<String> {
    let plain = name.trim().to_lowercase().replace("llama3_1", "llama3.1").replace("-interactive", "");
    is_benchmark_check(&plain).then_some(plain)
}

/// Whether it is a check of a benchmark, with a share of the reference or without.
pub fn is_benchmark_check(name: &str) -> bool {
    BENCHMARK_CHECKS.contains(&without_share(name))
}

/// The name of a check without the share of the reference.
pub fn without_share(name: &str) -> &str {
    SHARES.into_iter().find_map(|it| name.strip_suffix(it)).unwrap_or(name)
}

/// The figures of a check that a profile may bound: those on a scale of 0 to 100 that the check computes. None where the name is
/// that of no check.
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
