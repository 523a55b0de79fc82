//! [I/O] What else the machine did meanwhile: figures that were taken beside other work tell of that work too.

use std::{fs, io};

/// CPU time so far, in the ticks of /proc, all of the same length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Busy {
    /// All cores, whatever they did.
    all: u64,
    /// All cores, while they were busy for this system or, as a guest sees it, for another one.
    busy: u64,
    /// This process and its children that have ended.
    own: u64,
    cores: u64,
}

impl Busy {
    /// So far.
    ///
    /// # Errors
    /// The system does not tell.
    pub(super) fn now() -> io::Result<Busy> {
        let (machine, process) = (fs::read_to_string("/proc/stat")?, fs::read_to_string("/proc/self/stat")?);
        Busy::of(&machine, &process).ok_or_else(|| io::Error::other("/proc/stat is not as Linux writes it"))
    }

    fn of(machine: &str, process: &str) -> Option<Busy> {
        let mut lines = machine.lines();
        let ticks: Vec<u64> =
            lines.next()?.strip_prefix("cpu ")?.split_whitespace().map_while(|it| it.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; what follows is part of user.
        let ticks = ticks.get(..8)?;
        let all = ticks.iter().sum();
        let cores = lines.take_while(|line| line.starts_with("cpu")).count() as u64;
        // Behind the name in brackets, which may hold anything: utime, stime, cutime and cstime are fields 14 to 17.
        let fields: Vec<&str> = process.rsplit_once(')')?.1.split_whitespace().collect();
        let own = fields.get(11..15)?.iter().map(|it| it.parse::<u64>().ok()).sum::<Option<u64>>()?;
        Some(Busy { all, busy: all - ticks[3] - ticks[4], own, cores })
    }

    /// Cores that others used on average since `before`; NaN where no time has passed.
    pub(super) fn others_since(&self, before: &Busy) -> f64 {
        let wall = self.all.saturating_sub(before.all) as f64 / self.cores as f64;
        let busy = self.busy.saturating_sub(before.busy).saturating_sub(self.own.saturating_sub(before.own));
        if wall > 0.0 { busy as f64 / wall } else { f64::NAN }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(machine: [u64; 8], own: [u64; 4]) -> Busy {
        let line = machine.map(|it| it.to_string()).join(" ");
        let machine = format!("cpu  {line} 0 0\ncpu0 1 2 3 4\ncpu1 1 2 3 4\nintr 5\n");
        let own = own.map(|it| it.to_string()).join(" ");
        let process = format!("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 {own} 20 0 1");
        Busy::of(&machine, &process).unwrap()
    }

    #[test]
    fn what_neither_idled_nor_worked_for_us_worked_for_others() {
        let before = check([100, 0, 100, 1_000, 0, 0, 0, 0], [10, 10, 10, 10]);
        // 400 ticks on two cores, 200 each: 130 idle, 10 waiting, 160 ours, 100 of others.
        let after = check([200, 20, 180, 1_130, 10, 10, 20, 30], [50, 50, 50, 50]);
        assert_eq!(after.others_since(&before), 0.5);
        assert!(before.others_since(&before).is_nan());
    }

    #[test]
    fn what_linux_does_not_write_is_not_read() {
        assert_eq!(Busy::of("", ""), None);
        assert_eq!(Busy::of("cpu  1 2 3\n", "7 (a) S"), None);
        assert!(Busy::now().unwrap().cores >= 1);
    }
}
