//! Which process of an address answers: a restart, or several servers behind one address. Pure.
//!
//! A process is known by `process_start_time_seconds`, which most libraries write. A start that lies before that of the process that
//! answered last is no restart: another server has answered. Without that metric a restart shows as a counter that fell, and two
//! of them are taken for several servers.

/// The name of the metric that says when a process began, in seconds since 1970.
pub(super) const START: &str = "process_start_time_seconds";
/// Starts that differ by less are those of one process, in seconds: some libraries compute the time anew for each scrape.
const SAME: f64 = 2.0;
/// Scrapes with a counter that fell which may still be one server that began again.
const MAX_FALLS: u32 = 1;

/// The processes that answered at one address.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Processes {
    start: Option<f64>,
    changed: bool,
    /// An older process has answered after a newer one.
    older_came: bool,
    /// Scrapes in which a counter fell while the process was the same, or is not known.
    falls: u32,
}

impl Processes {
    /// Takes the start that a scrape has. Returns whether another process has answered than the time before.
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

    /// A counter fell in a scrape, and the process was the same or is not known.
    pub(super) fn fall(&mut self) {
        self.falls = self.falls.saturating_add(1);
    }

    /// Whether more than one server has answered.
    pub(super) fn are_several_servers(&self) -> bool {
        self.older_came || self.falls > MAX_FALLS
    }

    /// The start of the only process that answered; `None`: it is not known, or there were several.
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
