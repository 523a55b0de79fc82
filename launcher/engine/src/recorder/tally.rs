//! What a stage came to: counts and histograms, one request after the other. Pure.

use std::{collections::BTreeMap, time::Duration};

use workload_profiles::workload::Goodput;

use super::records::InFigures;
use crate::{
    histogram::{LengthHistogram, TimeHistogram},
    inter_token_times::InterTokenTimes,
    record::{Cause, Limit, RequestOutcome, RequestRecord},
    window::WindowPart,
};

/// What a stage came to. Latencies are of requests that succeeded; times from `scheduled` are free of coordinated
/// omission, times from `sent` are what a client that never lags would see.
#[derive(Clone, Debug, Default)]
pub struct StageTally {
    /// Requests by what became of them.
    pub outcomes: BTreeMap<RequestOutcome, u64>,
    /// Time to the first token, from scheduled.
    pub ttft_scheduled: TimeHistogram,
    /// Time to the first token, from sent.
    pub ttft_sent: TimeHistogram,
    /// Time to the last token, from scheduled.
    pub latency_scheduled: TimeHistogram,
    /// Time to the last token, from sent.
    pub latency_sent: TimeHistogram,
    /// Times between two tokens, pooled over requests whose events with content hold one token each, as far as is told: the gaps
    /// between these events.
    pub itl: TimeHistogram,
    /// The same of requests whose events hold several: each gap divided by the tokens per gap of its request.
    pub itl_of_several: TimeHistogram,
    /// The gaps themselves of these.
    pub gaps_of_several: TimeHistogram,
    /// (last token - first token) / (OSL - 1), one per request of at least two tokens.
    pub tpot: TimeHistogram,
    /// Latency from sent / OSL, one per request.
    pub ntpot: TimeHistogram,
    /// Sent minus scheduled, of every request that was sent, whatever became of it.
    pub send_lag: TimeHistogram,
    /// How long requests that were sent waited for room, where the load bounds how many are under way.
    pub permit_wait: TimeHistogram,
    /// Prompt lengths, where the server told them.
    pub input_tokens: LengthHistogram,
    /// Output lengths, by the server's usage, else by content events.
    pub output_tokens: LengthHistogram,
    /// Sum of the prompt lengths of requests that succeeded.
    pub input_tokens_total: u64,
    /// Sum of the output lengths of requests that succeeded; where the window cuts through requests, the tokens that came
    /// within it.
    pub output_tokens_total: u64,
    /// Sum of the output lengths of requests that succeeded, whenever their tokens came.
    pub output_tokens_of_ended: u64,
    /// Requests that succeeded whose output length is the server's own count.
    pub with_usage: u64,
    /// Of these that were streamed: events with content.
    pub events: u64,
    /// And the tokens in these events: those of an event without text before the first, or after the last, are in none.
    pub event_tokens: u64,
    /// Requests that succeeded whose usage tells what cannot be.
    pub set_aside: u64,
    /// What the first of these tells, and of which answer.
    pub set_aside_sample: Option<SetAside>,
    /// Requests that succeeded whose answer came in one piece although a stream was asked for.
    pub in_one_piece: u64,
    /// Requests whose prompt length is not what was asked: by more than a tenth for words, by more than one token that was
    /// added for token ids.
    pub input_length_misses: u64,
    /// Requests whose output length differs from what was asked.
    pub output_length_misses: u64,
    /// Prompt lengths by the server and as asked, summed over the requests that have both.
    pub input_of_requested: LengthSums,
    /// The same of output lengths.
    pub output_of_requested: LengthSums,
    /// Sum of the prompt tokens that the server had in its prefix cache.
    pub cached_tokens_total: u64,
    /// Requests for which it had some.
    pub with_cached: u64,
    /// Requests that met every goodput bound.
    pub good: u64,
    /// Reads of the socket that held content.
    pub reads: u64,
    /// Of these, reads that held more than one content event: their gaps are not the server's.
    pub coalesced_reads: u64,
    /// Of these, reads that the launcher may have been late for, see [`WireTally::late_reads`].
    pub late_reads: u64,
    /// The first scheduled time; `None` before there is one.
    pub first_scheduled: Option<Duration>,
    /// The last scheduled time.
    pub last_scheduled: Option<Duration>,
    /// When the first request was sent; `None` before there is one.
    pub first_sent: Option<Duration>,
    /// When the last request was sent.
    pub last_sent: Option<Duration>,
    /// The latest end.
    pub last_end: Option<Duration>,
    /// Requests that were sent again, because the server had closed the connection that they were first sent on.
    pub retried: u64,
    /// Timeouts by the limit that was passed.
    pub timeouts: BTreeMap<Limit, u64>,
    /// Requests that got no connection, or no answer on one, by why that was.
    pub causes: BTreeMap<Cause, CauseTally>,
    /// Where the window cuts through requests: from when to when it was.
    pub window_bounds: Option<(Duration, Duration)>,
    /// It was stopped before all its requests were due: those that were not are in no figure.
    pub stopped_early: bool,
    /// Requests that are in no figure, by why that is and by what became of them.
    pub excluded: BTreeMap<WindowPart, BTreeMap<RequestOutcome, u64>>,
    /// Messages of failures by outcome, the first of each kind: a status and error type, never a body.
    pub error_samples: BTreeMap<RequestOutcome, String>,
}

