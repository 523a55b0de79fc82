//! [I/O] How much memory the process can still use, according to the system.

use std::{fs, path::Path};

use rustix::process::{Resource, getrlimit};

/// The memory that remains below a limit, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryLeft {
    pub(crate) bytes: u64,
    pub(crate) limit: MemoryLimit,
}

/// What limits the memory. Values are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryLimit {
    /// The limit of the container, or of another control group.
    Cgroup(u64),
    /// The limit of the process's address space (`ulimit -v`).
    AddressSpace(u64),
    /// The available memory of the machine.
    Machine,
}

impl std::fmt::Display for MemoryLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MemoryLimit::Cgroup(bytes) => write!(f, "the memory limit of {}", mebibytes(*bytes)),
            MemoryLimit::AddressSpace(bytes) => {
                write!(f, "the limit of address space (ulimit -v) of {}", mebibytes(*bytes))
            }
            MemoryLimit::Machine => f.write_str("what this machine has available"),
        }
    }
}

pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

/// Returns the memory that the strictest limit leaves; `None` if the system reports no limit.
pub(crate) fn left() -> Option<MemoryLeft> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let (resident, space) = (size(&status, "VmRSS:").unwrap_or(0), size(&status, "VmSize:").unwrap_or(0));
    let below = |limit: u64, used: u64, name: fn(u64) -> MemoryLimit| MemoryLeft {
        bytes: limit.saturating_sub(used),
        limit: name(limit),
    };
    let machine = || size(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:");
    [
        // The memory of other processes in the group is ignored. In the launcher's container there are none.
        cgroup_limit().map(|limit| below(limit, resident, MemoryLimit::Cgroup)),
        getrlimit(Resource::As).current.map(|limit| below(limit, space, MemoryLimit::AddressSpace)),
        machine().map(|bytes| MemoryLeft { bytes, limit: MemoryLimit::Machine }),
    ]
    .into_iter()
    .flatten()
    .min_by_key(|it| it.bytes)
}

/// Parses a size in `/proc/self/status` or `/proc/meminfo`, and returns it in bytes.
fn size(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the smallest limit of the process's control group and its ancestors, in bytes.
fn cgroup_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let (root, path, file) = group(&groups)?;
    let read = |folder: &Path| fs::read_to_string(Path::new(root).join(folder).join(file)).ok()?.trim().parse().ok();
    // In a container, this can be the host's path. The container's own group is then at the root, which the ancestors include.
    Path::new(path.trim_start_matches('/')).ancestors().filter_map(read).min()
}

/// Returns the mount point of the hierarchy that limits memory, the process's path in it, and the name of the file with the limit. Uses
/// cgroup version 1 if it has the memory controller, else version 2. For a group without a limit, the file contains a word or a very large
/// number.
fn group(groups: &str) -> Option<(&'static str, &str, &'static str)> {
    let lines = || groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let v1 = lines().find(|(controllers, _)| controllers.split(',').any(|it| it == "memory"));
    let v1 = v1.map(|(_, path)| ("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes"));
    v1.or_else(|| {
        lines().find(|(controllers, _)| controllers.is_empty()).map(|(_, path)| ("/sys/fs/cgroup", path, "memory.max"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_that_limits_memory_is_found() {
        let v2 = "0::/kubepods/pod1/container\n";
        assert_eq!(group(v2), Some(("/sys/fs/cgroup", "/kubepods/pod1/container", "memory.max")));
        let v1 = "3:cpu,cpuacct:/a\n2:memory:/b\n0::/\n";
        assert_eq!(group(v1), Some(("/sys/fs/cgroup/memory", "/b", "memory.limit_in_bytes")));
        assert_eq!(group("3:cpu:/a\n"), None);
    }

    #[test]
    fn a_size_is_read_by_its_name() {
        assert_eq!(size("VmPeak:\t  9 kB\nVmRSS:\t    1234 kB\n", "VmRSS:"), Some(1_234 * 1_024));
        assert_eq!(size("MemAvailable:\tmany\n", "MemAvailable:"), None);
    }

    #[test]
    fn this_machine_has_memory_left() {
        assert!(left().is_some_and(|it| it.bytes > 1 << 20), "{:?}", left());
    }
}
