//! [I/O] Sends an Offline load in static batches: one request holds several samples, and ends when all of their answers are complete.
//!
//! Each sample has its own record, with the times of its batch.

use std::{collections::VecDeque, ops::Range, pin::pin, sync::Arc, sync::atomic::Ordering};

use tokio::task::JoinSet;

use super::{
    context::RequestContext,
    in_flight::{Due, InFlightRequest, RequestKind, drain, poll_and_spawn},
    open_loop::tidy_up,
    prepare::{BatchMaker, Prepared, PreparedBatch},
    shared::Shared,
    stage_context::StageContext,
    unissued::{Unissued, UnissuedNumbers},
    worker::Worker,
};
use crate::{
    client::{Exchange, Failure},
    stop::StopState,
};
use measurement::{record::RequestOutcome, schedule::Schedule};

/// Maximum total size of the prepared bodies, in bytes. One batch is always prepared, even if it is larger.
const MAX_AHEAD_BYTES: usize = 32 << 20;
/// Maximum number of prepared batches.
const MAX_AHEAD: usize = 8;

/// This worker's batches, in sending order.
struct Batches<'a> {
    shared: &'a Shared,
    maker: BatchMaker,
    left: VecDeque<Range<u64>>,
    ready: VecDeque<PreparedBatch>,
}

impl Batches<'_> {
    /// Prepares one more batch. Returns `false` if enough are ready, or if no samples remain.
    fn prepare(&mut self) -> bool {
        let bytes: usize = self.ready.iter().map(|it| it.body.len()).sum();
        if self.ready.len() >= MAX_AHEAD || bytes >= MAX_AHEAD_BYTES {
            return false;
        }
        let Some(numbers) = self.left.pop_front() else { return false };
        self.ready.push_back(self.maker.make(self.shared, numbers));
        true
    }

    fn next(&mut self) -> Option<PreparedBatch> {
        if self.ready.is_empty() {
            self.prepare();
        }
        self.ready.pop_front()
    }

    /// Returns the samples of a batch that was not sent, and of all later batches.
    fn unissued_from(&mut self, batch: PreparedBatch) -> UnissuedNumbers {
        let ready = [batch].into_iter().chain(self.ready.drain(..));
        let ready = ready.flat_map(|it| it.samples).map(|it| it.number).chain(self.left.drain(..).flatten()).collect();
        UnissuedNumbers { ready, rest: None }
    }

    fn stopped_at(&mut self, batch: PreparedBatch) -> Unissued {
        let (at, numbers) = (self.shared.clock.now(), self.unissued_from(batch));
        match self.shared.stop.state() {
            StopState::Run => Unissued::Ended { at, numbers },
            StopState::Drain(_) | StopState::Abort(_) => Unissued::Stopped { at, numbers },
        }
    }
}

/// Issues this worker's part of a stage in batches of `size` samples, and returns the samples that were never sent.
pub(super) async fn run(
    worker: &Worker,
    stage_context: &mut StageContext<'_>,
    schedule: &Schedule,
    size: u32,
) -> Unissued {
    let context = &worker.context;
    let (shared, stage) = (&context.shared, stage_context.stage);
    let (samples, size) = (schedule.len(), u64::from(size.max(1)));
    let batch = |number: u64| number * size..samples.min((number + 1) * size);
    let left = worker.share(samples.div_ceil(size)).map(batch).collect();
    let mut batches = Batches { shared, maker: BatchMaker::new(stage), left, ready: VecDeque::new() };
    let at_once = shared.most_under_way(stage).min(batches.left.len());
    worker.unless_stopped(context.client.warm(at_once, 0)).await;
    while !worker.is_stopped() && batches.prepare() {}
    let start = stage_context.start().await;
    let limit = shared.limit(stage, start);
    let permits = shared.concurrency_limit(stage);

    let mut in_flight = JoinSet::new();
    let stopped = shared.stopped(stage);
    tokio::pin!(stopped);
    let unissued = loop {
        let Some(batch) = batches.next() else { break Unissued::Over(UnissuedNumbers::default()) };
        let due = start + batch.samples.first().and_then(|it| schedule.get(it.number)).unwrap_or_default();
        let permit = tokio::select! {
            biased;
            () = &mut stopped => break batches.stopped_at(batch),
            permit = async {
                worker.sleeper.until(due).await;
                shared.clock.within(limit, permits.acquire()).await
            } => permit,
        };
        let Ok(permit) = permit else { break Unissued::Over(batches.unissued_from(batch)) };
        // All samples become due together. So a sample that waits behind others is waiting for a permit, and is not late.
        let permit_wait = Some(shared.clock.now().saturating_sub(due));
        let due = Due { at: due, permit_wait, permit };
        poll_and_spawn(&mut in_flight, run_batch(Arc::clone(context), stage, batch, due));
        tidy_up(context, &mut in_flight);
        batches.prepare();
    };
    drain(shared, in_flight, Some((stage, start))).await;
    unissued
}

