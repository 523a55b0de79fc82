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
    /// A rate that changes during the stage.
    Varying(RateShape),
}

/// How a rate changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RateShape {
    /// Straight lines between these points, which are in order of time. Before the first point the rate is constant at the first point's value, and
    /// after the last point at the last point's value. Two points at the same time form a step.
    Points(Vec<RatePoint>),
    /// mean x (1 + amplitude x sin(2 pi (t + phase) / period)): a load that rises and falls, as between day and night.
    #[serde(rename_all = "camelCase")]
    Sinusoid {
        /// The mean rate over whole periods.
        mean: RequestRate,
        /// The amplitude as a fraction of the mean, 0 to 1.
        amplitude: f64,
        /// The time between two peaks.
        period: Span,
        /// The position within the period at the start of the stage. At 0 the rate equals the mean and rises.
        phase: Span,
    },
    /// A function of the request number, not of time. The gap before request i of n is 1 / the rate at progress i / (n - 1). This is vLLM's
    /// `--ramp-up-strategy`.
    #[serde(rename_all = "camelCase")]
    RampUp {
        /// How the rate changes between the two rates.
        strategy: RampUpStrategy,
        /// The rate of the first request.
        from: RequestRate,
        /// The rate of the last request.
        to: RequestRate,
    },
    /// A rate between two rates that are only known after earlier stages: a sweep.
    Measured(MeasuredRate),
}

/// A constant rate between two other rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MeasuredRate {
    /// The rate at position 0.
    pub from: RateBound,
    /// The rate at position 1.
    pub to: RateBound,
    /// The position between the two rates, 0 to 1.
    pub position: f64,
    /// How the position is mapped to a rate.
    pub spacing: Spacing,
}

/// A rate that the profile contains, or that an earlier stage measures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RateBound {
    /// A rate that the profile contains.
    Rate(RequestRate),
    /// Successful requests per second in this stage, from its start to the end of its last request. The number is the index of the stage, from 0.
    Throughput(u32),
    /// How fast the requests of a stage ended. The requests in flight are counted every 0.5 s, and each decrease is converted to a rate. The result
    /// is the given percentile of these rates.
    #[serde(rename_all = "camelCase")]
    Drain {
        /// The index of the stage, from 0.
        stage: u32,
        /// The percentile, 0 to 100.
        percentile: f64,
    },
}

/// How a position between two rates is mapped to a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Spacing {
    /// from + (to - from) x position.
    Linear,
    /// from + to - to x (from / to) ^ position. The rates are closer to each other near `to`. This is inference-perf's `geometric`.
    TowardsEnd,
}

/// The rate at a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RatePoint {
    /// The time since the start of the stage.
    pub at: Span,
    /// Requests per second, from 0 to [`RequestRate::MAX`].
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
    /// Returns the highest rate. If the rate is always 0, returns one request per second.
    pub fn peak(&self) -> RequestRate {
        let peak = match self {
            Rate::Steady(rate) => return *rate,
            Rate::Varying(RateShape::Points(points)) => points.iter().map(|it| it.rate).fold(0.0, f64::max),
            Rate::Varying(RateShape::Sinusoid { mean, amplitude, .. }) => mean.per_second() * (1.0 + amplitude),
            Rate::Varying(RateShape::RampUp { from, to, .. }) => from.per_second().max(to.per_second()),
            // The rate is not known before the run, so the result below is one request per second.
            Rate::Varying(RateShape::Measured(_)) => 0.0,
        };
        let peak = peak.min(RequestRate::MAX);
        RequestRate::try_from(peak).unwrap_or_else(|_| RequestRate::try_from(1.0).expect("1 is a rate"))
    }

    /// Returns the expected number of requests due before a time: the integral of the rate from 0. `None` if the rate is not a function of time.
    pub fn requests_until(&self, seconds: f64) -> Option<f64> {
        TimeChange::from_rate(self).map(|it| it.requests_until(seconds))
    }

    /// Whether the expected number of requests within a time is at least `count`.
    pub fn reaches(&self, count: u64, seconds: f64) -> bool {
        match self {
            Rate::Varying(RateShape::RampUp { strategy, from, to }) => {
                ramp_up_seconds(*strategy, from.per_second(), to.per_second(), count) <= seconds
            }
            // The tolerance prevents rounding errors from changing the result.
            _ => self.requests_until(seconds).is_none_or(|it| it * (1.0 + 1e-9) >= count as f64),
        }
    }
}

/// Returns the expected time that the requests of a ramp-up take, in seconds.
fn ramp_up_seconds(strategy: RampUpStrategy, from: f64, to: f64, count: u64) -> f64 {
    let ratio = to / from;
    // The mean of 1 / rate over the ramp, in seconds.
    let gap = match strategy {
        _ if (ratio - 1.0).abs() < 1e-9 => 1.0 / from,
        RampUpStrategy::Linear => ratio.ln() / (to - from),
        RampUpStrategy::Exponential => (1.0 / from - 1.0 / to) / ratio.ln(),
    };
    // The trapezoidal rule counts each end with half its weight, but the gaps at both ends count in full.
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
        // 2 per second for 10 s, rising to 6 within 10 s, then a step down to 1, and 1 from then on.
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
        // From the peak down to the mean: 3 (15 + 60 / tau).
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
