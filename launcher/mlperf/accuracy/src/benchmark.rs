//! MLPerf's language model benchmarks: how each scores answers, and the limits for its figures. Also checks for any other data set. Pure.
//!
//! Sources: the accuracy scripts of mlcommons/inference at commit b66003e1, and the tables of its `tools/submission` for v5.0 to v6.1.

/// A benchmark, which determines how outputs are scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Benchmark {
    /// Summaries of CNN/DailyMail, 13,368 samples.
    Llama3_1_8b,
    /// Summaries of CNN/DailyMail, 5,000 samples.
    Llama3_1_8bEdge,
    /// Questions of OpenOrca.
    Llama2_70b,
    /// Questions of OpenOrca, GSM8K and MBXP.
    Mixtral8x7b,
    /// Questions about long contexts.
    Llama3_1_405b,
    /// Reasoning questions.
    DeepseekR1,
    /// Reasoning questions, some of which are repeated on purpose.
    GptOss120b,
    /// Not an MLPerf benchmark: one check for all rows of any data set.
    Plain(Check),
}

/// How an answer is compared with the expected answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Check {
    /// ROUGE-1, -2, -L and -Lsum, after splitting into sentences.
    Rouge,
    /// ROUGE-L as in llama3.1-405b, after splitting into sentences.
    RougeL,
    /// [`crate::answers::niah_em`], after splitting into sentences.
    NiahEm,
    /// [`crate::answers::qa_em`], after splitting into sentences.
    QaEm,
    /// Compares the final number of the answer.
    Gsm8k,
    /// A program, which is extracted but not run.
    Mbxp,
    /// Compares the letter of a question with four choices.
    LettersToD,
    /// Compares the letter of a question with ten choices.
    LettersToJ,
    /// Compares an integer from 0 to 999.
    Aime,
    /// Compares the content of the last `\boxed{…}`, only as text.
    Math500,
    /// A program, which is extracted but not run.
    LiveCodeBench,
    /// Compares the whole text, without surrounding white space.
    Exact,
}

impl Check {
    /// Returns why this program cannot compute the check's official figure; `None` if it can.
    pub const fn open(self) -> Option<&'static str> {
        match self {
            Check::Mbxp | Check::LiveCodeBench => Some("programs that a model wrote are not run here"),
            Check::Math500 => Some("expressions are compared as text here, and by meaning in the reference"),
            _ => None,
        }
    }

    /// Whether texts must first be split into sentences.
    pub const fn needs_sentences(self) -> bool {
        matches!(self, Check::Rouge | Check::RougeL | Check::NiahEm | Check::QaEm)
    }
}

/// A limit on a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The name of the figure.
    pub key: &'static str,
    /// The value of the reference model.
    pub baseline: f64,
    /// The factor by which the baseline is multiplied.
    pub factor: f64,
    /// Whether the figure must not exceed the limit. If `false`, it must not be below the limit.
    pub is_upper: bool,
}

impl Limit {
    /// Returns the value of the limit. A figure that equals it is accepted.
    pub fn bound(self) -> f64 {
        self.factor * self.baseline
    }
}

impl Benchmark {
    /// All MLPerf benchmarks.
    pub const ALL: [Benchmark; 7] = [
        Benchmark::Llama3_1_8b,
        Benchmark::Llama3_1_8bEdge,
        Benchmark::Llama2_70b,
        Benchmark::Mixtral8x7b,
        Benchmark::Llama3_1_405b,
        Benchmark::DeepseekR1,
        Benchmark::GptOss120b,
    ];

    /// The checks for any data set, with their names.
    pub const PLAIN: [(&str, Check); 5] = [
        ("rouge", Check::Rouge),
        ("number", Check::Gsm8k),
        ("letterAToD", Check::LettersToD),
        ("letterAToJ", Check::LettersToJ),
        ("exactMatch", Check::Exact),
    ];

