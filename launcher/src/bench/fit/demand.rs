//! What the stages of a workload demand of a client, which is the hardest, and a load of a few seconds like it. Pure.

use std::time::Duration;

use crds::units::{RequestRate, Span};
use workload_profiles::{
    Workload,
    workload::{Arrivals, LengthDistribution, Load, Rate, RequestSource, Shape, Stage, Trace, Window},
};

use crate::bench::server::{DEFAULT_TOKENS, Pace};

/// What a request costs, in tokens: with this the stages are put in order, and with nothing else.
const REQUEST_IN_TOKENS: f64 = 10.0;
/// The shortest and the longest time in which requests of a trial are due.
const LENGTH: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(15));

/// What a stage asks of a client, once as many requests are under way as there will be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Demand {
    pub(super) requests_per_second: f64,
    pub(super) tokens_per_second: f64,
    /// Requests under way at once.
    pub(super) streams: f64,
}

impl Demand {
    /// Of a stage at its hardest, on a server of this pace. An answer that is not streamed is one event to a client. `None`
    /// where only a file tells.
    fn of(load: &Load, tokens: u32, streaming: bool, pace: Pace) -> Option<Demand> {
        let answer = pace.answer(tokens).as_secs_f64().max(f64::MIN_POSITIVE);
        let (requests_per_second, streams) = match slots(load) {
            Some(streams) => (streams as f64 / answer, streams as f64),
            None => {
                let rate = f64::from(peak(load)?);
                let streams = rate * answer;
                let places = load.max_concurrency().map_or(f64::INFINITY, f64::from);
                (rate.min(places / answer), streams.min(places))
            }
        };
        let tokens_per_second = requests_per_second * if streaming { f64::from(tokens) } else { 1.0 };
        Some(Demand { requests_per_second, tokens_per_second, streams })
    }

    fn weight(&self) -> f64 {
        self.tokens_per_second + REQUEST_IN_TOKENS * self.requests_per_second
    }
}

/// How many requests of a load are under way from its start on; `None` where their times decide.
fn slots(load: &Load) -> Option<u64> {
    let (places, count) = match load {
        Load::Closed { concurrency, count, .. } => (Some(*concurrency), *count),
        Load::Burst { count, max_concurrency } => (*max_concurrency, Some(*count)),
        Load::Open { .. } | Load::Trace { .. } => return None,
    };
    [places.map(u64::from), count].into_iter().flatten().min()
}

/// The highest rate of a load whose requests have times; of a trace that of its busiest second.
fn peak(load: &Load) -> Option<RequestRate> {
    match load {
        Load::Open { rate, .. } => Some(rate.peak()),
        Load::Trace { trace: Trace::Inline(entries), speed, .. } => {
            let within = |from: Duration| from + Duration::from_secs_f64(*speed);
            let busy = entries.iter().enumerate().map(|(first, entry)| {
                entries[first..].iter().take_while(|it| it.at.0 < within(entry.at.0)).count() as f64
            });
            RequestRate::try_from(busy.fold(1.0, f64::max)).ok()
        }
        Load::Trace { .. } | Load::Burst { .. } | Load::Closed { .. } => None,
    }
}

/// The hardest stage of a workload, and what it asks; `None` for a workload without stages of which that is known.
pub(super) fn hardest(workload: &Workload, pace: Pace) -> Option<(&Stage, Demand)> {
    let tokens = mean_output(&workload.requests);
    let stages = workload.stages.iter();
    let demands = stages.filter_map(|stage| Some((stage, Demand::of(&stage.load, tokens, workload.streaming, pace)?)));
    demands.max_by(|(_, left), (_, right)| left.weight().total_cmp(&right.weight()))
}

