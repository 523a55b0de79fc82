//! Headline rates: successful work per second between the fill phase and the drain phase of a stage.
//!
//! A stage fills until requests end as often as they are sent. It drains after its last request was sent. A rate from the first request to the last
//! answer includes both phases and is therefore too low: by a third if an answer takes half as long as the stage. See `docs/metrics.md`, "Rates".

use std::time::Duration;

use measurement::{
    latency_origin::LatencyOrigin,
    record::{RequestOutcome, RequestRecord},
    recorder::{InFigures, Recorder, Records, StageTally, TimeSeries},
};
use workload_profiles::{
    Workload,
    workload::{Load, Stage},
};

/// Minimum length of a window, as a share of the time in which requests were sent.
const SHORTEST: f64 = 0.1;
/// Minimum number of requests in a window. With fewer, the requests at the edges of the window change the rate by more than a tenth.
const FEWEST_REQUESTS: f64 = 10.0;

/// The time in which a stage neither fills nor drains, from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateWindow {
    pub from: Duration,
    pub to: Duration,
}

impl RateWindow {
    pub fn length(self) -> Duration {
        self.to.saturating_sub(self.from)
    }

    /// Returns the share of an amount that falls within the window, if the amount arrives evenly from `from` to `to`.
    fn part(self, from: Duration, to: Duration) -> f64 {
        if to <= from {
            return if to > self.from && to <= self.to { 1.0 } else { 0.0 };
        }
        let within = to.min(self.to).saturating_sub(from.max(self.from));
        within.as_secs_f64() / (to - from).as_secs_f64()
    }
}

/// Work of successful requests. A request that is partly outside the window counts partly, as if its work arrived evenly.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Work {
    pub(super) requests: f64,
    /// Requests that met every bound of goodput.
    pub(super) good: f64,
    pub(super) input_tokens: f64,
    pub(super) output_tokens: f64,
}

impl Work {
    fn add(&mut self, other: Work) {
        self.requests += other.requests;
        self.good += other.good;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
    }

    fn times(self, scale: f64) -> Work {
        Work {
            requests: self.requests * scale,
            good: self.good * scale,
            input_tokens: self.input_tokens * scale,
            output_tokens: self.output_tokens * scale,
        }
    }
}

/// An amount of work, and the time in which it was done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Plateau {
    pub(super) work: Work,
    /// The length of this time; above zero.
    pub(super) length: Duration,
    /// The window of the work; `None` for several stages together.
    pub(super) window: Option<RateWindow>,
}

impl Plateau {
    /// Returns an amount of this work per second.
    pub(super) fn rate(&self, amount: f64) -> f64 {
        amount / self.length.as_secs_f64()
    }
}

/// The two spans of time over which the work of one successful request is spread.
pub(super) struct Spans {
    /// The span for the request itself, its prompt tokens and its goodput.
    pub(super) request: (Duration, Duration),
    /// The span for its output tokens.
    pub(super) output: (Duration, Duration),
}

impl Spans {
    /// In a closed loop, a request counts from sending to its end, because its slot is busy all the time. In an open loop, it counts from its first
    /// to its last token: before that it can wait in a queue of the server, which is not work. A non-streamed answer counts when it arrives.
    pub(super) fn new(record: &RequestRecord, origin: LatencyOrigin) -> Spans {
        let last = record.last_token.unwrap_or(record.ended);
        let output = (record.first_token.unwrap_or(last), last);
        let request = match (origin, record.sent) {
            (LatencyOrigin::Sent, Some(sent)) => (sent, record.ended),
            _ => output,
        };
        Spans { request, output }
    }
}

/// The plateau of every stage and of every traffic class. A plateau is the time between fill and drain.
#[derive(Clone, Debug, Default)]
pub(super) struct Plateaus {
    /// One plateau per stage; `None` for a stage without a window, whose rates cover the whole stage.
    pub(super) stages: Vec<Option<Plateau>>,
    /// Per class, over all stages; `None` if a stage has no plateau.
    pub(super) classes: Vec<Option<Plateau>>,
    /// The correction factor for the work of each stage, see [`scales`].
    pub(super) scales: Vec<f64>,
}

