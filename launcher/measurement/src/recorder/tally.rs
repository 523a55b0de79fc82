//! The tally of a stage: counts and histograms, request by request. Pure.

use std::{collections::BTreeMap, time::Duration};

use workload_profiles::workload::Goodput;

use super::{
    breakdown::Breakdown,
    earliest::Earliest,
    records::InFigures,
    wire_tally::{SetAside, WireTally, event_tokens, several_tokens},
};
use crate::{
    histogram::{LengthHistogram, TimeHistogram},
    record::{Cause, Limit, RequestOutcome, RequestRecord},
    window::WindowPart,
    wire::fields,
};

/// The tally of a stage. Latencies cover successful requests only. Times from `scheduled` are free of coordinated omission; times from `sent`
/// are the times that a client without send lag would see.
#[derive(Clone, Debug, Default)]
pub struct StageTally {
    /// Number of requests by outcome.
    pub outcomes: BTreeMap<RequestOutcome, u64>,
    /// Time to the first token, from scheduled.
    pub ttft_scheduled: TimeHistogram,
    /// Time to the first token, from sent.
    pub ttft_sent: TimeHistogram,
    /// Time to the last token, from scheduled.
    pub latency_scheduled: TimeHistogram,
    /// Time to the last token, from sent.
    pub latency_sent: TimeHistogram,
    /// Times between two tokens, pooled over requests with one token per content event, as far as the server reports it. These are the times between
    /// the content events.
    pub itl: TimeHistogram,
    /// Times between two tokens of requests with several tokens per event: each gap divided by the tokens per gap of its request.
    pub itl_of_several: TimeHistogram,
    /// The undivided gaps of these requests.
    pub gaps_of_several: TimeHistogram,
    /// (last token - first token) / (OSL - 1), one per request with at least two tokens.
    pub tpot: TimeHistogram,
    /// Latency from sent / OSL, one per request.
    pub ntpot: TimeHistogram,
    /// TTFT from sent / OSL + TPOT, one per request with at least two tokens.
    pub ntpot_of_llmd: TimeHistogram,
    /// Sent minus scheduled and minus the wait for a permit, for every request that was sent.
    pub send_lag: TimeHistogram,
    /// Waits for a permit, of requests that were sent, if the load limits its concurrency.
    pub permit_wait: TimeHistogram,
    /// The time of successful requests by step.
    pub breakdown: Breakdown,
    /// Prompt lengths, if the server reported them.
    pub input_tokens: LengthHistogram,
    /// Output lengths, by the server's usage or else by content events.
    pub output_tokens: LengthHistogram,
    /// Sum of the prompt lengths of successful requests.
    pub input_tokens_total: u64,
    /// Sum of the output lengths of successful requests. With window bounds: the tokens that arrived within the bounds.
    pub output_tokens_total: u64,
    /// Sum of the output lengths of successful requests, including tokens outside the window bounds.
    pub output_tokens_of_ended: u64,
    /// Successful requests with an output length from the server's count.
    pub with_usage: u64,
    /// Content events of the streamed requests among them.
    pub events: u64,
    /// The tokens in these events. A token without text before the first event or after the last event is in no event.
    pub event_tokens: u64,
    /// Successful requests with an impossible usage.
    pub set_aside: u64,
    /// The first impossible usage.
    pub set_aside_sample: Option<Earliest<SetAside>>,
    /// Successful requests with an answer in one piece although a stream was requested.
    pub in_one_piece: u64,
    /// Requests with a prompt length that differs from the requested length: by more than a tenth for words, or by more than one added token for
    /// token ids.
    pub input_length_misses: u64,
    /// Requests with an output length that differs from the requested length.
    pub output_length_misses: u64,
    /// Prompt lengths as counted by the server and as requested, summed over requests that have both.
    pub input_of_requested: LengthSums,
    /// Output lengths as counted and as requested, summed over requests that have both.
    pub output_of_requested: LengthSums,
    /// Sum of the prompt tokens that were in the server's prefix cache.
    pub cached_tokens_total: u64,
    /// Requests with prompt tokens in the cache.
    pub with_cached: u64,
    /// Requests that met every goodput bound.
    pub good: u64,
    /// Reads of the socket that held content.
    pub reads: u64,
    /// Reads that held more than one content event: their gaps are not the server's gaps.
    pub coalesced_reads: u64,
    /// Coalesced reads that the launcher may have read late, see [`WireTally::late_reads`].
    pub late_reads: u64,
    /// The first scheduled time; `None` if there is none.
    pub first_scheduled: Option<Duration>,
    /// The last scheduled time.
    pub last_scheduled: Option<Duration>,
    /// When the first request was sent; `None` if none was.
    pub first_sent: Option<Duration>,
    /// When the last request was sent.
    pub last_sent: Option<Duration>,
    /// When the last request ended.
    pub last_end: Option<Duration>,
    /// Requests that were sent again, because the server had closed the connection of the first attempt.
    pub retried: u64,
    /// Requests that each had a new connection, because the server does not keep connections although it claims to.
    pub own_connections: u64,
    /// Number of timeouts by kind.
    pub timeouts: BTreeMap<Limit, u64>,
    /// Requests that got no connection, or no answer on a connection, by cause.
    pub causes: BTreeMap<Cause, CauseTally>,
    /// Start and end of the window, if it counts the events within it.
    pub window_bounds: Option<(Duration, Duration)>,
    /// The stage was stopped before all its requests were due: requests that were not due are in no figure.
    pub stopped_early: bool,
    /// Requests that are in no figure, by part of the stage and by outcome.
    pub excluded: BTreeMap<WindowPart, BTreeMap<RequestOutcome, u64>>,
    /// The first failure message of each outcome: a status and an error type, never a body.
    pub error_samples: BTreeMap<RequestOutcome, Earliest<String>>,
}

