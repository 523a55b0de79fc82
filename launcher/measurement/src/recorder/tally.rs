//! The tally of a stage: counts and histograms that are updated for each request. Pure.

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

/// The tally of a stage. Latencies are of successful requests only. Times from `scheduled` are free of coordinated omission. Times from
/// `sent` are what a client without send lag would see.
#[derive(Clone, Debug, Default)]
pub struct StageTally {
    /// Number of requests per outcome.
    pub outcomes: BTreeMap<RequestOutcome, u64>,
    /// Time to first token, from the scheduled time.
    pub ttft_scheduled: TimeHistogram,
    /// Time to first token, from the send time.
    pub ttft_sent: TimeHistogram,
    /// Time to the last token, from the scheduled time.
    pub latency_scheduled: TimeHistogram,
    /// Time to the last token, from the send time.
    pub latency_sent: TimeHistogram,
    /// Times between two tokens, of requests with one token per content event. If the server does not report the tokens per event, each event counts
    /// as one token. The times are measured between content events.
    pub itl: TimeHistogram,
    /// Times between two tokens, of requests with several tokens per event: each gap is divided by its request's number of tokens per gap.
    pub itl_of_several: TimeHistogram,
    /// The same gaps, not divided.
    pub gaps_of_several: TimeHistogram,
    /// TPOT: (last token - first token) / (OSL - 1), one per request with at least two tokens.
    pub tpot: TimeHistogram,
    /// NTPOT: latency from the send time / OSL, one per request.
    pub ntpot: TimeHistogram,
    /// NTPOT by llm-d-benchmark's formula: TTFT from the send time / OSL + TPOT, one per request with at least two tokens.
    pub ntpot_of_llmd: TimeHistogram,
    /// Send lag: sent - scheduled - wait for a permit, of every request that was sent.
    pub send_lag: TimeHistogram,
    /// Waits for a permit of requests that were sent, if the load limits concurrency.
    pub permit_wait: TimeHistogram,
    /// Durations of the steps of successful requests.
    pub breakdown: Breakdown,
    /// Prompt lengths in tokens, as far as the server reported them.
    pub input_tokens: LengthHistogram,
    /// Output lengths in tokens: from the server's usage, else the number of content events.
    pub output_tokens: LengthHistogram,
    /// Total prompt length of successful requests, in tokens.
    pub input_tokens_total: u64,
    /// Total output length of successful requests, in tokens. If there are window bounds, only the tokens that arrived within them.
    pub output_tokens_total: u64,
    /// Total output length of successful requests, in tokens, including those outside the window bounds.
    pub output_tokens_of_ended: u64,
    /// Number of successful requests whose output length the server reported.
    pub with_usage: u64,
    /// Number of content events of successful, streamed requests whose output length the server reported.
    pub events: u64,
    /// Number of tokens in these events. Tokens without text before the first event or after the last one are not included.
    pub event_tokens: u64,
    /// Number of successful requests with an impossible usage.
    pub set_aside: u64,
    /// The impossible usage of the request that ended first.
    pub set_aside_sample: Option<Earliest<SetAside>>,
    /// Number of successful requests whose answer came in one piece although a stream was requested.
    pub in_one_piece: u64,
    /// Number of requests whose prompt length differs from the requested length: for words by more than a tenth, for token ids by more than
    /// one added token.
    pub input_length_misses: u64,
    /// Number of requests whose output length differs from the requested length.
    pub output_length_misses: u64,
    /// Total prompt length as counted by the server and as requested, over requests that have both.
    pub input_of_requested: LengthSums,
    /// Total output length as counted and as requested, over requests that have both.
    pub output_of_requested: LengthSums,
    /// Total number of prompt tokens found in the server's prefix cache.
    pub cached_tokens_total: u64,
    /// Number of requests with prompt tokens in the cache.
    pub with_cached: u64,
    /// Number of requests that met all goodput limits.
    pub good: u64,
    /// Number of socket reads that returned content.
    pub reads: u64,
    /// Number of socket reads that returned more than one content event. The gaps between events of one read do not show when the server sent them.
    pub coalesced_reads: u64,
    /// Number of coalesced reads that the launcher might have made late, see [`WireTally::late_reads`].
    pub late_reads: u64,
    /// The earliest scheduled time; `None` if there are no requests.
    pub first_scheduled: Option<Duration>,
    /// The latest scheduled time; `None` if there are no requests.
    pub last_scheduled: Option<Duration>,
    /// When the first request was sent; `None` if none was.
    pub first_sent: Option<Duration>,
    /// When the last request was sent.
    pub last_sent: Option<Duration>,
    /// When the last request ended; `None` if none did.
    pub last_end: Option<Duration>,
    /// Number of requests that were sent again, because the server had closed the connection of the first attempt.
    pub retried: u64,
    /// Number of requests that each used a new connection, because the server does not keep connections although it claims to.
    pub own_connections: u64,
    /// Number of timeouts per kind.
    pub timeouts: BTreeMap<Limit, u64>,
    /// Requests that got no connection, or no response on a connection, per cause.
    pub causes: BTreeMap<Cause, CauseTally>,
    /// Start and end of the window, if events are counted by their own times; otherwise `None`.
    pub window_bounds: Option<(Duration, Duration)>,
    /// Whether the stage was stopped before all its requests were due. Requests that were not due yet appear in no figure.
    pub stopped_early: bool,
    /// Number of requests that are excluded from the figures, by part of the stage and by outcome.
    pub excluded: BTreeMap<WindowPart, BTreeMap<RequestOutcome, u64>>,
    /// For each outcome, the message of the failure that ended first: a status and an error type, never a body.
    pub error_samples: BTreeMap<RequestOutcome, Earliest<String>>,
}

