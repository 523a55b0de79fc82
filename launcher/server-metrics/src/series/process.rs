//! Identifies the process that responds at an address. Detects restarts, and several servers behind one address. Pure.
//!
//! `process_start_time_seconds`, which most libraries report, identifies a process. If its value is earlier than before, there was no restart: a
//! different server has responded. Without this metric, a falling counter shows a restart, and two falls show that there are several servers.

/// The metric with the start time of a process, in seconds since 1970.
pub(super) const START: &str = "process_start_time_seconds";
/// Maximum difference in seconds between start times of the same process. Some libraries compute the start time again for each scrape, with small
/// errors.
const SAME: f64 = 2.0;
/// Maximum number of scrapes with a falling counter for which a single server that restarted is still assumed.
const MAX_FALLS: u32 = 1;

/// The processes that responded at one address.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Processes {
    start: Option<f64>,
    changed: bool,
    /// Whether a process that started earlier has responded after one that started later.
    older_came: bool,
    /// Number of scrapes in which a counter fell although the process was the same or was unknown.
    falls: u32,
}

impl Processes {
    /// Records the start time from a scrape. Returns whether a different process responded than in the previous scrape.
    pub(super) fn see(&mut self, start: Option<f64>) -> bool {
        let Some(start) = start.filter(|it| it.is_finite()) else { return false };
        let before = *self.start.get_or_insert(start);
        if (start - before).abs() <= SAME {
            return false;
        }
        self.older_came |= start < before;
        self.changed = true;
        self.start = Some(start);
        true
    }

    /// Records that a counter fell in a scrape, although the process was the same or unknown.
    pub(super) fn fall(&mut self) {
        self.falls = self.falls.saturating_add(1);
    }

    /// Whether more than one server has responded.
    pub(super) fn are_several_servers(&self) -> bool {
        self.older_came || self.falls > MAX_FALLS
    }

    /// The start time of the process; `None` if it is unknown, or if different processes responded.
    pub(super) fn only(&self) -> Option<f64> {
        self.start.filter(|_| !self.changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(starts: &[f64]) -> Processes {
        let mut found = Processes::default();
        starts.iter().for_each(|it| {
            found.see(Some(*it));
        });
        found
    }

    #[test]
    fn a_newer_process_is_a_restart_and_an_older_one_another_server() {
        assert!(!seen(&[100.0, 100.5, 200.0, 300.0]).are_several_servers());
        assert!(seen(&[100.0, 200.0, 100.0]).are_several_servers());
        assert!(seen(&[200.0, 100.0]).are_several_servers());
        assert_eq!((seen(&[100.0, 100.0]).only(), seen(&[100.0, 200.0]).only()), (Some(100.0), None));
        assert_eq!(seen(&[f64::NAN]).only(), None);
    }

    #[test]
    fn one_fall_may_be_a_restart_and_two_are_not() {
        let mut found = Processes::default();
        found.fall();
        assert!(!found.are_several_servers());
        found.fall();
        assert!(found.are_several_servers());
    }
}
