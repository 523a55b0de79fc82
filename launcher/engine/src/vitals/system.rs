//! [I/O] CPU time that the process did not get, as the kernel reports it: throttling by the CPU limit of its cgroup, steal time of the
//! hypervisor, and the time that a thread waited for a CPU. Linux only. On other systems, or if a file cannot be read, the values are
//! absent.

use std::{fs, path::PathBuf, time::Duration};

use measurement::vitals::Throttling;

/// CPU time in clock ticks, summed over all CPUs of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    pub all: u64,
    /// Ticks spent idle, or waiting for I/O.
    pub idle: u64,
    /// Ticks that the hypervisor gave to other guests (steal time).
    pub stolen: u64,
    pub cpus: u64,
}

/// A reading of the machine's counters.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    throttling: Option<Throttling>,
    ticks: Option<Ticks>,
}

impl Machine {
    pub fn read() -> Machine {
        Machine { throttling: cgroup_file("cpu.stat").as_deref().and_then(throttling), ticks: Ticks::read() }
    }

    /// Returns the throttling since `before`; `None` if there is no CPU limit.
    pub fn throttled_since(&self, before: &Machine) -> Option<Throttling> {
        let (now, before) = (self.throttling?, before.throttling?);
        let periods = now.periods.saturating_sub(before.periods);
        (periods > 0).then(|| Throttling {
            periods,
            throttled: now.throttled.saturating_sub(before.throttled),
            time: now.time.saturating_sub(before.time),
        })
    }

    /// Returns the share of the machine's CPU time that went to other guests since `before`, from 0 to 1.
    pub fn stolen_since(&self, before: &Machine) -> Option<f64> {
        let (now, before) = (self.ticks?, before.ticks?);
        let all = now.all.saturating_sub(before.all);
        (all > 0).then(|| now.stolen.saturating_sub(before.stolen) as f64 / all as f64)
    }
}

/// Returns the CPU limit of the process's own cgroup, in CPUs; `None` if there is no limit.
pub fn cpu_limit() -> Option<f64> {
    // Version 1 has one file per number. There, a quota of -1 means no limit.
    cgroup_file("cpu.max").as_deref().map_or_else(
        || quota(&format!("{} {}", cgroup_file("cpu.cfs_quota_us")?.trim(), cgroup_file("cpu.cfs_period_us")?.trim())),
        quota,
    )
}

