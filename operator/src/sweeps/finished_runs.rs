//! The finished runs of sweeps in progress, which the turns of a sweep need not read again.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::decide::OwnRun;

/// The finished runs of sweeps in progress, by the UIDs of sweep and run. A finished run never changes, so a turn reads in full only the runs that are
/// not here. Without them, each turn of a sweep with 2,560 runs would read all of them.
#[derive(Debug, Default)]
pub struct FinishedRuns(Mutex<HashMap<String, HashMap<String, OwnRun>>>);

impl FinishedRuns {
    pub(super) fn of(&self, sweep_uid: &str) -> HashMap<String, OwnRun> {
        self.lock().get(sweep_uid).cloned().unwrap_or_default()
    }

    /// Replaces the runs of a sweep. So deleted runs do not stay in memory.
    pub(super) fn set(&self, sweep_uid: &str, runs: HashMap<String, OwnRun>) {
        self.lock().insert(sweep_uid.to_owned(), runs);
    }

    pub(super) fn forget(&self, sweep_uid: &str) {
        self.lock().remove(sweep_uid);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, HashMap<String, OwnRun>>> {
        // Every operation leaves the map in a valid state.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
