//! Why a load cannot be issued.

use std::io;

use crate::{
    client::TargetError, prompt_files::PromptFilesError, recorded::RecordedError, requests::RequestsError,
    trace::TraceError,
};

/// Why a load cannot be issued.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The requests cannot be prepared.
    #[error(transparent)]
    Requests(#[from] RequestsError),
    /// A stage is a phase, and the load has no queries for it.
    #[error("no queries were drawn for the stage {stage}; this is a bug, please report it")]
    NoQueries { stage: String },
    /// The rows of the data set, or the questions, were not read.
    #[error("no prompts were read for the requests; this is a bug, please report it")]
    NoPrompts,
    /// A trace cannot be replayed.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The tokenizer or the corpus cannot be used.
    #[error(transparent)]
    Prompts(#[from] PromptFilesError),
    /// Recorded sessions cannot be sent.
    #[error(transparent)]
    Recorded(#[from] RecordedError),
    /// A header field of a traffic class cannot be sent.
    #[error("the header fields of a traffic class: {0}")]
    Headers(TargetError),
    /// The operating system refuses a thread or a runtime.
    #[error("the launcher cannot start {what}; give it more memory, threads or open files (ulimit -n)")]
    System { what: &'static str, source: io::Error },
    /// A worker panicked.
    #[error("a thread of the launcher ended early: {message}; this is a bug, please report it")]
    Panic {
        /// The message of the panic.
        message: String,
    },
}

impl LoadError {
    /// The error without content of a file, which a server may have sent, or of a filter. `None`: the message contains no such content.
    pub fn without_words(&self) -> Option<String> {
        match self {
            LoadError::Prompts(error) => error.without_words(),
            LoadError::Recorded(error) => error.without_words(),
            // A message about a trace contains the line number, but no content of the line.
            LoadError::Trace(_)
            | LoadError::Requests(_)
            | LoadError::NoQueries { .. }
            | LoadError::NoPrompts
            | LoadError::Headers(_)
            | LoadError::System { .. }
            | LoadError::Panic { .. } => None,
        }
    }
}