/// How often something was why a request failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CauseTally {
    /// How often.
    pub count: u64,
    /// The first message.
    pub sample: String,
}

impl CauseTally {
    fn add(&mut self, count: u64, sample: &str) {
        self.count += count;
        if self.sample.is_empty() {
            sample.clone_into(&mut self.sample);
        }
    }
}

/// Lengths of some requests, summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LengthSums {
    /// As they came to be.
    pub found: u64,
    /// As they were asked.
    pub requested: u64,
}

impl LengthSums {
    fn add(&mut self, found: u32, requested: Option<u32>) {
        let Some(requested) = requested else { return };
        self.found += u64::from(found);
        self.requested += u64::from(requested);
    }
}

/// What one request did on the wire beside its record.
#[derive(Clone, Debug, Default)]
pub struct WireTally {
    /// Gaps between content events, of this request, in the order of arrival.
    pub gaps: InterTokenTimes,
    /// Reads that held content.
    pub reads: u64,
    /// Of these, reads that held more than one content event.
    pub coalesced_reads: u64,
    /// Of these, reads whose bytes may have lain for so long, while the launcher was busy, that the events came apart; what
    /// a server sends at once comes together. By [`crate::vitals::receive`].
    pub late_reads: u64,
    /// What failed, in a few words; no body, no header.
    pub error: Option<String>,
    /// Which timeout it was, if it was one.
    pub timeout: Option<Limit>,
    /// Why it got no connection, or no answer on one.
    pub cause: Option<Cause>,
    /// It was sent again, because the server had closed the connection that it was first sent on.
    pub retried: bool,
    /// The prompt was as many token ids as were asked.
    pub has_exact_prompt: bool,
    /// Events that may hold a token without text, before the first event with content and after the last.
    pub silent_events: u32,
    /// Of these, events that end an answer because of its length.
    pub silent_length_ends: u32,
    /// Tokens in the first event with content, where the server tells them.
    pub first_event_tokens: Option<u32>,
    /// The output tokens that the server tells, where there cannot be so many or so few.
    pub set_aside: Option<u32>,
    /// The answer came in one piece although a stream was asked for.
    pub in_one_piece: bool,
}

/// A usage that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// The output tokens that it tells.
    pub told: u32,
    /// Those that were asked.
    pub requested: Option<u32>,
    /// Events with content that came.
    pub events: u32,
}

/// Tokens in the events with content of an answer, and these events; `None` where nobody tells the tokens, and of an answer
/// in one piece.
fn event_tokens(request: &RequestRecord, wire: &WireTally) -> Option<(u32, u32)> {
    let (told, events) = (request.output_tokens?, request.content_events);
    let tokens = if told <= events.saturating_add(wire.silent_events) {
        // One token an event. Those beyond the events with content are tokens without text.
        told.min(events)
    } else {
        // An event without text holds one token, but for an end by length: that token came with the text before it.
        told - wire.silent_events.saturating_sub(wire.silent_length_ends)
    };
    (events > 0).then_some((tokens, events))
}

/// Tokens that came after the first event with content, and the gaps that they came in, where a gap holds more than one token.
///
/// A server sends the first token as soon as it has it, even where later events hold several. So the first event holds one
/// token unless the server tells more, and the mean of the divided gaps is the TPOT.
fn several_tokens(request: &RequestRecord, wire: &WireTally) -> Option<(u32, u32)> {
    let (tokens, events) = event_tokens(request, wire)?;
    let first = wire.first_event_tokens.unwrap_or(1).max(1);
    let (later, gaps) = (tokens.saturating_sub(first), events - 1);
    (later > gaps).then_some((later, gaps))
}

