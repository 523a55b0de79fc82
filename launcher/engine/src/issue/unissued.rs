//! The requests of a stage that were never sent. Pure.

use std::{iter::StepBy, ops::Range, time::Duration};

pub(super) enum Unissued {
    /// The load was stopped before these requests were sent. Contains no requests if answers determine when requests are due.
    Stopped {
        /// When sending stopped.
        at: Duration,
        numbers: UnissuedNumbers,
    },
    /// A stop rule ended the stage before these requests were sent.
    Ended {
        /// When sending ended.
        at: Duration,
        numbers: UnissuedNumbers,
    },
    /// The stage ended before these requests got a permit.
    Over(UnissuedNumbers),
}

#[derive(Default)]
pub(super) struct UnissuedNumbers {
    /// Requests that were already prepared.
    pub(super) ready: Vec<u64>,
    /// Requests that were not prepared yet.
    pub(super) rest: Option<StepBy<Range<u64>>>,
}

impl UnissuedNumbers {
    pub(super) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.rest.clone().is_none_or(|mut it| it.next().is_none())
    }

    pub(super) fn numbers(self) -> impl Iterator<Item = u64> {
        self.ready.into_iter().chain(self.rest.into_iter().flatten())
    }
}
