//! [I/O] What a person finds beside the results folders: `latest`, a link to the newest one, `index.md`, a line for each, and
//! `index.html`, a page of all of them. None of these holds anything that the folders do not.

mod entry;
mod folders;
mod lines;
mod page;

use std::{
    fs::{self, File},
    io,
    path::Path,
    process,
};

use super::{Report, folder::Stored};

pub use page::Rebuilt;

/// Reports that an update reads at most, beside those that the page has: a run does not wait for the reports of thousands of others.
const MAX_READ: usize = 200;

/// Points `latest` at a folder, adds its line to `index.md`, and brings `index.html` up to date.
///
/// # Errors
/// The root cannot be written, or its file system knows no links. The folder itself is whole all the same.
pub fn add(root: &Path, report: &Report<'_>, stored: &Stored) -> io::Result<()> {
    let file = lock(root)?;
    lines::append(&file, &lines::row(report, stored))?;
    point_latest(root, &stored.name)?;
    page::update(root, MAX_READ)?;
    Ok(())
}

/// Writes `index.html` anew, with every run below the root.
///
/// # Errors
/// The root cannot be read or written.
pub fn rebuild(root: &Path) -> io::Result<Rebuilt> {
    let _lock = lock(root)?;
    page::update(root, usize::MAX)
}

/// `index.md`, open for appending. Its lock keeps two launchers apart, for both indexes: `index.html` is replaced as a whole, and a lock
/// on a file that is replaced would hold nobody off.
fn lock(root: &Path) -> io::Result<File> {
    let file = File::options().read(true).append(true).create(true).open(root.join(lines::FILE_NAME))?;
    file.lock()?;
    Ok(file)
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
