//! Requests of a stage that were never sent. Pure.

use std::{iter::StepBy, ops::Range, time::Duration};

/// Requests of a stage that were never sent.
pub(super) enum Unissued {
    /// The load was stopped before these were sent; none where answers decide when more are due.
    Stopped {
        /// When nothing more was sent.
        at: Duration,
        numbers: UnissuedNumbers,
    },
    /// The stage was over before these found a place.
    Over(UnissuedNumbers),
}

/// The numbers of requests that were never sent.
#[derive(Default)]
pub(super) struct UnissuedNumbers {
    /// Those that were ready.
    pub(super) ready: Vec<u64>,
    /// Those that nobody has made.
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
