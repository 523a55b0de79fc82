//! [I/O] Unpacks a stream into a folder.

use std::{
    fs::{self, File},
    io::{self, Read, Write as _},
    path::{Path, PathBuf},
};

use crds::hex;
use sha2::{Digest as _, Sha256};

use crate::{CHECKSUMS, CHUNK, CONTENTS, FILES, FORMAT, MAX_FILES, MAX_LIST, name};

/// A file that was received completely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The name of the file relative to the folder, with `/` between folders.
    pub name: String,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// SHA-256 of the content in hexadecimal digits.
    pub sha256: String,
}

/// The reason why the folder is not complete.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The stream ended, or the connection broke.
    #[error("the stream was cut: {0}")]
    Cut(String),
    /// The stream is not from `benchwright archive`, or from another release.
    #[error("this release cannot read this as a stream of `benchwright archive`: {0}")]
    Format(String),
    /// The received bytes differ from the sent bytes.
    #[error("{name} has the checksum {found}, but was sent with {sent}")]
    Checksum {
        /// The name of the file.
        name: String,
        /// The checksum that the sender computed.
        sent: String,
        /// The checksum of the received bytes.
        found: String,
    },
    /// The disk is full, or the folder cannot be written.
    #[error("cannot write {path}: {source}", path = path.display())]
    Write {
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Unpacks a stream into an empty folder, to which nothing else can write at the same time. After each read, calls `progress` with the number of
/// received bytes and the total number of bytes.
///
/// # Errors
/// The stream is truncated or invalid, a checksum differs, or a file cannot be written. The folder is then incomplete and must not be used.
pub fn unpack(
    stream: impl Read,
    folder: &Path,
    mut progress: impl FnMut(u64, u64),
) -> Result<Vec<Received>, UnpackError> {
    let mut archive = tar::Archive::new(stream);
    let mut entries = archive.entries().map_err(cut)?.raw(true);
    let mut next = || match entries.next() {
        None => Err(UnpackError::Cut("it ended before its last part".into())),
        Some(entry) => entry.map_err(unreadable),
    };
    let wanted = contents(&text(next()?, CONTENTS)?)?;
    let total = wanted.iter().map(|it| it.bytes).sum();
    progress(0, total);
    let mut done = 0;
    let mut received = Vec::with_capacity(wanted.len());
    for wanted in wanted {
        let mut entry = next()?;
        check_header(&entry, &format!("{FILES}{}", wanted.name), Some(wanted.bytes))?;
        let sha256 = store(&mut entry, &wanted, &folder.join(&wanted.path), &mut |bytes| {
            done += bytes;
            progress(done, total);
        })?;
        received.push(Received { name: wanted.name, bytes: wanted.bytes, sha256 });
    }
    let checksums = text(next()?, CHECKSUMS)?;
    compare(&checksums, &received)?;
    match entries.next() {
        None => Ok(received),
        Some(_) => Err(UnpackError::Format(format!("there is data after {CHECKSUMS}, which must be the end"))),
    }
}

/// A file that `contents.txt` announces.
struct Wanted {
    name: String,
    path: PathBuf,
    bytes: u64,
}

fn contents(text: &str) -> Result<Vec<Wanted>, UnpackError> {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    if first != FORMAT {
        return Err(UnpackError::Format(format!(
            "it begins with {}, and not with {FORMAT}",
            crds::wording::quoted(first)
        )));
    }
    let wanted = lines.map(|line| {
        let wrong = || UnpackError::Format(format!("{CONTENTS} has the line {}", crds::wording::quoted(line)));
        let (bytes, name) = line.split_once(' ').ok_or_else(wrong)?;
        let path = name::path(name).ok_or_else(wrong)?;
        Ok(Wanted { name: name.to_owned(), path, bytes: bytes.parse().map_err(|_| wrong())? })
    });
    let wanted = wanted.collect::<Result<Vec<_>, _>>()?;
    let total = wanted.iter().try_fold(0_u64, |sum, it| sum.checked_add(it.bytes));
    if wanted.is_empty() || wanted.len() > MAX_FILES || total.is_none() {
        return Err(UnpackError::Format(format!("{CONTENTS} names {} files", wanted.len())));
    }
    Ok(wanted)
}

/// Refuses an entry unless it is the next announced file. So other files, links, folders and tar extensions are refused.
fn check_header(entry: &tar::Entry<'_, impl Read>, name: &str, bytes: Option<u64>) -> Result<(), UnpackError> {
    let header = entry.header();
    let is_next = header.entry_type() == tar::EntryType::Regular
        && header.path_bytes() == name.as_bytes()
        && bytes.is_none_or(|it| header.entry_size().is_ok_and(|found| found == it));
    if is_next {
        return Ok(());
    }
    let found = crds::wording::quoted(&String::from_utf8_lossy(&header.path_bytes()));
    Err(UnpackError::Format(format!("{found} is in the place of {name}, or is not as long as announced")))
}

/// Reads `contents.txt` or `sha256.txt`.
fn text(mut entry: tar::Entry<'_, impl Read>, name: &str) -> Result<String, UnpackError> {
    check_header(&entry, name, None)?;
    let bytes = entry.size();
    if bytes > MAX_LIST {
        return Err(UnpackError::Format(format!("{name} has {bytes} bytes")));
    }
    let mut text = Vec::new();
    entry.read_to_end(&mut text).map_err(cut)?;
    if text.len() as u64 != bytes {
        return Err(UnpackError::Cut(format!("{name} has {} of {bytes} bytes", text.len())));
    }
    String::from_utf8(text).map_err(|_| UnpackError::Format(format!("{name} is no text")))
}

/// Writes a received file, and returns its checksum.
fn store(
    entry: &mut impl Read,
    wanted: &Wanted,
    path: &Path,
    written: &mut impl FnMut(u64),
) -> Result<String, UnpackError> {
    let failed = |source| UnpackError::Write { path: path.to_owned(), source };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    let mut file = File::create_new(path).map_err(failed)?;
    let (mut digest, mut chunk, mut done) = (Sha256::new(), vec![0; CHUNK], 0);
    loop {
        let read = match entry.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(cut)?,
        };
        if read == 0 {
            break;
        }
        file.write_all(&chunk[..read]).map_err(failed)?;
        digest.update(&chunk[..read]);
        done += read as u64;
        written(read as u64);
    }
    if done != wanted.bytes {
        return Err(UnpackError::Cut(format!("{} has {done} of {} bytes", wanted.name, wanted.bytes)));
    }
    // Flushed explicitly, because only this call fails on some file systems that are full.
    file.sync_all().map_err(failed)?;
    Ok(hex(&digest.finalize()))
}

fn compare(checksums: &str, received: &[Received]) -> Result<(), UnpackError> {
    let mut lines = checksums.lines();
    for file in received {
        let sent = lines
            .next()
            .and_then(|it| it.split_once("  "))
            .filter(|(_, name)| name.strip_prefix(FILES).is_some_and(|it| it == file.name));
        let (sent, _) =
            sent.ok_or_else(|| UnpackError::Format(format!("{CHECKSUMS} has no line for {}", file.name)))?;
        if sent != file.sha256 {
            return Err(UnpackError::Checksum {
                name: file.name.clone(),
                sent: crds::wording::one_line(sent),
                found: file.sha256.clone(),
            });
        }
    }
    match lines.next() {
        None => Ok(()),
        Some(_) => Err(UnpackError::Format(format!("{CHECKSUMS} has more lines than files"))),
    }
}

fn cut(error: io::Error) -> UnpackError {
    UnpackError::Cut(error.to_string())
}

/// Converts the error of reading the next header: the stream is truncated, or is not a tar stream.
fn unreadable(error: io::Error) -> UnpackError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => cut(error),
        _ => UnpackError::Format(error.to_string()),
    }
}
