//! The time at which each run entered its phase, for a metric. It only covers phases that began while this process was running.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crds::status::Phase;
use tokio::time::Instant;

/// The phases of unfinished runs, by UID.
#[derive(Debug, Default)]
pub struct PhaseTimes(Mutex<HashMap<String, (Phase, Instant)>>);

impl PhaseTimes {
    /// Records that a run entered a phase. Returns its previous phase and the time that it spent there. `None` if they are not known.
    pub fn enter(&self, run_uid: &str, phase: Phase) -> Option<(Phase, Duration)> {
        let mut phases = self.lock();
        let before = if phase.is_terminal() {
            phases.remove(run_uid)
        } else {
            phases.insert(run_uid.to_owned(), (phase, Instant::now()))
        };
        before.map(|(phase, since)| (phase, since.elapsed()))
    }

    /// Removes the entry of a run.
    pub fn forget(&self, run_uid: &str) {
        self.lock().remove(run_uid);
    }

    /// Number of entries.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Phase, Instant)>> {
        // If another thread has panicked, the lock is poisoned, but it is used nevertheless: every operation leaves the map in a valid state.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_phase_lasts_until_the_next_one() {
        let times = PhaseTimes::default();
        assert_eq!(times.enter("u", Phase::Starting), None);
        tokio::time::advance(Duration::from_secs(7)).await;
        assert_eq!(times.enter("u", Phase::Running), Some((Phase::Starting, Duration::from_secs(7))));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(times.enter("u", Phase::Succeeded), Some((Phase::Running, Duration::from_secs(60))));
        assert_eq!(times.count(), 0, "a finished run leaves no entry");
    }
}