/// How often a cause made a request fail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CauseTally {
    pub count: u64,
    /// The first message.
    sample: Option<Earliest<String>>,
}

impl CauseTally {
    /// The first message; empty if there is none.
    pub fn sample(&self) -> &str {
        self.sample.as_ref().map_or("", |it| it.as_str())
    }

    fn record(&mut self, request: &RequestRecord, wire: &WireTally) {
        self.count += 1;
        if let Some(error) = &wire.error {
            record_first(&mut self.sample, request, || error.clone());
        }
    }

    fn add(&mut self, other: &CauseTally) {
        self.count += other.count;
        add_first(&mut self.sample, other.sample.as_ref());
    }
}

/// Keeps the value of the request that ended first.
fn record_first<T>(sample: &mut Option<Earliest<T>>, request: &RequestRecord, value: impl FnOnce() -> T) {
    if sample.as_ref().is_none_or(|it| it.is_after(request)) {
        *sample = Some(Earliest::new(request, value()));
    }
}

fn add_first<T: Clone>(mine: &mut Option<Earliest<T>>, theirs: Option<&Earliest<T>>) {
    let Some(theirs) = theirs else { return };
    mine.get_or_insert_with(|| theirs.clone()).add(theirs);
}

/// Sums of lengths of the same requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LengthSums {
    /// As counted.
    pub found: u64,
    /// As requested.
    pub requested: u64,
}

impl LengthSums {
    fn add(&mut self, found: u32, requested: Option<u32>) {
        let Some(requested) = requested else { return };
        self.found += u64::from(found);
        self.requested += u64::from(requested);
    }
}

impl StageTally {
    /// Counts one request in a window with these bounds, or without bounds. Returns the figures in which it counts. `is_good`: whether it
    /// meets every goodput bound, if it succeeded.
    pub fn record_in(
        &mut self,
        bounds: Option<(Duration, Duration)>,
        request: &RequestRecord,
        wire: &WireTally,
        is_good: bool,
    ) -> InFigures {
        self.widen(bounds);
        match bounds {
            None => self.record(request, wire, is_good),
            Some(bounds) => self.record_within(bounds, request, wire, is_good),
        }
    }

    /// Extends the window to include these bounds.
    fn widen(&mut self, bounds: Option<(Duration, Duration)>) {
        self.window_bounds = match (self.window_bounds, bounds) {
            (Some(mine), Some(theirs)) => Some((mine.0.min(theirs.0), mine.1.max(theirs.1))),
            (mine, theirs) => mine.or(theirs),
        };
    }

    /// Counts one request and returns the figures in which it counts. The gaps of a failed request are left out, like its other latencies.
    pub fn record(&mut self, request: &RequestRecord, wire: &WireTally, is_good: bool) -> InFigures {
        self.count(request.outcome, request, wire);
        self.record_send(request);
        self.last_end = self.last_end.max(Some(request.ended));
        let mut used = InFigures { send: true, answer: request.outcome.is_success(), ..InFigures::default() };
        if used.answer {
            used.good = is_good;
            self.record_success(request, wire, is_good);
            self.output_tokens_total += u64::from(request.osl());
            let several = several_tokens(request, wire);
            wire.gaps.iter().for_each(|gap| self.record_gap(gap, several));
        }
        used.failed = is_failure(request);
        used
    }

