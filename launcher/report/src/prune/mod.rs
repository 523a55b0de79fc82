//! [I/O] Deletes old results folders below a root, such as a volume that many runs share.
//!
//! A folder is deleted only if it is finished and was created by this tool. It must be a real folder, directly below the root, with a `report.json`
//! or `repeats.json` that names this tool. Links are not followed. A folder is renamed to a hidden name before it is deleted. So only one of several
//! launchers deletes it, and a partly deleted folder never looks complete. If a launcher is killed while it deletes, the next one deletes the rest.

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

/// A folder that contains a file with this name is never deleted.
pub const KEEP: &str = "KEEP";
/// Prefix of the name of a folder that is being deleted.
const DELETED: &str = ".deleted-";
/// Maximum number of folders that are read. A root with more folders is probably not a results root.
const MAX_FOLDERS: usize = 50_000;
/// How many bytes of a report are read to identify the tool. The first key of the report names the tool.
const HEAD: u64 = 512;
/// The files that identify a finished folder, each with the beginning of the value of its first key.
const MARKS: [(&str, &str); 2] =
    [(REPORT_FILE_NAME, "benchwright.dev/report/"), ("repeats.json", "benchwright.dev/repeats/")];
/// Maximum number of attempts to remove a folder while another process also removes files from it.
const MAX_REMOVALS: u32 = 100;
const DAY: Duration = Duration::from_secs(86_400);

/// Which folders are kept. A folder beyond either limit is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Number of newest folders that are kept; `None` keeps all.
    pub keep_runs: Option<u32>,
    /// Maximum age in days of a folder that is kept; `None` means no limit.
    pub keep_days: Option<u32>,
}

/// The result of pruning.
#[derive(Debug, Default)]
pub struct Pruned {
    /// The names of the deleted folders (with `dry_run`, of the folders that would be deleted), the oldest first.
    pub deleted: Vec<String>,
    /// The folders that could not be deleted, each with the error.
    pub failed: Vec<(String, io::Error)>,
    /// Number of finished folders that were kept.
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
    /// When its run started, according to the folder's name. If the name contains no time: when its report was written.
    since: SystemTime,
    name: String,
}

/// Reads the start of a run from the name of its folder, such as `20260101T090000Z-chat`.
fn start_in(name: &str) -> Option<SystemTime> {
    let (start, _) = name.split_once('-')?;
    start.parse::<jiff::Timestamp>().ok().map(SystemTime::from)
}

/// Deletes the finished folders below `root` that are beyond the limits. The newest folder is always kept. Folders with a name in `spared` or with a
/// file [`KEEP`] are kept as well. With `dry_run`, nothing is deleted.
///
/// # Errors
/// The root cannot be read. A folder that cannot be deleted is in [`Pruned::failed`].
pub fn prune(root: &Path, limits: Limits, spared: &[&str], now: SystemTime, dry_run: bool) -> io::Result<Pruned> {
    let mut pruned = Pruned::default();
    let mut finished = Vec::new();
    for entry in fs::read_dir(root)?.take(MAX_FOLDERS) {
        let Ok(entry) = entry else { continue };
        // A link is not treated as a folder.
        let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
        let Some(name) = entry.file_name().to_str().filter(|_| is_folder).map(str::to_owned) else { continue };
        if name.starts_with(DELETED) {
            // Errors are ignored, because another launcher might be deleting the same folder.
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
        // The position of the folder; the newest has 1.
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
        // A link is not treated as a folder.
        let is_folder = path.symlink_metadata().is_ok_and(|it| it.is_dir());
        if !is_folder || finished_at(&path, &name).is_none() || is_kept(&path) {
            pruned.kept += 1;
            continue;
        }
        pruned.delete(root, &name);
    }
    pruned
}

/// When the report of a finished folder was written; `None` if the folder is not finished, or not from this tool.
fn finished_at(path: &Path, name: &str) -> Option<SystemTime> {
    if name.starts_with('.') || name.ends_with(SUFFIX) || path.join(MARKER).symlink_metadata().is_ok() {
        return None;
    }
    MARKS.iter().find_map(|(file, format)| written_at(&path.join(file), format))
}

/// When a file was written, if the value of its first key begins with `format`. Links and pipes are ignored.
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

/// Returns whether this call deleted the folder. It returns false if another launcher was faster.
fn delete(root: &Path, name: &str) -> io::Result<bool> {
    let hidden = root.join(format!("{DELETED}{}-{name}", uuid::Uuid::new_v4().simple()));
    match fs::rename(root.join(name), &hidden) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    }
    remove(&hidden).map(|()| true)
}

/// Removes a folder to which nobody adds files. Another launcher may remove files from it at the same time.
fn remove(path: &Path) -> io::Result<()> {
    for _ in 0..MAX_REMOVALS {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ if path.symlink_metadata().is_err() => return Ok(()),
            _ => {}
        }
    }
    Err(io::Error::other("another process also deletes or writes files there"))
}
