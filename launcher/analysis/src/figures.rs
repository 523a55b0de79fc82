//! The figures of a stage, or of the whole run.

use std::{collections::BTreeMap, time::Duration};

use workload_profiles::workload::{Goodput, Workload};

use super::{
    distribution::Distribution,
    rates::{Plateau, RateWindow},
    timings::Timings,
};
pub use measurement::latency_origin::LatencyOrigin;
use measurement::{
    histogram::TimeHistogram,
    record::{Cause, Limit, RequestOutcome},
    recorder::{Breakdown, CauseTally, SetAside, StageTally},
    window::WindowPart,
};

/// If an event contains more tokens than this on average, the time between two events is not an inter-token latency.
pub const SEVERAL_TOKENS: f64 = 1.01;

/// Who counted the output tokens of successful requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenCount {
    /// The server, in the usage of each answer.
    Server,
    /// The launcher counted each event with content as one token, because no answer had usage.
    Client,
    /// The server for some answers, the launcher for the rest.
    Mixed,
}

impl TokenCount {
    /// The name of the count in labels.
    pub fn name(self) -> &'static str {
        match self {
            TokenCount::Server => "server",
            TokenCount::Client => "client",
            TokenCount::Mixed => "mixed",
        }
    }
}

/// Results of a set of requests. Latencies and lengths cover successful requests only. A field is `None` if it was not measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Number of requests that were due, with any outcome.
    pub requests: u64,
    /// Requests with a complete answer that has content.
    pub succeeded: u64,
    /// Number of requests that failed. Requests that were cancelled, abandoned or incomplete did not fail.
    pub failed: u64,
    /// Requests in flight or not yet sent when the run was stopped.
    pub cancelled: u64,
    /// Requests that the client abandoned, because the profile defines abandonment.
    pub abandoned: u64,
    /// Requests that were running or unsent when the window or the stage ended, and requests that were never sent because an earlier request of their
    /// session failed.
    pub incomplete: u64,
    /// Whether the load stopped before all its requests were due. The requests that were not yet due are not counted anywhere.
    pub stopped_early: bool,
    /// Requests that these figures exclude, by reason and outcome.
    pub excluded: BTreeMap<WindowPart, BTreeMap<RequestOutcome, u64>>,
    /// Number of requests per outcome.
    pub outcomes: BTreeMap<RequestOutcome, u64>,
    /// Number of timeouts per exceeded limit.
    pub timeouts: BTreeMap<Limit, u64>,
    /// Requests that were sent a second time, because the server had closed the first connection.
    pub retried: u64,
    /// Requests that each used a new connection, because the server closes connections although it announces keep-alive.
    pub own_connections: u64,
    /// Requests that got no connection, or no answer on a connection, by cause.
    pub causes: BTreeMap<Cause, CauseTally>,
    /// The first message of each kind of failure. If a kind has several causes, a message of its most common cause.
    pub error_samples: BTreeMap<RequestOutcome, String>,
    /// When the first request was due, from the start of the run.
    pub first_due: Option<Duration>,
    /// When the last request ended, from the start of the run.
    pub last_end: Option<Duration>,
    /// From the first due time to the last end; zero if there was no request.
    pub duration: Duration,
    /// Whether percentiles are exact. If so, the distributions from `ttft` to `permit_wait`, `isl` and `osl` come from the records of all requests
    /// instead of histograms.
    pub exact: bool,
    /// TTFT from the latency origin of the stage (scheduled or sent). For a run: the values of all stages together.
    pub ttft: Option<Distribution<Duration>>,
    /// Latency from the latency origin of the stage. For a run: the values of all stages together.
    pub latency: Option<Distribution<Duration>>,
    /// TTFT from the scheduled time: first token minus scheduled.
    pub ttft_scheduled: Option<Distribution<Duration>>,
    /// TTFT from sending: first token minus sent.
    pub ttft_sent: Option<Distribution<Duration>>,
    /// Latency from the scheduled time: last token minus scheduled.
    pub latency_scheduled: Option<Distribution<Duration>>,
    /// Latency from sending: last token minus sent.
    pub latency_sent: Option<Distribution<Duration>>,
    /// Times between two consecutive tokens of a request, for all requests together. Each gap between two content events is one value. If the server
    /// reported more tokens than events, the gap is divided by the number of tokens per gap.
    pub itl: Option<Distribution<Duration>>,
    /// Times between two content events of a request, for all requests together.
    pub event_gap: Option<Distribution<Duration>>,
    /// Number of content events of successful streamed requests for which the server reported a token count.
    pub content_events: u64,
    /// Average number of tokens per event, over the events in `content_events`; `None` if there are none.
    pub tokens_per_event: Option<f64>,
    /// (last token - first token) / (OSL - 1), one value per request with at least two tokens.
    pub tpot: Option<Distribution<Duration>>,
    /// (last token - sent) / OSL, one value per request.
    pub ntpot: Option<Distribution<Duration>>,
    /// NTPOT as llm-d-benchmark defines it: (first token - sent) / OSL + TPOT, one value per request with at least two tokens.
    pub ntpot_of_llmd: Option<Distribution<Duration>>,
    /// Sent minus scheduled, for every request that was sent, with any outcome.
    pub send_lag: Option<Distribution<Duration>>,
    /// How long sent requests waited because the maximum number of requests was in flight; `None` if the load has no such maximum.
    pub permit_wait: Option<Distribution<Duration>>,
    /// Time spent in each step of a successful request; `None` if no request has known steps.
    pub steps: Option<StepTimes>,
    /// Prompt lengths in tokens, as the server reports them.
    pub isl: Option<Distribution<f64>>,
    /// Output lengths, in tokens.
    pub osl: Option<Distribution<f64>>,
    /// Sum of the prompt lengths; `None` unless the server reported all of them.
    pub input_tokens: Option<u64>,
    /// Sum of the output lengths.
    pub output_tokens: u64,
    /// Who counted the output tokens; `None` where no request succeeded.
    pub token_count: Option<TokenCount>,
    /// Rates without the fill at the start and the drain at the end of the load, or over the whole duration if the time between them is unknown.
    /// `None` if the duration is zero.
    pub throughput: Option<Throughput>,
    /// The window of `throughput`; `None` if it covers the whole duration, or several stages together.
    pub rate_window: Option<RateWindow>,
    /// Rates over the whole duration, including fill and drain; `None` if the duration is zero.
    pub whole_throughput: Option<Throughput>,
    /// Figures of the requests that met the goodput bounds. `None` if the workload sets no goodput bound.
    pub goodput: Option<GoodputFigures>,
    /// Successful requests without usage from the server, for which the launcher counted the output tokens.
    pub without_usage: u64,
    /// Requests in `without_usage` for which the server reported an impossible usage, which is ignored.
    pub usage_set_aside: u64,
    /// The usage of the first request in `usage_set_aside`.
    pub set_aside_sample: Option<SetAside>,
    /// Successful requests that got a non-streamed answer although a stream was requested. TTFT excludes them.
    pub in_one_piece: u64,
    /// Successful requests with a prompt length that differs from the requested one. For random words, a difference of up to a tenth is tolerated.
    /// For token ids, one additional token is tolerated.
    pub input_length_misses: u64,
    /// Successful requests with an output length that differs from the requested one.
    pub output_length_misses: u64,
    /// Sum of the reported prompt lengths / sum of the requested prompt lengths; `None` if no length was requested or reported.
    pub input_length_ratio: Option<f64>,
    /// Sum of the reported output lengths / sum of the requested output lengths; `None` if no length was requested or reported.
    pub output_length_ratio: Option<f64>,
    /// Prompt tokens from the server's prefix cache; `None` if no usage reports them.
    pub cached: Option<CachedPrompts>,
    /// Socket reads that contained content.
    pub reads: u64,
    /// Number of reads in `reads` that contained more than one content event.
    pub coalesced_reads: u64,
    /// Number of reads in `coalesced_reads` that might have been late.
    pub late_reads: u64,
}

