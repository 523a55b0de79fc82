//! [I/O] Deletes POSIX shared memory and semaphores that a server leaves behind.
//!
//! A file belongs to a server if one of the server's processes had it open or mapped. The keeper checks this while the server runs, because a killed
//! process no longer shows its files. The name of a file proves nothing, because other programs of the same user use the same names. A file is
//! deleted only if it appeared while the server ran, and if no living process uses it.

use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt as _, path::PathBuf};

use crate::processes::Process;

const FOLDER: &str = "/dev/shm";

/// The files that existed before a server was started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Before(BTreeSet<(PathBuf, u64)>);

impl Before {
    pub(crate) fn read() -> Before {
        Before(files().collect())
    }

    /// Used if the list of earlier files is lost. Assumes that all files existed before the start, except those that the server used.
    pub(crate) fn everything_but(used: &BTreeSet<PathBuf>) -> Before {
        Before(files().filter(|it| !used.contains(&it.0)).collect())
    }

    /// Deletes the files that a server left behind, and returns their names. `used` are the files that its processes had open or mapped.
    pub(crate) fn clean(&self, used: &BTreeSet<PathBuf>) -> Vec<String> {
        let own = rustix::process::getuid().as_raw();
        let candidates: Vec<PathBuf> = files()
            .filter(|it| !self.0.contains(it) && used.contains(&it.0))
            .map(|(path, _)| path)
            .filter(|it| fs::metadata(it).is_ok_and(|it| it.uid() == own))
            .collect();
        if candidates.is_empty() {
            return Vec::new();
        }
        let in_use = used_by_all();
        let unused = candidates.into_iter().filter(|it| !in_use.contains(it));
        unused.filter(|it| fs::remove_file(it).is_ok()).map(|it| it.display().to_string()).collect()
    }
}

fn files() -> impl Iterator<Item = (PathBuf, u64)> {
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    entries.filter_map(|it| {
        let metadata = it.metadata().ok().filter(fs::Metadata::is_file)?;
        Some((it.path(), metadata.ino()))
    })
}

/// The files that some processes have open or mapped.
pub(crate) fn used_by(processes: &[Process]) -> BTreeSet<PathBuf> {
    processes.iter().flat_map(|it| used_by_one(it.pid)).collect()
}

fn used_by_all() -> BTreeSet<PathBuf> {
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    pids.filter_map(|it| it.file_name().to_str()?.parse().ok()).flat_map(used_by_one).collect()
}

fn used_by_one(pid: i32) -> BTreeSet<PathBuf> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let mapped = maps.lines().filter_map(|it| it.find("/dev/shm/").map(|at| PathBuf::from(it[at..].trim_end())));
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let open = open.filter_map(|it| fs::read_link(it.path()).ok()).filter(|it| it.starts_with(FOLDER));
    mapped.chain(open).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn only_what_is_new_and_was_used_and_is_unused_goes() {
        if !Path::new(FOLDER).is_dir() {
            return;
        }
        let own = std::process::id();
        let path = |name: &str| PathBuf::from(format!("{FOLDER}/{name}-benchwright-test-{own}"));
        let (old, held, foreign, used) = (path("psm_old"), path("sem.mp-held"), path("sem.mp-foreign"), path("used"));
        fs::write(&old, "").unwrap();
        let before = Before::read();
        for it in [&held, &foreign, &used] {
            fs::write(it, "").unwrap();
        }
        let open = fs::File::open(&held).unwrap();
        let of_server = BTreeSet::from([used.clone(), old.clone(), held.clone()]);
        let deleted = before.clean(&of_server);
        let shown = |it: &Path| it.display().to_string();
        assert!(deleted.contains(&shown(&used)), "{deleted:?}");
        assert!(held.exists(), "a living process has it open");
        drop(open);
        let deleted = before.clean(&of_server);
        assert!(deleted.contains(&shown(&held)) && !held.exists(), "{deleted:?}");
        // A file of another program has a name like one of the server's files.
        assert!(old.exists() && foreign.exists());
        fs::remove_file(old).unwrap();
        fs::remove_file(foreign).unwrap();
    }
}
