//! The reason why a load cannot run.

use std::io;

use crate::{
    client::TargetError, prompt_files::PromptFilesError, recorded::RecordedError, requests::RequestsError,
    trace::TraceError,
};

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The requests cannot be generated.
    #[error(transparent)]
    Requests(#[from] RequestsError),
    /// A stage is a LoadGen phase, but the order contains no queries for it.
    #[error("no queries were drawn for the stage {stage}; this is a bug, please report it")]
    NoQueries { stage: String },
    /// The rows of the data set, or the questions, have not been read.
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
    /// A traffic class has a header field that cannot be sent.
    #[error("the header fields of a traffic class: {0}")]
    Headers(TargetError),
    /// The operating system refused to create a thread or a runtime.
    #[error("the launcher cannot start {what}; raise its limits of memory, threads or open files (ulimit -n)")]
    System { what: &'static str, source: io::Error },
    /// A worker panicked.
    #[error("a thread of the launcher ended early: {message}; this is a bug, please report it")]
    Panic {
        /// The message of the panic.
        message: String,
    },
}

impl LoadError {
    /// Returns the message without content that it may quote from files or filters. `None` if the message quotes no such content.
    pub fn without_words(&self) -> Option<String> {
        match self {
            LoadError::Prompts(error) => error.without_words(),
            LoadError::Recorded(error) => error.without_words(),
            // Messages about a trace contain a line number, but not the content of the line.
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