impl Plateaus {
    /// Computed from the records of all requests. If some records are missing, no stage has a plateau.
    pub(super) fn new(recorder: &Recorder, workload: &Workload) -> Plateaus {
        let Some(records) = recorder.every_record() else {
            let count = recorder.stages.len();
            return Plateaus {
                stages: vec![None; count],
                classes: vec![None; recorder.classes.len()],
                scales: vec![1.0; count],
            };
        };
        let windows = windows(records, &recorder.stages, &workload.stages);
        let scales = scales(records, &recorder.series, &windows);
        let origins: Vec<LatencyOrigin> = workload.stages.iter().map(|it| LatencyOrigin::from_load(&it.load)).collect();
        let good_shares: Vec<f64> = recorder.stages.iter().map(good_share).collect();
        let mut stages = vec![Work::default(); windows.len()];
        let mut classes = vec![Work::default(); recorder.classes.len()];
        for (record, used) in records.with_figures() {
            let stage = record.stage as usize;
            let (Some(Some(window)), Some(origin)) = (windows.get(stage), origins.get(stage)) else { continue };
            let Some(work) = work(record, used, *origin, *window, good_shares[stage]) else { continue };
            let work = work.times(scales[stage]);
            stages[stage].add(work);
            if let Some(class) = record.class.and_then(|it| classes.get_mut(it.get())) {
                class.add(work);
            }
        }
        let plateau = |(work, window): (Work, &Option<RateWindow>)| {
            let window = window.filter(|_| work.requests >= FEWEST_REQUESTS)?;
            Some(Plateau { work, length: window.length(), window: Some(window) })
        };
        let stages: Vec<_> = stages.into_iter().zip(&windows).map(plateau).collect();
        let lengths: Option<Duration> = stages.iter().map(|it| it.map(|it| it.length)).sum();
        let of_class = |work| lengths.map(|length| Plateau { work, length, window: None });
        Plateaus { stages, classes: classes.into_iter().map(of_class).collect(), scales }
    }

    /// All stages together: the sum of their work, divided by the sum of the lengths of their windows. A stage without a plateau counts from its
    /// first request to its last answer.
    pub(super) fn of_run(&self, tallies: &[StageTally]) -> Option<Plateau> {
        if let [only] = &self.stages[..] {
            return *only;
        }
        let mut all = Plateau::default();
        for (plateau, tally) in self.stages.iter().zip(tallies) {
            let of_stage = plateau.or_else(|| whole(tally));
            if let Some(Plateau { work, length, .. }) = of_stage {
                all.work.add(work);
                all.length += length;
            }
        }
        self.stages.iter().any(Option::is_some).then_some(all)
    }
}

/// The work of a stage from its first request to its last answer.
fn whole(tally: &StageTally) -> Option<Plateau> {
    let (first, last) = tally.span()?;
    let work = Work {
        requests: tally.succeeded() as f64,
        good: tally.good as f64,
        input_tokens: tally.input_tokens_total as f64,
        output_tokens: tally.output_tokens_total as f64,
    };
    Some(Plateau { work, length: last.saturating_sub(first), window: None })
}

/// Requests that met every goodput bound, as a share of successful requests.
pub(super) fn good_share(tally: &StageTally) -> f64 {
    tally.good as f64 / (tally.succeeded() as f64).max(1.0)
}

/// The work of successful requests within a window. Requests of the warm-up and the cool-down are included, because they kept the server busy. It is
/// not recorded whether those met the goodput bounds, so each counts as `good_share` of a good request.
fn work(
    record: &RequestRecord,
    used: InFigures,
    origin: LatencyOrigin,
    window: RateWindow,
    good_share: f64,
) -> Option<Work> {
    if !record.outcome.is_success() {
        return None;
    }
    let spans = Spans::new(record, origin);
    let requests = window.part(spans.request.0, spans.request.1);
    Some(Work {
        requests,
        good: requests * goodness(used, good_share),
        input_tokens: requests * f64::from(record.input_tokens.unwrap_or(0)),
        output_tokens: f64::from(record.osl()) * window.part(spans.output.0, spans.output.1),
    })
}

pub(super) fn goodness(used: InFigures, good_share: f64) -> f64 {
    match used.answer {
        true => f64::from(u8::from(used.good)),
        false => good_share,
    }
}

/// Returns for each stage a factor that corrects its work. It is the number of output tokens that arrived within the window, divided by the number
/// that [`arrived`] computes from evenly spread events. The factor differs from 1 if the server changes its speed, for example when it drains an
/// overload. Both numbers cover whole bins within the window. They include failed requests, because the time series includes them.
fn scales(records: &Records, series: &[TimeSeries], windows: &[Option<RateWindow>]) -> Vec<f64> {
    let exact: Vec<Option<(RateWindow, u64)>> =
        windows.iter().zip(series).map(|(window, series)| tokens_within((*window)?, series)).collect();
    let mut even = vec![0.0; windows.len()];
    for record in records {
        let stage = record.stage as usize;
        let (Some(Some((bins, _))), Some(last)) = (exact.get(stage), record.last_token.or(record.first_token)) else {
            continue;
        };
        let first = record.first_token.unwrap_or(last);
        even[stage] += f64::from(record.osl()) * arrived(*bins, record.content_events, first, last);
    }
    let scale = |(exact, even): (Option<(RateWindow, u64)>, f64)| match exact {
        Some((_, tokens)) if tokens > 0 && even > 0.0 => tokens as f64 / even,
        _ => 1.0,
    };
    exact.into_iter().zip(even).map(scale).collect()
}

