//! [I/O] One request, from its sending to its record.

use std::{
    future::pending,
    mem,
    panic::resume_unwind,
    pin::{Pin, pin},
    sync::{Arc, atomic::Ordering},
    task::{Context, Waker},
    time::Duration,
};

use futures::FutureExt as _;
use tokio::task::{JoinError, JoinSet, coop::unconstrained};

use super::{
    concurrency_limit::Permit, context::RequestContext, departures::Leaves, prepare::Prepared, shared::Shared,
};
use crate::{
    client::{Exchange, Failure, SessionLink},
    requests::RequestedLengths,
    sessions::Answer,
    stop::{StopReason, StopState},
};
use clock::TimedOut;
use measurement::{
    record::{ListIndex, RequestOutcome, RequestRecord, Turn},
    recorder::{KeptOutput, Steps, WireTally},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// A request of the load.
    Load,
    /// A probe that runs beside the load.
    Probe,
}

/// When a request was due, and the permit under which it is sent.
#[derive(Debug, Default)]
pub(super) struct Due {
    pub(super) at: Duration,
    /// How long the request waited for its permit; `None` if concurrency is not limited.
    pub(super) permit_wait: Option<Duration>,
    pub(super) permit: Permit,
}

/// The position of a request in its session, and the result that the session needs from it.
struct TurnOfSession {
    place: Turn,
    end: Option<TurnEnd>,
}

/// How a turn of a session ended.
pub(super) struct TurnEnd {
    pub(super) outcome: RequestOutcome,
    pub(super) ended: Duration,
    /// Prompt length in tokens, according to the server's usage.
    pub(super) input_tokens: Option<u32>,
    /// The output of the turn; `None` if there is none, or if it was not kept.
    pub(super) answer: Option<Answer>,
    /// Output length in tokens.
    pub(super) output_tokens: u32,
    /// Whether the request never reached a socket, or the target itself did not respond.
    pub(super) was_missed: bool,
}

/// A request in flight, or one sample of a batch. It produces exactly one record: when it ends, or when its task is aborted.
pub(super) struct InFlightRequest {
    context: Arc<RequestContext>,
    kind: RequestKind,
    stage: usize,
    number: u64,
    class: Option<u16>,
    due: Due,
    requested: RequestedLengths,
    /// Time spent on building the request.
    build: Duration,
    pub(super) exchange: Exchange,
    /// Boxed, because otherwise requests without a session would reserve memory for it.
    turn: Option<Box<TurnOfSession>>,
    pub(super) has_ended: bool,
}

/// Sends a request, reads its answer and records the result. If the client disconnects early, the connection is dropped. Returns `false` if
/// the request never reached a socket, or if the target itself did not respond.
pub(super) async fn run_request(
    context: Arc<RequestContext>,
    kind: RequestKind,
    stage: usize,
    prepared: Prepared,
    due: Due,
) -> bool {
    let mut request = InFlightRequest::new(context, kind, stage, due, &prepared);
    !request.run(prepared).await
}

/// Like `run_request`, for a turn of a session. Uses the session's connection and header.
pub(super) async fn run_turn(
    context: Arc<RequestContext>,
    stage: usize,
    prepared: Prepared,
    due: Due,
    place: Turn,
    session: Option<Arc<SessionLink>>,
) -> TurnEnd {
    let mut request = InFlightRequest::new(context, RequestKind::Load, stage, due, &prepared);
    request.turn = Some(Box::new(TurnOfSession { place, end: None }));
    request.exchange.session = session;
    let was_missed = request.run(prepared).await;
    let end = request.turn.take().and_then(|it| it.end);
    let end = end.expect("the end of a request sets the end of its turn");
    TurnEnd { was_missed, ..end }
}

/// Starts a request immediately. If a connection is open, the first bytes are sent before this function returns. The rest runs as a
/// separate task, after all tasks that are ready now.
pub fn poll_and_spawn<T: 'static>(in_flight: &mut JoinSet<()>, request: impl Future<Output = T> + Send + 'static) {
    let mut request: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(request.map(drop));
    // Polls once with a no-op waker. The spawned task polls again when it starts, and registers its own waker. The poll is outside the coop budget,
    // which the caller might have used up.
    let first = pin!(unconstrained(request.as_mut())).poll(&mut Context::from_waker(Waker::noop()));
    if first.is_pending() {
        in_flight.spawn(request);
    }
}

/// Checks how a request's task ended. A panic in it is a bug, and is resumed in this thread.
pub fn check_join(joined: Result<(), JoinError>) {
    // An aborted task needs no handling: the record of its request was made when it was dropped.
    if let Err(Ok(panic)) = joined.map_err(JoinError::try_into_panic) {
        resume_unwind(panic);
    }
}

