//! Computes the SHA-256 of a workload's files while they are read. So a report identifies the bytes that were sent, even if a file changes later.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use crds::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A file, and the digest of its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDigest {
    pub path: PathBuf,
    /// Length of the file in bytes; absent if `sha256` is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The SHA-256 in hexadecimal digits, as `sha256sum` prints it; absent if the file was not read to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl FileDigest {
    /// The entry for a file that was not read to its end.
    pub fn unknown(path: &Path) -> FileDigest {
        FileDigest { path: path.to_owned(), bytes: None, sha256: None }
    }
}

impl FileDigest {
    /// The entry for a file with these bytes.
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> FileDigest {
        let sha256 = Some(hex(&Sha256::digest(bytes)));
        FileDigest { path: path.to_owned(), bytes: Some(bytes.len() as u64), sha256 }
    }
}

/// A reader that hashes all bytes that are read through it.
pub struct DigestReader<R> {
    inner: R,
    bytes: u64,
    hash: Sha256,
}

impl<R: Read> DigestReader<R> {
    /// Creates the reader. Nothing might have been read from `inner` before.
    pub fn new(inner: R) -> Self {
        DigestReader { inner, bytes: 0, hash: Sha256::new() }
    }

    /// Reads the rest of the file, and returns the digest of the whole file. `path` is only recorded. If the file has more than `most` bytes, it is
    /// not read to its end, and the result has no digest.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn finish(mut self, path: &Path, most: u64) -> io::Result<FileDigest> {
        let left = most.saturating_add(1).saturating_sub(self.bytes);
        io::copy(&mut self.by_ref().take(left), &mut io::sink())?;
        let DigestReader { bytes, hash, .. } = self;
        if bytes > most {
            return Ok(FileDigest::unknown(path));
        }
        Ok(FileDigest { path: path.to_owned(), bytes: Some(bytes), sha256: Some(hex(&hash.finalize())) })
    }
}

impl<R: Read> Read for DigestReader<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(to)?;
        self.hash.update(&to[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_of_the_whole_file_however_much_of_it_is_used() {
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let expected = FileDigest { path: "a".into(), bytes: Some(3), sha256: Some(sha256.into()) };
        for used in 0..=3 {
            let mut reader = DigestReader::new(&b"abc"[..]);
            reader.read_exact(&mut [0; 3][..used]).unwrap();
            assert_eq!(reader.finish(Path::new("a"), 3).unwrap(), expected);
        }
        assert_eq!(
            DigestReader::new(&b"abc"[..]).finish(Path::new("a"), 2).unwrap(),
            FileDigest::unknown(Path::new("a"))
        );
    }
}
