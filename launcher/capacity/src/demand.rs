//! Computes how hard each stage of a workload is for a client, selects the hardest stage, and makes a trial of a few seconds from it. Pure.

use std::time::Duration;

use crds::units::{RequestRate, Span};
use workload_profiles::{
    Workload,
    workload::{Arrivals, Load, Rate, Stage, Window},
};

use crate::lengths::{mean_output, recorded, requests};
use crate::server::Pace;

/// The cost of a request as a number of tokens. Used only to compare stages.
const REQUEST_IN_TOKENS: f64 = 10.0;
/// The minimum and the maximum duration of a trial.
const LENGTH: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(15));
const SECOND: Duration = Duration::from_secs(1);
/// Below this number, requests are spaced evenly, because random gaps might leave the trial without a request.
const FEW: u64 = 20;

/// The reason why no stage can be used for a trial.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    #[error("the workload has no stage to try; write one into the profile")]
    NoStage,
    /// The demand of this stage is unknown.
    #[error(
        "stage {0}: its load is not known, so the hardest stage is not known either; write the entries of its trace, or its rate, into the profile"
    )]
    Stage(String),
}

/// What a stage demands of a client at the moment at which most requests are in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Demand {
    pub(super) requests_per_second: f64,
    pub(super) tokens_per_second: f64,
    /// Number of requests in flight.
    pub(super) streams: f64,
}

impl Demand {
    /// Computes the highest demand of a load on a server with this pace. An answer without streaming counts as one token. `None` if the load is in a
    /// file that was not read.
    fn from_load(load: &Load, tokens: u32, streaming: bool, pace: Pace) -> Option<Demand> {
        let answer = pace.answer(tokens);
        let seconds = answer.as_secs_f64().max(f64::MIN_POSITIVE);
        let (requests_per_second, streams) = match slots(load) {
            Some(streams) => {
                let rate = (streams as f64 / seconds).min(start_rate(load).map_or(f64::INFINITY, f64::from));
                (rate, (rate * seconds).min(streams as f64))
            }
            None => {
                let rate = f64::from(held_back(load, answer)?);
                (rate, rate * seconds)
            }
        };
        let tokens_per_second = requests_per_second * if streaming { f64::from(tokens) } else { 1.0 };
        Some(Demand { requests_per_second, tokens_per_second, streams })
    }

    fn weight(&self) -> f64 {
        self.tokens_per_second + REQUEST_IN_TOKENS * self.requests_per_second
    }
}

/// Returns how many requests a load has in flight from its start on; `None` for a load with send times.
fn slots(load: &Load) -> Option<u64> {
    let (limit, count) = match load {
        Load::Closed { concurrency, count, .. } => (Some(*concurrency), *count),
        Load::Burst { count, max_concurrency } => (*max_concurrency, Some(*count)),
        Load::Open { .. } | Load::Trace { .. } | Load::Users { .. } | Load::LoadGen { .. } => return None,
    };
    [limit.map(u64::from), count].into_iter().flatten().min()
}

/// Returns the maximum number of requests per second that a closed loop starts; `None` if there is no such limit.
fn start_rate(load: &Load) -> Option<RequestRate> {
    match load {
        Load::Closed { start_rate, .. } => *start_rate,
        Load::Open { .. } | Load::Burst { .. } | Load::Trace { .. } | Load::Users { .. } | Load::LoadGen { .. } => None,
    }
}

/// Returns the highest rate of a load with send times; `None` for other loads. For a trace, it is the rate of the busiest second.
fn peak(load: &Load) -> Option<RequestRate> {
    match load {
        Load::Open { rate, .. } => Some(rate.peak()),
        Load::Users { rate, .. } => Some(*rate),
        Load::Trace { speed, .. } => {
            let entries = recorded(load)?;
            // One second of the replay, as a time in the recording.
            let second = Duration::try_from_secs_f64(*speed).unwrap_or(SECOND).max(Duration::from_nanos(1));
            let (mut first, mut most) = (0, 1);
            for (last, entry) in entries.iter().enumerate() {
                while entries[first].at.0.saturating_add(second) <= entry.at.0 {
                    first += 1;
                }
                most = most.max(last + 1 - first);
            }
            RequestRate::try_from((most as f64).min(RequestRate::MAX)).ok()
        }
        Load::Burst { .. } | Load::Closed { .. } | Load::LoadGen { .. } => None,
    }
}

