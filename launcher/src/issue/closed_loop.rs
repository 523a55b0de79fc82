//! [I/O] Closed loop: each slot sends its next request when its last one has ended, until all are taken.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::{
    sync::Notify,
    task::{JoinSet, yield_now},
};

use super::{
    flight::{fly, launch},
    lane::{Core, Lane, Meeting},
    prepare::{Ahead, Prepared},
    shared::Claims,
};
use crate::stop::StopState;

/// Connections that are opened before the stage begins, at most; the other slots open theirs with their first request.
const MAX_WARM: usize = 4_096;
/// So many slots send their first request before bytes that arrived are looked at.
const MAX_AT_ONCE: usize = 16;

/// What the slots of a lane share.
struct Slots {
    core: Arc<Core>,
    stage: usize,
    ahead: Mutex<Ahead>,
    taken: Notify,
}

impl Slots {
    fn ahead(&self) -> MutexGuard<'_, Ahead> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claims(&self) -> &Claims {
        self.core.shared.claims(self.stage)
    }

    fn next(&self) -> Option<Prepared> {
        if self.core.shared.stop.state() != StopState::Run {
            return None;
        }
        let next = self.ahead().next(&self.core.shared, || self.claims().claim());
        self.taken.notify_one();
        next
    }

    /// Prepares one more request; `false` when there is no room or none is left.
    fn prepare(&self) -> bool {
        let mut ahead = self.ahead();
        let number = if ahead.is_full() { None } else { self.claims().claim() };
        number.map(|it| ahead.prepare(&self.core.shared, it)).is_some()
    }

    /// Prepares requests in place of those that were taken; never ends.
    async fn keep_prepared(&self) {
        loop {
            self.taken.notified().await;
            while self.claims().may_claim_ahead() && self.prepare() {
                yield_now().await;
            }
        }
    }
}

/// Issues this lane's part of a stage, and returns how many requests that nobody else will count were never sent.
pub(super) async fn run(lane: &Lane, meeting: &mut Meeting<'_>, concurrency: u64) -> u64 {
    let core = &lane.core;
    let count = lane.share(concurrency).count();
    let slots = Arc::new(Slots {
        core: Arc::clone(core),
        stage: meeting.stage,
        ahead: Mutex::new(Ahead::new(meeting.stage, Some(count))),
        taken: Notify::new(),
    });
    if !lane.is_stopped() {
        core.client.warm(count.min(MAX_WARM), 0).await;
        // There is room for one for each slot: all of these are sent at once.
        while slots.prepare() {}
    }
    let start = meeting.start().await;
    lane.wait_until(start).await;

    let mut flights = JoinSet::new();
    for place in 1..=count {
        let slots = Arc::clone(&slots);
        launch(&mut flights, async move {
            // A closed loop has no schedule that it could be late for: a slot is free from when it is opened on.
            let mut free = slots.core.shared.clock.now();
            while let Some(prepared) = slots.next() {
                fly(Arc::clone(&slots.core), slots.stage, prepared, free).await;
                free = slots.core.shared.clock.now();
            }
        });
        if place % MAX_AT_ONCE == 0 {
            yield_now().await;
        }
    }
    tokio::select! {
        () = lane.drain(flights) => {}
        () = slots.keep_prepared() => {}
    }
    slots.ahead().len() + slots.claims().take_rest()
}
