//! The reason why questions cannot be sent.

use std::{io, path::PathBuf};

use data_sets::DataSetError;
use prompts::tokenizer_file::TokenizerFileError;
use workload_profiles::workload::Questions;

/// Maximum number of names in a message.
const MAX_LISTED: usize = 60;

/// The reason why questions cannot be sent. The message contains the cause, so the error has no `source`.
#[derive(Debug, thiserror::Error)]
pub enum QuestionsError {
    /// A file or a folder cannot be read.
    #[error("cannot read the questions of {path}: {cause}; `hf download cais/mmlu --repo-type dataset` gets MMLU, and a relative path counts from the folder of the file that names it", path = path.display())]
    Read { path: PathBuf, cause: io::Error },
    /// A file is not valid in its format, or a row is not a question.
    #[error("the questions of {path}, {at}: {what}", path = path.display())]
    Wrong {
        path: PathBuf,
        /// The row or the line.
        at: String,
        /// The problem and how to solve it.
        what: String,
    },
    /// A file, or a whole split, contains no question.
    #[error("{path} has no question; give a file with questions, or the folder of MMLU", path = path.display())]
    Empty { path: PathBuf },
    /// A folder contains no file of a split.
    #[error("the folder {path} has no questions of the split {split}: none of {wanted} is there, only {found}; {remedy}", path = path.display())]
    NoSplit {
        path: PathBuf,
        split: &'static str,
        /// The file names that were searched for.
        wanted: String,
        /// The names in the folder.
        found: String,
        remedy: &'static str,
    },
    /// The prompts need examples, but the data is a single file without examples.
    #[error("shots is {shots}, and {path} is one file without examples; name a file or a folder with them in examples, or set shots to 0", path = path.display())]
    NoExamples { path: PathBuf, shots: u32 },
    /// Some subjects have too few examples.
    #[error("shots is {shots}, and the examples of {path} are fewer for {subjects}; lower shots, or name other examples", path = path.display())]
    TooFewExamples {
        path: PathBuf,
        shots: u32,
        /// The subjects, each with its number of examples.
        subjects: String,
    },
    /// The profile names subjects that the data does not contain.
    #[error("subjects has {unknown}, of which {path} has no question; it has {known}", path = path.display())]
    UnknownSubjects { path: PathBuf, unknown: String, known: String },
    /// A binary file cannot be read, or one of its rows is not a question.
    #[error(transparent)]
    DataSet(#[from] DataSetError),
    /// The tokenizer that measures prompts cannot be used.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerFileError),
    /// There are too many questions.
    #[error("{path} has more than {} questions, the most that are read; give a part of them", Questions::MOST, path = path.display())]
    TooMany { path: PathBuf },
}

impl QuestionsError {
    /// Returns the message without text from the file. `None` if the message contains no such text.
    pub fn without_words(&self) -> Option<String> {
        match self {
            QuestionsError::Wrong { path, at, what: _ } => {
                Some(format!("the questions of {}, {at}: are no questions with four choices", path.display()))
            }
            QuestionsError::TooFewExamples { path, shots, subjects: _ } => {
                Some(format!("shots is {shots}, and the examples of {} are fewer for some subjects", path.display()))
            }
            QuestionsError::UnknownSubjects { path, unknown, known: _ } => {
                Some(format!("subjects has {unknown}, of which {} has no question", path.display()))
            }
            QuestionsError::NoSplit { path, split, .. } => {
                Some(format!("the folder {} has no questions of the split {split}", path.display()))
            }
            QuestionsError::DataSet(error) => error.without_words(),
            QuestionsError::Tokenizer(error) => error.without_words(),
            QuestionsError::Read { .. }
            | QuestionsError::Empty { .. }
            | QuestionsError::NoExamples { .. }
            | QuestionsError::TooMany { .. } => None,
        }
    }
}

/// Joins names with commas, and adds how many more there are.
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let more = names.len().saturating_sub(MAX_LISTED);
    let first = names[..names.len() - more].join(", ");
    if more > 0 { format!("{first} and {more} more") } else { first }
}