/// Like [`peak`], but no higher than the concurrency limit of the load allows.
fn held_back(load: &Load, answer: Duration) -> Option<RequestRate> {
    let peak = peak(load)?;
    let held = load.max_concurrency().map(|it| f64::from(it) / answer.as_secs_f64());
    // If an answer takes no time, the limit is infinite, which is not a valid rate.
    Some(held.and_then(|it| RequestRate::try_from(it).ok()).filter(|it| *it < peak).unwrap_or(peak))
}

/// Returns the hardest stage of a workload, and its demand. Traces in files must have been read.
///
/// # Errors
/// There is no stage, or the demand of some stage is unknown. That stage might be the hardest.
pub(super) fn hardest(workload: &Workload, pace: Pace) -> Result<(&Stage, Demand), Unknown> {
    let demand = |stage| {
        let tokens = mean_output(&requests(workload, stage));
        let demand = Demand::from_load(&stage.load, tokens, workload.streaming, pace);
        demand.map(|it| (stage, it)).ok_or_else(|| Unknown::Stage(stage.name.clone()))
    };
    // Stages with a measured rate are skipped: their rate is at most what the server reached in an earlier stage, and that stage is at least as hard.
    let known = workload.stages.iter().filter(|it| !it.load.has_measured_rate());
    let demands = known.map(demand).collect::<Result<Vec<_>, _>>()?;
    let harder = |left: &Demand, right: &Demand| left.weight().total_cmp(&right.weight());
    demands.into_iter().max_by(|(_, left), (_, right)| harder(left, right)).ok_or(Unknown::NoStage)
}

/// Returns a workload of only this stage, at its highest demand and for a few seconds. Also returns the time that the workload should take.
pub(super) fn trial(workload: &Workload, stage: &Stage, pace: Pace) -> (Workload, Duration) {
    let requests = requests(workload, stage);
    let answer = pace.answer(mean_output(&requests));
    // The trial must be long enough that the first answers end while other requests begin.
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
            let start_rate = start_rate(&stage.load);
            (Load::Closed { concurrency, count: Some(count), duration, ramp_up, start_rate }, due)
        }
        None => at_peak(&stage.load, due, answer),
    };
    let stage = Stage::new(stage.name.clone(), load);
    // Header fields are removed: they can be secret, and other users can see the arguments of a child process.
    let (headers, window, abandonment) = (Default::default(), Window::All, None);
    let stages = vec![stage];
    let mut rest = Workload { stages: Vec::new(), ..workload.clone() };
    rest.classes.classes.iter_mut().for_each(|it| it.headers.clear());
    // Stop rules are removed, because a trial must measure the whole stage.
    rest.stop_rules.clear();
    (Workload { stages, requests, headers, window, abandonment, probes: None, ..rest }, length + answer)
}

/// Returns a load with send times at its highest rate, and its duration. The duration is at most that of the original load, and at least one request
/// is due.
fn at_peak(load: &Load, due: Duration, answer: Duration) -> (Load, Duration) {
    let rate = held_back(load, answer).unwrap_or_else(|| RequestRate::try_from(1.0).expect("1 is a rate"));
    let (arrivals, duration) = match load {
        Load::Open { arrivals, duration, .. } => (*arrivals, duration.map_or(due, |it| it.0.min(due))),
        Load::Users { duration, .. } => (Arrivals::Constant, duration.map_or(due, |it| it.0.min(due))),
        _ => (Arrivals::Poisson, due),
    };
    let due = (f64::from(rate) * duration.as_secs_f64()) as u64;
    let requests = load.count().unwrap_or(u64::MAX).min(due).max(1);
    let arrivals = if requests < FEW { Arrivals::Constant } else { arrivals };
    let count = Some(requests);
    let (max_concurrency, span) = (load.max_concurrency(), Some(Span(duration)));
    (Load::Open { arrivals, rate: Rate::Steady(rate), duration: span, count, max_concurrency }, duration)
}

#[cfg(test)]
mod tests {
    use workload_profiles::workload::{
        MeasuredRate, RateBound, RatePoint, RateShape, Spacing, Trace, TraceEntry, TraceFile, TraceFormat, TraceTime,
    };

    use super::*;
    use crate::loads;

    const PACE: Pace = Pace { ttft: Duration::from_millis(50), itl: Duration::from_millis(5) };

    fn open(rate: f64, seconds: u64) -> Load {
        let rate = RequestRate::try_from(rate).unwrap();
        let (count, duration) = ((f64::from(rate) * seconds as f64) as u64, Some(Span(Duration::from_secs(seconds))));
        let (arrivals, rate) = (Arrivals::ConditionedPoisson, Rate::Steady(rate));
        Load::Open { arrivals, rate, duration, count: Some(count), max_concurrency: None }
    }

