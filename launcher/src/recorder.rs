//! Gathers what happened to each request: counts and histograms for each stage, and a compact record for each request
//! where the run asks for them.
//!
//! Each issuing thread has a recorder of its own; they are merged at the end, losslessly. Without records, memory does not
//! grow with the number of requests.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use workload_profiles::workload::Goodput;

use crate::{
    gaps::Gaps,
    histogram::{Lengths, Times},
    record::{Limit, RequestOutcome, RequestRecord},
    window::{Part, StageWindow},
};

/// What a stage came to. Latencies are of requests that succeeded; times from `scheduled` are free of coordinated
/// omission, times from `sent` are what a client that never lags would see.
#[derive(Clone, Debug, Default)]
pub struct StageTally {
    /// Requests by what became of them.
    pub outcomes: BTreeMap<RequestOutcome, u64>,
    /// Time to the first token, from scheduled.
    pub ttft_scheduled: Times,
    /// Time to the first token, from sent.
    pub ttft_sent: Times,
    /// Time to the last token, from scheduled.
    pub latency_scheduled: Times,
    /// Time to the last token, from sent.
    pub latency_sent: Times,
    /// Gaps between content events, pooled over requests.
    pub itl: Times,
    /// (last token - first token) / (OSL - 1), one per request of at least two tokens.
    pub tpot: Times,
    /// Latency from sent / OSL, one per request.
    pub ntpot: Times,
    /// Sent minus scheduled, of every request that was sent, whatever became of it.
    pub send_lag: Times,
    /// How long requests that were sent waited for room, where the load bounds how many are under way.
    pub queue: Times,
    /// Prompt lengths, where the server told them.
    pub input_tokens: Lengths,
    /// Output lengths, by the server's usage, else by content events.
    pub output_tokens: Lengths,
    /// Sum of the prompt lengths of requests that succeeded.
    pub input_tokens_total: u64,
    /// Sum of the output lengths of requests that succeeded; where the window cuts through requests, the tokens that came
    /// within it.
    pub output_tokens_total: u64,
    /// Sum of the output lengths of requests that succeeded, whenever their tokens came.
    pub output_tokens_of_ended: u64,
    /// Requests that succeeded whose output length is the server's own count.
    pub with_usage: u64,
    /// Requests whose prompt length is not what was asked: by more than a tenth for words, by more than one token that was
    /// added for token ids.
    pub input_length_misses: u64,
    /// Requests whose output length differs from what was asked.
    pub output_length_misses: u64,
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
    /// Where the window cuts through requests: from when to when it was.
    pub cut: Option<(Duration, Duration)>,
    /// It was stopped where nobody knows how many requests it would have sent.
    pub cut_short: bool,
    /// Requests that are in no figure, by why that is and by what became of them.
    pub aside: BTreeMap<Part, BTreeMap<RequestOutcome, u64>>,
    /// Messages of failures by outcome, the first of each kind: a status and error type, never a body.
    pub error_samples: BTreeMap<RequestOutcome, String>,
}

/// What one request did on the wire beside its record.
#[derive(Clone, Debug, Default)]
pub struct WireTally {
    /// Gaps between content events, of this request, in the order of arrival.
    pub gaps: Gaps,
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
    /// It was sent again, because the server had closed the connection that it was first sent on.
    pub retried: bool,
    /// The prompt was as many token ids as were asked.
    pub has_exact_prompt: bool,
}

impl StageTally {
    /// Counts one request. `gaps` of a request that failed are left out, like its other latencies.
    pub fn record(&mut self, request: &RequestRecord, wire: &WireTally, goodput: &Goodput) {
        self.count(request.outcome, wire);
        self.record_send(request);
        self.last_end = self.last_end.max(Some(request.ended));
        if request.outcome.is_success() {
            self.record_success(request, wire, goodput);
            self.output_tokens_total += u64::from(request.osl());
            wire.gaps.iter().for_each(|gap| self.itl.record(gap));
        }
    }

