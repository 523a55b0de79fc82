//! Stop: how a signal, a deadline or a lost target ends the load early.

use std::sync::Arc;

use tokio::sync::watch;

pub use loadgen::phase_end::StopReason;

/// How far the load has to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StopState {
    /// Go on.
    #[default]
    Run,
    /// Issue nothing more; what is in flight may end by itself.
    Drain(StopReason),
    /// End what is in flight: it counts as cancelled.
    Abort(StopReason),
}

/// A handle to end the load; the first reason stays.
#[derive(Clone, Debug)]
pub struct Stop(Arc<watch::Sender<StopState>>);

impl Default for Stop {
    fn default() -> Self {
        Stop(Arc::new(watch::Sender::new(StopState::Run)))
    }
}

impl Stop {
    /// Issue nothing more.
    pub fn drain(&self, reason: StopReason) {
        self.0.send_if_modified(|state| {
            let first = *state == StopState::Run;
            if first {
                *state = StopState::Drain(reason);
            }
            first
        });
    }

    /// End what is in flight too.
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

    /// Where it stands now.
    pub fn state(&self) -> StopState {
        *self.0.borrow()
    }

    /// To wait for a change.
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
