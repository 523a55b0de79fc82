//! [I/O] Closed loop: each slot sends its next request when its last one has ended, until all requests are sent or the duration is over.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    task::{JoinSet, yield_now},
};

use super::{
    context::RequestContext,
    in_flight::{Due, RequestKind, drain, poll_and_spawn, run_request},
    plan::Slots,
    prepare::{Ahead, Prepared},
    shared::Claims,
    stage_context::StageContext,
    unissued::{Unissued, UnissuedNumbers},
    worker::Worker,
};

/// Maximum number of connections opened before the stage begins. The other slots connect when they send their first request.
pub(super) const MAX_WARM: usize = 4_096;
/// Number of slots that send their first request before the runtime polls the sockets again.
const MAX_AT_ONCE: usize = 16;

/// State that the slots of one worker share.
struct Shared {
    context: Arc<RequestContext>,
    stage: usize,
    /// The time after which no request is sent; `None` means no limit.
    over: Option<Duration>,
    ahead: Mutex<Ahead>,
    taken: Notify,
}

impl Shared {
    fn ahead(&self) -> MutexGuard<'_, Ahead> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claims(&self) -> &Claims {
        self.context.shared.claims(self.stage)
    }

    fn next(&self, free: Duration) -> Option<Prepared> {
        if self.is_over(free) {
            return None;
        }
        let next = self.ahead().next(&self.context.shared, || self.claims().claim());
        self.taken.notify_one();
        next
    }

    fn is_over(&self, now: Duration) -> bool {
        self.context.shared.is_stopped(self.stage) || self.over.is_some_and(|over| now >= over)
    }

    /// Waits until `at`, the earliest start of a request. Returns `false` if the stage ended or the load was stopped before.
    async fn wait_to_start(&self, at: Duration) -> bool {
        let shared = &self.context.shared;
        let end = self.over.map_or(at, |over| at.min(over));
        // `stopped` completes only when the stage is stopped, so otherwise the deadline ends the wait.
        let _ = shared.clock.within(Some(end), shared.stopped(self.stage)).await;
        !self.is_over(shared.clock.now())
    }

    /// Prepares one more request. Returns `false` if the buffer is full, or if no request remains.
    fn prepare(&self) -> bool {
        let mut ahead = self.ahead();
        let number = if ahead.is_full() { None } else { self.claims().claim() };
        number.map(|it| ahead.prepare(&self.context.shared, it)).is_some()
    }

    /// Prepares a new request whenever one is taken from the buffer. Never returns.
    async fn keep_prepared(&self) {
        loop {
            self.taken.notified().await;
            while self.claims().may_claim_ahead() && self.prepare() {
                yield_now().await;
            }
        }
    }
}

/// Runs this worker's part of a stage. Returns the unsent requests that no other worker counts.
pub(super) async fn run(worker: &Worker, stage_context: &mut StageContext<'_>, slots: Slots) -> Unissued {
    let context = &worker.context;
    let count = worker.share(slots.at_start()).count();
    let mut shared = Shared {
        context: Arc::clone(context),
        stage: stage_context.stage,
        over: None,
        ahead: Mutex::new(Ahead::new(stage_context.stage, Some(count))),
        taken: Notify::new(),
    };
    worker.unless_stopped(context.client.warm(count.min(MAX_WARM), 0)).await;
    // Prepares one request per slot, as far as the buffer allows, because without a ramp-up all slots send their first request together.
    while (slots.ramp_up.is_zero() || shared.claims().may_claim_ahead()) && !worker.is_stopped() && shared.prepare() {}
    let start = stage_context.start().await;
    shared.over = slots.duration.map(|it| start.saturating_add(it));
    let shared = Arc::new(shared);
    let slot_task = |slot| run_slot(Arc::clone(&shared), slots.over(slot).map(|it| start.saturating_add(it)));
    tokio::select! {
        () = run_slots(worker, (shared.stage, start), slots, slot_task) => {}
        () = shared.keep_prepared() => {}
    }
    let ended_early = context.shared.ended_early(stage_context.stage);
    if !worker.is_stopped() && ended_early.is_none() {
        // The slots of other workers can take the remaining requests.
        return Unissued::Over(UnissuedNumbers::default());
    }
    let all_taken = shared.ahead().numbers().is_empty() && shared.claims().take_rest().is_empty();
    let was_over = shared.over.is_some_and(|over| context.shared.clock.now() >= over);
    if was_over || (slots.count.is_some() && all_taken) {
        return Unissued::Over(UnissuedNumbers::default());
    }
    // No slot was free for the remaining requests, so they were not due.
    let (at, numbers) = (context.shared.clock.now(), UnissuedNumbers::default());
    if worker.is_stopped() { Unissued::Stopped { at, numbers } } else { Unissued::Ended { at, numbers } }
}

/// Opens this worker's slots in a stage that began at `start`, and waits until the tasks of all slots have ended. Slot i of n opens when
/// the fraction i/n of the ramp-up has passed.
pub(super) async fn run_slots<T: Future<Output = ()> + Send + 'static>(
    worker: &Worker,
    (stage, start): (usize, Duration),
    slots: Slots,
    slot_task: impl Fn(u64) -> T,
) {
    let mut in_flight = JoinSet::new();
    for (place, slot) in (1..).zip(worker.share(slots.at_start())) {
        let open = start.saturating_add(slots.ramp_up.mul_f64(slot as f64 / slots.at_start() as f64));
        if place == 1 || !slots.ramp_up.is_zero() {
            tokio::select! {
                biased;
                () = worker.context.shared.stopped(stage) => {}
                () = worker.sleeper.until(open) => {}
            }
        }
        poll_and_spawn(&mut in_flight, slot_task(slot));
        if place % MAX_AT_ONCE == 0 {
            yield_now().await;
        }
    }
    drain(&worker.context.shared, in_flight, Some((stage, start))).await;
}

/// Sends the requests of one slot, until `over`.
async fn run_slot(shared: Arc<Shared>, over: Option<Duration>) {
    // A closed loop has no schedule: its first request is due when the slot opens.
    let mut free = shared.context.shared.clock.now();
    while over.is_none_or(|over| free < over)
        && let Some(prepared) = shared.next(free)
    {
        let start = shared.context.shared.start_rate(shared.stage).take(free);
        if start > free {
            // Boxed for the same reason as `back_off` below.
            if !Box::pin(shared.wait_to_start(start)).await {
                shared.ahead().put_back(prepared);
                break;
            }
            // The server does not cause this wait, so the request counts as due when it can start.
            free = shared.context.shared.clock.now();
        }
        let due = Due { at: free, ..Due::default() };
        if !run_request(Arc::clone(&shared.context), RequestKind::Load, shared.stage, prepared, due).await {
            // Boxed, because otherwise every slot's task would reserve memory for this rare wait.
            Box::pin(shared.context.back_off(shared.stage, shared.over)).await;
        }
        free = shared.context.shared.clock.now();
    }
}
