//! A rate that is a function of time: the draws are made for one request per second, and the x-th second of that process
//! becomes the time at which the integrated rate reaches x. An arrival process changed in this way has the rate r(t) and,
//! for exponential gaps, is the Poisson process of that rate. Source: the time-change theorem for point processes
//! (Daley and Vere-Jones, An Introduction to the Theory of Point Processes, 7.4; Cinlar's inversion method).

use std::f64::consts::TAU;

use workload_profiles::workload::{Rate, RatePoint, RateShape};

/// Steps of the search for a time on a sinusoid: each halves an interval, if nothing better, until it is exact.
const MAX_STEPS: usize = 64;

/// The inverse of an integrated rate.
#[derive(Clone, Debug)]
pub(super) enum TimeChange {
    /// Requests per second.
    Steady(f64),
    /// Straight lines.
    Lines(Vec<Line>),
    /// Of mean x (1 + amplitude x sin(2 pi (t + phase) / period)).
    Sinusoid { mean: f64, amplitude: f64, period: f64, phase: f64 },
}

/// A line of the rate, from a time to that of the next line, or for ever.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    start: f64,
    /// The integral up to its start.
    before: f64,
    rate: f64,
    slope: f64,
}

impl TimeChange {
    /// Of a rate; `None` where it is no function of time.
    pub(super) fn of(rate: &Rate) -> Option<TimeChange> {
        Some(match rate {
            Rate::Steady(rate) => TimeChange::Steady(rate.per_second()),
            Rate::Varying(RateShape::Points(points)) => TimeChange::Lines(lines(points)),
            Rate::Varying(RateShape::Sinusoid { mean, amplitude, period, phase }) => TimeChange::Sinusoid {
                mean: mean.per_second(),
                amplitude: amplitude.clamp(0.0, 1.0),
                period: period.0.as_secs_f64(),
                phase: phase.0.as_secs_f64(),
            },
            Rate::Varying(RateShape::RampUp { .. }) => return None,
        })
    }

    /// The integral of the rate up to a time.
    pub(super) fn requests_until(&self, seconds: f64) -> f64 {
        match self {
            TimeChange::Steady(rate) => rate * seconds,
            TimeChange::Lines(lines) => line_at(lines, |it| it.start <= seconds).map_or(0.0, |line| {
                let length = seconds - line.start;
                line.before + length * (line.rate + line.slope * length / 2.0)
            }),
            TimeChange::Sinusoid { mean, amplitude, period, phase } => {
                let swing = (TAU * phase / period).cos() - (TAU * (seconds + phase) / period).cos();
                mean * (seconds + amplitude * period / TAU * swing)
            }
        }
    }

    /// When the integral reaches `requests`, in seconds; infinite where it never does.
    pub(super) fn time_of(&self, requests: f64) -> f64 {
        match self {
            TimeChange::Steady(rate) => requests / rate,
            TimeChange::Lines(lines) => line_at(lines, |it| it.before <= requests)
                .map_or(f64::INFINITY, |line| line.start + line.length_of(requests - line.before)),
            TimeChange::Sinusoid { mean, period, .. } => {
                // Every period holds the same; within one the search begins.
                let in_period = mean * period;
                let periods = (requests / in_period).floor();
                periods * period + self.search(requests - periods * in_period, *period)
            }
        }
    }

    /// The time within the first period of a sinusoid: Newton's method, and halving where that leaves the interval.
    fn search(&self, requests: f64, period: f64) -> f64 {
        let TimeChange::Sinusoid { mean, amplitude, phase, .. } = self else { return 0.0 };
        let (mut low, mut high) = (0.0, period);
        let mut at = requests / mean;
        for _ in 0..MAX_STEPS {
            let error = self.requests_until(at) - requests;
            if error > 0.0 {
                high = at;
            } else {
                low = at;
            }
            let rate = mean * (1.0 + amplitude * (TAU * (at + phase) / period).sin());
            let newton = at - error / rate;
            let next = if newton > low && newton < high { newton } else { f64::midpoint(low, high) };
            // A tenth of a nanosecond is nothing in a schedule.
            if (next - at).abs() < 1e-10 {
                return next;
            }
            at = next;
        }
        at
    }
}

