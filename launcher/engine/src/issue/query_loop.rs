//! [I/O] Sends queries one by one: a query is sent when all samples of the previous query are complete. One worker sends all queries.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::task::{JoinSet, yield_now};

use super::{
    in_flight::{Due, RequestKind, drain, poll_and_spawn, run_request},
    prepare::Ahead,
    shared::Shared,
    stage_context::StageContext,
    unissued::{Unissued, UnissuedNumbers},
    worker::Worker,
};
use measurement::phase::Phase;

/// Sends the queries of a stage until the phase ends.
pub(super) async fn run(worker: &Worker, stage_context: &mut StageContext<'_>, phase: &dyn Phase) -> Unissued {
    let (context, stage) = (&worker.context, stage_context.stage);
    let shared = &context.shared;
    if worker.index != 0 {
        stage_context.start().await;
        return Unissued::Over(UnissuedNumbers::default());
    }
    let samples = phase.samples_per_query();
    let samples_at_once = usize::try_from(samples).unwrap_or(usize::MAX);
    worker.unless_stopped(context.client.warm(samples_at_once, 0)).await;
    let mut numbers = 0..phase.request_count();
    let mut ahead = Ahead::new(stage, Some(samples_at_once));
    prepare(&mut ahead, shared, &mut numbers).await;
    let start = stage_context.start().await;
    worker.wait_until(start).await;
    for _ in 0..phase.query_count() {
        if worker.is_stopped() {
            // The next query is due when the last one is complete, so no due query is left unsent.
            return Unissued::Stopped { at: shared.clock.now(), numbers: UnissuedNumbers::default() };
        }
        let issued_at = shared.clock.now();
        let mut in_flight = JoinSet::new();
        let answered = Arc::new(AtomicBool::new(false));
        for _ in 0..samples {
            let Some(prepared) = ahead.next(shared, || numbers.next()) else { break };
            let due = Due { at: issued_at, ..Due::default() };
            let (context, answered) = (Arc::clone(context), Arc::clone(&answered));
            poll_and_spawn(&mut in_flight, async move {
                let was_answered = run_request(context, RequestKind::Load, stage, prepared, due).await;
                answered.fetch_or(was_answered, Ordering::Relaxed);
            });
        }
        let end = phase.after(shared.count_query(stage), issued_at.saturating_sub(start), &|| 0);
        prepare(&mut ahead, shared, &mut numbers).await;
        drain(shared, in_flight, None).await;
        if let Some(end) = end {
            shared.end_phase(stage, end);
            break;
        }
        // If the target responded to no sample of a query, the next query waits, so that an outage does not use up the queries.
        if !answered.load(Ordering::Relaxed) {
            worker.wait_until(shared.clock.now() + context.client.outage().next_wait()).await;
        }
    }
    Unissued::Over(UnissuedNumbers::default())
}

/// Prepares the requests of the next query while none is due.
async fn prepare(ahead: &mut Ahead, shared: &Shared, numbers: &mut Range<u64>) {
    while !ahead.is_full()
        && let Some(number) = numbers.next()
    {
        ahead.prepare(shared, number);
        yield_now().await;
    }
}