/// A batch in flight. Each of its samples produces one record.
struct InFlightBatch {
    samples: Vec<InFlightRequest>,
    exchange: Exchange,
}

async fn run_batch(context: Arc<RequestContext>, stage: usize, batch: PreparedBatch, due: Due) {
    let shared = Arc::clone(&context.shared);
    let PreparedBatch { samples, body, id } = batch;
    let Due { at, permit_wait, permit } = due;
    let of_sample = |it: &Prepared| {
        let due = Due { at, permit_wait, ..Due::default() };
        InFlightRequest::new(Arc::clone(&context), RequestKind::Load, stage, due, it)
    };
    let mut batch = InFlightBatch { samples: samples.iter().map(of_sample).collect(), exchange: Exchange::default() };
    let keeps: Vec<bool> = samples.iter().map(|it| it.keep_output).collect();
    shared.progress.issued.fetch_add(keeps.len() as u64, Ordering::Relaxed);
    batch.exchange.answer.keep_choices();
    let progress = Arc::clone(&batch.exchange.progress);
    let result = {
        let call = pin!(context.client.call(body, id, false, &mut batch.exchange));
        shared.plan.timeouts.wait(shared.clock, &progress, call).await.unwrap_or_else(Err)
    };
    // The next batch can start before these samples are counted.
    drop(permit);
    if batch.exchange.unanswered || batch.exchange.sent().is_none() {
        context.client.outage().missed();
    }
    batch.end(result, &keeps, shared.plan.choices);
}

impl InFlightBatch {
    fn end(&mut self, result: Result<RequestOutcome, Failure>, keeps: &[bool], choices: u32) {
        let count = u32::try_from(self.samples.len()).unwrap_or(u32::MAX);
        let answers = match result {
            Ok(_) => self.exchange.answer.take_answers(count, choices),
            Err(failure) => (0..count).map(|_| Err(failure.clone())).collect(),
        };
        for (place, (sample, answer)) in self.samples.iter_mut().zip(answers).enumerate() {
            let (mut answer, failure) = match answer {
                Ok(answer) => (answer, None),
                Err(failure) => (Default::default(), Some(failure)),
            };
            if !keeps.get(place).copied().unwrap_or_default() {
                answer.take_output();
            }
            sample.exchange = self.exchange.of_prompt(place, count, answer);
            let result = match failure {
                Some(failure) => Err(failure),
                None => sample.exchange.answer.conclude(),
            };
            sample.end(result);
        }
    }
}

impl Drop for InFlightBatch {
    fn drop(&mut self) {
        // The task was aborted. The samples record the abort when they are dropped. Set the send time of the batch on every sample that has not
        // ended.
        let count = u32::try_from(self.samples.len()).unwrap_or(u32::MAX);
        for (place, sample) in self.samples.iter_mut().enumerate().filter(|(_, it)| !it.has_ended) {
            sample.exchange = self.exchange.of_prompt(place, count, Default::default());
        }
    }
}