/// How often a cause made requests fail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CauseTally {
    pub count: u64,
    /// The message of the failure that ended first.
    sample: Option<Earliest<String>>,
}

impl CauseTally {
    /// Returns the message of the failure that ended first; empty if there is none.
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

/// Keeps a value if its request ended before the request of the current value.
fn record_first<T>(sample: &mut Option<Earliest<T>>, request: &RequestRecord, value: impl FnOnce() -> T) {
    if sample.as_ref().is_none_or(|it| it.is_after(request)) {
        *sample = Some(Earliest::new(request, value()));
    }
}

fn add_first<T: Clone>(mine: &mut Option<Earliest<T>>, theirs: Option<&Earliest<T>>) {
    let Some(theirs) = theirs else { return };
    mine.get_or_insert_with(|| theirs.clone()).add(theirs);
}

/// Total lengths, over the same requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LengthSums {
    /// Total length as counted.
    pub found: u64,
    /// Total length as requested.
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
    /// Counts a request. If the window has bounds, only what happened within them counts. Returns the figures that the request is part of. `is_good`
    /// states whether it meets all goodput limits, provided that it succeeded.
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

    /// Counts a request. Returns the figures that it is part of. The gaps of a failed request are omitted, like its other latencies.
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

    /// Counts the events of a request between `open` and `close`. Its sending counts if the request was due between them. Its outcome and
    /// its latencies count if it had ended by `close`. Tokens and gaps count if they arrived between them.
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
        // All content of an answer in one piece arrives at its end.
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

    /// Counts a gap. `several`: tokens and gaps of the request, if it has more than one token per gap.
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
                // A server can add one token at the beginning of a text.
                true => !(0..=1).contains(&(i64::from(found) - i64::from(requested))),
                false => found.abs_diff(requested) > requested / 10,
            };
            self.input_length_misses += u64::from(request.requested_input_tokens.is_some_and(missed));
            self.input_of_requested.add(found, request.requested_input_tokens);
            // The server cannot have cached more than the whole prompt.
            let cached = request.cached_tokens.unwrap_or(0).min(found);
            self.cached_tokens_total += u64::from(cached);
            self.with_cached += u64::from(cached > 0);
        }
        self.output_of_requested.add(osl, request.requested_output_tokens);
        self.output_length_misses +=
            u64::from(request.requested_output_tokens.is_some_and(|requested| requested != osl));
        self.good += u64::from(is_good);
    }

    /// Merges the tally of another worker for the same stage.
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

    /// Returns the number of gaps that the histograms could not keep exactly. Records do not contain gaps.
    pub(super) fn lost_gaps(&self) -> u64 {
        [&self.itl, &self.itl_of_several, &self.gaps_of_several].into_iter().map(TimeHistogram::lost).sum()
    }

    /// Returns the number of times and lengths of requests that the histograms could not keep exactly.
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

    /// Returns the time that the figures cover: the window bounds, else from the earliest scheduled time to the last end. `None` if there
    /// was no request.
    pub fn span(&self) -> Option<(Duration, Duration)> {
        self.window_bounds.or_else(|| Some((self.first_scheduled?, self.last_end?)))
    }

    pub fn sum<'a>(tallies: impl IntoIterator<Item = &'a StageTally>) -> StageTally {
        let mut sum = StageTally::default();
        tallies.into_iter().for_each(|it| sum.add(it));
        sum
    }

    /// Returns the number of requests that were due.
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

/// Whether a request counts as failed. A request that was cut off counts neither as a success nor as a failure.
fn is_failure(request: &RequestRecord) -> bool {
    request.outcome.is_decided() && !request.outcome.is_success()
}

/// Whether a request met all limits. If a figure is missing, its limit is not met.
pub(super) fn is_good(request: &RequestRecord, wire: &WireTally, goodput: &Goodput) -> bool {
    // The gaps are summed only if this limit is set.
    let meets_itl = goodput.itl.is_none_or(|limit| {
        let (tokens, gaps) = several_tokens(request, wire).unwrap_or((1, 1));
        wire.gaps.mean().is_some_and(|it| it * gaps / tokens <= limit.0)
    });
    meets_itl && request.meets(goodput)
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
