//! [I/O] Index files for people, next to the results folders: `latest`, a link to the newest folder; `index.md`, with one line per folder; and
//! `index.html`, a page of all folders. All their content comes from the folders.

mod entry;
mod folders;
mod lines;
mod page;

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    process,
    thread::sleep,
    time::Duration,
};

use rustix::fs::OFlags;

use super::folder::Stored;
use document::ReportDocument;

pub use page::Rebuilt;

/// Number of attempts to get a lock that another process holds.
const LOCK_TRIES: u32 = 100;
/// Time between two attempts. All attempts together take five seconds.
const NEXT_TRY: Duration = Duration::from_millis(50);

/// Maximum number of new reports that one update reads, so that a run does not wait while thousands of reports are read.
const MAX_READ: usize = 200;

/// Links `latest` to a folder, adds a line for the folder to `index.md`, and updates `index.html`. If another process is updating these files, waits
/// for up to five seconds.
///
/// # Errors
/// The root cannot be written, or its file system does not support links. The results folder itself is complete nevertheless.
pub fn add(root: &Path, document: &ReportDocument, stored: &Stored) -> io::Result<()> {
    let file = lock(root, Missing::Made)?;
    lines::append(&file, &lines::row(document, stored))?;
    point_latest(root, &stored.name)?;
    page::update(root, MAX_READ)?;
    Ok(())
}

/// Links `latest` to a folder below the root.
///
/// # Errors
/// The root is not writable, or another process held the lock for too long.
pub fn link_latest(root: &Path, name: &str) -> io::Result<()> {
    let _lock = lock(root, Missing::Made)?;
    point_latest(root, name)
}

/// Rewrites `index.html` with every run below the root.
///
/// # Errors
/// The root cannot be read or written.
pub fn rebuild(root: &Path) -> io::Result<Rebuilt> {
    let _lock = match lock(root, Missing::Refused) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        locked => Some(locked?),
    };
    page::update(root, usize::MAX)
}

/// Opens `index.md` for appending and locks it. This lock protects both index files. A lock on `index.html` would have no effect, because an update
/// replaces that file.
fn lock(root: &Path, missing: Missing) -> io::Result<File> {
    let path = root.join(lines::FILE_NAME);
    // Another program might have placed a link or a pipe there. A link is not followed, and opening a pipe does not block.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut options = File::options();
    let file = options.read(true).append(true).create(missing == Missing::Made).custom_flags(flags).open(&path);
    let file = file.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other(format!("{} is no regular file; remove it", path.display())));
    }
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => sleep(NEXT_TRY),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::TimedOut,
        format!("another process has locked {}; try again when it has ended", path.display()),
    ))
}

/// What to do if `index.md` does not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Made,
    Refused,
}

/// Creates the link under a temporary name and renames it, so that `latest` always points to a folder.
fn point_latest(root: &Path, name: &str) -> io::Result<()> {
    let temporary = root.join(format!(".latest.{}.tmp", process::id()));
    let made = std::os::unix::fs::symlink(name, &temporary);
    let done = made.and_then(|()| fs::rename(&temporary, root.join("latest")));
    if done.is_err() {
        // Ignores errors: the temporary link may not exist, and only the first error is reported.
        let _ = fs::remove_file(&temporary);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latest_follows_the_newest_folder() {
        let root = tempfile::tempdir().unwrap();
        for name in ["one", "two"] {
            fs::create_dir(root.path().join(name)).unwrap();
            point_latest(root.path(), name).unwrap();
            assert_eq!(fs::read_link(root.path().join("latest")).unwrap(), Path::new(name));
        }
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 3);
    }
}
