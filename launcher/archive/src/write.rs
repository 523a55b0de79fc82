//! [I/O] Packs a folder into a stream.

use std::{
    fs::{self, File, Metadata},
    io::{self, BufReader, Read, Write},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use crds::hex;
use sha2::{Digest as _, Sha256};

use crate::{CHECKSUMS, CHUNK, CONTENTS, FILES, FORMAT, MAX_FILES, NO_FILES, name};

/// What was written to a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Number of files in the stream.
    pub files: usize,
    /// Total bytes of these files.
    pub bytes: u64,
    /// Paths in the folder that were left out of the stream, because they are links, pipes or similar.
    pub left_out: Vec<PathBuf>,
}

/// The reason why a stream was not written, or only in part.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The folder or a file in it cannot be read.
    #[error("cannot read {path}: {source}; give a results folder that this user may read", path = path.display())]
    Read {
        /// The path of the folder or file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The folder contains no file.
    #[error("{path} {NO_FILES}; give the results folder of a finished run", path = .0.display())]
    Empty(PathBuf),
    /// The folder has more files than any results folder.
    #[error("{path} has more than {MAX_FILES} files; give the results folder of one run", path = .0.display())]
    TooManyFiles(PathBuf),
    /// The name of a file cannot be used in a stream.
    #[error(
        "{path} has a name that is not sent: it is longer than 200 bytes, is deeper than 8 folders, or has control characters, \\ or :; rename it",
        path = .0.display()
    )]
    Name(PathBuf),
    /// A requested file is missing.
    #[error("{folder} has no file {name:?}; leave out --file to send all", folder = folder.display())]
    Missing {
        /// The folder.
        folder: PathBuf,
        /// The name of the requested file.
        name: String,
    },
    /// The file changed while it was read.
    #[error("{path} changed while it was read; try again when the run has ended", path = .0.display())]
    Changed(PathBuf),
    /// The reader closed the connection, or the destination is full.
    #[error("cannot write the stream: {0}; try again")]
    Write(io::Error),
}

/// A file to send.
struct Source {
    name: String,
    path: PathBuf,
    bytes: u64,
}

/// Writes the files of a folder. If `only` is not empty, writes just the files with these names.
///
/// # Errors
/// The folder or a file in it cannot be read, a file changes meanwhile or has an invalid name, or `out` cannot be written. The stream is then
/// incomplete, and readers refuse it.
pub fn write(folder: &Path, only: &[String], out: impl Write) -> Result<Written, ArchiveError> {
    let mut written = Written::default();
    let mut sources = Vec::new();
    collect(folder, "", &mut sources, &mut written.left_out)?;
    if sources.is_empty() {
        return Err(ArchiveError::Empty(folder.to_owned()));
    }
    if let Some(missing) = only.iter().find(|name| !sources.iter().any(|it| it.name == **name)) {
        return Err(ArchiveError::Missing { folder: folder.to_owned(), name: missing.clone() });
    }
    sources.retain(|it| only.is_empty() || only.contains(&it.name));
    let mut out = tar::Builder::new(out);
    let lines = sources.iter().map(|it| format!("{} {}\n", it.bytes, it.name));
    let contents: String = std::iter::once(format!("{FORMAT}\n")).chain(lines).collect();
    append_text(&mut out, CONTENTS, &contents)?;
    let mut checksums = String::new();
    for source in &sources {
        let digest = append_file(&mut out, source)?;
        checksums += &format!("{digest}  {FILES}{}\n", source.name);
        written.files += 1;
        written.bytes += source.bytes;
    }
    append_text(&mut out, CHECKSUMS, &checksums)?;
    let mut out = out.into_inner().map_err(ArchiveError::Write)?;
    out.flush().map_err(ArchiveError::Write)?;
    Ok(written)
}

/// Collects the files below a folder, in the order of their names. Other kinds of entries are added to `left_out`.
fn collect(
    folder: &Path,
    prefix: &str,
    found: &mut Vec<Source>,
    left_out: &mut Vec<PathBuf>,
) -> Result<(), ArchiveError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| ArchiveError::Read { path, source }
    };
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable(folder))? {
        entries.push(entry.map_err(unreadable(folder))?);
        if entries.len() > MAX_FILES {
            return Err(ArchiveError::TooManyFiles(folder.to_owned()));
        }
    }
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // For a link, this is the metadata of the link itself, not of its target.
        let metadata = entry.metadata().map_err(unreadable(&path))?;
        if !metadata.is_dir() && !metadata.is_file() {
            left_out.push(path);
            continue;
        }
        let name = entry.file_name().to_str().map(|it| format!("{prefix}{it}"));
        let name = name.filter(|it| name::path(it).is_some()).ok_or_else(|| ArchiveError::Name(path.clone()))?;
        if metadata.is_dir() {
            collect(&path, &format!("{name}/"), found, left_out)?;
        } else {
            found.push(Source { name, path, bytes: metadata.len() });
        }
        if found.len() > MAX_FILES {
            return Err(ArchiveError::TooManyFiles(folder.to_owned()));
        }
    }
    Ok(())
}

/// Appends a file, and returns its checksum.
fn append_file<W: Write>(out: &mut tar::Builder<W>, source: &Source) -> Result<String, ArchiveError> {
    let unreadable = |error| ArchiveError::Read { path: source.path.clone(), source: error };
    let changed = || ArchiveError::Changed(source.path.clone());
    let file = File::open(&source.path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() || metadata.len() != source.bytes {
        return Err(changed());
    }
    let header = header(&format!("{FILES}{}", source.name), source.bytes, modified(&metadata))
        .map_err(|_| ArchiveError::Name(source.path.clone()))?;
    let mut content =
        Content { file: BufReader::with_capacity(CHUNK, file).take(source.bytes), digest: Sha256::new(), failed: None };
    let appended = out.append(&header, &mut content);
    if let Some(error) = content.failed {
        return Err(unreadable(error));
    }
    appended.map_err(ArchiveError::Write)?;
    // If the file became shorter, fewer bytes were read than announced. If it became longer, its size now differs.
    if content.file.limit() > 0 || fs::metadata(&source.path).map_err(unreadable)?.len() != source.bytes {
        return Err(changed());
    }
    Ok(hex(&content.digest.finalize()))
}

fn append_text<W: Write>(out: &mut tar::Builder<W>, name: &str, text: &str) -> Result<(), ArchiveError> {
    let header = header(name, text.len() as u64, 0).map_err(ArchiveError::Write)?;
    out.append(&header, text.as_bytes()).map_err(ArchiveError::Write)
}

fn header(name: &str, bytes: u64, modified: u64) -> io::Result<tar::Header> {
    let mut header = tar::Header::new_ustar();
    header.set_path(name)?;
    header.set_entry_type(tar::EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(bytes);
    header.set_mtime(modified);
    header.set_cksum();
    Ok(header)
}

/// The time at which a file was last written, in seconds since 1970; 0 if the file system does not report it.
fn modified(metadata: &Metadata) -> u64 {
    let time = metadata.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    time.map(|it| it.as_secs()).unwrap_or_default()
}

/// A file that is read into the stream. Remembers a read error of the file, so that it can be distinguished from a write error of the stream.
struct Content {
    file: io::Take<BufReader<File>>,
    digest: Sha256,
    failed: Option<io::Error>,
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.file.read(buffer) {
            Ok(read) => {
                self.digest.update(&buffer[..read]);
                Ok(read)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let kind = error.kind();
                self.failed = Some(error);
                Err(kind.into())
            }
        }
    }
}
