//! [I/O] Deletes old results folders below a root, such as a claim that many runs share.
//!
//! A folder is deleted only if it is finished and ours: a real folder, directly below the root, with a `report.json` or `repeats.json` that names
//! this tool. No link is followed. A folder is first renamed to a hidden name. So of two launchers only one deletes it, and half a folder never has
//! the name of a complete one. If a launcher is killed while deleting, the next one deletes the rest.

#[cfg(test)]
mod tests;

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read as _},
    path::Path,
    time::{Duration, SystemTime},
};

use rustix::fs::{Mode, OFlags, open};

use super::{
    REPORT_FILE_NAME,
    partial::{MARKER, SUFFIX},
};

/// A folder with a file of this name stays.
pub const KEEP: &str = "KEEP";
/// Prefix of the name of a folder that is being deleted.
const DELETED: &str = ".deleted-";
/// Maximum number of folders that are read; a root with more is no folder of results.
const MAX_FOLDERS: usize = 50_000;
/// How much of a report is read to identify its tool, in bytes: the first key names it.
const HEAD: u64 = 512;
/// The files that make a folder finished, each with the prefix of the value of its first key.
const MARKS: [(&str, &str); 2] =
    [(REPORT_FILE_NAME, "benchwright.dev/report/"), ("repeats.json", "benchwright.dev/repeats/")];
/// Maximum number of attempts to remove a folder that others remove too.
const MAX_REMOVALS: u32 = 100;
const DAY: Duration = Duration::from_secs(86_400);

/// Which folders stay. A folder beyond either limit is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The number of newest folders that stay; `None`: all.
    pub keep_runs: Option<u32>,
    /// The maximum age in days of a folder that stays; `None`: unlimited.
    pub keep_days: Option<u32>,
}

/// The result of pruning.
#[derive(Debug, Default)]
pub struct Pruned {
    /// The names of the folders that were deleted, or would be, the oldest first.
    pub deleted: Vec<String>,
    /// The folders that could not be deleted, and why.
    pub failed: Vec<(String, io::Error)>,
    /// The finished folders that stay.
    pub kept: usize,
}

impl Pruned {
    fn delete(&mut self, root: &Path, name: &str) {
        match delete(root, name) {
            Ok(true) => self.deleted.push(name.to_owned()),
            Ok(false) => {}
            Err(error) => self.failed.push((name.to_owned(), error)),
        }
    }
}

/// A finished folder.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finished {
    /// When its run started, according to its name; otherwise when its report was written.
    since: SystemTime,
    name: String,
}

/// The start of a run in the name of its folder, such as `20260101T090000Z-chat`.
fn start_in(name: &str) -> Option<SystemTime> {
    let (start, _) = name.split_once('-')?;
    start.parse::<jiff::Timestamp>().ok().map(SystemTime::from)
}

/// Deletes the finished folders below `root` that are beyond the limits. The newest folder always stays, and so do folders with a name in `spared`
/// or a file [`KEEP`]. With `dry_run`, nothing is deleted.
///
/// # Errors
/// The root cannot be read. A folder that cannot be deleted is in [`Pruned::failed`].
pub fn prune(root: &Path, limits: Limits, spared: &[&str], now: SystemTime, dry_run: bool) -> io::Result<Pruned> {
    let mut pruned = Pruned::default();
    let mut finished = Vec::new();
    for entry in fs::read_dir(root)?.take(MAX_FOLDERS) {
        let Ok(entry) = entry else { continue };
        // A link is no folder here.
        let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
        let Some(name) = entry.file_name().to_str().filter(|_| is_folder).map(str::to_owned) else { continue };
        if name.starts_with(DELETED) {
            // Another launcher may be deleting it.
            if !dry_run {
                let _ = remove(&entry.path());
            }
        } else if let Some(written) = finished_at(&entry.path(), &name) {
            finished.push(Finished { since: start_in(&name).unwrap_or(written), name });
        }
    }
    finished.sort();
    let oldest = limits.keep_days.map(|days| now.checked_sub(DAY * days));
    let count = finished.len();
    for (index, folder) in finished.iter().enumerate() {
        // Counted from the newest.
        let place = count - index;
        let too_many = limits.keep_runs.is_some_and(|most| place > usize::try_from(most).unwrap_or(usize::MAX));
        let too_old = oldest.flatten().is_some_and(|it| folder.since < it);
        let name = &folder.name;
        let stays = place == 1 || spared.contains(&name.as_str()) || is_kept(&root.join(name));
        if stays || !(too_many || too_old) {
            pruned.kept += 1;
        } else if dry_run {
            pruned.deleted.push(name.clone());
        } else {
            pruned.delete(root, name);
        }
    }
    Ok(pruned)
}

/// Deletes finished folders by their names, except folders with a file [`KEEP`].
pub fn remove_finished(root: &Path, names: impl IntoIterator<Item = String>) -> Pruned {
    let mut pruned = Pruned::default();
    for name in names {
        let path = root.join(&name);
        // A link is no folder here.
        let is_folder = path.symlink_metadata().is_ok_and(|it| it.is_dir());
        if !is_folder || finished_at(&path, &name).is_none() || is_kept(&path) {
            pruned.kept += 1;
            continue;
        }
        pruned.delete(root, &name);
    }
    pruned
}

/// When the report of a finished folder was written; `None`: the folder is not ours, or not finished.
fn finished_at(path: &Path, name: &str) -> Option<SystemTime> {
    if name.starts_with('.') || name.ends_with(SUFFIX) || path.join(MARKER).symlink_metadata().is_ok() {
        return None;
    }
    MARKS.iter().find_map(|(file, format)| written_at(&path.join(file), format))
}

/// When a file was written, if the value of its first key is one of our formats. Links and pipes do not count.
fn written_at(path: &Path, format: &str) -> Option<SystemTime> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::RDONLY | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty()).ok()?);
    let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
    let mut head = Vec::new();
    file.take(HEAD).read_to_end(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head);
    let value = head.trim_start().strip_prefix('{')?.trim_start().strip_prefix("\"format\"")?.trim_start();
    value.strip_prefix(':')?.trim_start().strip_prefix('"')?.starts_with(format).then(|| metadata.modified().ok())?
}

/// Whether the user wants to keep a folder.
fn is_kept(path: &Path) -> bool {
    path.join(KEEP).symlink_metadata().is_ok()
}

/// Returns whether this call deleted the folder: another launcher may have been faster.
fn delete(root: &Path, name: &str) -> io::Result<bool> {
    let hidden = root.join(format!("{DELETED}{}-{name}", uuid::Uuid::new_v4().simple()));
    match fs::rename(root.join(name), &hidden) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    }
    remove(&hidden).map(|()| true)
}

/// Removes a folder without new files. Another launcher may remove files from it at the same time.
fn remove(path: &Path) -> io::Result<()> {
    for _ in 0..MAX_REMOVALS {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ if path.symlink_metadata().is_err() => return Ok(()),
            _ => {}
        }
    }
    Err(io::Error::other("another process deletes or writes there as well"))
}
