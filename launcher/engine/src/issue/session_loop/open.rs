//! [I/O] Open loop: starts a session, or the next request of a session, at each time of the schedule.

use std::{collections::VecDeque, mem, sync::Arc, time::Duration};

use tokio::task::JoinSet;

use super::{
    share::Share,
    stage::{SessionStage, lock},
    work::Work,
};
use crate::issue::{
    in_flight::{drain, poll_and_spawn},
    open_loop::{Pace, tidy_up, warm},
    stage_context::StageContext,
    unissued::{Unissued, UnissuedNumbers},
    worker::Worker,
};
use measurement::schedule::Schedule;

/// Maximum number of sessions prepared before they are due. The first prompt of each is in memory.
const MAX_AHEAD: usize = 16;

/// This worker's part of a stage, in sending order.
struct Feed<'a> {
    stage: &'a SessionStage,
    numbers: Share,
    ahead: VecDeque<(u64, Work)>,
}

impl Feed<'_> {
    /// Prepares one more unit of work. Returns `false` if enough is prepared, or if none remains.
    fn prepare(&mut self) -> bool {
        let next = if self.ahead.len() < MAX_AHEAD { self.make() } else { None };
        next.map(|it| self.ahead.push_back(it)).is_some()
    }

    fn make(&mut self) -> Option<(u64, Work)> {
        let number = self.numbers.next()?;
        Some((number, Work::new(self.stage, number)?))
    }

    fn next(&mut self) -> Option<(u64, Work)> {
        self.ahead.pop_front().or_else(|| self.make())
    }
}

/// Runs this worker's part of a stage. Returns what was never sent.
pub(in crate::issue) async fn run(
    worker: &Worker,
    stage_context: &mut StageContext<'_>,
    schedule: &Schedule,
) -> Unissued {
    let (context, shared) = (&worker.context, &worker.context.shared);
    let stage = Arc::new(SessionStage::new(worker, stage_context.stage));
    let numbers = Share::new(schedule.len(), stage.slot_count(), None, (worker.index, shared.workers));
    let mut feed = Feed { stage: &stage, numbers, ahead: VecDeque::new() };
    worker.unless_stopped(warm(context, schedule, 0)).await;
    while !worker.is_stopped() && feed.prepare() {}
    let start = stage_context.start().await;
    let waits = Arc::clone(&stage.waits);
    let all = async {
        let mut in_flight = JoinSet::new();
        let mut pace = Pace::new(shared);
        let stopped_at = loop {
            let Some((number, work)) = feed.next() else { break None };
            let due = start + schedule.get(number).unwrap_or_default();
            pace.before(due, || feed.prepare()).await;
            tokio::select! {
                biased;
                () = shared.stopped(stage.stage) => {}
                () = worker.sleeper.until(due) => {}
            }
            if shared.is_stopped(stage.stage) {
                break Some((number, shared.clock.now()));
            }
            stage.take();
            let of_task = Arc::clone(&stage);
            poll_and_spawn(&mut in_flight, async move { work.run(&of_task, number, due).await });
            tidy_up(context, &mut in_flight);
        };
        drain(shared, in_flight, Some((stage.stage, start))).await;
        stopped_at
    };
    let stopped_at = tokio::select! {
        stopped_at = all => stopped_at,
        () = waits.run() => None,
    };
    stage.end();
    let mut ready = mem::take(&mut *lock(&stage.unsent));
    let Some((number, at)) = stopped_at else {
        // `ready` now holds the requests that waited for their turn when the load was stopped, or when the grace period of the stage ended.
        let numbers = UnissuedNumbers { ready, rest: None };
        let at = shared.clock.now();
        let is_stopped = shared.is_stopped(stage.stage) && !stage.has_sent_all();
        return if is_stopped { stopped(worker, at, numbers) } else { Unissued::Over(numbers) };
    };
    ready.extend([number].into_iter().chain(feed.ahead.iter().map(|(number, _)| *number)));
    // The numbers that were due, and the first one that was not.
    let was_due = |it: &u64| schedule.get(*it).is_some_and(|due| start + due <= at);
    ready.extend(feed.numbers.by_ref().take_while(was_due));
    ready.extend(feed.numbers.next());
    stopped(worker, at, UnissuedNumbers { ready, rest: None })
}

/// Classifies the unsent numbers: the load was stopped, or a stop rule ended the stage.
fn stopped(worker: &Worker, at: Duration, numbers: UnissuedNumbers) -> Unissued {
    if worker.is_stopped() { Unissued::Stopped { at, numbers } } else { Unissued::Ended { at, numbers } }
}
