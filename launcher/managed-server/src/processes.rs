//! [I/O] Finds the processes of a server in `/proc`, and sends signals that cannot reach any other process.

use std::{collections::BTreeSet, fs};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{self, Pid, PidfdFlags, Signal},
};

use crate::MARK;

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    /// Start time in ticks since boot. A process id and a start time together identify a process uniquely.
    pub(crate) began: u64,
    pub(crate) name: String,
    parent: i32,
    pub(crate) group: i32,
    state: char,
}

impl Process {
    /// The process with this id; `None` if it does not exist or is a zombie.
    pub(crate) fn find(pid: i32) -> Option<Process> {
        Process::read(pid).filter(|it| !matches!(it.state, 'Z' | 'X'))
    }

    fn read(pid: i32) -> Option<Process> {
        parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Waits for the end of this process, and returns the signal that killed it. `None` if it ended in another way, if its parent had already reaped
    /// it, or if the kernel does not support this kind of wait.
    pub(crate) fn killing_signal(&self) -> Option<i32> {
        let end = process::pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::empty()).ok()?;
        if !self.is_there() {
            return None;
        }
        poll(&mut [PollFd::new(&end, PollFlags::IN)], None).ok()?;
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).ok()?;
        parse(self.pid, &stat).filter(|it| it.began == self.began && it.state == 'Z')?;
        let status: i32 = stat.split_whitespace().next_back()?.parse().ok()?;
        // The low bits of the wait status contain the signal.
        Some(status & 0x7f).filter(|it| *it > 0)
    }

    /// Sends a signal to this process. The signal cannot reach a later process with the same id.
    pub(crate) fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        // An older kernel has no pidfds. There, another process can get the id between the check and the signal.
        let Ok(fd) = process::pidfd_open(pid, PidfdFlags::empty()) else {
            if self.is_there() {
                let _ = process::kill_process(pid, signal);
            }
            return;
        };
        if self.is_there() {
            // An error is ignored, because the process can have just ended.
            let _ = process::pidfd_send_signal(fd, signal);
        }
    }

    /// Whether this process still runs.
    pub(crate) fn is_there(&self) -> bool {
        Process::find(self.pid).is_some_and(|it| it.began == self.began)
    }

    /// The process as text, such as `1234 (VLLM::EngineCor)`.
    pub(crate) fn shown(&self) -> String {
        format!("{} ({})", self.pid, crds::wording::cut(&self.name))
    }

    fn has_mark(&self, name: &str) -> bool {
        let wanted = format!("{MARK}={name}");
        let environment = fs::read(format!("/proc/{}/environ", self.pid)).unwrap_or_default();
        environment.split(|it| *it == 0).any(|it| it == wanted.as_bytes())
    }
}

/// Parses `/proc/<pid>/stat`. The name of the program is in parentheses, and may itself contain parentheses.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let (before, after) = (stat.find('(')?, stat.rfind(')')?);
    let name = stat.get(before + 1..after)?.to_owned();
    let fields: Vec<&str> = stat.get(after + 1..)?.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<i32>().ok();
    Some(Process {
        pid,
        began: fields.get(19)?.parse().ok()?,
        name,
        parent: number(1)?,
        group: number(2)?,
        state: fields.first()?.chars().next()?,
    })
}

fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|it| it.file_name().to_str()?.parse().ok());
    pids.filter_map(Process::find).collect()
}

/// Returns the running processes of a server: processes in its groups, processes with its mark, and all descendants of `keeper`. Excludes the keeper
/// and the calling process.
pub(crate) fn members(name: &str, groups: &[i32], keeper: Option<i32>) -> Vec<Process> {
    let all = all();
    let mut below: BTreeSet<i32> = keeper.into_iter().collect();
    // A child can have a lower id than its parent. So the search is repeated until it adds no process.
    while let Some(found) = all.iter().find(|it| below.contains(&it.parent) && !below.contains(&it.pid)) {
        below.insert(found.pid);
    }
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let belongs = |it: &Process| below.contains(&it.pid) || it.has_mark(name) || is_in_group(it, groups, name);
    all.iter().filter(|it| it.pid != own && Some(it.pid) != keeper && belongs(it)).cloned().collect()
}

/// Whether a process is in one of the groups. The kernel can have given the number of a group to another one, so the leader of the group must have
/// the mark.
fn is_in_group(process: &Process, groups: &[i32], name: &str) -> bool {
    groups.contains(&process.group)
        && (process.has_mark(name) || Process::find(process.group).is_some_and(|it| it.has_mark(name)))
}

/// The id of the current boot. Process ids are unique only within one boot.
pub(crate) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Number of processes that the kernel has killed because memory was short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutOfMemory {
    /// Number in the control group to which this process belongs; `None` if it cannot be read.
    group: Option<u64>,
    /// Number on the whole machine; `None` if it cannot be read.
    machine: Option<u64>,
}

impl OutOfMemory {
    pub(crate) fn read() -> OutOfMemory {
        let group = fs::read_to_string("/proc/self/cgroup").ok().and_then(|it| {
            let path = it.lines().find_map(|it| it.strip_prefix("0::"))?.trim_end_matches('/').to_owned();
            fs::read_to_string(format!("/sys/fs/cgroup{path}/memory.events")).ok()
        });
        let machine = fs::read_to_string("/proc/vmstat").ok();
        OutOfMemory { group: group.and_then(|it| count(&it)), machine: machine.and_then(|it| count(&it)) }
    }

    /// Describes the processes killed since `before`; `None` if there are none.
    pub(crate) fn since(self, before: OutOfMemory) -> Option<String> {
        let more = |now: Option<u64>, before: Option<u64>| now.zip(before).is_some_and(|(now, before)| now > before);
        if more(self.group, before.group) {
            return Some(
                "meanwhile the kernel ended a process of this control group because its memory was used up (OOM)"
                    .to_owned(),
            );
        }
        more(self.machine, before.machine)
            .then(|| "meanwhile the kernel ended a process of this machine because memory was used up (OOM)".to_owned())
    }
}

fn count(text: &str) -> Option<u64> {
    text.lines().find_map(|it| it.strip_prefix("oom_kill ")).and_then(|it| it.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_blanks_does_not_shift_the_fields() {
        let stat = "42 (a) b (c)) S 7 40 40 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 0 0";
        let expected = Process { pid: 42, began: 98765, name: "a) b (c)".into(), parent: 7, group: 40, state: 'S' };
        assert_eq!(parse(42, stat), Some(expected));
        for wrong in ["", "42 (a", "42 (a) S", "42 a S 7"] {
            assert_eq!(parse(42, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_a_count_that_rose_is_said() {
        let counted = |group, machine| OutOfMemory { group, machine };
        let before = counted(Some(1), Some(5));
        assert_eq!(before.since(before), None);
        assert!(counted(Some(2), Some(6)).since(before).unwrap().contains("control group"));
        assert!(counted(None, Some(6)).since(before).unwrap().contains("this machine"));
        assert_eq!(counted(Some(2), Some(6)).since(OutOfMemory::default()), None);
        assert_eq!(count("low 0\noom 1\noom_kill 3\n"), Some(3));
    }
}