    /// Counts what happened of one request from `open` to `close`: its send, if it was due by then; its success or failure,
    /// if it had ended by then, with all its latencies; its tokens and the gaps before them, one by one.
    pub fn record_within(
        &mut self,
        (open, close): (Duration, Duration),
        request: &RequestRecord,
        wire: &WireTally,
        goodput: &Goodput,
    ) {
        let over = request.ended <= close;
        self.count(if over { request.outcome } else { RequestOutcome::Incomplete }, wire);
        if request.scheduled >= open {
            self.record_send(request);
        }
        if over && request.outcome.is_success() {
            self.record_success(request, wire, goodput);
        }
        if over && !request.outcome.is_success() && request.outcome.is_decided() {
            return;
        }
        let within = |at: Duration| at > open && at <= close;
        // An answer in one piece comes with its end.
        let Some(mut at) = request.first_token.or(request.last_token) else { return };
        let (mut events, mut inside) = (1, u64::from(within(at)));
        for gap in wire.gaps.iter() {
            at += gap;
            events += 1;
            if within(at) {
                inside += 1;
                self.itl.record(gap);
            }
        }
        // Tokens are shared out over the events evenly, to the nearest whole one.
        self.output_tokens_total += (u64::from(request.osl()) * inside + events / 2) / events;
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
            request.queued.into_iter().for_each(|it| self.queue.record(it));
        }
    }

    fn record_success(&mut self, request: &RequestRecord, wire: &WireTally, goodput: &Goodput) {
        let osl = request.osl();
        if let Some(first) = request.first_token {
            self.ttft_scheduled.record(first.saturating_sub(request.scheduled));
            self.ttft_sent.record(first.saturating_sub(request.sent.unwrap_or(request.scheduled)));
        }
        if let Some(last) = request.last_token {
            self.latency_scheduled.record(last.saturating_sub(request.scheduled));
            let latency = last.saturating_sub(request.sent.unwrap_or(request.scheduled));
            self.latency_sent.record(latency);
            if osl > 0 {
                self.ntpot.record(latency / osl);
            }
        }
        if let Some(tpot) = request.tpot() {
            self.tpot.record(tpot);
        }
        self.with_usage += u64::from(request.output_tokens.is_some());
        self.output_tokens.record(osl);
        self.output_tokens_of_ended += u64::from(osl);
        if let Some(found) = request.input_tokens {
            self.input_tokens.record(found);
            self.input_tokens_total += u64::from(found);
            let missed = |asked: u32| match wire.has_exact_prompt {
                // A server may put the token before them that begins a text.
                true => !(0..=1).contains(&(i64::from(found) - i64::from(asked))),
                false => found.abs_diff(asked) > asked / 10,
            };
            self.input_length_misses += u64::from(request.asked_input_tokens.is_some_and(missed));
        }
        self.output_length_misses += u64::from(request.asked_output_tokens.is_some_and(|asked| asked != osl));
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
        for (mine, theirs) in [
            (&mut self.ttft_scheduled, &other.ttft_scheduled),
            (&mut self.ttft_sent, &other.ttft_sent),
            (&mut self.latency_scheduled, &other.latency_scheduled),
            (&mut self.latency_sent, &other.latency_sent),
            (&mut self.itl, &other.itl),
            (&mut self.tpot, &other.tpot),
            (&mut self.ntpot, &other.ntpot),
            (&mut self.send_lag, &other.send_lag),
            (&mut self.queue, &other.queue),
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
            (&mut self.input_length_misses, other.input_length_misses),
            (&mut self.output_length_misses, other.output_length_misses),
            (&mut self.good, other.good),
            (&mut self.reads, other.reads),
            (&mut self.coalesced_reads, other.coalesced_reads),
            (&mut self.retried, other.retried),
            (&mut self.late_reads, other.late_reads),
        ] {
            *mine += theirs;
        }
        self.first_scheduled = earliest(self.first_scheduled, other.first_scheduled);
        self.last_scheduled = self.last_scheduled.max(other.last_scheduled);
        self.first_sent = earliest(self.first_sent, other.first_sent);
        self.last_sent = self.last_sent.max(other.last_sent);
        self.last_end = self.last_end.max(other.last_end);
        self.cut = match (self.cut, other.cut) {
            (Some(mine), Some(theirs)) => Some((mine.0.min(theirs.0), mine.1.max(theirs.1))),
            (mine, theirs) => mine.or(theirs),
        };
        self.cut_short |= other.cut_short;
        for (part, outcomes) in &other.aside {
            for (outcome, count) in outcomes {
                self.put_aside(*part, *outcome, *count);
            }
        }
        for (outcome, sample) in &other.error_samples {
            self.error_samples.entry(*outcome).or_insert_with(|| sample.clone());
        }
    }

    /// Values that its histograms could not keep.
    fn lost(&self) -> u64 {
        let times = [
            &self.ttft_scheduled,
            &self.ttft_sent,
            &self.latency_scheduled,
            &self.latency_sent,
            &self.itl,
            &self.tpot,
            &self.ntpot,
            &self.send_lag,
            &self.queue,
        ];
        let lengths = [&self.input_tokens, &self.output_tokens];
        times.into_iter().map(Times::lost).sum::<u64>() + lengths.into_iter().map(Lengths::lost).sum::<u64>()
    }

    fn put_aside(&mut self, part: Part, outcome: RequestOutcome, count: u64) {
        *self.aside.entry(part).or_default().entry(outcome).or_default() += count;
    }

    /// From when to when its figures are: the window that cuts through requests, else from the first request that was due
    /// to the last end. `None` where there was no request.
    pub fn span(&self) -> Option<(Duration, Duration)> {
        self.cut.or_else(|| Some((self.first_scheduled?, self.last_end?)))
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
    let sent = request.sent.unwrap_or(request.scheduled);
    let latency = request.last_token.map(|last| last.saturating_sub(sent));
    let ntpot = latency.filter(|_| request.osl() > 0).map(|it| it / request.osl());
    [
        (goodput.ttft, request.first_token.map(|first| first.saturating_sub(request.scheduled))),
        (goodput.tpot, request.tpot()),
        (goodput.itl, wire.gaps.mean()),
        (goodput.ntpot, ntpot),
        (goodput.request_latency, request.last_token.map(|last| last.saturating_sub(request.scheduled))),
    ]
    .into_iter()
    .all(|(bound, found)| bound.is_none_or(|bound| found.is_some_and(|found| found <= bound.0)))
}