impl StageTally {
    /// Counts one request, and says which figures it is in. `gaps` of a request that failed are left out, like its other latencies.
    pub fn record(&mut self, request: &RequestRecord, wire: &WireTally, goodput: &Goodput) -> InFigures {
        self.count(request.outcome, wire);
        self.record_send(request);
        self.last_end = self.last_end.max(Some(request.ended));
        if request.outcome.is_success() {
            self.record_success(request, wire, goodput);
            self.output_tokens_total += u64::from(request.osl());
            let several = several_tokens(request, wire);
            wire.gaps.iter().for_each(|gap| self.record_gap(gap, several));
        }
        InFigures { send: true, answer: request.outcome.is_success() }
    }

    /// Counts what happened of one request from `open` to `close`: its send, if it was due by then; its success or failure,
    /// if it had ended by then, with all its latencies; its tokens and the gaps before them, one by one.
    pub fn record_within(
        &mut self,
        (open, close): (Duration, Duration),
        request: &RequestRecord,
        wire: &WireTally,
        goodput: &Goodput,
    ) -> InFigures {
        let over = request.ended <= close;
        let used = InFigures { send: request.scheduled >= open, answer: over && request.outcome.is_success() };
        self.count(if over { request.outcome } else { RequestOutcome::Incomplete }, wire);
        if used.send {
            self.record_send(request);
        }
        if used.answer {
            self.record_success(request, wire, goodput);
        }
        if over && !request.outcome.is_success() && request.outcome.is_decided() {
            return used;
        }
        let within = |at: Duration| at > open && at <= close;
        // An answer in one piece comes with its end.
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
        // Tokens are shared out over the events evenly, to the nearest whole one.
        self.output_tokens_total += (u64::from(request.osl()) * inside + events / 2) / events;
        used
    }

    /// `several`: the tokens and the gaps of a request whose gaps hold more than one token.
    fn record_gap(&mut self, gap: Duration, several: Option<(u32, u32)>) {
        match several {
            None => self.itl.record(gap),
            Some((tokens, gaps)) => {
                self.itl_of_several.record(gap * gaps / tokens);
                self.gaps_of_several.record(gap);
            }
        }
    }

