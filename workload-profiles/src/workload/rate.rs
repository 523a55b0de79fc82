//! Rate: requests per second, constant or a function of time.

use crds::units::{RequestRate, Span};
use serde::{Deserialize, Serialize};

use super::time_change::TimeChange;

/// Requests per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Rate {
    /// A constant rate.
    Steady(RequestRate),
    /// A rate that changes.
    Varying(RateShape),
}

/// How a rate changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RateShape {
    /// Straight lines between these points, in order of time. Before the first point its rate applies, and after the last point the last rate.
    /// Two points at the same time form a step.
    Points(Vec<RatePoint>),
    /// mean x (1 + amplitude x sin(2 pi (t + phase) / period)): load that rises and falls, as by day and night.
    #[serde(rename_all = "camelCase")]
    Sinusoid {
        /// The mean over whole periods.
        mean: RequestRate,
        /// The amplitude as a share of the mean: 0 to 1.
        amplitude: f64,
        /// The time between peaks.
        period: Span,
        /// The position in the period at the start of the stage. At 0 the rate is the mean and rises.
        phase: Span,
    },
    /// A function of the request number, not of time: the gap of request i of n belongs to the rate at i / (n - 1). This is vLLM's
    /// `--ramp-up-strategy`.
    #[serde(rename_all = "camelCase")]
    RampUp {
        /// How the rate changes between both.
        strategy: RampUpStrategy,
        /// The rate of the first request.
        from: RequestRate,
        /// The rate of the last request.
        to: RequestRate,
    },
    /// Between two rates that are known only when earlier stages have run: a sweep.
    Measured(MeasuredRate),
}

/// A constant rate between two others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MeasuredRate {
    /// The rate at position 0.
    pub from: RateBound,
    /// The rate at position 1.
    pub to: RateBound,
    /// The position: 0 to 1.
    pub position: f64,
    /// How rates are spaced between both.
    pub spacing: Spacing,
}

/// A rate that is known before the run, or that an earlier stage shows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RateBound {
    /// This rate.
    Rate(RequestRate),
    /// Successful requests of this stage per second, from its start to the end of its last request. Stages count from 0.
    Throughput(u32),
    /// How fast this stage's requests ended: the requests in flight are counted every 0.5 s. Each decrease gives a rate, and this is the
    /// percentile of these rates.
    #[serde(rename_all = "camelCase")]
    Drain {
        /// The stage, from 0.
        stage: u32,
        /// 0 to 100.
        percentile: f64,
    },
}

/// How rates are spaced between two others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Spacing {
    /// from + (to - from) x position.
    Linear,
    /// from + to - to x (from / to) ^ position: the points lie closer to each other towards `to`. This is inference-perf's `geometric`.
    TowardsEnd,
}

/// The rate at one time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RatePoint {
    /// From the start of the stage.
    pub at: Span,
    /// Requests per second: 0 to [`RequestRate::MAX`].
    pub rate: f64,
}

/// How a ramp changes from one rate to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RampUpStrategy {
    /// from + (to - from) x progress.
    Linear,
    /// from x (to / from) ^ progress.
    Exponential,
}

impl From<RequestRate> for Rate {
    fn from(rate: RequestRate) -> Self {
        Rate::Steady(rate)
    }
}

impl Rate {
    /// The highest rate; one request per second if the rate is always 0.
    pub fn peak(&self) -> RequestRate {
        let peak = match self {
            Rate::Steady(rate) => return *rate,
            Rate::Varying(RateShape::Points(points)) => points.iter().map(|it| it.rate).fold(0.0, f64::max),
            Rate::Varying(RateShape::Sinusoid { mean, amplitude, .. }) => mean.per_second() * (1.0 + amplitude),
            Rate::Varying(RateShape::RampUp { from, to, .. }) => from.per_second().max(to.per_second()),
            // Not known before the run.
            Rate::Varying(RateShape::Measured(_)) => 0.0,
        };
        let peak = peak.min(RequestRate::MAX);
        RequestRate::try_from(peak).unwrap_or_else(|_| RequestRate::try_from(1.0).expect("1 is a rate"))
    }

    /// The mean number of requests due before a time: the integral of the rate from 0. `None` if the rate is not a function of time.
    pub fn requests_until(&self, seconds: f64) -> Option<f64> {
        TimeChange::from_rate(self).map(|it| it.requests_until(seconds))
    }