    /// Counts the events of one request from `open` to `close`. Its send counts if it was due within them. Its outcome and all its latencies
    /// count if it had ended by `close`. Tokens and gaps count if they arrived within them.
    pub fn record_within(
        &mut self,
        (open, close): (Duration, Duration),
        request: &RequestRecord,
        wire: &WireTally,
        is_good: bool,
    ) -> InFigures {
        let over = request.ended <= close;
        let mut used = InFigures {
            send: request.scheduled >= open,
            answer: over && request.outcome.is_success(),
            good: false,
            failed: over && is_failure(request),
        };
        self.count(if over { request.outcome } else { RequestOutcome::Incomplete }, request, wire);
        if used.send {
            self.record_send(request);
        }
        if used.answer {
            used.good = is_good;
            self.record_success(request, wire, is_good);
        }
        if used.failed {
            return used;
        }
        let within = |at: Duration| at > open && at <= close;
        // An answer in one piece arrives at its end.
        let Some(mut at) = request.first_token.or(request.last_token) else { return used };
        let (mut events, mut inside) = (1, u64::from(within(at)));
        let several = several_tokens(request, wire);
        for gap in wire.gaps.iter() {
            at += gap;
            events += 1;
            if within(at) {
                inside += 1;
                self.record_gap(gap, several);
            }
        }
        // The tokens are distributed evenly over the events, rounded to whole tokens.
        self.output_tokens_total += (u64::from(request.osl()) * inside + events / 2) / events;
        used
    }

    /// `several`: tokens and gaps of a request with more than one token per gap.
    fn record_gap(&mut self, gap: Duration, several: Option<(u32, u32)>) {
        match several {
            None => self.itl.record(gap),
            Some((tokens, gaps)) => {
                self.itl_of_several.record(gap * gaps / tokens);
                self.gaps_of_several.record(gap);
            }
        }
    }

    fn count(&mut self, outcome: RequestOutcome, request: &RequestRecord, wire: &WireTally) {
        *self.outcomes.entry(outcome).or_default() += 1;
        self.reads += wire.reads;
        self.coalesced_reads += wire.coalesced_reads;
        self.retried += u64::from(wire.retried);
        self.own_connections += u64::from(wire.own_connection);
        if let Some(limit) = wire.timeout.filter(|_| outcome == RequestOutcome::Timeout) {
            *self.timeouts.entry(limit).or_default() += 1;
        }
        self.late_reads += wire.late_reads;
        if let Some(cause) = wire.cause.filter(|it| it.outcome() == outcome) {
            self.causes.entry(cause).or_default().record(request, wire);
        }
        if let Some(error) = wire.error.as_ref().filter(|_| outcome.is_decided()) {
            let first = self.error_samples.entry(outcome).or_insert_with(|| Earliest::new(request, error.clone()));
            if first.is_after(request) {
                *first = Earliest::new(request, error.clone());
            }
        }
    }

    fn record_send(&mut self, request: &RequestRecord) {
        self.first_scheduled = earliest(self.first_scheduled, Some(request.scheduled));
        self.last_scheduled = self.last_scheduled.max(Some(request.scheduled));
        self.first_sent = earliest(self.first_sent, request.sent);
        self.last_sent = self.last_sent.max(request.sent);
        if let Some(lag) = request.send_lag() {
            self.send_lag.record(lag);
            request.permit_wait.into_iter().for_each(|it| self.permit_wait.record(it));
        }
    }