impl Line {
    /// How far into the line its own integral reaches `requests`: the root of slope / 2 x^2 + rate x = requests, in the
    /// form that loses no digits.
    fn length_of(&self, requests: f64) -> f64 {
        let root = (self.rate * self.rate + 2.0 * self.slope * requests).max(0.0).sqrt();
        let both = self.rate + root;
        if requests <= 0.0 {
            0.0
        } else if both > 0.0 {
            2.0 * requests / both
        } else {
            f64::INFINITY
        }
    }
}

/// The last line for which it holds; the first where it holds for none.
fn line_at(lines: &[Line], holds: impl Fn(&Line) -> bool) -> Option<&Line> {
    lines.get(lines.partition_point(holds).saturating_sub(1))
}

fn lines(points: &[RatePoint]) -> Vec<Line> {
    let at = |point: &RatePoint| point.at.0.as_secs_f64();
    let rate = |point: &RatePoint| if point.rate.is_finite() { point.rate.max(0.0) } else { 0.0 };
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    let mut lines = vec![Line { start: 0.0, before: 0.0, rate: rate(first), slope: 0.0 }];
    let mut before = rate(first) * at(first);
    for pair in points.windows(2) {
        let length = at(&pair[1]) - at(&pair[0]);
        // Two points of one time are a step: no line is between them.
        if length > 0.0 {
            let slope = (rate(&pair[1]) - rate(&pair[0])) / length;
            lines.push(Line { start: at(&pair[0]), before, rate: rate(&pair[0]), slope });
            before += length * f64::midpoint(rate(&pair[0]), rate(&pair[1]));
        }
    }
    lines.push(Line { start: at(last), before, rate: rate(last), slope: 0.0 });
    lines
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crds::units::{RequestRate, Span};
    use proptest::prelude::*;
    use workload_profiles::workload::{Arrivals, Load};

    use super::*;
    use crate::schedule::tests::times;

    fn points(points: &[(f64, f64)]) -> Rate {
        let point = |(at, rate): &(f64, f64)| RatePoint { at: Span(Duration::from_secs_f64(*at)), rate: *rate };
        Rate::Varying(RateShape::Points(points.iter().map(point).collect()))
    }

    fn sinusoid(mean: f64, amplitude: f64, period: f64, phase: f64) -> Rate {
        let span = |seconds| Span(Duration::from_secs_f64(seconds));
        let mean = RequestRate::try_from(mean).unwrap();
        Rate::Varying(RateShape::Sinusoid { mean, amplitude, period: span(period), phase: span(phase) })
    }

    fn load(arrivals: Arrivals, rate: Rate, seconds: u64) -> Load {
        let duration = Some(Span(Duration::from_secs(seconds)));
        Load::Open { arrivals, rate, duration, count: None, max_concurrency: None }
    }

    /// When requests of even arrivals are due, in milliseconds.
    fn check(rate: Rate, seconds: u64, expected: &[u64]) {
        let found: Vec<u64> =
            times(&load(Arrivals::Constant, rate, seconds), 1).iter().map(|it| it.as_millis() as u64).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_step_changes_the_gaps_at_its_time() {
        // 2 per second for 1 s, then 4.
        check(points(&[(0.0, 2.0), (1.0, 2.0), (1.0, 4.0)]), 2, &[0, 500, 1_000, 1_250, 1_500, 1_750]);
    }

    #[test]
    fn a_spike_is_as_high_and_as_long_as_asked() {
        // 1 per second, and 10 for half a second from 2 s on: the request that is due at 2 s begins it.
        let spike = points(&[(0.0, 1.0), (2.0, 1.0), (2.0, 10.0), (2.5, 10.0), (2.5, 1.0)]);
        check(spike, 5, &[0, 1_000, 2_000, 2_100, 2_200, 2_300, 2_400, 2_500, 3_500, 4_500]);
    }

    #[test]
    fn a_ramp_from_nothing_is_a_square_root() {
        // GuideLLM's ramp-up: request k at sqrt(2 k R / rate), with R = 2 s and 8 per second at its end; then even.
        let expected: Vec<u64> = (0..=8_u32)
            .map(|k| (f64::from(k) * 2.0 * 2.0 / 8.0).sqrt())
            .chain([2.125, 2.25, 2.375])
            .map(|seconds| (seconds * 1_000.0) as u64)
            .collect();
        let ramp = load(Arrivals::Constant, points(&[(0.0, 0.0), (2.0, 8.0)]), 10);
        let found: Vec<u64> = times(&ramp, 1).iter().take(12).map(|it| it.as_millis() as u64).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_rate_that_ends_at_nothing_ends_the_requests() {
        let rate = points(&[(0.0, 4.0), (1.0, 4.0), (1.0, 0.0)]);
        check(rate.clone(), 100, &[0, 250, 500, 750, 1_000]);
        let poisson = times(&load(Arrivals::Poisson, rate, 100), 4);
        assert!(poisson.iter().all(|it| *it <= Duration::from_secs(1)));
        check(points(&[]), 5, &[]);
    }

    #[test]
    fn conditioned_arrivals_follow_the_rate_and_end_with_the_stage() {
        let rate = points(&[(0.0, 0.0), (100.0, 40.0)]);
        let found = times(&load(Arrivals::ConditionedPoisson, rate, 100), 4);
        assert_eq!((found.len(), found.last()), (2_000, Some(&Duration::from_secs(100))));
        // A quarter of the area is in the first half; five standard errors of a share of 2,000.
        let share = found.iter().filter(|it| it.as_secs() < 50).count() as f64 / 2_000.0;
        assert!((share - 0.25).abs() < 5.0 * (0.25 * 0.75 / 2_000.0_f64).sqrt(), "{share}");
    }

    #[test]
    fn a_sinusoid_has_its_peak_and_its_trough() {
        // Two days of 100 s each at 50 per second, swinging by 80 %: the first half of each day is the busy one.
        let found = times(&load(Arrivals::Poisson, sinusoid(50.0, 0.8, 100.0, 0.0), 200), 8);
        // 200 s x 50; the standard deviation of a Poisson number of that mean is 100; five of them.
        assert!((found.len() as f64 - 10_000.0).abs() < 500.0, "{}", found.len());
        let busy = found.iter().filter(|it| it.as_secs() % 100 < 50).count() as f64 / found.len() as f64;
        // The area of half a period is 1/2 + amplitude / pi; five standard errors.
        let expected = 0.5 + 0.8 / std::f64::consts::PI;
        assert!((busy - expected).abs() < 5.0 * (expected * (1.0 - expected) / 10_000.0).sqrt(), "{busy}");
    }

    proptest! {
        #[test]
        fn time_is_the_inverse_of_the_integral(
            rates in prop::collection::vec((0.0_f64..20.0, 0.5_f64..200.0), 1..6),
            part in 0.001_f64..1.0,
        ) {
            let mut at = 0.0;
            let list: Vec<(f64, f64)> = rates.iter().map(|(gap, rate)| { at += gap; (at, *rate) }).collect();
            let rate = points(&list);
            let change = TimeChange::of(&rate).unwrap();
            let seconds = part * (at + 10.0);
            let requests = change.requests_until(seconds);
            prop_assert!((requests - rate.requests_until(seconds).unwrap()).abs() < 1e-6);
            prop_assert!((change.time_of(requests) - seconds).abs() < 1e-8);
        }

        #[test]
        fn time_on_a_sinusoid_is_the_inverse_too(
            mean in 0.1_f64..1_000.0, amplitude in 0.0_f64..0.99, period in 1.0_f64..90_000.0, phase in 0.0_f64..1.0,
            part in 0.0_f64..5.0,
        ) {
            let rate = sinusoid(mean, amplitude, period, phase * period);
            let change = TimeChange::of(&rate).unwrap();
            let seconds = part * period;
            let requests = change.requests_until(seconds);
            prop_assert!((requests - rate.requests_until(seconds).unwrap()).abs() < 1e-6 * requests.max(1.0));
            // Where the rate is a hundredth of its mean, a request is a hundred times as long.
            prop_assert!((change.time_of(requests) - seconds).abs() < 1e-7 * period.max(1.0), "{}", change.time_of(requests));
        }
    }
}
