//! Prompts that exist before the load begins, and their source files.

use std::{fmt::Debug, sync::Arc};

use files::file_digest::FileDigest;
use workload_profiles::Notice;

use crate::rows::Rows;

/// Prompts whose texts are written only when their requests are built. Request i of each stage sends prompt i.
///
/// The engine calls these methods on the threads that send the load, so they must return immediately.
pub trait PromptSource: Debug + Send + Sync {
    /// Number of prompts.
    fn count(&self) -> u64;

    /// Appends prompt `number` to `prompt`. Beyond the last prompt, appends nothing.
    fn write(&self, number: u64, prompt: &mut String);

    /// Maximum number of tokens in an answer.
    fn max_tokens(&self) -> u32;
}

/// The rows of a data set, with its source files.
#[derive(Clone, Debug, Default)]
pub struct ReadRows {
    /// The rows that are sent.
    pub rows: Rows,
    /// The file of the data set and the file of the chat template, each with its digest if it has one. Empty if the requests use no data set.
    pub files: Vec<FileDigest>,
    /// Notices for the user: why the file has no digest, which rows are left out, and how lengths were counted.
    pub notices: Vec<Notice>,
}

/// Prompts, with their source files.
#[derive(Clone, Debug)]
pub struct ReadPrompts {
    /// The prompts.
    pub source: Arc<dyn PromptSource>,
    /// The source files, each with its digest.
    pub files: Vec<FileDigest>,
    /// Notices for the user: how requests differ from the content of the files.
    pub notices: Vec<Notice>,
}
