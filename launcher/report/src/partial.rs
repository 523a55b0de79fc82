//! [I/O] Unfinished results folders. A marker file in each folder explains it to people. The next run deletes folders that a killed launcher left
//! without results.
//!
//! The launcher locks the marker as long as it lives. If a process on the same host gets the lock, the launcher is certainly gone. A process on
//! another host can get the lock although the launcher lives: NFS with `local_lock`, CIFS with `nobrl` and Lustre with `localflock` do not share
//! locks between hosts. So a folder of another host is deleted only if its name shows that nobody needs it any more. On a file system without locks,
//! no process gets the lock, and the folder stays.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    process,
};

use super::REPORT_FILE_NAME;
use crds::benchmark_run::MAX_REPEATS;
use jiff::Timestamp;
use tracing::{info, warn};

/// Suffix of the name of an unfinished folder.
pub const SUFFIX: &str = ".partial";
/// The marker file in a folder until its run has ended.
pub const MARKER: &str = "PARTIAL.md";
/// The files that a folder contains before the load starts.
const INPUTS: [&str; 4] = [MARKER, "run.yaml", "profile.yaml", super::benchmark_run::FILE_NAME];
/// Maximum number of entries that are read in a results root. Reading more would make the start of a run slow.
const MAX_ENTRIES: usize = 10_000;
/// Maximum number of entries that are read in the folder of a series: its runs, complete or not, and its files.
const MAX_RUNS: usize = 4 * MAX_REPEATS as usize;
/// Maximum number of bytes that are read from a marker; a marker is smaller.
const MAX_MARKER: u64 = 4_096;
/// Prefix of the marker's line that names the host.
const HOST: &str = "- host: ";

/// Writes the marker and returns its file, which is locked if the file system supports locks.
pub(super) fn mark(folder: &Path, begun: Timestamp) -> io::Result<File> {
    let temporary = folder.join(format!(".{MARKER}.tmp"));
    let mut file = File::options().write(true).create_new(true).open(&temporary)?;
    // If locking fails, no other process can get the lock either, so the folder is never deleted by mistake.
    let _ = file.try_lock();
    file.write_all(text(begun).as_bytes())?;
    // The marker is locked before it gets its name, so that nobody finds it unlocked while this process lives.
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

While that process runs, leave this folder alone: it gets its final name when it is complete.

If the process was killed, these are the files that it left. `run.yaml`, `profile.yaml` and `benchmarkrun.yaml` describe the planned measurement.
Other files are complete parts of the report. If there are none, no measurement was kept.
`search-trials.json` has the finished trials of a search: `benchwright search --resume` with this folder goes on from them. The folder can be deleted. A folder without
files of a report is also deleted automatically if its process has certainly ended: by the next run on this host that keeps its results
in the same place, or in a cluster by the next attempt of the same run.
"
    )
}

fn host() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?.trim().to_owned();
    (!name.is_empty()).then_some(name)
}

/// Which unfinished folders can be deleted.
#[derive(Clone, Copy, Debug)]
pub enum Leftovers<'a> {
    /// Folders that launchers on this host created. Locks are only reliable between processes of one host.
    OfThisHost,
    /// Folders with these names, from any host. Also folders with a suffix `-2` and so on, which is added if a name was taken.
    Named(&'a [String]),
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}

impl Leftovers<'_> {
    fn has_name(self, folder: &str) -> bool {
        let is_of = |name: &String| match folder.strip_prefix(name.as_str()) {
            Some(rest) => rest.is_empty() || rest.strip_prefix('-').is_some_and(is_number),
            None => false,
        };
        match self {
            Leftovers::OfThisHost => true,
            Leftovers::Named(names) => names.iter().any(is_of),
        }
    }

    fn has_host(self, begun_on: Option<&str>) -> bool {
        match self {
            Leftovers::OfThisHost => begun_on.is_some() && begun_on == host().as_deref(),
            Leftovers::Named(_) => true,
        }
    }
}

/// Deletes the unfinished folders in `parent` that are among `leftovers`, contain no results, and have no living launcher. The runs of a series are
/// one level deeper, in the folder of the series, which never has the suffix.
pub fn sweep(parent: &Path, leftovers: Leftovers<'_>) {
    for (path, name) in folders(parent, MAX_ENTRIES) {
        match name.strip_suffix(SUFFIX) {
            Some(name) if leftovers.has_name(name) => delete_abandoned(&path, leftovers),
            None if leftovers.has_name(&name) && !path.join(REPORT_FILE_NAME).exists() => {
                sweep_series(&path, leftovers)
            }
            _ => {}
        }
    }
}

fn sweep_series(series: &Path, leftovers: Leftovers<'_>) {
    let runs = folders(series, MAX_RUNS).into_iter().filter(|(_, name)| {
        let number = name.strip_suffix(SUFFIX).and_then(|it| it.strip_prefix('r'));
        number.is_some_and(is_number)
    });
    for (path, _) in runs {
        delete_abandoned(&path, leftovers);
        // Fails, and keeps the folder, if it contains complete runs.
        let _ = fs::remove_dir(series);
    }
}

/// Returns the subfolders with their names. Links are skipped, because they may lead outside.
fn folders(parent: &Path, most: usize) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(parent).into_iter().flatten().take(most).flatten();
    let folders = entries.filter(|it| it.file_type().is_ok_and(|it| it.is_dir()));
    folders.filter_map(|it| Some((it.path(), it.file_name().into_string().ok()?))).collect()
}

