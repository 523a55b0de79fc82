//! Errors that prevent a data set from being sent.

use std::{
    io,
    path::{Path, PathBuf},
};

use prompts::{model_folder::ModelFolderError, tokenizer_file::TokenizerFileError};
use workload_profiles::workload::Published;

/// Where to get a missing file, with a semicolon at the end. Empty if unknown.
fn where_to_get(path: &Path, cause: &io::Error) -> String {
    let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
    let published = Published::by_file(name).filter(|_| cause.kind() == io::ErrorKind::NotFound);
    published.map(|it| format!("{}; ", it.get)).unwrap_or_default()
}

/// The reason why a data set cannot be sent. The message already contains the cause, so there is no `source`.
#[derive(Debug, thiserror::Error)]
pub enum DataSetError {
    /// The file cannot be read.
    #[error("cannot read the data set {path}: {cause}; {}a relative path counts from the folder of the file that names it; in a cluster, name the file in spec.profile.files", where_to_get(.path, .cause), path = path.display())]
    Read { path: PathBuf, cause: io::Error },
    /// The tokenizer that counts the lengths of texts cannot be used.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerFileError),
    /// The chat template of the model cannot be used.
    #[error(transparent)]
    Model(#[from] ModelFolderError),
    /// The file cannot be decompressed.
    #[error("cannot decompress the data set {path}: {cause}; download or write the file again", path = path.display())]
    Damaged { path: PathBuf, cause: io::Error },
    /// The content does not match the format of the file.
    #[error("the data set {path}, {at}: {what}", path = path.display())]
    Wrong {
        path: PathBuf,
        /// The position: a row or a line.
        at: String,
        /// The problem and the remedy, without the content of the row.
        what: String,
    },
    /// The requested output length is to come from the recorded answer, but the sent part of the row has no answer.
    #[error("the profile asks for answers of the recorded length, and {what} in the data set {path} has no recorded answer; request a fixed length, or the lengths in a column", path = path.display())]
    NoAnswer {
        path: PathBuf,
        /// The part of a row that is sent.
        what: &'static str,
    },
    /// The file is too long.
    #[error("the data set {path} has more than {most} bytes, the most that is read, after decompression; leave out the columns that are not sent", path = path.display())]
    TooLong {
        path: PathBuf,
        /// Maximum number of bytes that are read.
        most: u64,
    },
    /// The file contains fewer rows than the load needs.
    #[error("the data set {path} has {found} rows{filtered}, and {wanted} are needed; lower the count, or give the whole file", path = path.display())]
    TooFew {
        path: PathBuf,
        /// Number of rows in the file that pass the filter.
        found: u64,
        /// ` that pass the filter` if there is a filter; empty otherwise.
        filtered: &'static str,
        /// Number of rows that the load needs.
        wanted: u64,
    },
}

impl DataSetError {
    /// The message without text from the file. `None` if the normal message contains no such text.
    pub fn without_words(&self) -> Option<String> {
        match self {
            DataSetError::Wrong { path, at, what: _ } => {
                Some(format!("the data set {}, {at}: cannot be read as the profile wants", path.display()))
            }
            DataSetError::Tokenizer(error) => error.without_words(),
            DataSetError::Model(error) => error.without_words(),
            DataSetError::Read { .. }
            | DataSetError::Damaged { .. }
            | DataSetError::NoAnswer { .. }
            | DataSetError::TooLong { .. }
            | DataSetError::TooFew { .. } => None,
        }
    }
}