/// What is kept of each request beside counts and histograms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Keep {
    /// Nothing: memory does not grow with the number of requests.
    #[default]
    Summary,
    /// A record of each request.
    Records,
    /// A record of each request, and its gaps between content events.
    RecordsAndGaps,
}

/// The recorder of one thread.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// One tally per stage of the workload.
    pub stages: Vec<StageTally>,
    /// One record per request that was started, in the order of their ends; `None` where the run does not ask for records.
    pub records: Option<Vec<RequestRecord>>,
    /// Requests of a stage that there is not.
    strays: u64,
    /// The gaps between content events of each record, in the same order; `None` where nobody asks for them.
    pub gaps: Option<Vec<Gaps>>,
    /// What the probes beside each stage came to; empty where the workload has none.
    pub probes: Vec<StageTally>,
    windows: Vec<Opened>,
    goodput: Goodput,
}

/// The window of a stage, and when the stage began.
#[derive(Clone, Copy, Debug, Default)]
struct Opened {
    window: StageWindow,
    start: Duration,
}

impl Recorder {
    /// A recorder for a workload of so many stages.
    pub fn new(stages: usize, goodput: Goodput, keep: Keep) -> Self {
        // Not clones of one: histograms that are made anew take no memory before they count something.
        let tallies = (0..stages).map(|_| StageTally::default()).collect();
        Recorder {
            stages: tallies,
            records: (keep != Keep::Summary).then(Vec::new),
            gaps: (keep == Keep::RecordsAndGaps).then(Vec::new),
            strays: 0,
            probes: Vec::new(),
            windows: vec![Opened::default(); stages],
            goodput,
        }
    }