/// The share of an answer that arrives within a window if its events arrive evenly from `first` to `last`. If there are few events, counts whole
/// events.
fn arrived(window: RateWindow, events: u32, first: Duration, last: Duration) -> f64 {
    const FEW: u32 = 64;
    if !(2..=FEW).contains(&events) {
        return window.part(first, last);
    }
    let at = |event: u32| first + (last.saturating_sub(first)) * event / (events - 1);
    let within = (0..events).filter(|it| (window.from..window.to).contains(&at(*it))).count();
    within as f64 / f64::from(events)
}

/// The bins that lie completely within a window: their range, and their output tokens. `None` if they cover less than half of the window.
fn tokens_within(window: RateWindow, series: &TimeSeries) -> Option<(RateWindow, u64)> {
    let width = series.bin_width();
    let (mut found, mut tokens) = (None::<RateWindow>, 0);
    for (index, (bin, _)) in (0_u32..).zip(series.bins()) {
        let (from, to) = (series.start() + width * index, series.start() + width * (index + 1));
        if window.from <= from && to <= window.to {
            found = Some(RateWindow { from: found.map_or(from, |it| it.from), to });
            tokens += bin.output_tokens;
        }
    }
    found.filter(|it| it.length() * 2 >= window.length()).map(|it| (it, tokens))
}

/// The times that determine the window of a stage.
#[derive(Clone, Copy, Debug, Default)]
struct Edges {
    first_sent: Option<Duration>,
    /// When the first successful request ended.
    first_end: Option<Duration>,
    /// The longest time from sending to end, among successful requests that were sent before `first_end`.
    longest: Duration,
    /// The time at which the first request that was later cut off was sent.
    first_cut_off: Option<Duration>,
}

/// Returns the window of each stage. It starts when the stage is filled: at the first send + the ramp-up of a closed loop + [`Edges::longest`]. It
/// ends at the last send, or earlier if a request was cut off: when the first such request was sent. It never extends beyond the measurement window
/// of the figures.
fn windows(records: &Records, tallies: &[StageTally], stages: &[Stage]) -> Vec<Option<RateWindow>> {
    let mut edges = vec![Edges::default(); tallies.len().min(stages.len())];
    for record in records {
        let (Some(edges), Some(sent)) = (edges.get_mut(record.stage as usize), record.sent) else { continue };
        edges.first_sent = Some(edges.first_sent.map_or(sent, |it| it.min(sent)));
        match record.outcome {
            it if it.is_success() => {
                edges.first_end = Some(edges.first_end.map_or(record.ended, |it| it.min(record.ended)));
            }
            RequestOutcome::Cancelled | RequestOutcome::Incomplete => {
                edges.first_cut_off = Some(edges.first_cut_off.map_or(sent, |it| it.min(sent)));
            }
            _ => {}
        }
    }
    for record in records {
        let (Some(edges), Some(sent)) = (edges.get_mut(record.stage as usize), record.sent) else { continue };
        if record.outcome.is_success() && edges.first_end.is_some_and(|it| sent < it) {
            edges.longest = edges.longest.max(record.ended.saturating_sub(sent));
        }
    }
    let window = |((edges, tally), stage): ((&Edges, &StageTally), &Stage)| window(edges, tally, stage);
    edges.iter().zip(tallies).zip(stages).map(window).collect()
}

fn window(edges: &Edges, tally: &StageTally, stage: &Stage) -> Option<RateWindow> {
    let (first, last) = (edges.first_sent?, tally.last_sent?);
    let ramp_up = match &stage.load {
        Load::Closed { ramp_up, .. } => ramp_up.0,
        _ => Duration::ZERO,
    };
    let (open, close) = tally.window_bounds.unwrap_or((tally.first_sent?, last));
    let from = (first + ramp_up + edges.longest).max(open);
    let to = last.min(close).min(edges.first_cut_off.unwrap_or(last));
    let sending = last.saturating_sub(open);
    let window = RateWindow { from, to };
    (window.length() > Duration::ZERO && window.length() >= sending.mul_f64(SHORTEST)).then_some(window)
}

#[cfg(test)]
mod tests;