    fn record_success(&mut self, request: &RequestRecord, wire: &WireTally, is_good: bool) {
        let osl = request.osl();
        for (times, time) in [
            (&mut self.ttft_scheduled, request.ttft_scheduled()),
            (&mut self.ttft_sent, request.ttft_sent()),
            (&mut self.latency_scheduled, request.latency_scheduled()),
            (&mut self.latency_sent, request.latency_sent()),
            (&mut self.ntpot, request.ntpot()),
            (&mut self.ntpot_of_llmd, request.ntpot_of_llmd()),
            (&mut self.tpot, request.tpot()),
        ] {
            time.into_iter().for_each(|it| times.record(it));
        }
        self.breakdown.record(request, &wire.steps);
        self.with_usage += u64::from(request.output_tokens.is_some());
        if let Some((tokens, events)) = event_tokens(request, wire) {
            self.events += u64::from(events);
            self.event_tokens += u64::from(tokens);
        }
        if let Some(told) = wire.set_aside {
            self.set_aside += 1;
            let (requested, events) = (request.requested_output_tokens, request.content_events);
            record_first(&mut self.set_aside_sample, request, || SetAside { told, requested, events });
        }
        self.in_one_piece += u64::from(wire.in_one_piece);
        self.output_tokens.record(osl);
        self.output_tokens_of_ended += u64::from(osl);
        if let Some(found) = request.input_tokens {
            self.input_tokens.record(found);
            self.input_tokens_total += u64::from(found);
            let missed = |requested: u32| match wire.has_exact_prompt {
                // A server may add a token at the beginning of a text.
                true => !(0..=1).contains(&(i64::from(found) - i64::from(requested))),
                false => found.abs_diff(requested) > requested / 10,
            };
            self.input_length_misses += u64::from(request.requested_input_tokens.is_some_and(missed));
            self.input_of_requested.add(found, request.requested_input_tokens);
            // At most the whole prompt can be in the cache.
            let cached = request.cached_tokens.unwrap_or(0).min(found);
            self.cached_tokens_total += u64::from(cached);
            self.with_cached += u64::from(cached > 0);
        }
        self.output_of_requested.add(osl, request.requested_output_tokens);
        self.output_length_misses +=
            u64::from(request.requested_output_tokens.is_some_and(|requested| requested != osl));
        self.good += u64::from(is_good);
    }

    /// Adds the tally of another worker for the same stage.
    pub fn add(&mut self, other: &StageTally) {
        for (outcome, count) in &other.outcomes {
            *self.outcomes.entry(*outcome).or_default() += count;
        }
        for (limit, count) in &other.timeouts {
            *self.timeouts.entry(*limit).or_default() += count;
        }
        for (cause, theirs) in &other.causes {
            self.causes.entry(*cause).or_default().add(theirs);
        }
        for (mine, theirs) in [
            (&mut self.ttft_scheduled, &other.ttft_scheduled),
            (&mut self.ttft_sent, &other.ttft_sent),
            (&mut self.latency_scheduled, &other.latency_scheduled),
            (&mut self.latency_sent, &other.latency_sent),
            (&mut self.itl, &other.itl),
            (&mut self.itl_of_several, &other.itl_of_several),
            (&mut self.gaps_of_several, &other.gaps_of_several),
            (&mut self.tpot, &other.tpot),
            (&mut self.ntpot, &other.ntpot),
            (&mut self.ntpot_of_llmd, &other.ntpot_of_llmd),
            (&mut self.send_lag, &other.send_lag),
            (&mut self.permit_wait, &other.permit_wait),
        ] {
            mine.add(theirs);
        }
        self.input_tokens.add(&other.input_tokens);
        self.output_tokens.add(&other.output_tokens);
        for (mine, theirs) in [
            (&mut self.input_tokens_total, other.input_tokens_total),
            (&mut self.output_tokens_total, other.output_tokens_total),
            (&mut self.output_tokens_of_ended, other.output_tokens_of_ended),
            (&mut self.with_usage, other.with_usage),
            (&mut self.events, other.events),
            (&mut self.event_tokens, other.event_tokens),
            (&mut self.set_aside, other.set_aside),
            (&mut self.in_one_piece, other.in_one_piece),
            (&mut self.input_length_misses, other.input_length_misses),
            (&mut self.output_length_misses, other.output_length_misses),
            (&mut self.input_of_requested.found, other.input_of_requested.found),
            (&mut self.input_of_requested.requested, other.input_of_requested.requested),
            (&mut self.output_of_requested.found, other.output_of_requested.found),
            (&mut self.output_of_requested.requested, other.output_of_requested.requested),
            (&mut self.cached_tokens_total, other.cached_tokens_total),
            (&mut self.with_cached, other.with_cached),
            (&mut self.good, other.good),
            (&mut self.reads, other.reads),
            (&mut self.coalesced_reads, other.coalesced_reads),
            (&mut self.retried, other.retried),
            (&mut self.own_connections, other.own_connections),
            (&mut self.late_reads, other.late_reads),
        ] {
            *mine += theirs;
        }
        self.breakdown.add(&other.breakdown);
        add_first(&mut self.set_aside_sample, other.set_aside_sample.as_ref());
        self.first_scheduled = earliest(self.first_scheduled, other.first_scheduled);
        self.last_scheduled = self.last_scheduled.max(other.last_scheduled);
        self.first_sent = earliest(self.first_sent, other.first_sent);
        self.last_sent = self.last_sent.max(other.last_sent);
        self.last_end = self.last_end.max(other.last_end);
        self.widen(other.window_bounds);
        self.stopped_early |= other.stopped_early;
        for (part, outcomes) in &other.excluded {
            for (outcome, count) in outcomes {
                self.exclude(*part, *outcome, *count);
            }
        }
        for (outcome, sample) in &other.error_samples {
            self.error_samples.entry(*outcome).or_insert_with(|| sample.clone()).add(sample);
        }
    }