fn delete_abandoned(path: &Path, leftovers: Leftovers<'_>) {
    // The lock is held until the folder is deleted.
    let Some(_locked) = abandoned(path, leftovers) else { return };
    if !has_inputs_alone(path) {
        info!(folder = %path.display(), "a launcher was killed while it wrote this report; the folder stays");
        return;
    }
    match fs::remove_dir_all(path) {
        Ok(()) => {
            info!(folder = %path.display(), "the folder of a killed launcher was deleted: it held no results")
        }
        Err(error) => warn!(folder = %path.display(), %error, "the folder of a killed launcher stays"),
    }
}

/// Returns the locked marker of a folder if its launcher is certainly gone.
fn abandoned(folder: &Path, leftovers: Leftovers<'_>) -> Option<File> {
    let marker = folder.join(MARKER);
    // Opening a named pipe would block forever, so the marker must be a regular file.
    fs::symlink_metadata(&marker).ok().filter(fs::Metadata::is_file)?;
    let file = File::options().read(true).write(true).open(marker).ok()?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => return None,
    }
    let mut text = String::new();
    (&file).take(MAX_MARKER).read_to_string(&mut text).ok()?;
    let begun_on = text.lines().find_map(|line| line.strip_prefix(HOST));
    leftovers.has_host(begun_on).then_some(file)
}

fn has_inputs_alone(folder: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(folder) else { return false };
    entries.all(|entry| {
        let name = entry.map(|it| it.file_name().to_string_lossy().into_owned()).unwrap_or_default();
        // A file that is still being written has a temporary name.
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
        drop(begin(
            root.path(),
            "dead.partial",
            &["run.yaml", "profile.yaml", "benchmarkrun.yaml", ".report.json.tmp"],
        ));
        drop(begin(root.path(), "reported.partial", &["run.yaml", "profile.yaml", "report.json"]));
        drop(begin(root.path(), "whole", &["run.yaml"]));
        let _alive = begin(root.path(), "alive.partial", &["run.yaml"]);
        fs::create_dir(root.path().join("unmarked.partial")).unwrap();
        std::os::unix::fs::symlink("whole", root.path().join("link.partial")).unwrap();
        sweep(root.path(), Leftovers::OfThisHost);
        assert_eq!(
            left(root.path()),
            ["alive.partial", "link.partial", "reported.partial", "unmarked.partial", "whole"]
        );
    }

    /// Creates a folder as a launcher on another host would, whose lock is not visible on this host.
    fn begin_elsewhere(root: &Path, name: &str) {
        drop(begin(root, name, &["run.yaml"]));
        let marker = root.join(name).join(MARKER);
        let text = fs::read_to_string(&marker).unwrap();
        assert!(text.contains("2026-01-02T03:04:05Z") && text.contains(&process::id().to_string()), "{text}");
        fs::write(&marker, text.replace(&host().unwrap(), "elsewhere")).unwrap();
    }

    #[test]
    fn a_folder_of_another_host_stays_unless_it_is_named() {
        let root = tempfile::tempdir().unwrap();
        // The second folder belongs to another pod of the same attempt, for which the name was already taken.
        let earlier = ["chat-2db482-a1.partial", "chat-2db482-a1-2.partial"];
        // The folder of the attempt that deletes leftovers, and folders of other runs with launchers that may live. All are on one volume.
        let others = [
            "chat-2db482-a10.partial",
            "chat-2db482-a2.partial",
            "chat-2db482-a1-6b86b2-a1.partial",
            "chat-77aa01-a1.partial",
        ];
        earlier.iter().chain(&others).for_each(|it| begin_elsewhere(root.path(), it));
        let mut all: Vec<&str> = earlier.into_iter().chain(others).collect();
        all.sort_unstable();
        sweep(root.path(), Leftovers::OfThisHost);
        assert_eq!(left(root.path()), all);
        sweep(root.path(), Leftovers::Named(&[]));
        assert_eq!(left(root.path()), all);
        sweep(root.path(), Leftovers::Named(&["chat-2db482-a1".into()]));
        all.retain(|it| !earlier.contains(it));
        assert_eq!(left(root.path()), all);
    }

    #[test]
    fn what_a_killed_series_left_unfinished_is_deleted_and_its_whole_runs_stay() {
        let root = tempfile::tempdir().unwrap();
        for series in ["chat-2db482-a1", "other-77aa01-a1"] {
            fs::create_dir_all(root.path().join(series).join("r1")).unwrap();
            begin_elsewhere(&root.path().join(series), "r2.partial");
        }
        fs::create_dir(root.path().join("begun-2db482-a1")).unwrap();
        begin_elsewhere(&root.path().join("begun-2db482-a1"), "r1.partial");
        sweep(root.path(), Leftovers::OfThisHost);
        assert_eq!(left(&root.path().join("chat-2db482-a1")), ["r1", "r2.partial"]);
        sweep(root.path(), Leftovers::Named(&["chat-2db482-a1".into(), "begun-2db482-a1".into()]));
        assert_eq!(left(&root.path().join("chat-2db482-a1")), ["r1"]);
        assert_eq!(left(&root.path().join("other-77aa01-a1")), ["r1", "r2.partial"]);
        assert_eq!(left(root.path()), ["chat-2db482-a1", "other-77aa01-a1"]);
    }

    #[test]
    fn a_named_folder_whose_launcher_lives_stays_where_locks_work() {
        let root = tempfile::tempdir().unwrap();
        let _alive = begin(root.path(), "chat-2db482-a1.partial", &["run.yaml"]);
        sweep(root.path(), Leftovers::Named(&["chat-2db482-a1".into()]));
        assert_eq!(left(root.path()), ["chat-2db482-a1.partial"]);
    }
}
