//! [I/O] Measures how much CPU time other processes used during a trial. They may distort its results.

use std::fs;

use engine::vitals::system::Ticks;

/// CPU time used so far, in the ticks of /proc.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuUse {
    machine: Ticks,
    /// CPU time of this process, and of its children that have ended.
    own: u64,
}

impl CpuUse {
    /// Returns the CPU time used so far; `None` if the system does not report it.
    pub fn now() -> Option<CpuUse> {
        let own = own(&fs::read_to_string("/proc/self/stat").ok()?)?;
        Some(CpuUse { machine: Ticks::read()?, own })
    }

    fn spent(&self) -> u64 {
        self.machine.all.saturating_sub(self.machine.idle)
    }

    /// Returns the number of cores of the machine.
    pub fn cpus(&self) -> f64 {
        self.machine.cpus as f64
    }

    /// Returns how many cores other processes and the hypervisor have used on average since `before`; NaN if no time has passed.
    pub fn others_since(&self, before: &CpuUse) -> f64 {
        let wall = self.machine.all.saturating_sub(before.machine.all) as f64 / self.machine.cpus as f64;
        let own = self.own.saturating_sub(before.own);
        let others = self.spent().saturating_sub(before.spent()).saturating_sub(own);
        if wall > 0.0 { others as f64 / wall } else { f64::NAN }
    }
}

/// Parses `/proc/self/stat`. After the name in parentheses, which can contain any characters, fields 14 to 17 are utime, stime, cutime and cstime.
fn own(process: &str) -> Option<u64> {
    let fields: Vec<&str> = process.rsplit_once(')')?.1.split_whitespace().collect();
    fields.get(11..15)?.iter().map(|it| it.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_neither_idled_nor_worked_for_us_worked_for_others() {
        let busy = |all, idle, own| CpuUse { machine: Ticks { all, idle, cpus: 2, ..Ticks::default() }, own };
        let before = busy(1_200, 1_000, 40);
        // 400 ticks on two cores are 200 ticks of time. Of the 400, 140 are idle, 160 were used by this process, and 100 by others.
        let after = busy(1_600, 1_140, 200);
        assert_eq!(after.others_since(&before), 0.5);
        assert!(before.others_since(&before).is_nan());
    }

    #[test]
    fn own_time_is_that_of_children_too() {
        assert_eq!(own("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 20 0 1"), Some(50));
        for odd in ["", "7 (a) S", "7 (a) S 1 2 3 4 5 6 7 8 9 10 a b c d"] {
            assert_eq!(own(odd), None, "{odd}");
        }
    }
}