    /// The same with windows, one for each stage; without them every request is in the figures.
    pub fn with_windows(mut self, windows: impl IntoIterator<Item = StageWindow>) -> Self {
        for (mine, window) in self.windows.iter_mut().zip(windows) {
            mine.window = window;
        }
        self
    }

    /// The same with tallies for probes.
    pub fn with_probes(mut self) -> Self {
        self.probes = self.stages.iter().map(|_| StageTally::default()).collect();
        self
    }

    /// A stage begins.
    pub fn open(&mut self, stage: usize, start: Duration) {
        let (Some(opened), Some(tally)) = (self.windows.get_mut(stage), self.stages.get_mut(stage)) else { return };
        opened.start = start;
        tally.cut = opened.window.cut(start).filter(|_| !opened.window.is_empty());
    }

    /// A stage was stopped: its window ends here, if not before. `unknown` says that nobody knows how many requests it would
    /// have sent.
    pub fn cut_short(&mut self, stage: usize, now: Duration, unknown: bool) {
        let Some(tally) = self.stages.get_mut(stage) else { return };
        tally.cut_short |= unknown;
        // A window that had not begun measures nothing.
        tally.cut = tally.cut.filter(|(open, _)| *open < now).map(|(open, close)| (open, close.min(now)));
    }

    /// Counts one request, where it belongs.
    pub fn record(&mut self, request: RequestRecord, wire: &WireTally) {
        let stage = request.stage as usize;
        match (self.stages.get_mut(stage), self.windows.get(stage)) {
            (Some(tally), Some(Opened { window, start })) => match (window.part(*start, &request), tally.cut) {
                (Part::Counted, None) => tally.record(&request, wire, &self.goodput),
                (Part::Counted, Some(cut)) => tally.record_within(cut, &request, wire, &self.goodput),
                (part, _) => tally.put_aside(part, request.outcome, 1),
            },
            _ => self.strays += 1,
        }
        if let Some(records) = &mut self.records {
            records.push(request);
        }
        if let Some(gaps) = &mut self.gaps {
            gaps.push(wire.gaps.clone());
        }
    }

    /// Counts one probe beside the stage that it names.
    pub fn record_probe(&mut self, request: &RequestRecord, wire: &WireTally) {
        if let Some(tally) = self.probes.get_mut(request.stage as usize) {
            tally.record(request, wire, &Goodput::default());
        }
    }

    /// Counts requests of a stage that were never sent, each by its number and by when it was due after the start of the
    /// stage, where that is known: they are cancelled or incomplete, have no times and leave no record. Those of the warm-up
    /// and the cool-down are counted aside.
    pub fn count_unissued(
        &mut self,
        stage: usize,
        unsent: impl IntoIterator<Item = (u64, Option<Duration>)>,
        outcome: RequestOutcome,
    ) {
        let (Some(tally), Some(Opened { window, .. })) = (self.stages.get_mut(stage), self.windows.get(stage)) else {
            return;
        };
        for (number, due) in unsent {
            match window.part_of_unsent(number, due) {
                Part::Counted => *tally.outcomes.entry(outcome).or_default() += 1,
                part => tally.put_aside(part, outcome, 1),
            }
        }
    }

    /// What it could not keep: values that are not in the figures as they were measured. Always 0 but for times above an
    /// hour, lengths above 100 million tokens, four billion equal values, and a fault of the launcher.
    pub fn dropped(&self) -> u64 {
        self.strays + self.stages.iter().map(StageTally::lost).sum::<u64>()
    }