/// The workload with this stage alone at its hardest, cut to a few seconds, and how long it takes.
pub(super) fn trial(workload: &Workload, stage: &Stage, pace: Pace) -> (Workload, Duration) {
    let answer = pace.answer(mean_output(&workload.requests));
    // Long enough for the first answers to end while others begin.
    let due = (2 * answer).clamp(LENGTH.0, LENGTH.1);
    let (load, length) = match slots(&stage.load) {
        Some(slots) => {
            let rounds = (due.as_secs_f64() / answer.as_secs_f64().max(0.001)).ceil() as u64;
            let count = stage.load.count().unwrap_or(u64::MAX).min(slots * rounds.max(1));
            let concurrency = match stage.load {
                Load::Closed { concurrency, .. } => concurrency,
                _ => u32::try_from(slots).unwrap_or(u32::MAX),
            };
            let (duration, ramp_up) = (None, Span::default());
            (Load::Closed { concurrency, count: Some(count), duration, ramp_up }, due)
        }
        None => at_peak(&stage.load, due),
    };
    let stage = Stage::new(stage.name.clone(), load);
    // Header fields may be secret, and a child's arguments are not.
    let (headers, window, abandonment) = (Default::default(), Window::All, None);
    (Workload { stages: vec![stage], headers, window, abandonment, probes: None, ..workload.clone() }, length + answer)
}

/// A load whose requests have times at its highest rate, for a time that is not longer than its own.
fn at_peak(load: &Load, due: Duration) -> (Load, Duration) {
    let rate = peak(load).unwrap_or_else(|| RequestRate::try_from(1.0).expect("1 is a rate"));
    let (arrivals, duration) = match load {
        Load::Open { arrivals, duration, .. } => (*arrivals, duration.map_or(due, |it| it.0.min(due))),
        _ => (Arrivals::Poisson, due),
    };
    let due = (f64::from(rate) * duration.as_secs_f64()) as u64;
    let count = Some(load.count().unwrap_or(u64::MAX).min(due).max(1));
    let (max_concurrency, span) = (load.max_concurrency(), Some(Span(duration)));
    (Load::Open { arrivals, rate: Rate::Steady(rate), duration: span, count, max_concurrency }, duration)
}

/// The mean length of the answers, in tokens.
fn mean_output(requests: &RequestSource) -> u32 {
    match requests {
        RequestSource::Random { output, .. } => mean(output),
        RequestSource::SharedPrefix { output_len, .. } => mean(output_len),
        RequestSource::Mock => DEFAULT_TOKENS,
    }
}

/// The mean of a distribution, as far as its bounds leave it there.
fn mean(lengths: &LengthDistribution) -> u32 {
    let mean = match lengths.shape {
        Shape::Uniform => f64::from(lengths.min).midpoint(f64::from(lengths.max)),
        _ => lengths.mean,
    };
    // The cast saturates; a length is at least 1.
    (mean.round() as u32).clamp(lengths.min.max(1), lengths.max.max(1))
}

#[cfg(test)]
mod tests {
    use workload_profiles::workload::{RatePoint, RateShape, TraceEntry};

    use super::*;
    use crate::bench::loads;

    const PACE: Pace = Pace { ttft: Duration::from_millis(50), itl: Duration::from_millis(5) };

    fn open(rate: f64, seconds: u64) -> Load {
        let rate = RequestRate::try_from(rate).unwrap();
        let (count, duration) = ((f64::from(rate) * seconds as f64) as u64, Some(Span(Duration::from_secs(seconds))));
        let (arrivals, rate) = (Arrivals::ConditionedPoisson, Rate::Steady(rate));
        Load::Open { arrivals, rate, duration, count: Some(count), max_concurrency: None }
    }

    fn closed(concurrency: u32, count: u64) -> Load {
        Load::Closed { concurrency, count: Some(count), duration: None, ramp_up: Span::default() }
    }

    fn workload(stages: Vec<Load>, tokens: u32) -> Workload {
        let stage = |load| Stage { pause_after: Span(Duration::from_secs(9)), ..Stage::new("s", load) };
        Workload { stages: stages.into_iter().map(stage).collect(), ..loads::closed(1, 1, tokens) }
    }

    #[test]
    fn a_demand_is_that_of_a_full_load() {
        // 191 tokens take 50 + 190 x 5 ms, a second.
        let open = Demand::of(&open(20.0, 60), 191, true, PACE).unwrap();
        assert_eq!(open, Demand { requests_per_second: 20.0, tokens_per_second: 3_820.0, streams: 20.0 });
        let closed = closed(50, 10);
        let demand = Demand::of(&closed, 191, true, PACE).unwrap();
        assert_eq!(demand, Demand { requests_per_second: 10.0, tokens_per_second: 1_910.0, streams: 10.0 });
        assert_eq!(Demand::of(&closed, 191, false, PACE).unwrap().tokens_per_second, 10.0);
    }