/// Time that requests spent in each step. Queue, send, first byte, first token and tokens follow each other, so the sum of their means is the mean
/// latency from the scheduled time. Build and parse are the launcher's own work and overlap with the other steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTimes {
    /// From scheduled to the first byte handed to the socket.
    pub queue: Distribution<Duration>,
    /// Building the request. Done before the request is due, unless the launcher is late.
    pub build: Distribution<Duration>,
    /// From the first to the last byte of the request.
    pub send: Distribution<Duration>,
    /// From the last byte of the request to the head of the response.
    pub first_byte: Distribution<Duration>,
    /// From the head of the response to its first token.
    pub first_token: Distribution<Duration>,
    /// From the first token to the last one.
    pub tokens: Distribution<Duration>,
    /// From the time when bytes of the response left the socket until they were parsed, summed over the response.
    pub parse: Distribution<Duration>,
}

impl StepTimes {
    fn new(breakdown: &Breakdown) -> Option<StepTimes> {
        Some(StepTimes {
            queue: Distribution::of_times(&breakdown.queue)?,
            build: Distribution::of_times(&breakdown.build)?,
            send: Distribution::of_times(&breakdown.send)?,
            first_byte: Distribution::of_times(&breakdown.first_byte)?,
            first_token: Distribution::of_times(&breakdown.first_token)?,
            tokens: Distribution::of_times(&breakdown.tokens)?,
            parse: Distribution::of_times(&breakdown.parse)?,
        })
    }
}