    /// Gaps that its histograms could not keep exactly. Records do not contain gaps.
    pub(super) fn lost_gaps(&self) -> u64 {
        [&self.itl, &self.itl_of_several, &self.gaps_of_several].into_iter().map(TimeHistogram::lost).sum()
    }

    /// Times and lengths of requests that its histograms could not keep exactly.
    pub(super) fn lost_of_requests(&self) -> u64 {
        let times = [
            &self.ttft_scheduled,
            &self.ttft_sent,
            &self.latency_scheduled,
            &self.latency_sent,
            &self.tpot,
            &self.ntpot,
            &self.ntpot_of_llmd,
            &self.send_lag,
            &self.permit_wait,
        ];
        let lengths = [&self.input_tokens, &self.output_tokens];
        times.into_iter().map(TimeHistogram::lost).sum::<u64>()
            + lengths.into_iter().map(LengthHistogram::lost).sum::<u64>()
    }

    pub(super) fn exclude(&mut self, part: WindowPart, outcome: RequestOutcome, count: u64) {
        *self.excluded.entry(part).or_default().entry(outcome).or_default() += count;
    }

    /// The time that its figures cover: the window bounds, or else the time from the first scheduled time to the last end. `None` if there
    /// was no request.
    pub fn span(&self) -> Option<(Duration, Duration)> {
        self.window_bounds.or_else(|| Some((self.first_scheduled?, self.last_end?)))
    }

    pub fn sum<'a>(tallies: impl IntoIterator<Item = &'a StageTally>) -> StageTally {
        let mut sum = StageTally::default();
        tallies.into_iter().for_each(|it| sum.add(it));
        sum
    }

    /// Requests that were due.
    pub fn requests(&self) -> u64 {
        self.outcomes.values().sum()
    }

    pub fn succeeded(&self) -> u64 {
        self.outcomes.get(&RequestOutcome::Ok).copied().unwrap_or(0)
    }
}

fn earliest(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    [one, other].into_iter().flatten().min()
}

/// Whether a request counts as failed. A request that was cut off counts as neither success nor failure.
fn is_failure(request: &RequestRecord) -> bool {
    request.outcome.is_decided() && !request.outcome.is_success()
}

/// Whether a request met every bound. A missing figure does not meet its bound.
pub(super) fn is_good(request: &RequestRecord, wire: &WireTally, goodput: &Goodput) -> bool {
    let (tokens, gaps) = several_tokens(request, wire).unwrap_or((1, 1));
    [
        (goodput.ttft, request.ttft_scheduled()),
        (goodput.tpot, request.tpot()),
        // Without this bound the gaps are not summed.
        (goodput.itl, goodput.itl.and_then(|_| wire.gaps.mean()).map(|it| it * gaps / tokens)),
        (goodput.ntpot, request.ntpot()),
        (goodput.latency, request.latency_scheduled()),
    ]
    .into_iter()
    .all(|(bound, found)| bound.is_none_or(|bound| found.is_some_and(|found| found <= bound.0)))
}

fields!(CauseTally { count, sample });
fields!(LengthSums { found, requested });

fields!(StageTally {
    outcomes,
    ttft_scheduled,
    ttft_sent,
    latency_scheduled,
    latency_sent,
    itl,
    itl_of_several,
    gaps_of_several,
    tpot,
    ntpot,
    ntpot_of_llmd,
    send_lag,
    permit_wait,
    breakdown,
    input_tokens,
    output_tokens,
    input_tokens_total,
    output_tokens_total,
    output_tokens_of_ended,
    with_usage,
    events,
    event_tokens,
    set_aside,
    set_aside_sample,
    in_one_piece,
    input_length_misses,
    output_length_misses,
    input_of_requested,
    output_of_requested,
    cached_tokens_total,
    with_cached,
    good,
    reads,
    coalesced_reads,
    late_reads,
    first_scheduled,
    last_scheduled,
    first_sent,
    last_sent,
    last_end,
    retried,
    own_connections,
    timeouts,
    causes,
    window_bounds,
    stopped_early,
    excluded,
    error_samples,
});