    #[test]
    fn the_hardest_stage_has_most_to_read() {
        let stages = vec![open(5.0, 600), closed(100, 1_000), open(30.0, 10)];
        let workload = workload(stages, 191);
        let (stage, demand) = hardest(&workload, PACE).unwrap();
        assert_eq!((&stage.load, demand.streams), (&workload.stages[1].load, 100.0));
        assert!(hardest(&Workload { stages: Vec::new(), ..workload }, PACE).is_none());
    }

    #[test]
    fn a_trial_is_the_same_load_for_a_few_seconds() {
        let all = workload(vec![open(200.0, 600)], 191);
        let (cut, length) = trial(&all, &all.stages[0], PACE);
        assert_eq!(cut.stages[0].load, open(200.0, 5));
        assert_eq!((cut.stages[0].pause_after, length), (Span::default(), Duration::from_secs(6)));

        let all = workload(vec![closed(50, 100_000)], 191);
        let (cut, _) = trial(&all, &all.stages[0], PACE);
        assert_eq!(cut.stages[0].load, closed(50, 250));

        let short = workload(vec![open(2.0, 1), closed(8, 4)], 1_000_000);
        assert_eq!(trial(&short, &short.stages[0], PACE).0.stages[0].load, short.stages[0].load);
        assert_eq!(trial(&short, &short.stages[1], PACE).0.stages[0].load, short.stages[1].load);
    }

    #[test]
    fn a_load_that_varies_is_tried_at_its_peak() {
        let point = |at, rate| RatePoint { at: Span(Duration::from_secs(at)), rate };
        let rate = Rate::Varying(RateShape::Points(vec![point(0, 1.0), point(60, 40.0), point(90, 2.0)]));
        let mut load = open(1.0, 600);
        if let Load::Open { rate: steady, max_concurrency, count, .. } = &mut load {
            (*steady, *max_concurrency, *count) = (rate, Some(10), None);
        }
        // Answers take a second: 40 would be under way, and 10 may be.
        let demand = Demand::of(&load, 191, true, PACE).unwrap();
        assert_eq!((demand.requests_per_second, demand.streams), (10.0, 10.0));
        let all = workload(vec![load], 191);
        let cut = trial(&all, &all.stages[0], PACE).0;
        let Load::Open { rate, count, max_concurrency, .. } = &cut.stages[0].load else { panic!("it is closed") };
        assert_eq!((rate.peak().per_second(), *count, *max_concurrency), (40.0, Some(200), Some(10)));
    }

    #[test]
    fn a_burst_is_tried_as_its_places_and_a_trace_as_its_busiest_second() {
        let burst = workload(vec![Load::Burst { count: 500, max_concurrency: Some(20) }], 191);
        assert_eq!(trial(&burst, &burst.stages[0], PACE).0.stages[0].load, closed(20, 100));
        let entry = |millis| TraceEntry { at: Span(Duration::from_millis(millis)), input: None, output: None };
        let entries = [0, 100, 1_000, 1_300, 1_900, 2_100].map(entry).to_vec();
        let trace = |trace| Load::Trace { trace, speed: 1.0, count: None, lengths: true, max_concurrency: None };
        assert_eq!(peak(&trace(Trace::Inline(entries))).map(RequestRate::per_second), Some(3.0));
        assert_eq!(peak(&open(7.0, 9)).map(RequestRate::per_second), Some(7.0));
    }

    #[test]
    fn a_mean_length_keeps_to_its_bounds() {
        let check = |shape, (min, max), of| {
            let std_dev = 0.0;
            mean(&LengthDistribution { shape, min, max, mean: of, std_dev, total_count: None })
        };
        assert_eq!(check(Shape::Normal, (1, 100), 40.4), 40);
        assert_eq!(check(Shape::Normal, (50, 100), 40.0), 50);
        assert_eq!(check(Shape::Uniform, (10, 30), 0.0), 20);
        assert_eq!(check(Shape::Fixed, (0, 0), 0.0), 1);
    }
}