/// Prompt tokens that the server had in its prefix cache, for successful requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CachedPrompts {
    /// Requests with at least one cached prompt token.
    pub requests: u64,
    /// Number of cached prompt tokens.
    pub tokens: u64,
    /// Cached tokens as a share of all prompt tokens, for prompts with a length reported by the server.
    pub share: f64,
}

/// Successful work per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throughput {
    /// Requests per second.
    pub requests: f64,
    /// Prompt tokens per second; `None` unless the server reported the length of every prompt.
    pub input_tokens: Option<f64>,
    /// Output tokens per second.
    pub output_tokens: f64,
    /// Prompt and output tokens per second.
    pub total_tokens: Option<f64>,
}

/// Requests that met every bound of the workload's goodput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoodputFigures {
    /// Number of requests that met every bound.
    pub requests: u64,
    /// These requests per second, in the window of [`Figures::throughput`].
    pub per_second: Option<f64>,
    /// These requests per second of the whole duration; `None` if the duration is zero.
    pub whole_per_second: Option<f64>,
    /// These requests as a share of all due requests that were allowed to end. Failed and cancelled requests count as not good. `None` if no requests
    /// were due.
    pub share: Option<f64>,
}

impl Figures {
    /// The figures of all stages together.
    pub(super) fn of_run(
        workload: &Workload,
        tallies: &[StageTally],
        timings: &Timings,
        plateau: Option<&Plateau>,
    ) -> Figures {
        Figures::from_tally(&StageTally::sum(tallies), timings, workload, plateau)
    }

    /// The figures of probe requests, which are sent in an open loop and have no goodput bounds.
    pub(super) fn of_probes(tally: &StageTally, workload: &Workload) -> Figures {
        let figures = Figures::from_tally(tally, &Timings::of_tally(tally, LatencyOrigin::Scheduled), workload, None);
        Figures { goodput: None, ..figures }
    }

