//! [I/O] One request from its send to its record.

use std::{
    mem,
    panic::resume_unwind,
    pin::{Pin, pin},
    sync::{Arc, atomic::Ordering},
    task::{Context, Waker},
    time::Duration,
};

use futures::FutureExt as _;
use tokio::task::{JoinError, JoinSet, coop::unconstrained};

use super::{concurrency_limit::Permit, context::Core, departures::Leaves, prepare::Prepared, shared::Shared};
use crate::{
    client::{Exchange, answer::Failure},
    record::{RequestOutcome, RequestRecord},
    recorder::{KeptOutput, WireTally},
    requests::RequestedLengths,
    stop::{StopReason, StopState},
};
use clock::TimedOut;

/// Whose request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// Of the load.
    Load,
    /// A probe beside it.
    Probe,
}

/// When a request was due, and what it waited for then.
#[derive(Debug, Default)]
pub(super) struct Due {
    pub(super) at: Duration,
    /// How long it waited for a place; `None` where places are not bounded.
    pub(super) permit_wait: Option<Duration>,
    pub(super) permit: Permit,
}

/// A request under way. Whatever ends it, its drop leaves exactly one record: a request that was aborted counts as
/// cancelled, or incomplete where its stage was over, with the times that it had.
struct InFlightRequest {
    core: Arc<Core>,
    kind: RequestKind,
    stage: usize,
    number: u64,
    due: Due,
    requested: RequestedLengths,
    exchange: Exchange,
    outcome: Option<Result<RequestOutcome, Failure>>,
}

/// Sends a request, reads its answer, records what became of it. A client that goes away drops its connection. Returns
/// `false` where the request never reached a socket, or the target gave no answer of its own.
pub(super) async fn run_request(
    core: Arc<Core>,
    kind: RequestKind,
    stage: usize,
    prepared: Prepared,
    due: Due,
) -> bool {
    let shared = Arc::clone(&core.shared);
    if kind == RequestKind::Load {
        shared.progress.issued.fetch_add(1, Ordering::Relaxed);
    }
    let Prepared { number, body, id, requested, leaves, keep_output } = prepared;
    let mut request =
        InFlightRequest { core, kind, stage, number, due, requested, exchange: Exchange::default(), outcome: None };
    request.exchange.keep_output = keep_output;
    request.exchange.is_probe = kind == RequestKind::Probe;
    let request_progress = Arc::clone(&request.exchange.progress);
    let gone = match leaves {
        None => None,
        Some(Leaves::After(length)) => shared.clock.now().checked_add(length),
        Some(Leaves::AfterEvents(events)) => {
            request.exchange.enough = Some(events);
            None
        }
    };
    request.outcome = Some({
        // Pinned here, so that it is not moved, and room for it not kept, once more by what waits for it.
        let call = pin!(request.core.client.call(body, id, shared.plan.streaming, &mut request.exchange));
        let waiting = shared.plan.timeouts.wait(shared.clock, &request_progress, call);
        match gone {
            None => waiting.await.unwrap_or_else(Err),
            // Boxed, so that requests whose clients wait keep no room for those whose do not.
            Some(_) => match shared.clock.within(gone, Box::pin(waiting)).await {
                Ok(called) => called.unwrap_or_else(Err),
                Err(TimedOut) => Ok(RequestOutcome::Abandoned),
            },
        }
    });
    // One that waits on its socket until a timeout ends it says nothing: the target may be slow.
    let missed = request.exchange.unanswered || request.exchange.sent().is_none();
    if missed {
        request.core.client.outage().missed();
    }
    !missed
}

/// Starts a request now: its first bytes leave before this returns, where a connection is open. What waits then goes on as
/// a task of its own, behind all that is ready.
pub fn poll_and_spawn<T: 'static>(in_flight: &mut JoinSet<()>, request: impl Future<Output = T> + Send + 'static) {
    let mut request: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(request.map(drop));
    // Nobody is woken by this look: the task looks again when it starts, and leaves its own waker. Whoever launches may have
    // used his turn up; this look is none of it.
    let first = pin!(unconstrained(request.as_mut())).poll(&mut Context::from_waker(Waker::noop()));
    if first.is_pending() {
        in_flight.spawn(request);
    }
}

/// Takes note of a flight that has ended: a bug in one must not pass as a request that nobody waited for.
pub fn check_join(joined: Result<(), JoinError>) {
    // What was ended by an abort is told by its record.
    if let Err(Ok(panic)) = joined.map_err(JoinError::try_into_panic) {
        resume_unwind(panic);
    }
}

