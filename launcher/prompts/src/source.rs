//! Prompts that are ready before the load begins, with the files that they come from.

use std::{fmt::Debug, sync::Arc};

use files::file_digest::FileDigest;
use workload_profiles::Notice;

use crate::rows::Rows;

/// Prompts that are written when their requests are made. Request i of each stage sends prompt i.
///
/// The engine calls these methods on the threads that send the load. They return at once.
pub trait PromptSource: Debug + Send + Sync {
    /// Number of prompts.
    fn count(&self) -> u64;

    /// Appends prompt `number`. Past the last prompt it appends nothing.
    fn write(&self, number: u64, prompt: &mut String);

    /// Maximum tokens of an answer.
    fn max_tokens(&self) -> u32;
}

/// The rows of a data set, and the files that they come from.
#[derive(Clone, Debug, Default)]
pub struct ReadRows {
    /// The rows that are sent.
    pub rows: Rows,
    /// The file of the data set and the file of the chat template, with their digests if they have any. Empty: the requests have another
    /// source.
    pub files: Vec<FileDigest>,
    /// Why the file has no digest, which rows are left out, and how lengths were counted.
    pub notices: Vec<Notice>,
}

/// Prompts, and the files that they come from.
#[derive(Clone, Debug)]
pub struct ReadPrompts {
    /// The prompts.
    pub source: Arc<dyn PromptSource>,
    /// Each file, with its digest.
    pub files: Vec<FileDigest>,
    /// What is sent differently from what the files say.
    pub notices: Vec<Notice>,
}
