//! [I/O] Results folders that are not finished: a marker in each says what it is, and the next run deletes what a killed launcher
//! left without results.
//!
//! The launcher holds a lock on the marker as long as it lives. Whoever gets that lock knows that its launcher is gone. On a
//! file system without locks nobody gets it, and the folder stays.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read as _, Write as _},
    path::Path,
    process,
};

use jiff::Timestamp;
use tracing::{info, warn};

/// What the name of such a folder ends with.
pub(super) const SUFFIX: &str = ".partial";
/// Its name in the folder.
pub(super) const MARKER: &str = "PARTIAL.md";
/// The files that stand in a folder before the load.
const INPUTS: [&str; 3] = [MARKER, "run.yaml", "profile.yaml"];
/// Names that are looked at in a folder of results; more would make a start slow.
const MAX_ENTRIES: usize = 10_000;
/// More than a marker has, in bytes.
const MAX_MARKER: u64 = 4_096;
/// What the line of the host begins with.
const HOST: &str = "- host: ";

/// Writes the marker and returns it, locked where the file system knows locks.
pub(super) fn mark(folder: &Path, begun: Timestamp) -> io::Result<File> {
    let temporary = folder.join(format!(".{MARKER}.tmp"));
    let mut file = File::options().write(true).create_new(true).open(&temporary)?;
    // Without a lock the folder is never taken for that of a dead launcher.
    let _ = file.try_lock();
    file.write_all(text(begun).as_bytes())?;
    // Locked before it has its name: nobody finds it unlocked while this process lives.
    fs::rename(&temporary, folder.join(MARKER))?;
    Ok(file)
}

fn text(begun: Timestamp) -> String {
    let (process, host) = (process::id(), host().unwrap_or_else(|| "unknown".into()));
    format!(
        "# A run that is not finished

- begun: {begun}
- process: {process}
{HOST}{host}

While that process runs, leave this folder alone: it gets its own name when it is whole.

If the process was killed, this is what it left. `run.yaml` and `profile.yaml` say what was to be measured. Other files are those
of a report that were whole by then; without them nothing of the measurement was kept. The folder can be deleted. The next run
that keeps its results beside it deletes it, if it holds no file of a report and its process is certain to be gone.
"
    )
}

fn host() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?.trim().to_owned();
    (!name.is_empty()).then_some(name)
}

/// Deletes the unfinished folders in `parent` that hold no results and whose launcher is gone. `any_host`: those of launchers
/// on other hosts too, whose locks not every network file system shows.
pub fn sweep(parent: &Path, any_host: bool) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.take(MAX_ENTRIES).flatten() {
        let path = entry.path();
        // A link may lead anywhere.
        let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
        if !is_folder || !path.to_string_lossy().ends_with(SUFFIX) {
            continue;
        }
        // Held until the folder is gone.
        let Some(_locked) = abandoned(&path, any_host) else { continue };
        if !has_inputs_alone(&path) {
            info!(folder = %path.display(), "a launcher was killed while it wrote this report; the folder stays");
            continue;
        }
        match fs::remove_dir_all(&path) {
            Ok(()) => {
                info!(folder = %path.display(), "the folder of a killed launcher was deleted: it held no results")
            }
            Err(error) => warn!(folder = %path.display(), %error, "the folder of a killed launcher stays"),
        }
    }
}

/// The marker of a folder whose launcher is certain to be gone, locked.
fn abandoned(folder: &Path, any_host: bool) -> Option<File> {
    let marker = folder.join(MARKER);
    // A pipe in its place would wait for ever.
    fs::symlink_metadata(&marker).ok().filter(fs::Metadata::is_file)?;
    let file = File::options().read(true).write(true).open(marker).ok()?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => return None,
    }
    let mut text = String::new();
    (&file).take(MAX_MARKER).read_to_string(&mut text).ok()?;
    let begun_on = text.lines().find_map(|line| line.strip_prefix(HOST));
    (any_host || (begun_on.is_some() && begun_on == host().as_deref())).then_some(file)
}

fn has_inputs_alone(folder: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(folder) else { return false };
    entries.all(|entry| {
        let name = entry.map(|it| it.file_name().to_string_lossy().into_owned()).unwrap_or_default();
        // A file that was not whole has a temporary name.
        INPUTS.contains(&name.as_str()) || (name.starts_with('.') && name.ends_with(".tmp"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(root: &Path, name: &str, files: &[&str]) -> File {
        let folder = root.join(name);
        fs::create_dir(&folder).unwrap();
        files.iter().for_each(|it| fs::write(folder.join(it), "x").unwrap());
        mark(&folder, "2026-01-02T03:04:05Z".parse().unwrap()).unwrap()
    }

    fn left(root: &Path) -> Vec<String> {
        let names = fs::read_dir(root).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn only_folders_of_dead_launchers_without_results_are_deleted() {
        let root = tempfile::tempdir().unwrap();
        drop(begin(root.path(), "dead.partial", &["run.yaml", "profile.yaml", ".report.json.tmp"]));
        drop(begin(root.path(), "reported.partial", &["run.yaml", "profile.yaml", "report.json"]));
        drop(begin(root.path(), "whole", &["run.yaml"]));
        let _alive = begin(root.path(), "alive.partial", &["run.yaml"]);
        fs::create_dir(root.path().join("unmarked.partial")).unwrap();
        std::os::unix::fs::symlink("whole", root.path().join("link.partial")).unwrap();
        sweep(root.path(), false);
        assert_eq!(
            left(root.path()),
            ["alive.partial", "link.partial", "reported.partial", "unmarked.partial", "whole"]
        );
    }

    #[test]
    fn a_folder_of_another_host_stays_unless_its_locks_are_ours_to_see() {
        let root = tempfile::tempdir().unwrap();
        drop(begin(root.path(), "far.partial", &[]));
        let marker = root.path().join("far.partial").join(MARKER);
        let text = fs::read_to_string(&marker).unwrap();
        assert!(text.contains("2026-01-02T03:04:05Z") && text.contains(&process::id().to_string()), "{text}");
        fs::write(&marker, text.replace(&host().unwrap(), "elsewhere")).unwrap();
        sweep(root.path(), false);
        assert_eq!(left(root.path()), ["far.partial"]);
        sweep(root.path(), true);
        assert!(left(root.path()).is_empty());
    }
}
