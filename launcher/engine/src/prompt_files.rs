//! [I/O] Reads the files that prompts are made from: the tokenizer and the corpus.

use files::{
    file_digest::{DigestReader, FileDigest},
    user_file,
};
use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use workload_profiles::{Notice, Workload};

use crate::requests::{Texts, TextsError};
use prompts::tokenizer_file::{self, TokenizerFileError};

/// Maximum size of a corpus, in bytes. This is more text than the prompts of a load need, and a tokenizer encodes it within seconds.
const MAX_CORPUS: u64 = 16 << 20;

const ENCODES_EVERY_TEXT: &str = "the tokens of a word depend on its neighbours with this tokenizer, so that each prompt is encoded until its length is right; \
     this takes some milliseconds of CPU time for a prompt of 1,000 tokens";
const IMAGES_REPEAT: &str = "images are made before the load, at most 4,096 and 256 MiB of them; a load that needs more sends the same images again";

/// The reason why the tokenizer or the corpus cannot be used. The message contains the cause, so the error has no `source`.
#[derive(Debug, thiserror::Error)]
pub enum PromptFilesError {
    /// The tokenizer cannot be read.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerFileError),
    /// The corpus cannot be read.
    #[error("cannot read the corpus {path}: {cause}; give a file of running text", path = path.display())]
    Corpus { path: PathBuf, cause: io::Error },
    /// The tokenizer and the corpus cannot produce texts.
    #[error("{0}; see tokenizer and corpus of the profile")]
    Texts(#[from] TextsError),
}

impl PromptFilesError {
    /// Returns the message without content that it may quote from the files. `None` if the message contains no such content.
    pub(crate) fn without_words(&self) -> Option<String> {
        match self {
            PromptFilesError::Tokenizer(error) => error.without_words(),
            // The cause could reveal content of the file.
            PromptFilesError::Corpus { path, cause } if cause.kind() == ErrorKind::InvalidData => {
                Some(format!("the corpus {} is no UTF-8 text", path.display()))
            }
            PromptFilesError::Texts(TextsError::Tokenizer(_)) => {
                Some("the tokenizer of the profile cannot encode a text".to_owned())
            }
            PromptFilesError::Corpus { .. } | PromptFilesError::Texts(TextsError::NoWords) => None,
        }
    }
}

/// The material for the texts of a workload, and digests of the files that it comes from.
#[derive(Debug, Default)]
pub struct PromptFiles {
    pub texts: Texts,
    pub digests: Vec<FileDigest>,
    pub notices: Vec<Notice>,
}

/// Reads the tokenizer and the corpus of a workload, if it has them.
///
/// # Errors
/// A file cannot be read, is too large, or has invalid content.
pub fn read(workload: &Workload) -> Result<PromptFiles, PromptFilesError> {
    let tokenizer = workload.tokenizer.as_ref().map(|it| tokenizer_file::read(it.as_path())).transpose()?;
    let (tokenizer, of_tokenizer) = tokenizer.unzip();
    let corpus = workload.corpus.as_ref().map(|it| read_corpus(it.as_path())).transpose()?;
    let (corpus, of_corpus) = corpus.unzip();
    let texts = Texts::new(corpus.as_deref(), tokenizer)?;
    let notices = [
        texts.encodes_every_text().then_some(("tokenizer", ENCODES_EVERY_TEXT)),
        workload.images.as_ref().map(|_| ("images", IMAGES_REPEAT)),
    ];
    Ok(PromptFiles {
        texts,
        digests: of_tokenizer.into_iter().chain(of_corpus).collect(),
        notices: notices
            .into_iter()
            .flatten()
            .map(|(path, message)| Notice { path: path.into(), message: message.into() })
            .collect(),
    })
}

fn read_corpus(path: &Path) -> Result<(String, FileDigest), PromptFilesError> {
    let failed = |cause| PromptFilesError::Corpus { path: path.to_owned(), cause };
    let text = user_file::read_text(path, MAX_CORPUS).map_err(failed)?;
    let digest = DigestReader::new(text.as_bytes()).finish(path, MAX_CORPUS).map_err(failed)?;
    Ok((text, digest))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use workload_profiles::workload::{FileSource, RequestSource};

    use super::*;

    #[test]
    fn both_files_are_read_and_have_digests() {
        let folder = tempfile::tempdir().unwrap();
        let (corpus, tokenizer) = (folder.path().join("a.txt"), folder.path().join("tokenizer.json"));
        fs::write(&corpus, "Shall I compare thee to a summer's day?").unwrap();
        fs::write(&tokenizer, include_bytes!("../../tokenizer/tests/fixtures/byte-level.json")).unwrap();
        let mut workload = Workload::new(crds::benchmark_run::Api::Chat, RequestSource::Mock, Vec::new());
        assert!(read(&workload).unwrap().digests.is_empty());
        workload.corpus = Some(FileSource::Path(corpus.clone()));
        workload.tokenizer = Some(FileSource::Path(folder.path().to_owned()));
        let files = read(&workload).unwrap();
        let paths: Vec<_> = files.digests.iter().map(|it| it.path.clone()).collect();
        assert_eq!(paths, [tokenizer, corpus.clone()]);
        assert!(files.notices.is_empty());
        fs::write(&corpus, "...").unwrap();
        let error = read(&workload).unwrap_err().to_string();
        assert_eq!(
            error,
            "the corpus has no word; give a file of running text; see tokenizer and corpus of the profile"
        );
        workload.corpus = Some(FileSource::Path(folder.path().to_owned()));
        let error = read(&workload).unwrap_err().to_string();
        assert!(error.contains("it is a folder") && error.ends_with("give a file of running text"), "{error}");
    }
}
