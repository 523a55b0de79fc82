//! [I/O] Reads all files of a workload: the data set, the questions, and the files of the engine. They are read once, even if the workload runs
//! several times.

use std::{borrow::Cow, path::Path, sync::Arc};

use crds::units::Seed;
use workload_profiles::{Notice, Workload};

use data_sets::DataSetError;
use engine::issue::{Files, LoadError};
use files::file_digest::FileDigest;
use prompts::source::ReadPrompts;
use questions::{QuestionSet, QuestionsError};

/// The reason why the files of a workload cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The data set cannot be sent.
    #[error(transparent)]
    DataSet(#[from] DataSetError),
    /// The questions cannot be used.
    #[error(transparent)]
    Questions(#[from] QuestionsError),
    /// Another file of the workload cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl FilesError {
    /// The message without any content of a file. `None` if the original message contains no such content.
    pub fn without_words(&self) -> Option<String> {
        match self {
            FilesError::DataSet(error) => error.without_words(),
            FilesError::Questions(error) => error.without_words(),
            FilesError::Load(error) => error.without_words(),
        }
    }
}

/// The contents of a workload's files.
#[derive(Debug)]
pub struct WorkloadFiles {
    /// The files from which the engine builds requests.
    pub to_send: Files,
    questions: Option<Arc<QuestionSet>>,
}

impl WorkloadFiles {
    /// Reads the files. `seed` is the seed of the run, which determines the order of shuffled rows.
    ///
    /// # Errors
    /// A file cannot be read, or its content is not allowed.
    pub fn read(workload: &Workload, seed: Seed) -> Result<WorkloadFiles, FilesError> {
        let to_send = Files::read(workload, data_sets::read_with_digest(workload, seed)?)?;
        let found = questions::read(workload)?;
        let Some(set) = found.set.map(Arc::new) else { return Ok(WorkloadFiles { to_send, questions: None }) };
        let prompts = ReadPrompts { source: Arc::clone(&set) as _, files: found.files, notices: found.notices };
        Ok(WorkloadFiles { to_send: to_send.with_prompts(prompts), questions: Some(set) })
    }

    /// The questions. `None` if the requests come from another source.
    pub fn questions(&self) -> Option<&QuestionSet> {
        self.questions.as_deref()
    }

    /// See [`Files::bounded`].
    pub fn bounded<'a>(&self, workload: &'a Workload) -> Cow<'a, Workload> {
        self.to_send.bounded(workload)
    }

    /// See [`Files::rename`].
    pub fn rename(&mut self, downloaded: &Path, url: &str) {
        self.to_send.rename(downloaded, url);
    }

    /// Path and digest of each file.
    pub fn digests(&self) -> &[FileDigest] {
        self.to_send.digests()
    }

    /// Notices for the user: how the requests differ from the content of the files, and which files have no digest.
    pub fn notices(&self) -> &[Notice] {
        self.to_send.notices()
    }
}
