//! Why a data set cannot be sent.

use std::{
    io,
    path::{Path, PathBuf},
};

use prompts::{model_folder::ModelFolderError, tokenizer_file::TokenizerFileError};
use workload_profiles::workload::Published;

/// Where to get a file that is not there, with a semicolon after it; empty where that is not known.
fn where_to_get(path: &Path, cause: &io::Error) -> String {
    let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
    let published = Published::by_file(name).filter(|_| cause.kind() == io::ErrorKind::NotFound);
    published.map(|it| format!("{}; ", it.get)).unwrap_or_default()
}

/// Why a data set cannot be sent. The message contains the cause, which is therefore no `source`.
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
    /// The file does not have the form of its format.
    #[error("the data set {path}, {at}: {what}", path = path.display())]
    Wrong {
        path: PathBuf,
        /// A row or a line.
        at: String,
        /// The problem and the remedy, without the content of the row.
        what: String,
    },
    /// The sent part has no recorded answer, so its length cannot be requested.
    #[error("the data set {path} is to request answers of the recorded length, and {what} has no recorded answer; request a fixed length, or that of a column", path = path.display())]
    NoAnswer {
        path: PathBuf,
        /// The part of a row that is sent.
        what: &'static str,
    },
    /// The file is too long.
    #[error("the data set {path} has more than {most} bytes, the most that is read, after decompression; leave out the columns that are not sent", path = path.display())]
    TooLong {
        path: PathBuf,
        /// Maximum bytes that are read.
        most: u64,
    },
    /// The file contains fewer samples than the load sends.
    #[error("the data set {path} has {found} rows{filtered}, and {wanted} are to be used; lower the count, or give the whole file", path = path.display())]
    TooFew {
        path: PathBuf,
        /// Rows in the file that pass the filter.
        found: u64,
        /// ` that pass the filter`, if there is a filter.
        filtered: &'static str,
        /// Rows that the profile needs.
        wanted: u64,
    },
}

impl DataSetError {
    /// The error without text from the file. `None`: the message contains none.
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
