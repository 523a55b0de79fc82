//! [I/O] Downloads the files at URLs that a workload names. Each is downloaded once, kept in a folder, and reused.
//!
//! The name in the folder is the SHA-256 of the URL. A file appears in the folder only when it is complete. Only one process at a time downloads a
//! URL. Other processes wait, and then use the file. If the profile contains no URL, the network is not used.

mod client;

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use crds::hex;
use engine::client::Resolver;
use sha2::{Digest as _, Sha256};
use tracing::{info, warn};
use workload_profiles::{
    Workload,
    workload::{FileSource, RemoteFile},
};

use client::Download;
pub use client::Fault;

/// Maximum size of a file in bytes. Data sets have the same limit.
const MAX_BYTES: u64 = 4 << 30;
/// Maximum length of a name in the folder.
const MAX_NAME: usize = 128;
/// The file that a process locks during a download.
const LOCK: &str = ".lock";
/// Number of bytes between two log lines about a download.
const TELL_EVERY: u64 = 64 << 20;

/// The reason why a file at a URL cannot be used. Each message contains its cause, so the cause is not the `source` of the error.
#[derive(Debug, thiserror::Error)]
pub enum RemoteFileError {
    /// The URL may not be called.
    #[error(
        "the {what} is at {url}, which cannot be called: {problem}; write http:// or https://, a host and a path, without a user name"
    )]
    Url {
        /// What the file is used for.
        what: &'static str,
        url: String,
        problem: String,
    },
    /// The download failed.
    #[error(
        "the {what} at {url} cannot be downloaded: {problem}; check the URL, or download the file and name its path in the profile"
    )]
    Download {
        /// What the file is used for.
        what: &'static str,
        url: String,
        fault: Fault,
        /// More detail, which can contain text from the server.
        problem: String,
    },
    /// The file does not have the digest in the profile.
    #[error(
        "the {what} at {url} has the SHA-256 {found}, but the profile requires {wanted}; correct the digest or the URL"
    )]
    Digest {
        /// What the file is used for.
        what: &'static str,
        url: String,
        found: String,
        wanted: String,
    },
    /// The file cannot be written to the folder.
    #[error("cannot keep the {what} at {url} in {path}: {cause}; free space there, or set XDG_CACHE_HOME to another folder", path = path.display())]
    Keep {
        /// What the file is used for.
        what: &'static str,
        url: String,
        path: PathBuf,
        cause: io::Error,
    },
}

impl RemoteFileError {
    /// The message for a status. It contains no text from the server, not even from its certificate, and not the digest of its response.
    pub(crate) fn status_message(&self) -> String {
        const REST: &str = "the launcher's log has the rest";
        match self {
            RemoteFileError::Download { what, url, fault, .. } => {
                format!("the {what} at {url} cannot be downloaded: {fault}; check the URL; {REST}")
            }
            RemoteFileError::Digest { what, url, .. } => {
                format!("the {what} at {url} has another SHA-256 than the profile requires; {REST}")
            }
            RemoteFileError::Url { .. } | RemoteFileError::Keep { .. } => self.to_string(),
        }
    }
}

/// A file in the folder that came from a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Downloaded {
    /// The URL, without parts that can be secret.
    pub(crate) url: String,
    pub(crate) path: PathBuf,
}

/// Returns the folder for downloaded files: on the claim in a pod, where `claim` is its results folder, otherwise in the user's cache.
pub(crate) fn folder(claim: Option<PathBuf>) -> PathBuf {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let cache = || variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|it| it.join(".cache")));
    match (claim, cache()) {
        (Some(claim), _) => claim.join(".downloads"),
        (None, Some(cache)) => cache.join("benchwright"),
        (None, None) => std::env::temp_dir().join("benchwright"),
    }
}

/// Returns the workload with paths instead of URLs, for commands other than a run.
///
/// # Errors
/// The errors of [`download`].
pub fn resolve(workload: Workload) -> Result<Workload, RemoteFileError> {
    Ok(download(workload, &folder(None), &Resolver::default())?.0)
}

/// Returns one message for each file at a URL, for commands that do not download files.
pub fn not_read(mut workload: Workload) -> Vec<String> {
    let sources = workload.sources_mut().into_iter().filter(|(_, source)| matches!(source, FileSource::Url(_)));
    sources
        .map(|(what, source)| {
            format!("the {what} at {} is downloaded when a run starts; this command does not check it", source.shown())
        })
        .collect()
}

