//! [I/O] What a person finds beside the results folders: `latest`, a link to the newest one, `index.md`, a line for each, and
//! `index.html`, a page of all of them. None of these holds anything that the folders do not.

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

/// How often, and after what time, a lock is tried that another process holds: five seconds in all.
const LOCK_TRIES: u32 = 100;
const NEXT_TRY: Duration = Duration::from_millis(50);

/// Reports that an update reads at most, beside those that the page has: a run does not wait for the reports of thousands of others.
const MAX_READ: usize = 200;

/// Points `latest` at a folder, adds its line to `index.md`, and brings `index.html` up to date. Waits some seconds while another process
/// does so.
///
/// # Errors
/// The root cannot be written, or its file system knows no links. The folder itself is whole all the same.
pub fn add(root: &Path, document: &ReportDocument, stored: &Stored) -> io::Result<()> {
    let file = lock(root, Missing::Made)?;
    lines::append(&file, &lines::row(document, stored))?;
    point_latest(root, &stored.name)?;
    page::update(root, MAX_READ)?;
    Ok(())
}

/// Points `latest` at a folder below the root.
///
/// # Errors
/// The root is not writable, or another process locks the index for longer.
pub fn link_latest(root: &Path, name: &str) -> io::Result<()> {
    let _lock = lock(root, Missing::Made)?;
    point_latest(root, name)
}

/// Writes `index.html` anew, with every run below the root.
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

/// `index.md`, open for appending. Its lock keeps two launchers apart, for both indexes: `index.html` is replaced as a whole, and a lock
/// on a file that is replaced would hold nobody off.
fn lock(root: &Path, missing: Missing) -> io::Result<File> {
    let path = root.join(lines::FILE_NAME);
    // Others may have put a pipe or a link there.
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
    Err(io::Error::new(io::ErrorKind::TimedOut, format!("another process holds {}", path.display())))
}

/// What becomes of an `index.md` that is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Made,
    Refused,
}

/// The link is made under another name and renamed, so that `latest` always leads somewhere.
fn point_latest(root: &Path, name: &str) -> io::Result<()> {
    let temporary = root.join(format!(".latest.{}.tmp", process::id()));
    let made = std::os::unix::fs::symlink(name, &temporary);
    let done = made.and_then(|()| fs::rename(&temporary, root.join("latest")));
    if done.is_err() {
        // It may not exist, and the first error is the one to tell.
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