    /// Computes figures from counts. `plateau` is the successful work between the fill and the drain of the load; `None` if unknown.
    pub(super) fn from_tally(
        tally: &StageTally,
        timings: &Timings,
        workload: &Workload,
        plateau: Option<&Plateau>,
    ) -> Figures {
        // A non-streamed answer has only one time, so without streaming these histograms contain the latency.
        let streamed = |times: Option<Distribution<Duration>>| times.filter(|_| workload.streaming);
        let requests = tally.requests();
        let succeeded = tally.succeeded();
        let count = |outcome| tally.outcomes.get(&outcome).copied().unwrap_or(0);
        let cancelled = count(RequestOutcome::Cancelled);
        let span = tally.span();
        let duration = span.map_or(Duration::ZERO, |(first, last)| last.saturating_sub(first));
        let isl = timings.isl;
        let input_tokens = (isl.map_or(0, |it| it.count) == succeeded).then_some(tally.input_tokens_total);
        let whole = throughput(tally, input_tokens, duration);
        Figures {
            requests,
            succeeded,
            failed: tally.outcomes.iter().filter(|(it, _)| it.is_decided()).map(|it| it.1).sum::<u64>() - succeeded,
            cancelled,
            abandoned: count(RequestOutcome::Abandoned),
            incomplete: count(RequestOutcome::Incomplete) + count(RequestOutcome::Skipped),
            stopped_early: tally.stopped_early,
            excluded: tally.excluded.clone(),
            outcomes: tally.outcomes.clone(),
            timeouts: tally.timeouts.clone(),
            retried: tally.retried,
            own_connections: tally.own_connections,
            causes: tally.causes.clone(),
            error_samples: error_samples(tally),
            first_due: span.map(|it| it.0),
            last_end: span.map(|it| it.1),
            duration,
            exact: timings.exact,
            ttft: streamed(timings.ttft),
            latency: timings.latency,
            ttft_scheduled: streamed(timings.ttft_scheduled),
            ttft_sent: streamed(timings.ttft_sent),
            latency_scheduled: timings.latency_scheduled,
            latency_sent: timings.latency_sent,
            itl: streamed(itl(tally)),
            event_gap: streamed(Distribution::of_times(&sum(&tally.itl, &tally.gaps_of_several))),
            content_events: tally.events,
            tokens_per_event: share(tally.event_tokens, tally.events),
            tpot: streamed(timings.tpot),
            ntpot: timings.ntpot,
            ntpot_of_llmd: streamed(timings.ntpot_of_llmd),
            send_lag: timings.send_lag,
            permit_wait: timings.permit_wait,
            steps: StepTimes::new(&tally.breakdown),
            isl,
            osl: timings.osl,
            input_tokens,
            output_tokens: tally.output_tokens_total,
            token_count: token_count(succeeded, tally.with_usage),
            throughput: plateau.map(|it| headline(it, input_tokens.is_some())).or(whole),
            rate_window: plateau.and_then(|it| it.window),
            whole_throughput: whole,
            goodput: goodput(tally, &workload.goodput, duration, plateau),
            without_usage: succeeded.saturating_sub(tally.with_usage),
            usage_set_aside: tally.set_aside,
            set_aside_sample: tally.set_aside_sample.as_deref().copied(),
            in_one_piece: tally.in_one_piece,
            input_length_misses: tally.input_length_misses,
            output_length_misses: tally.output_length_misses,
            input_length_ratio: share(tally.input_of_requested.found, tally.input_of_requested.requested),
            output_length_ratio: share(tally.output_of_requested.found, tally.output_of_requested.requested),
            cached: cached(tally),
            reads: tally.reads,
            coalesced_reads: tally.coalesced_reads,
            late_reads: tally.late_reads,
        }
    }

    /// Whether events held more than one token on average, with a tolerance of 1 %; `None` if unknown.
    pub fn has_several_tokens_an_event(&self) -> Option<bool> {
        self.tokens_per_event.map(|it| it > SEVERAL_TOKENS)
    }

    /// Failed / (succeeded + failed); `None` if there are no such requests.
    pub fn failed_share(&self) -> Option<f64> {
        share(self.failed, self.decided())
    }

    /// Number of requests that succeeded or failed.
    pub fn decided(&self) -> u64 {
        self.succeeded + self.failed
    }

    /// Whether stopping the run cut requests off, or kept requests from becoming due.
    pub fn is_cut_off(&self) -> bool {
        let excluded = self.excluded.values().any(|it| it.contains_key(&RequestOutcome::Cancelled));
        self.cancelled > 0 || self.stopped_early || excluded
    }

    /// Reads with more than one content event, as a share of reads with content; `None` if there are no reads with content.
    pub fn coalesced_share(&self) -> Option<f64> {
        share(self.coalesced_reads, self.reads)
    }

    /// Possibly late reads with more than one content event, as a share of reads with content; `None` if there are no reads with content.
    pub fn late_share(&self) -> Option<f64> {
        share(self.late_reads, self.reads)
    }

    /// Requests that failed because the server closed their reused connection without a response, and that were not sent again. A few such closes are
    /// normal with keep-alive, and those requests are sent again; this server closed more connections.
    pub fn not_resent(&self) -> u64 {
        self.causes.get(&Cause::KeptClosed).map_or(0, |it| it.count)
    }

