//! [I/O] Reads and writes the termination message in the results folder of an attempt. If the pod of an attempt is lost after the attempt has
//! finished, a later attempt of the same run finds the finished folder. It then reports the figures from this folder and sends no load. A run that
//! collects a folder reads the message in the same way.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use crds::{
    Outcome,
    envelope::{ArtifactRef, Core, Envelope, MAX_BYTES},
    hex,
    resolve::RunIdentity,
};
use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, Mode, OFlags, open, openat, statat},
};
use sha2::{Digest as _, Sha256};

use super::{
    REPORT_FILE_NAME, envelope,
    folder::{Folder, StorageError},
};
use analysis::Analysis;
use document::redact;

/// The name of the file with the termination message, in the results folder of an attempt in a cluster.
pub const MESSAGE_FILE_NAME: &str = "termination-message.txt";
/// Maximum size of a file that is read, in bytes. The report of the longest run is smaller.
const MAX_FILE: u64 = 256 << 20;

/// Writes the termination message. Call it last, because the message lists all files of the folder.
///
/// # Errors
/// The file cannot be written.
pub fn write_message(folder: &mut Folder, run: &RunIdentity, analysis: &Analysis) -> Result<(), StorageError> {
    let envelope = envelope::envelope(run, analysis, Some(&folder.when_finished()));
    folder.write(MESSAGE_FILE_NAME, |file| file.write_all(envelope.to_text().as_bytes()))
}

/// Returns the termination message from the finished folder of an attempt. The figures must be valid, and must belong to the same run and profile.
///
/// # Errors
/// The reason why the folder is not used. `NotFound` if there is no such folder.
pub fn read(root: &Path, run: &RunIdentity, profile_text: &str) -> io::Result<Envelope> {
    let folder = folder_of(root, &run.attempt_name())?;
    let envelope = message(&folder)?;
    let core = &envelope.core;
    if core.run_uid != run.uid || core.attempt != run.attempt {
        return Err(unused("its termination message names another run or attempt"));
    }
    if !core.outcome.has_valid_figures() || core.summary.is_none() || core.partial {
        return Err(unused("its figures do not count"));
    }
    if bounded(&folder, "profile.yaml", MAX_FILE)? != redact::profile(profile_text).as_bytes() {
        return Err(unused("it has another profile"));
    }
    checked_report(&folder, core)?;
    Ok(envelope)
}

/// Returns the termination message and the `report.json` from the finished folder with this name. Accepts any run that finished its measurement.
///
/// # Errors
/// The reason why the folder is not used. `NotFound` if there is no such folder.
pub fn read_any(root: &Path, name: &str) -> io::Result<(Envelope, String)> {
    let folder = folder_of(root, name)?;
    let envelope = match message(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(unused("it has no termination-message.txt, which a run in a cluster leaves when it has ended"));
        }
        read => read?,
    };
    let core = &envelope.core;
    let measured = core.outcome.has_valid_figures() || core.outcome == Outcome::Invalid;
    if !measured || core.summary.is_none() || core.partial {
        return Err(unused(&format!("its run did not measure completely: its outcome is {}", core.outcome.name())));
    }
    let report = String::from_utf8(checked_report(&folder, core)?);
    Ok((envelope, report.map_err(|_| unused("its report.json is no text"))?))
}

/// Returns the content of one file in the folder with this name, complete or not. The file has at most `most` bytes.
///
/// # Errors
/// The reason why the file is not used. `NotFound` if there is no such folder or file.
pub fn file_of(root: &Path, folder: &str, name: &str, most: u64) -> io::Result<Vec<u8>> {
    bounded(&folder_of(root, folder)?, name, most)
}

fn folder_of(root: &Path, name: &str) -> io::Result<OwnedFd> {
    // A link instead of a folder is refused, because it may lead outside the root.
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    let folder = open(root.join(name), flags, Mode::empty())?;
    if statat(&folder, "repeats.json", AtFlags::SYMLINK_NOFOLLOW).is_ok() {
        return Err(unused("it holds a series of runs"));
    }
    Ok(folder)
}

fn message(folder: &OwnedFd) -> io::Result<Envelope> {
    let message = bounded(folder, MESSAGE_FILE_NAME, MAX_BYTES as u64)?;
    let message = String::from_utf8(message).map_err(|_| unused("its termination message is damaged"))?;
    Envelope::parse(&message).map_err(|error| unused(&error.to_string()))
}

/// Reads the `report.json`, which must match the hash in the termination message.
fn checked_report(folder: &OwnedFd, core: &Core) -> io::Result<Vec<u8>> {
    let is_report = |it: &&ArtifactRef| it.name == REPORT_FILE_NAME;
    let report =
        core.artifacts.iter().find(is_report).ok_or_else(|| unused("its termination message lists no report"))?;
    let found = bounded(folder, REPORT_FILE_NAME, MAX_FILE)?;
    if hex(&Sha256::digest(&found)) != report.sha256 {
        return Err(unused("its report.json is not the one that its termination message lists"));
    }
    Ok(found)
}

fn unused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Reads a regular file of at most `most` bytes. Refuses a named pipe, which would block forever, and a link, which may lead outside the folder.
fn bounded(folder: &OwnedFd, name: &str, most: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::RDONLY | OFlags::CLOEXEC;
    let file = File::from(openat(folder, name, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(unused("one of its files is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(unused("one of its files is too long")) } else { Ok(bytes) }
}
