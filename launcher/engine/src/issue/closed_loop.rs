//! [I/O] Closed loop: each slot sends its next request when its last one has ended, until all are taken or the time is over.

use std::{
    future::pending,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    task::{JoinSet, yield_now},
};

use super::{
    context::Core,
    in_flight::{Due, RequestKind, drain, poll_and_spawn, run_request},
    plan::Slots,
    prepare::{Ahead, Prepared},
    shared::Claims,
    stage_barrier::StageBarrier,
    unissued::{Unissued, UnissuedNumbers},
    worker::Worker,
};
use crate::stop::StopState;

/// Connections that are opened before the stage begins, at most; the other slots open theirs with their first request.
const MAX_WARM: usize = 4_096;
/// So many slots send their first request before bytes that arrived are looked at.
const MAX_AT_ONCE: usize = 16;
/// After a request that the target did not answer its slot waits so long at least: else it would do nothing but fail, as fast
/// as it can, while the answers of other slots lie unread.
const BACK_OFF: Duration = Duration::from_millis(10);

/// What the slots of a worker share.
struct Shared {
    core: Arc<Core>,
    stage: usize,
    /// When no request is sent any more.
    over: Option<Duration>,
    ahead: Mutex<Ahead>,
    taken: Notify,
    /// Held by the one slot that waits to try a target that does not answer; not while it tries, which may take long.
    turn: tokio::sync::Mutex<()>,
}

impl Shared {
    fn ahead(&self) -> MutexGuard<'_, Ahead> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claims(&self) -> &Claims {
        self.core.shared.claims(self.stage)
    }

    fn next(&self, free: Duration) -> Option<Prepared> {
        if self.is_over(free) {
            return None;
        }
        let next = self.ahead().next(&self.core.shared, || self.claims().claim());
        self.taken.notify_one();
        next
    }

    fn is_over(&self, now: Duration) -> bool {
        self.core.shared.stop.state() != StopState::Run || self.over.is_some_and(|over| now >= over)
    }

    /// Waits after a request that the target did not answer, until the stage is over at most. While no other request is
    /// answered, the slots wait one after the other, each longer than the one before, and then try: an outage must not use up
    /// the requests of the stage.
    async fn back_off(&self) {
        let (clock, outage) = (self.core.shared.clock, self.core.client.outage());
        let mut stop = self.core.shared.stop.watch();
        let mut over = pin!(outage.over());
        let pause = async |length: Duration| {
            // Only the deadline ends it.
            let _ = clock.within(clock.now().checked_add(length), pending::<()>()).await;
        };
        let work = async {
            pause(BACK_OFF).await;
            over.as_mut().enable();
            if !outage.is_on() {
                return;
            }
            let turn = async {
                let _turn = self.turn.lock().await;
                pause(outage.next_wait()).await;
            };
            tokio::select! {
                biased;
                () = over => {}
                () = turn => {}
            }
        };
        tokio::select! {
            biased;
            _ = stop.wait_for(|it| *it != StopState::Run) => {}
            _ = clock.within(self.over, work) => {}
        }
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

/// Issues this worker's part of a stage, and returns which requests that nobody else will count were never sent.
pub(super) async fn run(worker: &Worker, barrier: &mut StageBarrier<'_>, slots: Slots) -> Unissued {
    let core = &worker.core;
    let count = worker.share(slots.concurrency).count();
    let mut shared = Shared {
        core: Arc::clone(core),
        stage: barrier.stage,
        over: None,
        ahead: Mutex::new(Ahead::new(barrier.stage, Some(count))),
        taken: Notify::new(),
        turn: tokio::sync::Mutex::default(),
    };
    worker.unless_stopped(core.client.warm(count.min(MAX_WARM), 0)).await;
    // One for each slot, as far as there is room: without a ramp all of these are sent at once.
    while (slots.ramp_up.is_zero() || shared.claims().may_claim_ahead()) && !worker.is_stopped() && shared.prepare() {}
    let start = barrier.start().await;
    shared.over = slots.duration.map(|it| start.saturating_add(it));
    let limit = core.shared.plan.stages[barrier.stage].limit(start);
    let shared = Arc::new(shared);
    tokio::select! {
        () = run_slots(worker, &shared, slots, start, limit) => {}
        () = shared.keep_prepared() => {}
    }
    if !worker.is_stopped() {
        // What is left is for the slots of other workers, which may have all of them.
        return Unissued::Over(UnissuedNumbers::default());
    }
    let all_taken = shared.ahead().numbers().is_empty() && shared.claims().take_rest().is_empty();
    let was_over = shared.over.is_some_and(|over| core.shared.clock.now() >= over);
    if was_over || (slots.count.is_some() && all_taken) {
        return Unissued::Over(UnissuedNumbers::default());
    }
    // No slot was free for those that are left: they were not due.
    Unissued::Stopped { at: core.shared.clock.now(), numbers: UnissuedNumbers::default() }
}

/// Opens this worker's slots, slot i of n at i / n of the ramp, and waits for the end of their last requests.
async fn run_slots(worker: &Worker, shared: &Arc<Shared>, slots: Slots, start: Duration, limit: Option<Duration>) {
    let mut in_flight = JoinSet::new();
    for (place, slot) in (1..).zip(worker.share(slots.concurrency)) {
        let open = start.saturating_add(slots.ramp_up.mul_f64(slot as f64 / slots.concurrency as f64));
        if place == 1 || !slots.ramp_up.is_zero() {
            worker.wait_until(open).await;
        }
        let shared = Arc::clone(shared);
        poll_and_spawn(&mut in_flight, async move {
            // A closed loop has no schedule that it could be late for: a slot is free from when it is opened on.
            let mut free = shared.core.shared.clock.now();
            while let Some(prepared) = shared.next(free) {
                let due = Due { at: free, ..Due::default() };
                if !run_request(Arc::clone(&shared.core), RequestKind::Load, shared.stage, prepared, due).await {
                    // Boxed, so that a slot keeps no room for it.
                    Box::pin(shared.back_off()).await;
                }
                free = shared.core.shared.clock.now();
            }
        });
        if place % MAX_AT_ONCE == 0 {
            yield_now().await;
        }
    }
    drain(&worker.core.shared, in_flight, limit).await;
}