    /// The most common cause of this outcome; `None` if the outcome has no causes.
    pub fn commonest_cause(&self, outcome: RequestOutcome) -> Option<Cause> {
        let causes = self.causes.iter().filter(|(it, _)| it.outcome() == outcome);
        causes.max_by_key(|(_, it)| it.count).map(|(cause, _)| *cause)
    }

    /// The most common kind of failure, and its count.
    pub fn commonest_failure(&self) -> Option<(RequestOutcome, u64)> {
        let failures = self.outcomes.iter().filter(|(it, _)| !it.is_success() && it.is_decided());
        failures.max_by_key(|(_, count)| **count).map(|(outcome, count)| (*outcome, *count))
    }
}

/// The ITL of successful requests in a streamed stage; `None` if there are no values.
pub(crate) fn itl(tally: &StageTally) -> Option<Distribution<Duration>> {
    Distribution::of_times(&sum(&tally.itl, &tally.itl_of_several))
}

fn sum(one: &TimeHistogram, other: &TimeHistogram) -> TimeHistogram {
    let mut sum = one.clone();
    sum.add(other);
    sum
}

fn error_samples(tally: &StageTally) -> BTreeMap<RequestOutcome, String> {
    let mut samples: BTreeMap<_, _> =
        tally.error_samples.iter().map(|(outcome, it)| (*outcome, it.to_string())).collect();
    let mut causes: Vec<_> = tally.causes.iter().collect();
    causes.sort_by_key(|(_, it)| it.count);
    // Sorted by count, so the most common cause comes last, and its message overwrites the others.
    samples.extend(causes.into_iter().map(|(cause, it)| (cause.outcome(), it.sample().to_owned())));
    samples
}

fn token_count(succeeded: u64, with_usage: u64) -> Option<TokenCount> {
    match (succeeded, with_usage) {
        (0, _) => None,
        (_, 0) => Some(TokenCount::Client),
        _ if with_usage >= succeeded => Some(TokenCount::Server),
        _ => Some(TokenCount::Mixed),
    }
}

fn cached(tally: &StageTally) -> Option<CachedPrompts> {
    let (requests, tokens) = (tally.with_cached, tally.cached_tokens_total);
    let share = share(tokens, tally.input_tokens_total)?;
    (requests > 0).then_some(CachedPrompts { requests, tokens, share })
}

fn throughput(tally: &StageTally, input_tokens: Option<u64>, duration: Duration) -> Option<Throughput> {
    let rate = |count: u64| per_second(count, duration);
    Some(Throughput {
        requests: rate(tally.succeeded())?,
        input_tokens: input_tokens.and_then(rate),
        output_tokens: rate(tally.output_tokens_total)?,
        total_tokens: input_tokens.and_then(|input| rate(input + tally.output_tokens_total)),
    })
}

/// Rates between fill and drain.
fn headline(plateau: &Plateau, has_input: bool) -> Throughput {
    let work = &plateau.work;
    Throughput {
        requests: plateau.rate(work.requests),
        input_tokens: has_input.then(|| plateau.rate(work.input_tokens)),
        output_tokens: plateau.rate(work.output_tokens),
        total_tokens: has_input.then(|| plateau.rate(work.input_tokens + work.output_tokens)),
    }
}

fn goodput(
    tally: &StageTally,
    bounds: &Goodput,
    duration: Duration,
    plateau: Option<&Plateau>,
) -> Option<GoodputFigures> {
    let undecided = [RequestOutcome::Abandoned, RequestOutcome::Incomplete].map(|it| tally.outcomes.get(&it));
    let undecided: u64 = undecided.into_iter().flatten().sum();
    let whole_per_second = per_second(tally.good, duration);
    (!bounds.is_empty()).then(|| GoodputFigures {
        requests: tally.good,
        per_second: plateau.map(|it| it.rate(it.work.good)).or(whole_per_second),
        whole_per_second,
        share: share(tally.good, tally.requests().saturating_sub(undecided)),
    })
}

fn per_second(count: u64, duration: Duration) -> Option<f64> {
    (!duration.is_zero()).then(|| count as f64 / duration.as_secs_f64())
}

fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}
