//! [I/O] Reads the tokenizer of a workload.

use files::{
    file_digest::{DigestReader, FileDigest},
    user_file,
};
use std::{
    io,
    path::{Path, PathBuf},
};

use tokenizer::{Tokenizer, TokenizerError};

/// The file name under which models publish their tokenizer.
const FILE_NAME: &str = "tokenizer.json";
/// Vocabulary files in other formats, which are not supported. The second text describes how to get the same tokenizer as `tokenizer.json`.
const OTHERS: [(&str, &str); 4] = [
    (
        "tokenizer.model",
        "is of SentencePiece; `AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)` of transformers writes tokenizer.json",
    ),
    ("tekken.json", "is of Mistral's own library; take the tokenizer.json of a copy of the model for transformers"),
    ("tiktoken.model", "is of tiktoken; take the tokenizer.json of a copy of the model for transformers"),
    (
        "vocab.json",
        "is a part of a slow tokenizer; `AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)` of transformers writes tokenizer.json",
    ),
];
/// Maximum bytes of the file: several times the size of the largest published one.
const MAX_BYTES: u64 = 128 << 20;

/// The reason why the tokenizer of a workload cannot be used. The message already contains the cause, so there is no `source`.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerFileError {
    /// The file cannot be read.
    #[error("cannot read the tokenizer {path}: {cause}; give the tokenizer.json of the model, or the folder that holds it", path = path.display())]
    Read { path: PathBuf, cause: io::Error },
    /// The folder contains a tokenizer in another format.
    #[error("{folder} has no {FILE_NAME}; its {name} {remedy}", folder = folder.display())]
    OtherForm { folder: PathBuf, name: &'static str, remedy: &'static str },
    /// The file is not a tokenizer.
    #[error("the tokenizer {path} {cause}", path = path.display())]
    Wrong { path: PathBuf, cause: TokenizerError },
}

impl TokenizerFileError {
    /// The message without any content of the file. `None` if the original message contains no such content.
    pub fn without_words(&self) -> Option<String> {
        match self {
            TokenizerFileError::Wrong { path, cause: _ } => {
                Some(format!("the tokenizer {} cannot be used as the tokenizer.json of a model", path.display()))
            }
            TokenizerFileError::Read { .. } | TokenizerFileError::OtherForm { .. } => None,
        }
    }
}

/// Reads a tokenizer, and the digest of its file. `path` is a `tokenizer.json`, or a folder that contains one.
///
/// # Errors
/// The file cannot be read, has more than 128 MiB, or is not a tokenizer. Or the folder contains only a tokenizer in another format.
pub fn read(path: &Path) -> Result<(Tokenizer, FileDigest), TokenizerFileError> {
    if path.is_dir()
        && !path.join(FILE_NAME).exists()
        && let Some((name, remedy)) = OTHERS.iter().find(|(name, _)| path.join(name).exists())
    {
        return Err(TokenizerFileError::OtherForm { folder: path.to_owned(), name, remedy });
    }
    let path = if path.is_dir() { path.join(FILE_NAME) } else { path.to_owned() };
    let wrong = |cause| TokenizerFileError::Wrong { path: path.clone(), cause };
    let (json, digest) = digested(&path).map_err(|cause| TokenizerFileError::Read { path: path.clone(), cause })?;
    Ok((Tokenizer::parse(&json).map_err(wrong)?, digest))
}

fn digested(path: &Path) -> io::Result<(Vec<u8>, FileDigest)> {
    let json = user_file::read(path, MAX_BYTES)?;
    let digest = DigestReader::new(json.as_slice()).finish(path, MAX_BYTES)?;
    Ok((json, digest))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const JSON: &[u8] = include_bytes!("../../tokenizer/tests/fixtures/metaspace.json");

    #[test]
    fn a_file_is_read_by_its_name_or_that_of_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE_NAME);
        fs::write(&file, JSON).unwrap();
        for path in [folder.path(), &file] {
            let (tokenizer, digest) = read(path).unwrap();
            assert_eq!(tokenizer.count("The sea is wide").unwrap(), 4);
            assert_eq!((digest.path, digest.bytes), (file.clone(), Some(JSON.len() as u64)));
            assert!(digest.sha256.is_some());
        }
    }

    #[test]
    fn a_file_that_is_missing_or_wrong_is_named_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let check = |path: &Path, parts: [&str; 2]| {
            let error = read(path).unwrap_err().to_string();
            assert!(parts.iter().all(|it| error.contains(it)), "{error}");
        };
        let remedy = "give the tokenizer.json of the model, or the folder that holds it";
        check(folder.path(), ["tokenizer.json: No such file", remedy]);
        check(Path::new("/dev/zero"), ["/dev/zero: it is a character device", remedy]);
        let file = folder.path().join("a.json");
        fs::write(&file, "{}").unwrap();
        for (name, remedy) in [("tekken.json", "for transformers"), ("tokenizer.model", "save_pretrained(FOLDER)")] {
            fs::write(folder.path().join(name), "x").unwrap();
            check(folder.path(), [&format!("has no tokenizer.json; its {name} is of"), remedy]);
        }
        check(&file, ["a.json is not the tokenizer.json of a model", "give the file of this name"]);
    }
}
