//! [I/O] Assigns separate CPU cores to server and client, so that they do not slow each other.

use std::{fs, io, thread};

use capacity::keep_to_core;
use rustix::thread::{CpuSet, sched_getaffinity};

/// The cores of the server and the client of a trial. Both are absent if separate cores are not possible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cores {
    /// The core of the server.
    pub(super) server: Option<usize>,
    /// The core of the client.
    pub(super) client: Option<usize>,
}

impl Cores {
    /// Chooses two cores that this process can use. If possible, they are different physical cores, not two threads of one. Otherwise returns a note.
    pub(super) fn choose() -> (Cores, Option<String>) {
        match Cores::find() {
            Ok((cores, true)) => (cores, None),
            Ok((cores, false)) => {
                (cores, Some("server and client keep to two threads of one core, and slow each other".into()))
            }
            Err(why) => (Cores::default(), Some(format!("server and client keep to no core of their own: {why}"))),
        }
    }

    /// Finds two cores. Returns them, and whether they are separate physical cores.
    fn find() -> Result<(Cores, bool), String> {
        let allowed = allowed().map_err(|error| format!("the system does not tell the cores: {error}"))?;
        let [first, second, ..] = allowed[..] else {
            return Err("this process may use a single core".into());
        };
        let siblings = siblings(first);
        let other = allowed.iter().copied().find(|core| !siblings.contains(core));
        let client = other.unwrap_or(second);
        for core in [first, client] {
            // The test runs on a temporary thread, so that this thread is not bound to the core.
            if let Ok(Err(error)) = thread::spawn(move || keep_to_core(core)).join() {
                return Err(format!("the system does not let a process keep to core {core}: {error}"));
            }
        }
        Ok((Cores { server: Some(first), client: Some(client) }, other.is_some()))
    }
}

fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect())
}

/// All threads of the physical core to which `core` belongs. If the system does not report them, only `core` itself.
fn siblings(core: usize) -> Vec<usize> {
    let path = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
    fs::read_to_string(path).ok().and_then(|text| list(text.trim())).unwrap_or_else(|| vec![core])
}

/// Parses a list of numbers in Linux's format, such as `0,64` or `0-3`.
fn list(text: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        all.extend(first..=last.min(CpuSet::MAX_CPU));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cores_are_read_as_linux_writes_them() {
        assert_eq!(list("0"), Some(vec![0]));
        assert_eq!(list("0,64"), Some(vec![0, 64]));
        assert_eq!(list("0-2,8"), Some(vec![0, 1, 2, 8]));
        assert_eq!(list("x"), None);
    }

    #[test]
    fn a_server_and_a_client_never_share_a_core() {
        match Cores::choose() {
            (Cores { server: None, client: None }, note) => assert!(note.unwrap().contains("core")),
            (cores, _) => assert!(cores.client.is_some() && cores.server != cores.client, "{cores:?}"),
        }
    }
}