/// Parses quota and period, in microseconds, and returns their quotient. Without a limit the quota is `max` or -1.
fn quota(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// Returns how long the calling thread was ready to run but waited for a CPU.
pub fn thread_waited() -> Option<Duration> {
    waited(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// Parses `<ns on a CPU> <ns waiting for one> <time slices>`, and returns the second value.
fn waited(schedstat: &str) -> Option<Duration> {
    schedstat.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// Reads a file of the process's own cgroup, in version 1 or 2. In a container, the path of the cgroup is often the host's path, and the
/// container's own cgroup is at the root.
fn cgroup_file(file: &str) -> Option<String> {
    let cgroups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let (root, path) = cgroup(&cgroups)?;
    let root = PathBuf::from(root);
    let own = root.join(path.trim_start_matches('/')).join(file);
    fs::read_to_string(own).or_else(|_| fs::read_to_string(root.join(file))).ok()
}

/// Returns the mount point of the hierarchy that limits CPU time, and the process's path in it. Uses version 1 if it has a controller named
/// `cpu`, else version 2.
fn cgroup(cgroups: &str) -> Option<(&'static str, &str)> {
    let lines = || cgroups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let v1 = lines().find(|(controllers, _)| controllers.split(',').any(|it| it == "cpu"));
    let v2 = lines().find(|(controllers, _)| controllers.is_empty());
    match (v1, v2) {
        (Some((_, path)), _) => Some(("/sys/fs/cgroup/cpu", path)),
        (None, Some((_, path))) => Some(("/sys/fs/cgroup", path)),
        (None, None) => None,
    }
}

/// Parses `cpu.stat`. Version 2 counts microseconds, and version 1 nanoseconds.
fn throttling(stat: &str) -> Option<Throttling> {
    let field = |name: &str| {
        let mut pairs = stat.lines().filter_map(|line| line.split_once(' '));
        pairs.find(|(key, _)| *key == name).and_then(|(_, value)| value.trim().parse::<u64>().ok())
    };
    let micros = field("throttled_usec").map(Duration::from_micros);
    let nanos = || field("throttled_time").map(Duration::from_nanos);
    Some(Throttling {
        periods: field("nr_periods")?,
        throttled: field("nr_throttled")?,
        time: micros.or_else(nanos).unwrap_or_default(),
    })
}

impl Ticks {
    /// Returns `None` if the system does not report the ticks.
    pub fn read() -> Option<Ticks> {
        fs::read_to_string("/proc/stat").ok().as_deref().and_then(ticks)
    }
}

/// Parses the first line: user, nice, system, idle, iowait, irq, softirq, steal. Further fields are ignored, because user and nice include
/// them.
fn ticks(stat: &str) -> Option<Ticks> {
    let mut lines = stat.lines();
    let line = lines.next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line.split_ascii_whitespace().take(8).map_while(|it| it.parse().ok()).collect();
    let stolen = *fields.get(7)?;
    let cpus = lines.take_while(|it| it.starts_with("cpu")).count() as u64;
    Some(Ticks { all: fields.iter().sum(), idle: fields[3] + fields[4], stolen, cpus })
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str = "usage_usec 200\nuser_usec 100\nnr_periods 50\nnr_throttled 5\nthrottled_usec 1500\nnr_bursts 0\n";
    const V1: &str = "nr_periods 80\nnr_throttled 8\nthrottled_time 2500000\n";

    fn machine(cpu_stat: &str, stat: &str) -> Machine {
        Machine { throttling: throttling(cpu_stat), ticks: ticks(stat) }
    }

    #[test]
    fn both_versions_of_cgroups_tell_what_a_limit_withheld() {
        let (v2, v1) = (machine(V2, ""), machine(V1, ""));
        let none = machine("nr_periods 0\nnr_throttled 0\nthrottled_usec 0", "");
        let since =
            |periods, throttled, micros| Some(Throttling { periods, throttled, time: Duration::from_micros(micros) });
        assert_eq!(v2.throttled_since(&none), since(50, 5, 1_500));
        assert_eq!(v1.throttled_since(&v2), since(30, 3, 1_000));
        // If there were no periods, there is no limit.
        assert_eq!(v1.throttled_since(&v1), None);
        assert_eq!(v2.throttled_since(&machine("usage_usec 200\n", "")), None);
    }

    #[test]
    fn a_process_finds_its_cgroup() {
        for (cgroups, found) in [
            ("0::/kubepods/pod1/c\n", Some(("/sys/fs/cgroup", "/kubepods/pod1/c"))),
            (
                "9:name=systemd:/\n3:cpuset:/x\n1:cpu,cpuacct:/docker/a\n0::/\n",
                Some(("/sys/fs/cgroup/cpu", "/docker/a")),
            ),
            ("4:memory:/a\n", None),
            ("", None),
            ("nonsense", None),
        ] {
            assert_eq!(cgroup(cgroups), found, "{cgroups}");
        }
    }

    #[test]
    fn steal_is_a_share_of_all_ticks() {
        let before = machine("", "cpu  100 0 100 800 0 0 0 0 7 0\ncpu0 1 2\n");
        let after = machine("", "cpu  150 0 120 820 0 0 0 10 9 0\n");
        assert_eq!(after.stolen_since(&before), Some(0.1));
        assert_eq!(after.stolen_since(&after), None);
        for odd in ["", "cpu 1 2 3", "cpu a b c d e f g h", "intr 7"] {
            assert_eq!(ticks(odd), None, "{odd}");
        }
    }

    #[test]
    fn ticks_tell_idle_time_and_the_number_of_cpus() {
        let found = ticks("cpu  1 2 3 40 5 6 7 8 9 0\ncpu0 1 2\ncpu1 1 2\nintr 5 cpu\n");
        assert_eq!(found, Some(Ticks { all: 72, idle: 45, stolen: 8, cpus: 2 }));
    }

    #[test]
    fn a_limit_may_be_a_part_of_a_cpu() {
        for (text, limit) in
            [("50000 100000\n", Some(0.5)), ("max 100000\n", None), ("-1 100000", None), ("0 0", None), ("", None)]
        {
            assert_eq!(quota(text), limit, "{text}");
        }
    }

    #[test]
    fn a_thread_tells_how_long_it_waited() {
        assert_eq!(waited("203671 2794 2\n"), Some(Duration::from_nanos(2_794)));
        assert_eq!(waited(""), None);
    }
}