/// Waits until all requests have ended. Aborts them when the load is aborted, or when the time limit of the stage passes. `stage` is the stage's
/// index and start time; `None` means no time limit.
pub(super) async fn drain(shared: &Shared, mut in_flight: JoinSet<()>, stage: Option<(usize, Duration)>) {
    let mut stop = shared.stop.watch();
    let aborted = stop.wait_for(|it| matches!(it, StopState::Abort(_)));
    tokio::pin!(aborted);
    let mut may_end = stage.filter(|(stage, _)| shared.ended_early(*stage).is_none());
    loop {
        // An early end of the stage sets an earlier limit.
        let ended_early = async {
            match may_end {
                Some((stage, _)) => shared.is_ended_early(stage).await,
                None => pending().await,
            }
        };
        let all = async {
            tokio::pin!(ended_early);
            loop {
                tokio::select! {
                    joined = in_flight.join_next() => match joined {
                        Some(joined) => check_join(joined),
                        None => return Drained::All,
                    },
                    _ = &mut aborted => return Drained::Aborted,
                    () = &mut ended_early => return Drained::StageEnded,
                }
            }
        };
        match shared.clock.within(stage.and_then(|(stage, start)| shared.limit(stage, start)), all).await {
            Ok(Drained::All) => return,
            Ok(Drained::StageEnded) => may_end = None,
            Ok(Drained::Aborted) | Err(TimedOut) => break,
        }
    }
    in_flight.shutdown().await;
}

/// The reason why the wait for requests in flight ended.
enum Drained {
    All,
    Aborted,
    StageEnded,
}

impl InFlightRequest {
    pub(super) fn new(
        context: Arc<RequestContext>,
        kind: RequestKind,
        stage: usize,
        due: Due,
        prepared: &Prepared,
    ) -> InFlightRequest {
        let Prepared { number, class, requested, build, .. } = *prepared;
        let exchange = Exchange::default();
        let (turn, has_ended) = (None, false);
        InFlightRequest { context, kind, stage, number, class, due, requested, build, exchange, turn, has_ended }
    }

    /// Sends the request, reads its answer and records the result. Returns `true` if it never reached a socket, or if the target itself did
    /// not respond.
    async fn run(&mut self, prepared: Prepared) -> bool {
        let shared = Arc::clone(&self.context.shared);
        if self.kind == RequestKind::Load {
            shared.progress.issued.fetch_add(1, Ordering::Relaxed);
        }
        let Prepared { headers, body, id, leaves, keep_output, .. } = prepared;
        self.exchange.keep_output = keep_output;
        self.exchange.headers = headers;
        self.exchange.is_probe = self.kind == RequestKind::Probe;
        let request_progress = Arc::clone(&self.exchange.progress);
        if let Some(trials) = shared.trials.as_ref().filter(|_| self.kind == RequestKind::Load) {
            let turn = self.turn.as_ref().map(|it| it.place);
            trials.note_sent((self.number, turn), self.due.at, &request_progress);
        }
        let gone = match leaves {
            None => None,
            Some(Leaves::After(length)) => shared.clock.now().checked_add(length),
            Some(Leaves::AfterTokens(tokens)) => {
                self.exchange.enough = Some(tokens);
                None
            }
        };
        let result = {
            // Pinned here, so that the future that waits for it holds a reference. Otherwise that future would contain a second copy.
            let call = pin!(self.context.client.call(body, id, shared.plan.streaming, &mut self.exchange));
            let waiting = shared.plan.timeouts.wait(shared.clock, &request_progress, call);
            match gone {
                None => waiting.await.unwrap_or_else(Err),
                // Boxed, because otherwise requests whose clients never disconnect would reserve memory for it.
                Some(_) => match shared.clock.within(gone, Box::pin(waiting)).await {
                    Ok(called) => called.unwrap_or_else(Err),
                    Err(TimedOut) => Ok(RequestOutcome::Abandoned),
                },
            }
        };
        // A request that was sent and then timed out is not a sign of an outage, because the target may just be slow.
        let missed = self.exchange.unanswered || self.exchange.sent().is_none();
        if missed {
            self.context.client.outage().missed();
        }
        self.end(result);
        missed
    }

    /// Ends the request: records it, and counts it in the progress of the load.
    pub(super) fn end(&mut self, result: Result<RequestOutcome, Failure>) {
        self.has_ended = true;
        let ended = self.exchange.ended.unwrap_or_else(|| self.context.shared.clock.now());
        let (outcome, failure) = match result {
            Ok(outcome) => (outcome, None),
            Err(failure) => (failure.outcome, Some(failure)),
        };
        let (record, wire) = self.record(outcome, failure, ended);
        if self.kind == RequestKind::Probe {
            self.context.recorder().record_probe(&record, &wire);
            return;
        }
        match &self.turn {
            None => self.keep_output(&record),
            Some(_) => self.end_turn(&record),
        }
        // Counted before the request counts as ended, so that `ended - not_ok` never includes it as a success.
        self.context.shared.progress.not_ok.count(outcome);
        self.count(record, &wire);
        let has_failed = outcome.is_decided() && !outcome.is_complete();
        if has_failed || outcome == RequestOutcome::Cancelled {
            self.count_failure(outcome, ended);
        }
    }