    /// Returns MLPerf's name, without the accuracy target that some names end in.
    pub const fn name(self) -> &'static str {
        match self {
            Benchmark::Llama3_1_8b => "llama3.1-8b",
            Benchmark::Llama3_1_8bEdge => "llama3.1-8b-edge",
            Benchmark::Llama2_70b => "llama2-70b",
            Benchmark::Mixtral8x7b => "mixtral-8x7b",
            Benchmark::Llama3_1_405b => "llama3.1-405b",
            Benchmark::DeepseekR1 => "deepseek-r1",
            Benchmark::GptOss120b => "gpt-oss-120b",
            Benchmark::Plain(Check::Rouge) => "rouge",
            Benchmark::Plain(Check::Gsm8k) => "number",
            Benchmark::Plain(Check::LettersToD) => "letterAToD",
            Benchmark::Plain(Check::LettersToJ) => "letterAToJ",
            Benchmark::Plain(Check::Exact) => "exactMatch",
            Benchmark::Plain(_) => "a check of a benchmark",
        }
    }

    /// Finds a benchmark by its name, also in the form of MLPerf's folders: `llama3_1-8b`, `llama2-70b-99.9`. Names such as `rouge` are checks for
    /// any data set.
    pub fn from_name(name: &str) -> Option<Benchmark> {
        if let Some((_, check)) = Benchmark::PLAIN.into_iter().find(|(it, _)| *it == name) {
            return Some(Benchmark::Plain(check));
        }
        let name = name.strip_suffix("-99.9").or_else(|| name.strip_suffix("-99")).unwrap_or(name);
        let name = name.replace("llama3_1", "llama3.1");
        Benchmark::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Returns the number of samples in the accuracy data set. The limits apply only if all of them were scored. `None` if any number is allowed.
    pub const fn samples(self) -> Option<u64> {
        let samples = match self {
            Benchmark::Llama3_1_8b => 13_368,
            Benchmark::Llama3_1_8bEdge => 5_000,
            Benchmark::Llama2_70b => 24_576,
            Benchmark::Mixtral8x7b => 15_000,
            Benchmark::Llama3_1_405b => 8_313,
            Benchmark::DeepseekR1 => 4_388,
            Benchmark::GptOss120b => 4_395,
            Benchmark::Plain(_) => return None,
        };
        Some(samples)
    }

    /// Returns the possible columns of the expected answer. The first of them that exists is used.
    pub const fn expected_columns(self) -> &'static [&'static str] {
        match self {
            Benchmark::Llama3_1_8b | Benchmark::Llama3_1_8bEdge | Benchmark::Llama2_70b => &["output"],
            Benchmark::Mixtral8x7b | Benchmark::Llama3_1_405b => &["gt_output"],
            Benchmark::DeepseekR1 => &["gt_output", "ground_truth"],
            Benchmark::GptOss120b => &["ground_truth"],
            Benchmark::Plain(_) => {
                &["output", "gt_output", "ground_truth", "target", "answer", "highlights", "response"]
            }
        }
    }

    /// Returns the possible columns that determine the check of a row; empty if all rows have the same check.
    pub const fn kind_columns(self) -> &'static [&'static str] {
        match self {
            Benchmark::Llama3_1_8b | Benchmark::Llama3_1_8bEdge | Benchmark::Llama2_70b | Benchmark::Plain(_) => &[],
            Benchmark::Mixtral8x7b | Benchmark::GptOss120b => &["dataset"],
            Benchmark::Llama3_1_405b => &["metric"],
            Benchmark::DeepseekR1 => &["dataset", "metric"],
        }
    }

    /// Whether a sample is found in the data set by its label, instead of by its position.
    pub const fn finds_rows_by_label(self) -> bool {
        matches!(self, Benchmark::Llama2_70b | Benchmark::Llama3_1_405b)
    }

    /// Returns the check of a row; `None` if the benchmark has no such kind of row, which the caller reports.
    pub fn check(self, kind: &str) -> Option<Check> {
        match self {
            Benchmark::Llama3_1_8b | Benchmark::Llama3_1_8bEdge | Benchmark::Llama2_70b => Some(Check::Rouge),
            Benchmark::Mixtral8x7b => match kind {
                "OpenOrca" => Some(Check::Rouge),
                "GSM8K" => Some(Check::Gsm8k),
                "MBXP" => Some(Check::Mbxp),
                _ => None,
            },
            Benchmark::Llama3_1_405b => match kind {
                "rouge" => Some(Check::RougeL),
                "niah_em" => Some(Check::NiahEm),
                "qa_em" => Some(Check::QaEm),
                _ => None,
            },
            Benchmark::Plain(check) => Some(check),
            Benchmark::DeepseekR1 | Benchmark::GptOss120b => {
                let kind = kind.to_lowercase();
                // The order is that of the reference. The first of these names that the kind contains is used.
                let checks = [
                    ("gpqa", Check::LettersToD),
                    ("mmlu_pro", Check::LettersToJ),
                    ("math500", Check::Math500),
                    ("aime", Check::Aime),
                    ("livecodebench", Check::LiveCodeBench),
                ];
                checks.into_iter().find(|(name, _)| kind.contains(name)).map(|(_, check)| check)
            }
        }
    }

    /// Whether repeated answers to a sample are scored too, because the benchmark repeats its questions on purpose.
    pub const fn counts_repeats(self) -> bool {
        matches!(self, Benchmark::GptOss120b)
    }

    /// Whether answers to samples that the data set lacks are skipped. If not, they are an error.
    pub const fn skips_unknown_samples(self) -> bool {
        matches!(self, Benchmark::DeepseekR1 | Benchmark::GptOss120b)
    }

    /// Whether special tokens are kept in the decoded text.
    pub const fn keeps_special_tokens(self) -> bool {
        matches!(self, Benchmark::GptOss120b)
    }

    /// Returns the limits for the benchmark's figures. `high`: 99.9 % of the reference instead of 99 %. In MLPerf, only llama2-70b has this.
    pub fn limits(self, high: bool) -> Vec<Limit> {
        let accuracy = if high { 0.999 } else { 0.99 };
        let at_least = |key, baseline| Limit { key, baseline, factor: accuracy, is_upper: false };
        let around = |key, below: f64, above: f64| {
            [
                Limit { key, baseline: below, factor: 0.9, is_upper: false },
                Limit { key, baseline: above, factor: 1.1, is_upper: true },
            ]
        };
        let tokens = |below, above| around("tokens_per_sample", below, above);
        let (mut limits, around) = match self {
            Benchmark::Llama3_1_8b => {
                let four = [("rouge1", 38.7792), ("rouge2", 15.9075), ("rougeL", 24.4957), ("rougeLsum", 35.793)];
                (
                    four.map(|(key, value)| at_least(key, value)).to_vec(),
                    around("gen_len", 8_167_644.0, 8_167_644.0).to_vec(),
                )
            }
            Benchmark::Llama3_1_8bEdge => {
                let four = [("rouge1", 39.06), ("rouge2", 16.1147), ("rougeL", 24.6375), ("rougeLsum", 36.124)];
                (
                    four.map(|(key, value)| at_least(key, value)).to_vec(),
                    around("gen_len", 3_051_113.0, 3_051_113.0).to_vec(),
                )
            }
            Benchmark::Llama2_70b => {
                let three = [("rouge1", 44.4312), ("rouge2", 22.0352), ("rougeL", 28.6162)];
                (three.map(|(key, value)| at_least(key, value)).to_vec(), tokens(294.45, 294.45).to_vec())
            }
            Benchmark::Mixtral8x7b => {
                let five =
                    [("rouge1", 45.5989), ("rouge2", 23.3526), ("rougeL", 30.4608), ("gsm8k", 73.66), ("mbxp", 60.16)];
                (five.map(|(key, value)| at_least(key, value)).to_vec(), tokens(144.84, 145.9).to_vec())
            }
            Benchmark::Llama3_1_405b => {
                let two = [("rougeL", 21.6666), ("exact_match", 90.1335)];
                (two.map(|(key, value)| at_least(key, value)).to_vec(), tokens(684.68, 684.68).to_vec())
            }
            Benchmark::DeepseekR1 => (vec![at_least("exact_match", 81.3582)], tokens(3886.2274, 3886.2274).to_vec()),
            Benchmark::GptOss120b => (vec![at_least("exact_match", 83.13)], Vec::new()),
            Benchmark::Plain(_) => (Vec::new(), Vec::new()),
        };
        limits.extend(around);
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_folders_are_understood() {
        for (name, expected) in [
            ("llama3.1-8b", Some(Benchmark::Llama3_1_8b)),
            ("llama3_1-8b-edge", Some(Benchmark::Llama3_1_8bEdge)),
            ("llama2-70b-99.9", Some(Benchmark::Llama2_70b)),
            ("llama2-70b-99", Some(Benchmark::Llama2_70b)),
            ("rouge", Some(Benchmark::Plain(Check::Rouge))),
            ("bert", None),
        ] {
            assert_eq!(Benchmark::from_name(name), expected, "{name}");
        }
    }

    #[test]
    fn plain_checks_are_found_by_the_names_that_they_give() {
        for (name, check) in Benchmark::PLAIN {
            assert_eq!(Benchmark::from_name(name).map(Benchmark::name), Some(name));
            assert_eq!(Benchmark::Plain(check).check("anything"), Some(check));
        }
    }

    #[test]
    fn kinds_are_those_of_the_reference() {
        assert_eq!(Benchmark::DeepseekR1.check("AIME1983"), Some(Check::Aime));
        assert_eq!(Benchmark::GptOss120b.check("mmlu_pro"), Some(Check::LettersToJ));
        assert_eq!(Benchmark::Mixtral8x7b.check("gsm8k"), None);
        assert_eq!(Benchmark::Llama3_1_405b.check("rouge"), Some(Check::RougeL));
        assert_eq!(Benchmark::Llama3_1_8b.check(""), Some(Check::Rouge));
    }

    #[test]
    fn limits_are_those_of_mlperf() {
        let bounds =
            |it: Benchmark, high| it.limits(high).into_iter().map(|it| (it.key, it.bound())).collect::<Vec<_>>();
        assert_eq!(bounds(Benchmark::Llama3_1_8b, false)[0], ("rouge1", 0.99 * 38.7792));
        assert_eq!(bounds(Benchmark::Llama2_70b, true)[2], ("rougeL", 0.999 * 28.6162));
        assert_eq!(bounds(Benchmark::Llama2_70b, true)[3], ("tokens_per_sample", 0.9 * 294.45));
        assert_eq!(bounds(Benchmark::GptOss120b, false).len(), 1);
    }
}
