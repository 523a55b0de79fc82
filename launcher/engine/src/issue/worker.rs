//! [I/O] One worker: its part of the load, its timer, and the context of its requests.

use std::{
    iter::StepBy,
    ops::Range,
    sync::{Arc, Mutex},
    time::Duration,
};

use super::{context::RequestContext, shared::Shared};
use crate::{
    client::{Client, Target},
    stop::StopState,
};
use clock::Sleeper;
use measurement::recorder::Keep;

pub(super) struct Worker {
    pub(super) index: usize,
    pub(super) context: Arc<RequestContext>,
    pub(super) sleeper: Sleeper,
    /// The timer of the probes; `None` unless this is the first worker and the load has probes.
    pub(super) probe_sleeper: Option<Arc<Sleeper>>,
}

impl Worker {
    /// Must be called on the runtime on which the worker will run.
    pub(super) fn new(index: usize, shared: Arc<Shared>, target: Target, keep: Keep) -> Worker {
        let sleeper = shared.clock.sleeper();
        let probes = index == 0 && shared.plan.probes.rate().is_some();
        let probe_sleeper = probes.then(|| Arc::new(shared.clock.sleeper()));
        let client = Client::new(target, shared.clock)
            .with_connect_timeout(shared.plan.connect_timeout)
            .with_response_seen(Arc::clone(&shared.target_health.response_seen))
            .in_group(Arc::clone(&shared.clients))
            .starting_at(index);
        let recorder = Mutex::new(shared.plan.recorder(keep));
        let context = RequestContext { shared, client, recorder, back_off_turn: tokio::sync::Mutex::default() };
        Worker { index, context: Arc::new(context), sleeper, probe_sleeper }
    }

    /// Returns the numbers of this worker's requests or slots, out of `count`. They are assigned to the workers in turn.
    pub(super) fn share(&self, count: u64) -> StepBy<Range<u64>> {
        (self.index as u64..count).step_by(self.context.shared.workers)
    }

    /// Waits until a time, or until the load is stopped.
    pub(super) async fn wait_until(&self, at: Duration) {
        self.unless_stopped(self.sleeper.until(at)).await;
    }

    /// Runs `work` until it is done or the load is stopped.
    pub(super) async fn unless_stopped(&self, work: impl Future<Output = ()>) {
        let mut stop = self.context.shared.stop.watch();
        tokio::select! {
            biased;
            _ = stop.wait_for(|it| *it != StopState::Run) => {}
            () = work => {}
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.context.shared.stop.state() != StopState::Run
    }
}