    fn record(
        &mut self,
        outcome: RequestOutcome,
        failure: Option<Failure>,
        ended: Duration,
    ) -> (RequestRecord, WireTally) {
        let exchange = &mut self.exchange;
        let sent = exchange.sent();
        let answer = &mut exchange.answer;
        let (timeout, cause) = failure.as_ref().map_or((None, None), |it| (it.limit, it.cause));
        let (output_tokens, set_aside) = match answer.told_tokens(self.requested.output) {
            Ok(told) => (told, None),
            Err(told) => (None, Some(told)),
        };
        let silent = answer.silent_outside();
        let record = RequestRecord {
            stage: u32::try_from(self.stage).unwrap_or(u32::MAX),
            number: self.number,
            turn: self.turn.as_ref().map(|it| it.place),
            class: self.class.and_then(|it| ListIndex::new(usize::from(it))),
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
            replica: exchange.replica,
        };
        let wire = WireTally {
            gaps: mem::take(&mut answer.gaps),
            reads: answer.reads,
            coalesced_reads: answer.coalesced_reads,
            late_reads: exchange.late_reads,
            error: failure.map(|it| it.message),
            timeout,
            cause,
            retried: exchange.retried,
            own_connection: exchange.own_connection,
            has_exact_prompt: self.requested.is_exact,
            silent_events: silent.all,
            silent_length_ends: silent.length_ends,
            first_event_tokens: answer.first_event_tokens(),
            set_aside,
            in_one_piece: answer.in_one_piece,
            steps: Steps { build: self.build, written: exchange.written, head: exchange.head, parse: exchange.parse },
        };
        (record, wire)
    }

    fn keep_output(&mut self, record: &RequestRecord) {
        if let Some(output) = self.exchange.answer.take_output().filter(|_| record.outcome.is_complete()) {
            let RequestRecord { stage, number, ended, .. } = *record;
            let row = self.context.shared.plan.row(stage as usize, number);
            self.context.recorder().keep_output(KeptOutput { stage, number, row, ended, output });
        }
    }

    fn end_turn(&mut self, record: &RequestRecord) {
        let output = self.exchange.answer.take_output().filter(|_| record.outcome.is_complete());
        let output_tokens = if record.outcome.is_success() { record.osl() } else { 0 };
        let end = TurnEnd {
            outcome: record.outcome,
            ended: record.ended,
            input_tokens: record.input_tokens,
            answer: output.map(|it| Answer { text: it.text, tokens: output_tokens }),
            output_tokens,
            was_missed: false,
        };
        if let Some(turn) = &mut self.turn {
            turn.end = Some(end);
        }
    }

    fn count(&self, record: RequestRecord, wire: &WireTally) {
        let shared = &self.context.shared;
        let progress = &shared.progress;
        if let Some((phase, began)) = shared.plan.stages[self.stage].phase.as_ref().zip(shared.began(self.stage)) {
            phase.ended(&record, began);
        }
        if let Some(first) = record.first_token.filter(|_| shared.plan.streaming && record.outcome.is_success()) {
            progress.ttft.add(first.saturating_sub(record.scheduled));
        }
        shared.count_ended(self.stage, &record);
        let events = u64::from(record.content_events);
        self.context.recorder().record(record, wire);
        progress.ended.fetch_add(1, Ordering::Relaxed);
        progress.output_events.fetch_add(events, Ordering::Relaxed);
    }

    fn count_failure(&self, outcome: RequestOutcome, ended: Duration) {
        let shared = &self.context.shared;
        shared.progress.failed.fetch_add(1, Ordering::Relaxed);
        // A request that the launcher stopped or could not send says nothing about the target.
        let is_of_target = !matches!(outcome, RequestOutcome::Cancelled | RequestOutcome::ClientError);
        if is_of_target && shared.target_health.failure(ended) {
            // The requests in flight will fail too, and waiting for their timeouts would only delay the end.
            shared.stop.abort(StopReason::TargetLost);
        }
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        if !self.has_ended {
            // The task was aborted: the load was aborted, or the grace period of the stage has passed.
            let is_abort = matches!(self.context.shared.stop.state(), StopState::Abort(_));
            self.end(Ok(if is_abort { RequestOutcome::Cancelled } else { RequestOutcome::Incomplete }));
        }
    }
}
