//! [I/O] Files of POSIX shared memory and semaphores that a server leaves behind.
//!
//! Such a file belongs to a server if one of its processes had it open or mapped, or if it appeared while the server ran under a name that
//! engines and Python's multiprocessing give. It goes only if no living process uses it.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use crate::processes::Process;

const FOLDER: &str = "/dev/shm";
/// What the names of such files begin with: Python's shared memory and semaphores, PyTorch, NCCL, the engines themselves.
const NAMES: [&str; 9] = ["psm_", "sem.mp-", "sem.loky-", "torch_", "nccl-", "vllm", "sglang", "cuda.shm.", "__KMP_"];

/// The files before a server was started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Before(BTreeSet<(PathBuf, u64)>);

impl Before {
    pub(crate) fn read() -> Before {
        Before(files().collect())
    }

    /// As if all files had been there, but those that a server used: what was there before it is not known any more.
    pub(crate) fn everything_but(used: &BTreeSet<PathBuf>) -> Before {
        Before(files().filter(|it| !used.contains(&it.0)).collect())
    }

    /// Deletes what a server has left, and returns the names. `used`: the files that its processes had.
    pub(crate) fn clean(&self, used: &BTreeSet<PathBuf>) -> Vec<String> {
        let new: Vec<PathBuf> = files().filter(|it| !self.0.contains(it)).map(|(path, _)| path).collect();
        let known = |path: &Path| {
            let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
            NAMES.iter().any(|it| name.starts_with(it))
        };
        let own = rustix::process::getuid().as_raw();
        let candidates: Vec<PathBuf> = new
            .into_iter()
            .filter(|it| used.contains(it) || known(it))
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
    use super::*;

    #[test]
    fn only_what_is_new_of_a_known_name_or_was_used_and_is_unused_goes() {
        if !Path::new(FOLDER).is_dir() {
            return;
        }
        let own = std::process::id();
        let path = |name: &str| PathBuf::from(format!("{FOLDER}/{name}-benchwright-test-{own}"));
        let (old, known, strange, used) = (path("psm_old"), path("psm_new"), path("strange"), path("used"));
        fs::write(&old, "").unwrap();
        let before = Before::read();
        for it in [&known, &strange, &used] {
            fs::write(it, "").unwrap();
        }
        let open = fs::File::open(&known).unwrap();
        let of_server = BTreeSet::from([used.clone(), old.clone()]);
        let deleted = before.clean(&of_server);
        let shown = |it: &Path| it.display().to_string();
        assert!(deleted.contains(&shown(&used)), "{deleted:?}");
        assert!(known.exists(), "a living process has it open");
        drop(open);
        let deleted = before.clean(&of_server);
        assert!(deleted.contains(&shown(&known)) && !known.exists(), "{deleted:?}");
        assert!(old.exists() && strange.exists());
        fs::remove_file(old).unwrap();
        fs::remove_file(strange).unwrap();
    }
}
