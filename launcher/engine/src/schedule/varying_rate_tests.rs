//! Tests of schedules whose rates vary.

use std::time::Duration;

use crds::units::{RequestRate, Span};
use workload_profiles::workload::{Arrivals, Load, Rate, RatePoint, RateShape};

use crate::schedule::tests::times;

fn points(points: &[(f64, f64)]) -> Rate {
    let point = |(at, rate): &(f64, f64)| RatePoint { at: Span(Duration::from_secs_f64(*at)), rate: *rate };
    Rate::Varying(RateShape::Points(points.iter().map(point).collect()))
}

fn sinusoid(mean: f64, amplitude: f64, period: f64, phase: f64) -> Rate {
    let span = |seconds| Span(Duration::from_secs_f64(seconds));
    let mean = RequestRate::try_from(mean).expect("the tests give rates above zero");
    Rate::Varying(RateShape::Sinusoid { mean, amplitude, period: span(period), phase: span(phase) })
}

fn load(arrivals: Arrivals, rate: Rate, seconds: u64) -> Load {
    let duration = Some(Span(Duration::from_secs(seconds)));
    Load::Open { arrivals, rate, duration, count: None, max_concurrency: None }
}

/// Checks when requests with even arrivals are due, in milliseconds.
fn check(rate: Rate, seconds: u64, expected: &[u64]) {
    let found: Vec<u64> =
        times(&load(Arrivals::Constant, rate, seconds), 1).iter().map(|it| it.as_millis() as u64).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_step_changes_the_gaps_at_its_time() {
    // The rate is 2 per second for 1 s, and then 4.
    check(points(&[(0.0, 2.0), (1.0, 2.0), (1.0, 4.0)]), 2, &[0, 500, 1_000, 1_250, 1_500, 1_750]);
}

#[test]
fn a_spike_is_as_high_and_as_long_as_asked() {
    // The rate is 1 per second, but 10 from 2 s to 2.5 s. The request due at 2 s is the first of the spike.
    let spike = points(&[(0.0, 1.0), (2.0, 1.0), (2.0, 10.0), (2.5, 10.0), (2.5, 1.0)]);
    check(spike, 5, &[0, 1_000, 2_000, 2_100, 2_200, 2_300, 2_400, 2_500, 3_500, 4_500]);
}

#[test]
fn a_ramp_from_nothing_is_a_square_root() {
    // GuideLLM's ramp-up: request k is due at sqrt(2 k R / rate), where the ramp lasts R = 2 s and reaches 8 per second. Then the rate is
    // steady.
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
    // A quarter of the requests is expected in the first half. The tolerance is five standard errors of a share of 2,000 requests.
    let share = found.iter().filter(|it| it.as_secs() < 50).count() as f64 / 2_000.0;
    assert!((share - 0.25).abs() < 5.0 * (0.25 * 0.75 / 2_000.0_f64).sqrt(), "{share}");
}

#[test]
fn a_sinusoid_has_its_peak_and_its_trough() {
    // Two periods of 100 s each, at a mean of 50 per second with an amplitude of 80 %. The first half of each period is the busy one.
    let found = times(&load(Arrivals::Poisson, sinusoid(50.0, 0.8, 100.0, 0.0), 200), 8);
    // 200 s x 50 requests are expected. The standard deviation of a Poisson variate with that mean is 100. The tolerance is five standard deviations.
    assert!((found.len() as f64 - 10_000.0).abs() < 500.0, "{}", found.len());
    let busy = found.iter().filter(|it| it.as_secs() % 100 < 50).count() as f64 / found.len() as f64;
    // The share of the busy half is 1/2 + amplitude / pi. The tolerance is five standard errors.
    let expected = 0.5 + 0.8 / std::f64::consts::PI;
    assert!((busy - expected).abs() < 5.0 * (expected * (1.0 - expected) / 10_000.0).sqrt(), "{busy}");
}