    fn closed(concurrency: u32, count: u64) -> Load {
        Load::closed(concurrency, count)
    }

    fn workload(stages: Vec<Load>, tokens: u32) -> Workload {
        let stage = |load| Stage { pause_after: Span(Duration::from_secs(9)), ..Stage::new("s", load) };
        Workload { stages: stages.into_iter().map(stage).collect(), ..loads::closed(1, 1, tokens) }
    }

    #[test]
    fn a_demand_is_that_of_a_full_load() {
        // 191 tokens take 50 + 190 x 5 ms, which is one second.
        let open = Demand::from_load(&open(20.0, 60), 191, true, PACE).unwrap();
        assert_eq!(open, Demand { requests_per_second: 20.0, tokens_per_second: 3_820.0, streams: 20.0 });
        let closed = closed(50, 10);
        let demand = Demand::from_load(&closed, 191, true, PACE).unwrap();
        assert_eq!(demand, Demand { requests_per_second: 10.0, tokens_per_second: 1_910.0, streams: 10.0 });
        assert_eq!(Demand::from_load(&closed, 191, false, PACE).unwrap().tokens_per_second, 10.0);
    }

    #[test]
    fn the_hardest_stage_has_most_to_read() {
        let stages = vec![open(5.0, 600), closed(100, 1_000), open(30.0, 10)];
        let workload = workload(stages, 191);
        let (stage, demand) = hardest(&workload, PACE).unwrap();
        assert_eq!((&stage.load, demand.streams), (&workload.stages[1].load, 100.0));
        assert_eq!(hardest(&Workload { stages: Vec::new(), ..workload }, PACE), Err(Unknown::NoStage));
    }

    #[test]
    fn a_sweep_is_as_hard_as_the_stage_that_it_is_measured_in() {
        let rate = MeasuredRate {
            from: RateBound::Throughput(0),
            to: RateBound::Throughput(0),
            position: 0.5,
            spacing: Spacing::Linear,
        };
        let mut sweep = open(1.0, 60);
        if let Load::Open { rate: known, .. } = &mut sweep {
            *known = Rate::Varying(RateShape::Measured(rate));
        }
        let workload = workload(vec![closed(100, 1_000), sweep.clone()], 191);
        assert_eq!(hardest(&workload, PACE).unwrap().0.load, workload.stages[0].load);
        let alone = Workload { stages: vec![Stage::new("s", sweep)], ..workload };
        assert_eq!(hardest(&alone, PACE), Err(Unknown::NoStage));
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

        let short = workload(vec![open(20.0, 1), closed(8, 4)], 1_000_000);
        assert_eq!(trial(&short, &short.stages[0], PACE).0.stages[0].load, short.stages[0].load);
        assert_eq!(trial(&short, &short.stages[1], PACE).0.stages[0].load, short.stages[1].load);
    }

    #[test]
    fn slots_that_start_slowly_and_users_have_the_demand_of_their_rate() {
        let mut limited = closed(100, 1_000);
        if let Load::Closed { start_rate, .. } = &mut limited {
            *start_rate = Some(RequestRate::try_from(20.0).unwrap());
        }
        // Answers take one second, so 20 of the 100 slots are busy.
        let demand = Demand::from_load(&limited, 191, true, PACE).unwrap();
        assert_eq!((demand.requests_per_second, demand.streams), (20.0, 20.0));
        let all = workload(vec![limited.clone()], 191);
        let cut = trial(&all, &all.stages[0], PACE).0;
        assert!(matches!(cut.stages[0].load, Load::Closed { start_rate: Some(_), .. }));

        let rate = RequestRate::try_from(30.0).unwrap();
        let users =
            Load::Users { users: 60, rate, turns: 9, duration: Some(Span(Duration::from_secs(90))), count: None };
        let demand = Demand::from_load(&users, 191, true, PACE).unwrap();
        assert_eq!((demand.requests_per_second, demand.streams), (30.0, 30.0));
        let all = workload(vec![users], 191);
        let cut = trial(&all, &all.stages[0], PACE).0;
        let Load::Open { rate, arrivals, count, .. } = &cut.stages[0].load else { panic!("it is closed") };
        assert_eq!((rate.peak().per_second(), *arrivals, *count), (30.0, Arrivals::Constant, Some(150)));
    }