/// Waits until all flights have ended, and ends them when the load is aborted, or at `limit`.
pub(super) async fn drain(shared: &Shared, mut in_flight: JoinSet<()>, limit: Option<Duration>) {
    let mut stop = shared.stop.watch();
    let all = async {
        let aborted = stop.wait_for(|it| matches!(it, StopState::Abort(_)));
        tokio::pin!(aborted);
        loop {
            tokio::select! {
                joined = in_flight.join_next() => match joined {
                    Some(joined) => check_join(joined),
                    None => return true,
                },
                _ = &mut aborted => return false,
            }
        }
    };
    if shared.clock.within(limit, all).await != Ok(true) {
        in_flight.shutdown().await;
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        let shared = &self.core.shared;
        let exchange = &mut self.exchange;
        let sent = exchange.sent();
        let answer = &mut exchange.answer;
        let ended = exchange.ended.unwrap_or_else(|| shared.clock.now());
        let (outcome, failure) = match self.outcome.take() {
            Some(Ok(outcome)) => (outcome, None),
            Some(Err(failure)) => (failure.outcome, Some(failure)),
            // Only an abort and the end of a stage's grace drop a flight.
            None if matches!(shared.stop.state(), StopState::Abort(_)) => (RequestOutcome::Cancelled, None),
            None => (RequestOutcome::Incomplete, None),
        };
        let (timeout, cause) = failure.as_ref().map_or((None, None), |it| (it.limit, it.cause));
        let (output_tokens, set_aside) = match answer.told_tokens(self.requested.output) {
            Ok(told) => (told, None),
            Err(told) => (None, Some(told)),
        };
        let record = RequestRecord {
            stage: u32::try_from(self.stage).unwrap_or(u32::MAX),
            number: self.number,
            scheduled: self.due.at,
            sent,
            permit_wait: self.due.permit_wait,
            first_token: answer.first_token,
            last_token: answer.last_token,
            ended,
            outcome,
            requested_input_tokens: self.requested.input,
            requested_output_tokens: self.requested.output,
            input_tokens: answer.usage.prompt_tokens,
            cached_tokens: answer.usage.cached_tokens,
            output_tokens,
            content_events: answer.content_events,
        };
        let events = u64::from(answer.content_events);
        let silent = answer.silent_outside();
        let wire = WireTally {
            gaps: mem::take(&mut answer.gaps),
            reads: answer.reads,
            coalesced_reads: answer.coalesced_reads,
            late_reads: exchange.late_reads,
            error: failure.map(|it| it.message),
            timeout,
            cause,
            retried: exchange.retried,
            has_exact_prompt: self.requested.is_exact,
            silent_events: silent.all,
            silent_length_ends: silent.length_ends,
            first_event_tokens: answer.first_event_tokens(),
            set_aside,
            in_one_piece: answer.in_one_piece,
        };
        if self.kind == RequestKind::Probe {
            self.core.recorder().record_probe(&record, &wire);
            return;
        }
        // An empty answer is one, too.
        let complete = matches!(outcome, RequestOutcome::Ok | RequestOutcome::Empty);
        if let Some(output) = answer.take_output().filter(|_| complete) {
            let (stage, number) = (record.stage, record.number);
            self.core.recorder().keep_output(KeptOutput { stage, number, ended, output });
        }
        if let Some((phase, began)) = shared.plan.stages[self.stage].phase.as_ref().zip(shared.began(self.stage)) {
            phase.ended(&record, began, &shared.progress.phase);
        }
        let progress = &shared.progress;
        if let Some(first) = record.first_token.filter(|_| shared.plan.streaming && outcome.is_success()) {
            progress.ttft.add(first.saturating_sub(record.scheduled));
        }
        self.core.recorder().record(record, &wire);
        progress.ended.fetch_add(1, Ordering::Relaxed);
        progress.output_events.fetch_add(events, Ordering::Relaxed);
        if complete {
            return;
        }
        if !outcome.is_decided() && outcome != RequestOutcome::Cancelled {
            return;
        }
        progress.failed.fetch_add(1, Ordering::Relaxed);
        // What the launcher itself could not send says nothing about the target.
        let of_target = !matches!(outcome, RequestOutcome::Cancelled | RequestOutcome::ClientError);
        if of_target && shared.target_health.failure(ended) {
            // What is still in flight is lost with it; waiting for its time-outs would only hold the end back.
            shared.stop.abort(StopReason::TargetLost);
        }
    }
}
