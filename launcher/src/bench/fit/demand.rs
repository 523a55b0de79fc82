//! What the stages of a workload demand of a client, which is the hardest, and a load of a few seconds like it. Pure.

use std::time::Duration;

use crds::units::Span;
use workload_profiles::{
    Workload,
    workload::{LengthDistribution, Load, RequestSource, Shape, Stage},
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
    /// Of a stage on a server of this pace. An answer that is not streamed is one event to a client.
    fn of(load: &Load, tokens: u32, streaming: bool, pace: Pace) -> Demand {
        let answer = pace.answer(tokens).as_secs_f64();
        let (requests_per_second, streams) = match load {
            Load::Open { rate, .. } => (f64::from(*rate), f64::from(*rate) * answer),
            Load::Closed { concurrency, count } => {
                let streams = u64::from(*concurrency).min(*count) as f64;
                (streams / answer.max(f64::MIN_POSITIVE), streams)
            }
        };
        let tokens_per_second = requests_per_second * if streaming { f64::from(tokens) } else { 1.0 };
        Demand { requests_per_second, tokens_per_second, streams }
    }

    fn weight(&self) -> f64 {
        self.tokens_per_second + REQUEST_IN_TOKENS * self.requests_per_second
    }
}

/// The hardest stage of a workload, and what it asks; `None` for a workload without stages.
pub(super) fn hardest(workload: &Workload, pace: Pace) -> Option<(&Stage, Demand)> {
    let tokens = mean_output(&workload.requests);
    let stages = workload.stages.iter();
    let demands = stages.map(|stage| (stage, Demand::of(&stage.load, tokens, workload.streaming, pace)));
    demands.max_by(|(_, left), (_, right)| left.weight().total_cmp(&right.weight()))
}

/// The workload with this stage alone, cut to a few seconds, and how long it takes.
pub(super) fn trial(workload: &Workload, stage: &Stage, pace: Pace) -> (Workload, Duration) {
    let answer = pace.answer(mean_output(&workload.requests));
    // Long enough for the first answers to end while others begin.
    let due = (2 * answer).clamp(LENGTH.0, LENGTH.1);
    let mut stage = stage.clone();
    stage.pause_after = Span::default();
    match &mut stage.load {
        Load::Open { rate, duration, count, .. } => {
            duration.0 = duration.0.min(due);
            *count = (*count).min((f64::from(*rate) * duration.0.as_secs_f64()) as u64).max(1);
        }
        Load::Closed { concurrency, count } => {
            let rounds = (due.as_secs_f64() / answer.as_secs_f64().max(0.001)).ceil() as u64;
            *count = (*count).min(u64::from(*concurrency) * rounds.max(1));
        }
    }
    let length = match &stage.load {
        Load::Open { duration, .. } => duration.0 + answer,
        Load::Closed { .. } => due + answer,
    };
    // Header fields may be secret, and a child's arguments are not.
    (Workload { stages: vec![stage], headers: Default::default(), ..workload.clone() }, length)
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
    use crds::units::RequestRate;
    use workload_profiles::workload::Arrivals;

    use super::*;
    use crate::bench::loads;

    const PACE: Pace = Pace { ttft: Duration::from_millis(50), itl: Duration::from_millis(5) };

    fn open(rate: f64, seconds: u64) -> Load {
        let rate = RequestRate::try_from(rate).unwrap();
        let count = (f64::from(rate) * seconds as f64) as u64;
        Load::Open { arrivals: Arrivals::ConditionedPoisson, rate, duration: Span(Duration::from_secs(seconds)), count }
    }

    fn workload(stages: Vec<Load>, tokens: u32) -> Workload {
        let stage = |load| Stage { name: "s".into(), load, pause_after: Span(Duration::from_secs(9)) };
        Workload { stages: stages.into_iter().map(stage).collect(), ..loads::closed(1, 1, tokens) }
    }

    #[test]
    fn a_demand_is_that_of_a_full_load() {
        // 191 tokens take 50 + 190 x 5 ms, a second.
        let open = Demand::of(&open(20.0, 60), 191, true, PACE);
        assert_eq!(open, Demand { requests_per_second: 20.0, tokens_per_second: 3_820.0, streams: 20.0 });
        let closed = Load::Closed { concurrency: 50, count: 10 };
        let demand = Demand::of(&closed, 191, true, PACE);
        assert_eq!(demand, Demand { requests_per_second: 10.0, tokens_per_second: 1_910.0, streams: 10.0 });
        assert_eq!(Demand::of(&closed, 191, false, PACE).tokens_per_second, 10.0);
    }

    #[test]
    fn the_hardest_stage_has_most_to_read() {
        let stages = vec![open(5.0, 600), Load::Closed { concurrency: 100, count: 1_000 }, open(30.0, 10)];
        let workload = workload(stages, 191);
        let (stage, demand) = hardest(&workload, PACE).unwrap();
        assert_eq!((&stage.load, demand.streams), (&workload.stages[1].load, 100.0));
        assert!(hardest(&Workload { stages: Vec::new(), ..workload }, PACE).is_none());
    }

    #[test]
    fn a_trial_is_the_same_load_for_a_few_seconds() {
        let all = workload(vec![open(200.0, 600)], 191);
        let (cut, length) = trial(&all, &all.stages[0], PACE);
        let Load::Open { rate, duration, count, .. } = &cut.stages[0].load else { panic!("it is closed") };
        assert_eq!((f64::from(*rate), duration.0, *count), (200.0, Duration::from_secs(5), 1_000));
        assert_eq!((cut.stages[0].pause_after, length), (Span::default(), Duration::from_secs(6)));

        let all = workload(vec![Load::Closed { concurrency: 50, count: 100_000 }], 191);
        let (cut, _) = trial(&all, &all.stages[0], PACE);
        assert_eq!(cut.stages[0].load, Load::Closed { concurrency: 50, count: 250 });

        let short = workload(vec![open(2.0, 1), Load::Closed { concurrency: 8, count: 4 }], 1_000_000);
        assert_eq!(trial(&short, &short.stages[0], PACE).0.stages[0].load, short.stages[0].load);
        assert_eq!(trial(&short, &short.stages[1], PACE).0.stages[0].load, short.stages[1].load);
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