    /// Whether `count` requests are due within a time, in the mean.
    pub fn reaches(&self, count: u64, seconds: f64) -> bool {
        match self {
            Rate::Varying(RateShape::RampUp { strategy, from, to }) => {
                ramp_up_seconds(*strategy, from.per_second(), to.per_second(), count) <= seconds
            }
            // A rounding error must not decide.
            _ => self.requests_until(seconds).is_none_or(|it| it * (1.0 + 1e-9) >= count as f64),
        }
    }
}

/// How long the requests of a ramp-up take, in the mean.
fn ramp_up_seconds(strategy: RampUpStrategy, from: f64, to: f64, count: u64) -> f64 {
    let ratio = to / from;
    // The mean of 1 / rate over the ramp.
    let gap = match strategy {
        _ if (ratio - 1.0).abs() < 1e-9 => 1.0 / from,
        RampUpStrategy::Linear => ratio.ln() / (to - from),
        RampUpStrategy::Exponential => (1.0 / from - 1.0 / to) / ratio.ln(),
    };
    // The trapezoidal rule counts both ends half, but the gaps include both in full.
    (count - 1) as f64 * gap + f64::midpoint(1.0 / from, 1.0 / to)
}

#[cfg(test)]
mod tests {
    use std::{f64::consts::TAU, time::Duration};

    use super::*;

    fn check(rate: &Rate, seconds: f64, expected: f64) {
        let found = rate.requests_until(seconds).unwrap();
        assert!((found - expected).abs() < 1e-9, "{found} and not {expected}");
    }

    fn points(points: &[(u64, f64)]) -> Rate {
        let point = |(at, rate): &(u64, f64)| RatePoint { at: Span(Duration::from_secs(*at)), rate: *rate };
        Rate::Varying(RateShape::Points(points.iter().map(point).collect()))
    }

    #[test]
    fn the_area_under_lines_and_steps_is_exact() {
        // 2 for 10 s, up to 6 within 10 s, a step down to 1, and 1 from then on.
        let rate = points(&[(10, 2.0), (20, 6.0), (20, 1.0), (30, 1.0)]);
        for (seconds, expected) in [(5.0, 10.0), (10.0, 20.0), (15.0, 35.0), (20.0, 60.0), (25.0, 65.0), (40.0, 80.0)] {
            check(&rate, seconds, expected);
        }
        check(&points(&[]), 5.0, 0.0);
    }

    #[test]
    fn whole_periods_have_the_mean() {
        let span = |seconds| Span(Duration::from_secs(seconds));
        let mean = RequestRate::try_from(3.0).unwrap();
        let rate = Rate::Varying(RateShape::Sinusoid { mean, amplitude: 1.0, period: span(60), phase: span(15) });
        check(&rate, 120.0, 360.0);
        // From a peak down to the mean: 3 (15 + 60 / tau).
        check(&rate, 15.0, 3.0 * (15.0 + 60.0 / TAU));
    }

    #[test]
    fn the_peak_is_the_highest_rate() {
        let peak = |rate: &Rate| rate.peak().per_second();
        assert_eq!(peak(&points(&[(0, 1.0), (5, 9.0), (9, 2.0)])), 9.0);
        assert_eq!(peak(&points(&[(0, 0.0)])), 1.0);
        let (mean, to) = (RequestRate::try_from(4.0).unwrap(), RequestRate::try_from(7.0).unwrap());
        assert_eq!(peak(&Rate::Steady(mean)), 4.0);
        let (period, phase) = (Span(Duration::from_secs(9)), Span::default());
        assert_eq!(peak(&Rate::Varying(RateShape::Sinusoid { mean, amplitude: 0.5, period, phase })), 6.0);
        let strategy = RampUpStrategy::Linear;
        assert_eq!(peak(&Rate::Varying(RateShape::RampUp { strategy, from: mean, to })), 7.0);
    }

    #[test]
    fn a_steady_rate_is_written_as_a_number() {
        let text = serde_json::to_string(&Rate::Steady(RequestRate::try_from(2.5).unwrap())).unwrap();
        assert_eq!(text, "2.5");
        assert_eq!(serde_json::from_str::<Rate>(&text).unwrap(), Rate::Steady(RequestRate::try_from(2.5).unwrap()));
        let rate = points(&[(0, 1.0), (10, 2.0)]);
        let text = serde_json::to_string(&rate).unwrap();
        assert_eq!(text, r#"{"points":[{"at":"0s","rate":1.0},{"at":"10s","rate":2.0}]}"#);
        assert_eq!(serde_json::from_str::<Rate>(&text).unwrap(), rate);
    }
}