/// Returns the workload with paths instead of URLs, and the files that were downloaded, now or earlier.
///
/// # Errors
/// A file cannot be downloaded or stored, or has a different digest.
pub(crate) fn download(
    mut workload: Workload,
    folder: &Path,
    resolver: &Resolver,
) -> Result<(Workload, Vec<Downloaded>), RemoteFileError> {
    let mut all = Vec::new();
    for (what, source) in workload.sources_mut() {
        let FileSource::Url(file) = &*source else { continue };
        let path = folder.join(hex(&Sha256::digest(file.url.as_bytes()))).join(name(&source.file_name()));
        let download = client::check(&file.url, resolver).map_err(|problem| RemoteFileError::Url {
            what,
            url: file.shown(),
            problem,
        })?;
        fetch(what, file, &download, &path)?;
        all.push(Downloaded { url: file.shown(), path: path.clone() });
        *source = FileSource::Path(path);
    }
    Ok((workload, all))
}

/// Returns a valid file name. The extension is kept, because it determines the format.
fn name(name: &str) -> String {
    let plain: String = name.chars().filter(|it| it.is_ascii_alphanumeric() || matches!(it, '.' | '-' | '_')).collect();
    let start = plain.len().saturating_sub(MAX_NAME);
    match plain[start..].trim_start_matches('.') {
        "" => "file".to_owned(),
        name => name.to_owned(),
    }
}

/// Downloads a file into the folder unless it exists.
fn fetch(what: &'static str, file: &RemoteFile, download: &Download, path: &Path) -> Result<(), RemoteFileError> {
    let url = file.shown();
    let _lock = path.parent().and_then(|folder| {
        lock(folder, &url).inspect_err(|error| warn!(url, %error, "other processes may download the file as well")).ok()
    });
    let wanted = file.sha256.as_deref().map(str::to_ascii_lowercase);
    if path.is_file() {
        // If the profile has no digest, any content is accepted.
        let is_same = wanted.as_ref().is_none_or(|wanted| digest(path).is_ok_and(|it| it == *wanted));
        if is_same {
            info!(url, path = %path.display(), "the file was downloaded before");
            return Ok(());
        }
    }
    let keep = |cause| RemoteFileError::Keep { what, url: url.clone(), path: path.to_owned(), cause };
    let failed = |fault, problem| RemoteFileError::Download { what, url: url.clone(), fault, problem };
    info!(url, "downloading the {what}");
    // The error that ended the download. `None` after a disk error, which `write_whole` reports.
    let mut end = None;
    let written = files::write_whole(path, |to| {
        let mut hash = Sha256::new();
        let (mut bytes, mut told) = (0_u64, 0_u64);
        let read = download.read(MAX_BYTES, |chunk| {
            hash.update(chunk);
            bytes += chunk.len() as u64;
            if bytes - told >= TELL_EVERY {
                told = bytes;
                info!(url, megabytes = bytes / 1_000_000, "downloading");
            }
            to.write_all(chunk)
        });
        match read {
            Ok(()) => {}
            Err(client::Problem::Disk(cause)) => return Err(cause),
            Err(client::Problem::Download(fault, problem)) => end = Some(failed(fault, problem)),
        }
        let found = hex(&hash.finalize());
        if let (None, Some(wanted)) = (&end, &wanted)
            && found != *wanted
        {
            end = Some(RemoteFileError::Digest { what, url: url.clone(), found, wanted: wanted.clone() });
        }
        // After an error, `write_whole` removes the incomplete file.
        if end.is_some() { Err(io::Error::other("it is not kept")) } else { Ok(()) }
    });
    match (end, written) {
        (Some(error), _) => Err(error),
        (None, Err(cause)) => Err(keep(cause)),
        (None, Ok(written)) => {
            info!(url, bytes = written.bytes, sha256 = written.sha256, path = %path.display(), "the file was downloaded");
            Ok(())
        }
    }
}

/// Waits until no other process downloads into this URL's folder, and removes what killed processes left there. The lock is released when the process
/// ends or the returned file is closed.
fn lock(folder: &Path, url: &str) -> io::Result<File> {
    fs::create_dir_all(folder)?;
    let lock = File::options().create(true).write(true).truncate(false).open(folder.join(LOCK))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            info!(url, "another process is downloading the file; waiting for that process");
            lock.lock()?;
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        // Names of complete files do not begin with a dot.
        if name.as_encoded_bytes().starts_with(b".") && name != LOCK {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(lock)
}

fn digest(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            read => hash.update(&buffer[..read]),
        }
    }
}

#[cfg(test)]
mod tests;
