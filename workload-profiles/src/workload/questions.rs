//! Questions: multiple-choice questions in the form of MMLU, their prompts, and how their answers are scored.

use serde::{Deserialize, Serialize};

use super::FileSource;

/// Multiple-choice questions with four choices. Each question is sent once, in the order of the data.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Questions {
    /// A file with questions, or a folder with one or more files per split.
    pub data: FileSource,
    /// Which split of a folder is used.
    pub split: Split,
    /// A file or a folder with the questions that are shown as examples. If absent, the split `dev` of the folder `data` is used.
    pub examples: Option<FileSource>,
    /// Number of examples before each question, from the same subject, 0 to 5.
    pub shots: u32,
    /// Maximum tokens per prompt, as counted by the workload's tokenizer. A question with a longer prompt gets fewer examples. If absent, each
    /// question gets all examples.
    pub max_prompt_tokens: Option<u32>,
    /// Which project's prompt format is used.
    pub format: QuestionFormat,
    /// The text before the prompt. Only present for [`QuestionFormat::Chat`].
    pub instruction: Option<String>,
    /// The subjects to use. Empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<String>,
    /// Maximum number of questions, shared equally between the subjects. If absent, all questions are sent.
    pub total_limit: Option<u64>,
    /// How the letter of an answer is determined.
    pub scoring: AnswerScoring,
    /// Maximum tokens of an answer.
    pub max_tokens: u32,
    /// Which project's table assigns subjects to domains.
    pub domains: Domains,
    /// Minimum share of correct answers for the run to pass, 0 to 1. If absent, there is no minimum.
    pub min_accuracy: Option<f64>,
    /// Whether the results contain the counts for each subject and domain, and each answer.
    pub details: bool,
}

impl Questions {
    /// Maximum number of questions to read: twice the size of MMLU's largest split.
    pub const MOST: u64 = 200_000;
    /// Maximum number of examples before a question. MMLU has five per subject.
    pub const MOST_SHOTS: u64 = 5;
}

/// A part of a data set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// The questions of the benchmark.
    #[default]
    Test,
    /// Questions for choosing settings.
    Validation,
    /// Questions that are shown as examples.
    Dev,
    /// Questions of other data sets, for training.
    AuxiliaryTrain,
}

impl Split {
    /// All splits.
    pub const ALL: [Split; 4] = [Split::Test, Split::Validation, Split::Dev, Split::AuxiliaryTrain];

    /// The name of the split in a profile.
    pub const fn name(self) -> &'static str {
        match self {
            Split::Test => "test",
            Split::Validation => "validation",
            Split::Dev => "dev",
            Split::AuxiliaryTrain => "auxiliary_train",
        }
    }

    /// The names of this split's folders and files, in the versions of Hugging Face and of MMLU's authors.
    pub const fn file_names(self) -> &'static [&'static str] {
        match self {
            Split::Test => &["test"],
            Split::Validation => &["validation", "val"],
            Split::Dev => &["dev"],
            Split::AuxiliaryTrain => &["auxiliary_train", "train"],
        }
    }
}

/// The project whose prompt format is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum QuestionFormat {
    /// The format of MMLU's authors.
    #[default]
    Original,
    /// The format of lm-evaluation-harness.
    Harness,
    /// The format of MMLU's authors, with an instruction before it.
    Chat,
}

/// How the letter of an answer is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AnswerScoring {
    /// From the most probable first token. Each request requires the log probabilities of this number of tokens.
    Logprobs(u32),
    /// From the generated text.
    Text,
}

/// The project whose table assigns subjects to domains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Domains {
    /// The table of MMLU's authors.
    #[default]
    Original,
    /// The table of lm-evaluation-harness, which counts anatomy as STEM.
    LmEval,
}
