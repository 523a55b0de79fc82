//! [I/O] Closed loop: when its last session or request has ended, each slot starts its next session, or the next request of its session.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use super::{
    share::Share,
    stage::{SessionStage, lock},
    work::Work,
};
use crate::issue::{
    closed_loop::{MAX_WARM, run_slots},
    plan::Slots,
    stage_context::StageContext,
    unissued::{Unissued, UnissuedNumbers},
    worker::Worker,
};
use workload_profiles::workload::MAX_REQUESTS;

/// Maximum number of sessions prepared before the stage begins.
const MAX_AHEAD: usize = 4_096;

/// State that the slots of one worker share.
struct Feed {
    stage: SessionStage,
    /// The request numbers of this worker's sessions, if the load starts requests; `None` if it starts whole sessions.
    numbers: Option<Mutex<Share>>,
    ahead: Mutex<VecDeque<(u64, Work)>>,
}

impl Feed {
    /// Whether this worker has sent everything that it took, and nothing remains to take.
    fn is_done(&self) -> bool {
        let all_taken = match &self.numbers {
            Some(numbers) => lock(numbers).is_empty(),
            None => self.stage.context.shared.claims(self.stage.stage).are_all_taken(),
        };
        all_taken && lock(&self.ahead).is_empty() && self.stage.has_sent_all()
    }

    fn claim(&self) -> Option<u64> {
        match &self.numbers {
            Some(numbers) => lock(numbers).next(),
            None => self.stage.context.shared.claims(self.stage.stage).claim(),
        }
    }

    fn make(&self) -> Option<(u64, Work)> {
        let number = self.claim()?;
        Some((number, Work::new(&self.stage, number)?))
    }

    fn next(&self, free: Duration) -> Option<(u64, Work)> {
        if self.stage.is_over(free) {
            return None;
        }
        let next = lock(&self.ahead).pop_front().or_else(|| self.make())?;
        self.stage.take();
        Some(next)
    }
}

/// Runs this worker's part of a stage.
pub(in crate::issue) async fn run(worker: &Worker, stage_context: &mut StageContext<'_>, slots: Slots) -> Unissued {
    let (context, shared) = (&worker.context, &worker.context.shared);
    let mine = worker.share(slots.at_start()).count();
    let stage = SessionStage::new(worker, stage_context.stage);
    let share = |sessions| {
        let count = slots.count.unwrap_or(MAX_REQUESTS);
        Share::new(count, sessions, Some(slots.concurrency), (worker.index, shared.workers))
    };
    let numbers = stage.sessions().filter(|it| it.are_dealt_requests()).map(|it| share(it.count));
    let mut feed = Feed { stage, numbers: numbers.map(Mutex::new), ahead: Mutex::default() };
    worker.unless_stopped(context.client.warm(mine.min(MAX_WARM), 0)).await;
    while slots.ramp_up.is_zero() && slots.start_rate.is_none() && !worker.is_stopped() {
        let made = if lock(&feed.ahead).len() < mine.min(MAX_AHEAD) { feed.make() } else { None };
        let Some(made) = made else { break };
        lock(&feed.ahead).push_back(made);
    }
    let start = stage_context.start().await;
    if mine == 0 {
        // This worker has no slots. The other workers take all sessions, and count those that are not sent.
        return Unissued::Over(UnissuedNumbers::default());
    }
    feed.stage.over = slots.duration.map(|it| start.saturating_add(it));
    let (waits, feed) = (Arc::clone(&feed.stage.waits), Arc::new(feed));
    let slot_task = |slot| run_slot(Arc::clone(&feed), slots.over(slot).map(|it| start.saturating_add(it)));
    tokio::select! {
        () = run_slots(worker, (feed.stage.stage, start), slots, slot_task) => {}
        () = waits.run() => {}
    }
    feed.stage.end();
    // No slot was free for the remaining sessions, so they were not due.
    let numbers = UnissuedNumbers::default();
    let now = shared.clock.now();
    let was_over = feed.stage.over.is_some_and(|over| now >= over);
    if !shared.is_stopped(feed.stage.stage) || was_over || (slots.count.is_some() && feed.is_done()) {
        return Unissued::Over(numbers);
    }
    if worker.is_stopped() { Unissued::Stopped { at: now, numbers } } else { Unissued::Ended { at: now, numbers } }
}

/// Runs the sessions of one slot, until `over`.
async fn run_slot(feed: Arc<Feed>, over: Option<Duration>) {
    let stage = &feed.stage;
    let now = || stage.context.shared.clock.now();
    let mut free = now();
    while over.is_none_or(|over| free < over)
        && let Some((number, work)) = feed.next(free)
    {
        free = stage.context.shared.start_rate(stage.stage).take(free);
        if stage.unless_over(stage.waits.until(free)).await.is_none() {
            return;
        }
        let Some(was_missed) = work.run(stage, number, free).await else { return };
        if was_missed {
            // Boxed, because otherwise every slot's task would reserve memory for this rare wait.
            Box::pin(stage.context.back_off(stage.stage, stage.over)).await;
        }
        free = now();
    }
}
