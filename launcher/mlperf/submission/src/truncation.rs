//! [I/O] Truncates an accuracy log for a submission, as the official truncation tool does, and hashes the whole log.

use std::io::{self, Read};

use crds::hex;
use sha2::{Digest as _, Sha256};

/// Number of bytes kept at the beginning and at the end of a log, which is ASCII. A log with fewer bytes than this is kept as a whole.
const KEPT: usize = 4096;
/// Written instead of the removed part.
pub(super) const ELLIPSIS: &str = "\n\n...\n\n";
/// Maximum size of a truncated log that the checker accepts, in bytes.
pub(super) const MAX_LOG: u64 = 10_240;
/// The prefix of the hash in accuracy.txt.
pub(super) const HASH: &str = "hash=";

/// A truncated log, and the hash of the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Truncated {
    /// The kept parts.
    pub(super) kept: Vec<u8>,
    /// SHA-256 of the whole log, in lower-case hexadecimal digits.
    pub(super) hash: String,
}

/// Reads a log to its end. Only the kept parts stay in memory.
pub(super) fn truncate(mut log: impl Read) -> io::Result<Truncated> {
    let (mut hash, mut head, mut tail) = (Sha256::new(), Vec::with_capacity(KEPT), Vec::new());
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = match log.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => &buffer[..read],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(read);
        head.extend_from_slice(&read[..read.len().min(KEPT - head.len())]);
        tail.extend_from_slice(read);
        tail.drain(..tail.len().saturating_sub(KEPT));
    }
    let kept = if head.len() < KEPT { head } else { [head.as_slice(), ELLIPSIS.as_bytes(), &tail].concat() };
    Ok(Truncated { kept, hash: hex(&hash.finalize()) })
}

/// Returns the hash in accuracy.txt. Accepts any word as a hash, as MLPerf's checker does.
pub(super) fn any_hash_of(text: &str) -> Option<&str> {
    let word = |it: &&str| !it.is_empty() && it.chars().all(|it| it.is_alphanumeric() || it == '_');
    text.lines().filter_map(|line| line.trim_end().strip_prefix(HASH)).find(word)
}

/// Returns the hash in accuracy.txt, if it is a SHA-256.
pub(super) fn hash_of(text: &str) -> Option<&str> {
    any_hash_of(text).filter(|it| it.len() == 64 && it.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(length: usize, kept: usize) -> Truncated {
        let log: Vec<u8> = (b'a'..=b'z').cycle().take(length).collect();
        let cut = truncate(log.as_slice()).unwrap();
        assert_eq!(cut.kept.len(), kept, "{length}");
        assert!(cut.kept.starts_with(&log[..kept.min(KEPT)]) && cut.kept.ends_with(&log[length - kept.min(KEPT)..]));
        assert!(cut.kept.len() as u64 <= MAX_LOG);
        cut
    }

    #[test]
    fn beginning_and_end_of_a_log_stay() {
        check(0, 0);
        check(4095, 4095);
        check(4096, 8192 + ELLIPSIS.len());
        check(300_000, 8192 + ELLIPSIS.len());
        assert!(String::from_utf8(check(9_000, 8199).kept).unwrap().contains(ELLIPSIS));
    }

    #[test]
    fn the_hash_is_of_the_whole() {
        assert_eq!(
            truncate(&b"abc"[..]).unwrap().hash,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_hash_has_64_digits() {
        let hash = "0".repeat(64);
        assert_eq!(hash_of(&format!("{{'rouge1': 1}}\nhash={hash}\n")), Some(hash.as_str()));
        assert_eq!((hash_of("hash=abc\n"), any_hash_of("hash=abc\n")), (None, Some("abc")));
        assert_eq!(any_hash_of("hash=\nhash=a b\n"), None);
        assert_eq!(hash_of("no\n"), None);
    }
}