    fn count(&mut self, outcome: RequestOutcome, wire: &WireTally) {
        *self.outcomes.entry(outcome).or_default() += 1;
        self.reads += wire.reads;
        self.coalesced_reads += wire.coalesced_reads;
        self.retried += u64::from(wire.retried);
        if let Some(limit) = wire.timeout.filter(|_| outcome == RequestOutcome::Timeout) {
            *self.timeouts.entry(limit).or_default() += 1;
        }
        self.late_reads += wire.late_reads;
        if let Some(cause) = wire.cause.filter(|it| it.outcome() == outcome) {
            self.causes.entry(cause).or_default().add(1, wire.error.as_deref().unwrap_or_default());
        }
        if let Some(error) = wire.error.as_ref().filter(|_| outcome.is_decided()) {
            self.error_samples.entry(outcome).or_insert_with(|| error.clone());
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

    fn record_success(&mut self, request: &RequestRecord, wire: &WireTally, goodput: &Goodput) {
        let osl = request.osl();
        for (times, time) in [
            (&mut self.ttft_scheduled, request.ttft_scheduled()),
            (&mut self.ttft_sent, request.ttft_sent()),
            (&mut self.latency_scheduled, request.latency_scheduled()),
            (&mut self.latency_sent, request.latency_sent()),
            (&mut self.ntpot, request.ntpot()),
            (&mut self.tpot, request.tpot()),
        ] {
            time.into_iter().for_each(|it| times.record(it));
        }
        self.with_usage += u64::from(request.output_tokens.is_some());
        if let Some((tokens, events)) = event_tokens(request, wire) {
            self.events += u64::from(events);
            self.event_tokens += u64::from(tokens);
        }
        if let Some(told) = wire.set_aside {
            self.set_aside += 1;
            let (requested, events) = (request.requested_output_tokens, request.content_events);
            self.set_aside_sample.get_or_insert(SetAside { told, requested, events });
        }
        self.in_one_piece += u64::from(wire.in_one_piece);
        self.output_tokens.record(osl);
        self.output_tokens_of_ended += u64::from(osl);
        if let Some(found) = request.input_tokens {
            self.input_tokens.record(found);
            self.input_tokens_total += u64::from(found);
            let missed = |requested: u32| match wire.has_exact_prompt {
                // A server may put the token before them that begins a text.
                true => !(0..=1).contains(&(i64::from(found) - i64::from(requested))),
                false => found.abs_diff(requested) > requested / 10,
            };
            self.input_length_misses += u64::from(request.requested_input_tokens.is_some_and(missed));
            self.input_of_requested.add(found, request.requested_input_tokens);
            // No cache holds more of a prompt than there is.
            let cached = request.cached_tokens.unwrap_or(0).min(found);
            self.cached_tokens_total += u64::from(cached);
            self.with_cached += u64::from(cached > 0);
        }
        self.output_of_requested.add(osl, request.requested_output_tokens);
        self.output_length_misses +=
            u64::from(request.requested_output_tokens.is_some_and(|requested| requested != osl));
        self.good += u64::from(is_good(request, wire, goodput));
    }

    /// Adds the counts of another thread's tally of the same stage.
    pub fn add(&mut self, other: &StageTally) {
        for (outcome, count) in &other.outcomes {
            *self.outcomes.entry(*outcome).or_default() += count;
        }
        for (limit, count) in &other.timeouts {
            *self.timeouts.entry(*limit).or_default() += count;
        }
        for (cause, CauseTally { count, sample }) in &other.causes {
            self.causes.entry(*cause).or_default().add(*count, sample);
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
            (&mut self.late_reads, other.late_reads),
        ] {
            *mine += theirs;
        }
        self.set_aside_sample = self.set_aside_sample.or(other.set_aside_sample);
        self.first_scheduled = earliest(self.first_scheduled, other.first_scheduled);
        self.last_scheduled = self.last_scheduled.max(other.last_scheduled);
        self.first_sent = earliest(self.first_sent, other.first_sent);
        self.last_sent = self.last_sent.max(other.last_sent);
        self.last_end = self.last_end.max(other.last_end);
        self.window_bounds = match (self.window_bounds, other.window_bounds) {
            (Some(mine), Some(theirs)) => Some((mine.0.min(theirs.0), mine.1.max(theirs.1))),
            (mine, theirs) => mine.or(theirs),
        };
        self.stopped_early |= other.stopped_early;
        for (part, outcomes) in &other.excluded {
            for (outcome, count) in outcomes {
                self.exclude(*part, *outcome, *count);
            }
        }
        for (outcome, sample) in &other.error_samples {
            self.error_samples.entry(*outcome).or_insert_with(|| sample.clone());
        }
    }

    /// Gaps that its histograms could not keep. No record holds gaps.
    pub(super) fn lost_gaps(&self) -> u64 {
        [&self.itl, &self.itl_of_several, &self.gaps_of_several].into_iter().map(TimeHistogram::lost).sum()
    }

    /// Times and lengths of requests that its histograms could not keep.
    pub(super) fn lost_of_requests(&self) -> u64 {
        let times = [
            &self.ttft_scheduled,
            &self.ttft_sent,
            &self.latency_scheduled,
            &self.latency_sent,
            &self.tpot,
            &self.ntpot,
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

    /// From when to when its figures are: the window that cuts through requests, else from the first request that was due
    /// to the last end. `None` where there was no request.
    pub fn span(&self) -> Option<(Duration, Duration)> {
        self.window_bounds.or_else(|| Some((self.first_scheduled?, self.last_end?)))
    }

    /// All of them together.
    pub fn sum<'a>(tallies: impl IntoIterator<Item = &'a StageTally>) -> StageTally {
        let mut sum = StageTally::default();
        tallies.into_iter().for_each(|it| sum.add(it));
        sum
    }

    /// Requests that were due.
    pub fn requests(&self) -> u64 {
        self.outcomes.values().sum()
    }

    /// Requests that succeeded.
    pub fn succeeded(&self) -> u64 {
        self.outcomes.get(&RequestOutcome::Ok).copied().unwrap_or(0)
    }
}

/// The smaller of those that there are.
fn earliest(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    [one, other].into_iter().flatten().min()
}

/// Whether a request met every bound; a figure that it does not have breaks its bound.
fn is_good(request: &RequestRecord, wire: &WireTally, goodput: &Goodput) -> bool {
    let (tokens, gaps) = several_tokens(request, wire).unwrap_or((1, 1));
    [
        (goodput.ttft, request.ttft_scheduled()),
        (goodput.tpot, request.tpot()),
        (goodput.itl, wire.gaps.mean().map(|it| it * gaps / tokens)),
        (goodput.ntpot, request.ntpot()),
        (goodput.latency, request.latency_scheduled()),
    ]
    .into_iter()
    .all(|(bound, found)| bound.is_none_or(|bound| found.is_some_and(|found| found <= bound.0)))
}
