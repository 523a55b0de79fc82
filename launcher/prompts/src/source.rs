//! Prompts that are ready before the load begins, with their source files.

use std::{fmt::Debug, sync::Arc};

use files::file_digest::FileDigest;
use workload_profiles::Notice;

use crate::rows::Rows;

/// Prompts that are written when their requests are made. Request i of each stage sends prompt i.
///
/// The engine calls these methods on the threads that send the load. They must return immediately.
pub trait PromptSource: Debug + Send + Sync {
    /// Number of prompts.
    fn count(&self) -> u64;

    /// Appends prompt `number`. Past the last prompt it appends nothing.
    fn write(&self, number: u64, prompt: &mut String);

    /// Maximum tokens of an answer.
    fn max_tokens(&self) -> u32;
}

/// The rows of a data set, and their source files.
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

/// Prompts, and their source files.
#[derive(Clone, Debug)]
pub struct ReadPrompts {
    /// The prompts.
    pub source: Arc<dyn PromptSource>,
    /// Each file, with its digest.
    pub files: Vec<FileDigest>,
    /// How requests differ from the content of the files.
    pub notices: Vec<Notice>,
}