    #[test]
    fn a_load_that_varies_is_tried_at_its_peak() {
        let point = |at, rate| RatePoint { at: Span(Duration::from_secs(at)), rate };
        let rate = Rate::Varying(RateShape::Points(vec![point(0, 1.0), point(60, 40.0), point(90, 2.0)]));
        let mut load = open(1.0, 600);
        if let Load::Open { rate: steady, max_concurrency, count, .. } = &mut load {
            (*steady, *max_concurrency, *count) = (rate, Some(10), None);
        }
        // Answers take one second, so 40 requests would be in flight, but the limit is 10.
        let demand = Demand::from_load(&load, 191, true, PACE).unwrap();
        assert_eq!((demand.requests_per_second, demand.streams), (10.0, 10.0));
        let all = workload(vec![load], 191);
        let cut = trial(&all, &all.stages[0], PACE).0;
        let Load::Open { rate, count, max_concurrency, .. } = &cut.stages[0].load else { panic!("it is closed") };
        assert_eq!((rate.peak().per_second(), *count, *max_concurrency), (10.0, Some(50), Some(10)));
    }

    #[test]
    fn few_requests_are_evenly_spaced_and_one_is_due_at_least() {
        let check = |rate, seconds, requests| {
            let all = workload(vec![open(rate, seconds)], 4);
            let cut = trial(&all, &all.stages[0], PACE).0;
            let Load::Open { arrivals, count, .. } = &cut.stages[0].load else { panic!("it is closed") };
            assert_eq!((*arrivals, *count), (Arrivals::Constant, Some(requests)), "{rate}");
        };
        check(0.01, 6_000, 1);
        check(0.5, 60, 2);
        check(3.9, 60, 19);
    }

    #[test]
    fn a_stage_whose_load_is_not_known_is_refused_by_name() {
        let file = TraceFile {
            file: "trace.csv".into(),
            hashes_column: None,
            format: TraceFormat::Csv,
            time: TraceTime::Seconds,
            at_column: "at".into(),
            input_column: "input".into(),
            output_column: "output".into(),
        };
        let (trace, speed) = (Trace::File(file), 1.0);
        let load = Load::Trace { trace, speed, count: None, lengths: true, max_concurrency: None };
        let mut workload = workload(vec![open(9.0, 60), load], 4);
        workload.stages[1].name = "replay".into();
        assert_eq!(hardest(&workload, PACE), Err(Unknown::Stage("replay".into())));
    }

    #[test]
    fn recorded_lengths_outweigh_those_of_the_workload() {
        let entry = |output| TraceEntry { at: Span::default(), input: Some(7), output };
        let entries = [Some(100), None, Some(4_000)].map(entry).to_vec();
        let check = |count: Option<u64>, lengths, expected: (u32, f64)| {
            let trace = Trace::Inline(entries.clone());
            let load = Load::Trace { trace, speed: 1.0, count, lengths, max_concurrency: None };
            let all = workload(vec![load], 191);
            assert_eq!(hardest(&all, PACE).unwrap().1.streams, 3_f64.min(count.unwrap_or(3) as f64) * expected.1);
            assert_eq!(mean_output(&trial(&all, &all.stages[0], PACE).0.requests), expected.0);
        };
        // (100 + 191 + 4,000) / 3 = 1,430 tokens take 50 + 1,429 x 5 ms.
        check(None, true, (1_430, 7.195));
        check(Some(2), true, (145, 0.77));
        check(None, false, (191, 1.0));
    }

    #[test]
    fn a_burst_is_tried_as_its_permits_and_a_trace_as_its_busiest_second() {
        let burst = workload(vec![Load::Burst { count: 500, max_concurrency: Some(20) }], 191);
        assert_eq!(trial(&burst, &burst.stages[0], PACE).0.stages[0].load, closed(20, 100));
        let entry = |millis| TraceEntry { at: Span(Duration::from_millis(millis)), input: None, output: None };
        let entries = [0, 100, 1_000, 1_300, 1_900, 2_100].map(entry).to_vec();
        let trace = |trace| Load::Trace { trace, speed: 1.0, count: None, lengths: true, max_concurrency: None };
        assert_eq!(peak(&trace(Trace::Inline(entries))).map(RequestRate::per_second), Some(3.0));
        assert_eq!(peak(&trace(Trace::Inline(Vec::new()))).map(RequestRate::per_second), Some(1.0));
        assert_eq!(peak(&open(7.0, 9)).map(RequestRate::per_second), Some(7.0));
    }
}
