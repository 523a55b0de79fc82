//! Intervals of ITL for a synthetic server: each engine step generates one token for every running request.

use std::time::Duration;

use measurement::{
    inter_token_times::InterTokenTimes,
    record::RequestRecord,
    recorder::{Keep, Recorder, WireTally},
};
use workload_profiles::workload::Goodput;

use super::*;

/// Number of concurrent users.
const USERS: usize = 8;
/// Number of tokens per answer.
const TOKENS: u32 = 40;

/// Generates random numbers between 0 and 1 (SplitMix64).
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Durations of engine steps: 10 ms, slowly varying by up to a third. One step in 40 also waits 30 to 60 ms for a prefill.
fn steps(seconds: f64, seed: u64) -> Vec<Duration> {
    let mut random = Random(seed << 32);
    let (mut passed, mut level, mut steps) = (0.0, 0.0, Vec::new());
    while passed < seconds {
        level = 0.95 * level + 0.1 * (random.uniform() - 0.5);
        let prefill = if random.uniform() < 0.025 { 0.03 + 0.03 * random.uniform() } else { 0.0 };
        let step = 0.01 * (1.0 + level) + prefill;
        steps.push(Duration::from_secs_f64(step));
        passed += step;
    }
    steps
}

/// Records a closed loop against a server with these step times. Each answer has [`TOKENS`] tokens.
fn recorder(steps: &[Duration]) -> Recorder {
    recorder_of(steps, TOKENS)
}

/// Records a closed loop against a server with these step times. Each answer has `tokens` tokens.
fn recorder_of(steps: &[Duration], tokens: u32) -> Recorder {
    let mut recorder = Recorder::new(1, Goodput::default(), Keep::Summary);
    let mut now = Duration::ZERO;
    // Users start at different steps.
    let mut users: Vec<(Duration, InterTokenTimes)> = vec![(now, InterTokenTimes::default()); USERS];
    for (number, step) in steps.iter().enumerate() {
        now += *step;
        for (user, (first, gaps)) in users.iter_mut().enumerate().filter(|(user, _)| number >= user * 5) {
            gaps.push(*step);
            if gaps.len() + 1 == tokens as usize {
                let (record, _) = crate::tests::request(0, 0, 0, tokens);
                let record = RequestRecord {
                    number: (number * USERS + user) as u64,
                    scheduled: *first,
                    sent: Some(*first),
                    first_token: Some(*first),
                    last_token: Some(now),
                    ended: now,
                    ..record
                };
                let wire = WireTally { gaps: std::mem::take(gaps), reads: u64::from(tokens), ..WireTally::default() };
                recorder.record(record, &wire);
                *first = now;
            }
        }
    }
    recorder
}

fn found(seconds: f64, seed: u64) -> Latencies {
    estimates_of(&recorder(&steps(seconds, seed)))
}

fn estimates_of(recorder: &Recorder) -> Latencies {
    estimates(&recorder.stages[0], &recorder.series[0]).unwrap()
}

#[test]
fn intervals_contain_the_true_figures_as_often_as_they_claim() {
    let truth = {
        let itl = crate::figures::itl(&recorder(&steps(4_000.0, 1_000)).stages[0]).unwrap();
        [itl.mean, itl.p50, itl.p90, itl.p99].map(millis)
    };
    let draws = 100;
    for seconds in [10.0, 40.0] {
        let (mut held, mut given, mut widths) = ([0_u32; 4], [0_u32; 4], [0.0; 4]);
        for seed in 0..draws {
            let it = found(seconds, seed);
            let [p50, p90, p99] = it.percentiles;
            for (place, estimate) in [it.mean, p50, p90, p99].into_iter().enumerate() {
                let Some(interval) = estimate.interval else { continue };
                assert!(interval.contains(estimate.value.unwrap()), "{estimate:?}");
                given[place] += 1;
                held[place] += u32::from(interval.contains(truth[place]));
                widths[place] += (interval.high - interval.low) / truth[place];
            }
        }
        // In the other cases there is no interval, because the interval of the percentile would reach beyond the largest value.
        assert!(given.iter().all(|it| *it >= 85), "{seconds} s: {given:?}");
        assert!(
            held.iter().zip(given).all(|(held, given)| held * 10 >= given * 9),
            "{seconds} s: {held:?} of {given:?}"
        );
        // The intervals must also be narrow, because a very wide interval always contains the true value.
        let narrow = if seconds < 20.0 { [0.2, 0.2, 1.5, 0.4] } else { [0.1, 0.1, 0.8, 0.2] };
        let mean_widths = widths.iter().zip(given).map(|(width, given)| width / f64::from(given));
        assert!(mean_widths.zip(narrow).all(|(it, narrow)| it < narrow), "{seconds} s: {widths:?}");
    }
}

#[test]
fn a_short_stage_has_no_interval_of_a_percentile() {
    let it = found(0.6, 1);
    assert!(it.count > 50 && it.percentiles[1].value.is_some(), "{it:?}");
    assert!(it.percentiles.iter().all(|it| it.interval.is_none()), "{it:?}");
}

#[test]
fn few_gaps_have_no_interval_in_a_stage_of_any_length() {
    let of_tokens = |tokens: u32| {
        // The only answer ends with the last step.
        estimates_of(&recorder_of(&vec![Duration::from_millis(300); tokens as usize - 1], tokens))
    };
    let (found, enough) = (of_tokens(30), of_tokens(31));
    assert_eq!((found.count, enough.count), (29, 30));
    assert!(enough.mean.interval.is_some(), "{enough:?}");
    assert!(found.percentiles.iter().chain([&found.mean]).all(|it| it.interval.is_none()), "{found:?}");
}

#[test]
fn equal_gaps_have_an_interval_as_wide_as_their_bucket() {
    let recorder = recorder(&[Duration::from_millis(10); 2_000]);
    let it = estimates_of(&recorder);
    let interval = it.percentiles[2].interval.unwrap();
    assert!(interval.low < 10.0 && interval.high > 10.0 && interval.high / interval.low < 1.04, "{interval:?}");
}

#[test]
fn bins_outside_the_window_do_not_count() {
    let recorder = recorder(&steps(10.0, 3));
    let series = &recorder.series[0];
    let all = within(series, (Duration::ZERO, Duration::from_secs(20)));
    let some = within(series, (Duration::from_millis(1_010), Duration::from_secs(5)));
    let none = within(series, (Duration::from_secs(3), Duration::from_millis(3_030)));
    assert_eq!((all.len(), none.len()), (series.bins().len(), 0));
    assert!(some.len() < all.len() / 2, "{}", some.len());
}