    /// Adds what another thread recorded of the same workload.
    pub fn add(&mut self, other: Recorder) {
        for (mine, theirs) in self.stages.iter_mut().zip(&other.stages) {
            mine.add(theirs);
        }
        self.strays += other.strays;
        for (mine, theirs) in self.probes.iter_mut().zip(&other.probes) {
            mine.add(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.records, other.records) {
            mine.extend(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.gaps, other.gaps) {
            mine.extend(theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use crds::units::Span;

    use super::*;

    const fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// Due at 100 ms, sent at 101, tokens at 151, 171, 191 and 231 ms, over at 232 ms; 4 tokens by the server's count.
    fn request() -> RequestRecord {
        RequestRecord {
            stage: 0,
            number: 0,
            scheduled: millis(100),
            sent: Some(millis(101)),
            queued: None,
            first_token: Some(millis(151)),
            last_token: Some(millis(231)),
            ended: millis(232),
            outcome: RequestOutcome::Ok,
            asked_input_tokens: Some(100),
            asked_output_tokens: Some(4),
            input_tokens: Some(105),
            output_tokens: Some(4),
            content_events: 4,
        }
    }

    fn wire() -> WireTally {
        WireTally { gaps: [20, 20, 40].map(millis).into_iter().collect(), reads: 4, ..WireTally::default() }
    }

    fn tally(requests: &[(RequestRecord, WireTally)], goodput: &Goodput) -> StageTally {
        let mut recorder = Recorder::new(1, goodput.clone(), Keep::Summary);
        for (request, wire) in requests {
            recorder.record(request.clone(), wire);
        }
        recorder.stages.remove(0)
    }

    /// What a histogram of three digits holds, in milliseconds and in order.
    fn check(times: &Times, expected: &[f64]) {
        let found: Vec<f64> = times
            .histogram()
            .iter_recorded()
            .flat_map(|it| vec![it.value_iterated_to() as f64 / 1e6; it.count_since_last_iteration() as usize])
            .collect();
        let near = found.iter().zip(expected).all(|(found, expected)| (found / expected - 1.0).abs() < 0.001);
        assert!(near && found.len() == expected.len(), "{found:?} is not {expected:?}");
    }

    #[test]
    fn the_figures_of_one_request_are_those_of_its_times() {
        let tally = tally(&[(request(), wire())], &Goodput::default());
        check(&tally.send_lag, &[1.0]);
        check(&tally.ttft_scheduled, &[51.0]);
        check(&tally.ttft_sent, &[50.0]);
        check(&tally.latency_scheduled, &[131.0]);
        check(&tally.latency_sent, &[130.0]);
        check(&tally.itl, &[20.0, 20.0, 40.0]);
        // (231 - 151) / (4 - 1), and 130 / 4.
        check(&tally.tpot, &[80.0 / 3.0]);
        check(&tally.ntpot, &[32.5]);
        assert_eq!((tally.input_tokens_total, tally.output_tokens_total, tally.with_usage), (105, 4, 1));
        assert_eq!((tally.requests(), tally.succeeded(), tally.reads), (1, 1, 4));
        assert_eq!(tally.first_scheduled, Some(millis(100)));
        assert_eq!((tally.last_scheduled, tally.last_end), (Some(millis(100)), Some(millis(232))));
        assert_eq!((tally.first_sent, tally.last_sent), (Some(millis(101)), Some(millis(101))));
    }

    #[test]
    fn a_request_that_failed_counts_and_has_no_latencies() {
        let mut failed = request();
        failed.outcome = RequestOutcome::HttpError(503);
        let error = |text: &str| WireTally { error: Some(text.into()), ..wire() };
        let tally =
            tally(&[(failed.clone(), error("503: first")), (failed, error("503: second"))], &Goodput::default());
        assert_eq!((tally.requests(), tally.succeeded(), tally.outcomes[&RequestOutcome::HttpError(503)]), (2, 0, 2));
        for times in [&tally.ttft_sent, &tally.latency_scheduled, &tally.itl, &tally.tpot, &tally.ntpot] {
            check(times, &[]);
        }
        check(&tally.send_lag, &[1.0, 1.0]);
        assert_eq!((tally.output_tokens_total, tally.last_end), (0, Some(millis(232))));
        assert_eq!(tally.error_samples[&RequestOutcome::HttpError(503)], "503: first");
    }

    #[test]
    fn one_token_has_no_time_between_tokens() {
        let one =
            RequestRecord { output_tokens: Some(1), content_events: 1, last_token: Some(millis(151)), ..request() };
        let tally = tally(&[(one, WireTally { gaps: Gaps::default(), ..wire() })], &Goodput::default());
        check(&tally.tpot, &[]);
        check(&tally.itl, &[]);
        check(&tally.ntpot, &[50.0]);
        assert_eq!(tally.output_length_misses, 1);
    }

    #[test]
    fn without_usage_events_are_the_tokens() {
        let silent = RequestRecord { output_tokens: None, input_tokens: None, content_events: 5, ..request() };
        let tally = tally(&[(silent, wire())], &Goodput::default());
        check(&tally.tpot, &[20.0]);
        assert_eq!((tally.with_usage, tally.output_tokens_total, tally.output_length_misses), (0, 5, 1));
        assert_eq!((tally.input_tokens_total, tally.input_length_misses), (0, 0));
    }

    #[test]
    fn a_prompt_misses_its_length_by_more_than_a_tenth() {
        for (found, misses) in [(89, 1), (90, 0), (110, 0), (111, 1)] {
            let request = RequestRecord { input_tokens: Some(found), ..request() };
            assert_eq!(tally(&[(request, wire())], &Goodput::default()).input_length_misses, misses, "{found}");
        }
    }

    #[test]
    fn a_prompt_of_token_ids_has_its_length_or_one_more() {
        let wire = || WireTally { has_exact_prompt: true, ..wire() };
        for (found, misses) in [(0, 1), (99, 1), (100, 0), (101, 0), (102, 1), (u32::MAX, 1)] {
            let request = RequestRecord { input_tokens: Some(found), ..request() };
            assert_eq!(tally(&[(request, wire())], &Goodput::default()).input_length_misses, misses, "{found}");
        }
    }

    #[test]
    fn a_request_is_good_when_it_meets_every_bound() {
        let bound = |count| Some(Span(millis(count)));
        let good = |goodput: Goodput| tally(&[(request(), wire())], &goodput).good == 1;
        assert!(good(Goodput::default()));
        assert!(good(Goodput { ttft: bound(51), ..Goodput::default() }));
        assert!(!good(Goodput { ttft: bound(50), ..Goodput::default() }));
        assert!(good(Goodput { tpot: bound(27), ..Goodput::default() }));
        assert!(!good(Goodput { tpot: bound(26), ..Goodput::default() }));
        // The mean gap is 80 / 3 ms.
        assert!(good(Goodput { itl: bound(27), ..Goodput::default() }));
        assert!(!good(Goodput { itl: bound(26), ..Goodput::default() }));
        assert!(good(Goodput { ntpot: bound(33), ..Goodput::default() }));
        assert!(!good(Goodput { ntpot: bound(32), ..Goodput::default() }));
        assert!(good(Goodput { request_latency: bound(131), ..Goodput::default() }));
        assert!(!good(Goodput { request_latency: bound(130), ttft: bound(51), ..Goodput::default() }));
        // A figure that a request does not have breaks its bound.
        let one = RequestRecord { output_tokens: Some(1), ..request() };
        let goodput = Goodput { tpot: bound(1_000), ..Goodput::default() };
        assert_eq!(tally(&[(one, wire())], &goodput).good, 0);
    }

    #[test]
    fn requests_that_were_never_sent_are_cancelled_and_leave_no_record() {
        let mut recorder = Recorder::new(2, Goodput::default(), Keep::Records);
        recorder.record(request(), &wire());
        recorder.count_unissued(0, [], RequestOutcome::Cancelled);
        recorder.count_unissued(1, (0..7).map(|it| (it, None)), RequestOutcome::Cancelled);
        assert_eq!((recorder.stages[0].requests(), recorder.stages[1].requests()), (1, 7));
        assert_eq!(recorder.stages[0].outcomes.len(), 1);
        assert_eq!(recorder.stages[1].outcomes[&RequestOutcome::Cancelled], 7);
        assert_eq!((recorder.stages[1].first_scheduled, recorder.records.unwrap().len()), (None, 1));
    }

    /// The tally of one stage of a window from `open` to `close`, in milliseconds from the start of the run.
    fn cut(open: u64, close: u64, requests: &[(RequestRecord, WireTally)]) -> StageTally {
        let mut tally = StageTally { cut: Some((millis(open), millis(close))), ..StageTally::default() };
        for (request, wire) in requests {
            tally.record_within((millis(open), millis(close)), request, wire, &Goodput::default());
        }
        tally
    }

    #[test]
    fn a_cut_counts_the_tokens_and_gaps_within_it() {
        // Tokens at 151, 171, 191 and 231 ms. The request begins before the window and ends in it.
        let late = cut(160, 300, &[(request(), wire())]);
        assert_eq!((late.succeeded(), late.output_tokens_total, late.output_tokens_of_ended), (1, 3, 4));
        check(&late.itl, &[20.0, 20.0, 40.0]);
        // Its latencies are whole, its send was before.
        check(&late.latency_sent, &[130.0]);
        check(&late.send_lag, &[]);
        assert_eq!(late.span(), Some((millis(160), millis(300))));
        // It begins in the window and has not ended when that closes: two tokens, one gap, no latency.
        let early = cut(100, 180, &[(request(), wire())]);
        assert_eq!((early.succeeded(), early.outcomes[&RequestOutcome::Incomplete]), (0, 1));
        assert_eq!((early.output_tokens_total, early.output_tokens_of_ended), (2, 0));
        check(&early.itl, &[20.0]);
        check(&early.ttft_sent, &[]);
        check(&early.send_lag, &[1.0]);
        // What failed within it has no tokens; what fails after it is incomplete, and its tokens had come.
        let failed = RequestRecord { outcome: RequestOutcome::BrokenStream, ..request() };
        let all = cut(100, 300, &[(failed.clone(), wire())]);
        assert_eq!((all.outcomes[&RequestOutcome::BrokenStream], all.output_tokens_total), (1, 0));
        let open = cut(100, 200, &[(failed, wire())]);
        assert_eq!((open.outcomes[&RequestOutcome::Incomplete], open.output_tokens_total), (1, 3));
    }

    #[test]
    fn tokens_are_shared_out_over_events_and_an_answer_in_one_piece_is_not() {
        // 10 tokens in 4 events, two of which are within: 5.
        let many = RequestRecord { output_tokens: Some(10), ..request() };
        assert_eq!(cut(100, 180, &[(many, wire())]).output_tokens_total, 5);
        let whole = RequestRecord { first_token: None, content_events: 0, ..request() };
        let wire = WireTally { gaps: Gaps::default(), ..wire() };
        assert_eq!(cut(100, 180, &[(whole.clone(), wire.clone())]).output_tokens_total, 0);
        assert_eq!(cut(200, 300, &[(whole, wire)]).output_tokens_total, 4);
    }

    #[test]
    fn what_waited_for_room_was_not_late() {
        let waited = RequestRecord { queued: Some(millis(900)), sent: Some(millis(1_003)), ..request() };
        let tally = tally(&[(waited, wire())], &Goodput::default());
        check(&tally.send_lag, &[3.0]);
        check(&tally.queue, &[900.0]);
    }

    #[test]
    fn what_is_outside_the_window_is_counted_aside() {
        use workload_profiles::workload::{Load, Margin, Stage, Window};
        let load = Load::Closed { concurrency: 1, count: Some(9), duration: None, ramp_up: Span::default() };
        let stage = Stage { warm_up: Some(Margin::Count(1)), ..Stage::new("c1", load) };
        let window = StageWindow::of(&stage, Window::All, None);
        let mut recorder = Recorder::new(1, Goodput::default(), Keep::Records).with_windows([window]).with_probes();
        recorder.open(0, millis(90));
        recorder.record(request(), &wire());
        recorder.record(RequestRecord { number: 1, ..request() }, &wire());
        recorder.record_probe(&request(), &wire());
        let tally = &recorder.stages[0];
        assert_eq!((tally.requests(), tally.aside[&Part::WarmUp][&RequestOutcome::Ok]), (1, 1));
        assert_eq!((recorder.probes[0].succeeded(), recorder.records.unwrap().len()), (1, 2));
    }

    #[test]
    fn what_could_not_be_kept_is_counted() {
        let hour = Duration::from_secs(3_600);
        let slow = RequestRecord { sent: Some(millis(101) + hour), ..request() };
        let of_no_stage = RequestRecord { stage: 1, ..request() };
        let dropped = |requests: &[&RequestRecord]| {
            let mut recorder = Recorder::new(1, Goodput::default(), Keep::Summary);
            requests.iter().for_each(|it| recorder.record((*it).clone(), &wire()));
            let mut sum = Recorder::new(1, Goodput::default(), Keep::Summary);
            sum.add(recorder);
            sum.dropped()
        };
        assert_eq!([dropped(&[&request()]), dropped(&[&slow]), dropped(&[&slow, &of_no_stage])], [0, 1, 2]);
    }

    #[test]
    fn recorders_of_two_threads_add_up_to_one() {
        let later = RequestRecord {
            scheduled: millis(50),
            sent: Some(millis(60)),
            ended: millis(900),
            outcome: RequestOutcome::Ok,
            ..request()
        };
        let failed = RequestRecord { outcome: RequestOutcome::Timeout, ..request() };
        let error = WireTally {
            error: Some("late".into()),
            timeout: Some(Limit::TokenGap),
            retried: true,
            coalesced_reads: 2,
            late_reads: 1,
            ..wire()
        };
        let all = [(request(), wire()), (later, wire()), (failed, error)];
        let whole = tally(&all, &Goodput::default());
        let mut first = Recorder::new(1, Goodput::default(), Keep::Records);
        first.record(all[0].0.clone(), &all[0].1);
        let mut second = Recorder::new(1, Goodput::default(), Keep::Records);
        second.record(all[1].0.clone(), &all[1].1);
        second.record(all[2].0.clone(), &all[2].1);
        first.add(second);
        let sum = &first.stages[0];
        assert_eq!(sum.outcomes, whole.outcomes);
        assert_eq!((sum.retried, &sum.timeouts), (1, &BTreeMap::from([(Limit::TokenGap, 1)])));
        assert_eq!((sum.retried, &sum.timeouts), (whole.retried, &whole.timeouts));
        assert_eq!(sum.latency_sent.histogram(), whole.latency_sent.histogram());
        assert_eq!(sum.itl.histogram(), whole.itl.histogram());
        assert_eq!((sum.output_tokens_total, sum.coalesced_reads, sum.with_usage, sum.good), (8, 2, 2, 2));
        assert_eq!((sum.first_scheduled, sum.last_scheduled), (Some(millis(50)), Some(millis(100))));
        assert_eq!(sum.late_reads, 1);
        assert_eq!((sum.first_sent, sum.last_sent), (Some(millis(60)), Some(millis(101))));
        assert_eq!((sum.last_end, &sum.error_samples), (Some(millis(900)), &whole.error_samples));
        assert_eq!(first.records.unwrap().len(), 3);
    }
}
