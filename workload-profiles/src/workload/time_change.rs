//! The integral of a rate over time, and the inverse. Only this module converts between a rate, a number of requests and a time.
//!
//! For a varying rate, arrivals are drawn for one request per second. Each drawn time x is then mapped to the time at which the integrated rate
//! reaches x. An arrival process that is mapped in this way has the rate r(t). With exponential gaps, it is the Poisson process of that rate.
//! Source: the time-change theorem for point processes (Daley and Vere-Jones, An Introduction to the Theory of Point Processes, 7.4; Cinlar's
//! inversion method).

use std::f64::consts::TAU;

use super::rate::{Rate, RatePoint, RateShape};

/// Maximum steps when searching for a time on a sinusoid. Each step at least halves the interval, so 64 steps are exact.
const MAX_STEPS: usize = 64;

/// The integral of a rate over time, and the inverse.
#[derive(Clone, Debug)]
pub enum TimeChange {
    /// A constant rate, in requests per second.
    Steady(f64),
    /// A rate that consists of straight lines.
    Lines(Vec<Line>),
    /// The rate mean x (1 + amplitude x sin(2 pi (t + phase) / period)).
    Sinusoid {
        /// The mean, in requests per second.
        mean: f64,
        /// The amplitude as a fraction of the mean.
        amplitude: f64,
        /// The period in seconds.
        period: f64,
        /// The phase in seconds.
        phase: f64,
    },
}

/// A straight line of the rate. It extends to the start of the next line. The last line continues forever.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    start: f64,
    /// The integral of the rate up to the start of the line.
    before: f64,
    rate: f64,
    slope: f64,
}

impl TimeChange {
    /// Returns `None` if the rate is not a function of time.
    pub fn from_rate(rate: &Rate) -> Option<TimeChange> {
        Some(match rate {
            Rate::Steady(rate) => TimeChange::Steady(rate.per_second()),
            Rate::Varying(RateShape::Points(points)) => TimeChange::Lines(lines(points)),
            Rate::Varying(RateShape::Sinusoid { mean, amplitude, period, phase }) => TimeChange::Sinusoid {
                mean: mean.per_second(),
                amplitude: amplitude.clamp(0.0, 1.0),
                period: period.0.as_secs_f64(),
                phase: phase.0.as_secs_f64(),
            },
            Rate::Varying(RateShape::RampUp { .. } | RateShape::Measured(_)) => return None,
        })
    }

    /// Returns the integral of the rate up to a time: the expected number of requests.
    pub fn requests_until(&self, seconds: f64) -> f64 {
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

    /// Returns the time in seconds at which the integral reaches `requests`. Infinite if it never does.
    pub fn time_of(&self, requests: f64) -> f64 {
        match self {
            TimeChange::Steady(rate) => requests / rate,
            TimeChange::Lines(lines) => line_at(lines, |it| it.before <= requests)
                .map_or(f64::INFINITY, |line| line.start + line.length_of(requests - line.before)),
            TimeChange::Sinusoid { mean, period, .. } => {
                // Every period has the same integral, so only the time within one period must be searched.
                let in_period = mean * period;
                let periods = (requests / in_period).floor();
                periods * period + self.search(requests - periods * in_period, *period)
            }
        }
    }

    /// Returns the time within the first period of a sinusoid. Uses Newton's method, or bisection if Newton's step leaves the interval.
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
            // A tenth of a nanosecond does not matter in a schedule.
            if (next - at).abs() < 1e-10 {
                return next;
            }
            at = next;
        }
        at
    }
}

impl Line {
    /// Returns the time since the start of the line at which the line's own integral reaches `requests`. This is the root of slope / 2 x^2 + rate x =
    /// requests, in a form without numerical cancellation.
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

/// Returns the last line for which `holds` is true, else the first line.
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
        // Two points at the same time form a step, so there is no line between them.
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

    use super::*;

    fn points(points: &[(f64, f64)]) -> Rate {
        let point = |(at, rate): &(f64, f64)| RatePoint { at: Span(Duration::from_secs_f64(*at)), rate: *rate };
        Rate::Varying(RateShape::Points(points.iter().map(point).collect()))
    }

    fn sinusoid(mean: f64, amplitude: f64, period: f64, phase: f64) -> Rate {
        let span = |seconds| Span(Duration::from_secs_f64(seconds));
        let mean = RequestRate::try_from(mean).unwrap();
        Rate::Varying(RateShape::Sinusoid { mean, amplitude, period: span(period), phase: span(phase) })
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
            let change = TimeChange::from_rate(&rate).unwrap();
            let seconds = part * (at + 10.0);
            let requests = change.requests_until(seconds);
            prop_assert!((change.time_of(requests) - seconds).abs() < 1e-8);
        }

        #[test]
        fn time_on_a_sinusoid_is_the_inverse_too(
            mean in 0.1_f64..1_000.0, amplitude in 0.0_f64..0.99, period in 1.0_f64..90_000.0, phase in 0.0_f64..1.0,
            part in 0.0_f64..5.0,
        ) {
            let rate = sinusoid(mean, amplitude, period, phase * period);
            let change = TimeChange::from_rate(&rate).unwrap();
            let seconds = part * period;
            let requests = change.requests_until(seconds);
            // Where the rate is a hundredth of its mean, a small error in the number of requests is a hundred times as large in the time. So the
            // tolerance is wide.
            prop_assert!((change.time_of(requests) - seconds).abs() < 1e-7 * period.max(1.0), "{}", change.time_of(requests));
        }
    }
}
