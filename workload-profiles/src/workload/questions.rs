//! Questions: multiple-choice questions in the form of MMLU, their prompts, and how the answers are scored.

use serde::{Deserialize, Serialize};

use super::FileSource;

/// Questions with four choices. Each question is sent once, in the order of the data.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Questions {
    /// A file with questions, or a folder with files of each split.
    pub data: FileSource,
    /// Which questions of a folder are used.
    pub split: Split,
    /// A file, or a folder, with the questions that are shown as examples; absent: the split dev of the folder `data`.
    pub examples: Option<FileSource>,
    /// Examples before each question, of its own subject; 0 to 5.
    pub shots: u32,
    /// Maximum tokens per prompt, by the workload's tokenizer: a question with a longer prompt has fewer examples. Absent: each question has
    /// all examples.
    pub max_prompt_tokens: Option<u32>,
    /// The project that defines the prompt.
    pub format: QuestionFormat,
    /// The text before the prompt; only present with [`QuestionFormat::Chat`].
    pub instruction: Option<String>,
    /// The subjects to use; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<String>,
    /// Maximum questions, shared equally between the subjects; absent: all.
    pub total_limit: Option<u64>,
    /// How the letter of an answer is found.
    pub scoring: AnswerScoring,
    /// Maximum tokens of an answer.
    pub max_tokens: u32,
    /// The project that defines the table of domains.
    pub domains: Domains,
    /// Minimum share of right answers for the run to pass, 0 to 1; absent: no minimum.
    pub min_accuracy: Option<f64>,
    /// Whether the results have the counts of each subject and domain, and each answer.
    pub details: bool,
}

impl Questions {
    /// Maximum questions to read: twice the size of MMLU's largest split.
    pub const MOST: u64 = 200_000;
    /// Maximum examples before a question: MMLU has five of each subject.
    pub const MOST_SHOTS: u64 = 5;
}

/// A part of a data set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// The questions of the benchmark.
    #[default]
    Test,
    /// Questions to choose settings by.
    Validation,
    /// The examples.
    Dev,
    /// Questions of other data sets, for training.
    AuxiliaryTrain,
}

impl Split {
    /// All of them.
    pub const ALL: [Split; 4] = [Split::Test, Split::Validation, Split::Dev, Split::AuxiliaryTrain];

    /// The name in a profile.
    pub const fn name(self) -> &'static str {
        match self {
            Split::Test => "test",
            Split::Validation => "validation",
            Split::Dev => "dev",
            Split::AuxiliaryTrain => "auxiliary_train",
        }
    }

    /// The names that folders and files of this split have, of Hugging Face and of the authors.
    pub const fn file_names(self) -> &'static [&'static str] {
        match self {
            Split::Test => &["test"],
            Split::Validation => &["validation", "val"],
            Split::Dev => &["dev"],
            Split::AuxiliaryTrain => &["auxiliary_train", "train"],
        }
    }
}

/// The project that defines the prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum QuestionFormat {
    /// That of the authors of MMLU.
    #[default]
    Original,
    /// That of lm-evaluation-harness.
    Harness,
    /// That of the authors, with an instruction before it.
    Chat,
}

/// How the letter of an answer is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AnswerScoring {
    /// By the most probable first token. Each request requests the probabilities of this number of tokens.
    Logprobs(u32),
    /// In the generated text.
    Text,
}

/// The project that defines the table of domains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Domains {
    /// That of the authors of MMLU.
    #[default]
    Original,
    /// The table of lm-evaluation-harness, which counts anatomy as STEM.
    LmEval,
}
