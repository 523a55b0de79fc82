//! Ends a load early: after a signal, at a deadline, or when the target is lost.

use std::sync::Arc;

use tokio::sync::watch;

pub use measurement::phase::StopReason;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StopState {
    /// The load continues.
    #[default]
    Run,
    /// No more requests are issued. Requests in flight may complete.
    Drain(StopReason),
    /// Requests in flight are aborted, and count as cancelled.
    Abort(StopReason),
}

/// A handle that can end the load. Only the first reason is kept.
#[derive(Clone, Debug)]
pub struct Stop(Arc<watch::Sender<StopState>>);

impl Default for Stop {
    fn default() -> Self {
        Stop(Arc::new(watch::Sender::new(StopState::Run)))
    }
}

impl Stop {
    /// Stops issuing requests. Requests in flight may complete.
    pub fn drain(&self, reason: StopReason) {
        self.0.send_if_modified(|state| {
            let first = *state == StopState::Run;
            if first {
                *state = StopState::Drain(reason);
            }
            first
        });
    }

    /// Stops issuing requests, and aborts the requests in flight.
    pub fn abort(&self, reason: StopReason) {
        self.0.send_if_modified(|state| {
            let next = match *state {
                StopState::Run => StopState::Abort(reason),
                StopState::Drain(first) => StopState::Abort(first),
                StopState::Abort(_) => return false,
            };
            *state = next;
            true
        });
    }

    pub fn state(&self) -> StopState {
        *self.0.borrow()
    }

    /// Returns a receiver that is notified of changes.
    pub fn watch(&self) -> watch::Receiver<StopState> {
        self.0.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_stays() {
        let stop = Stop::default();
        stop.drain(StopReason::Deadline);
        stop.drain(StopReason::Signal);
        assert_eq!(stop.state(), StopState::Drain(StopReason::Deadline));
        stop.abort(StopReason::Signal);
        assert_eq!(stop.state(), StopState::Abort(StopReason::Deadline));
    }
}
