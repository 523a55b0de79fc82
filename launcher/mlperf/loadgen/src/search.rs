//! Rate search: finds the highest rate of the Server scenario that meets the limits, without needing a good initial value. Short trials double or
//! halve the rate until one rate meets the limits and another does not. Then they bisect this bracket at its geometric mean. A trial of full length
//! confirms the rate. Each failed confirmation lowers the rate by one step. Pure: the next step is a function of the previous trials.
//!
//! LoadGen's own search, in [`peak`](super::peak), needs a rate that is known to be good, and runs every trial at full length.

use workload_profiles::loadgen::Settings;

/// The first rate by default, in queries per second.
const START: f64 = 1.0;
/// The lowest and the highest rate to try, in queries per second. With short trials as in [`SHORT`], a search that ends at the lowest rate takes
/// about half an hour.
const RANGE: (f64, f64) = (1.0 / 64.0, 1_048_576.0);
/// The bracket is narrow enough if its upper end divided by its lower end is at most this.
const NARROW: f64 = 1.05;
/// The factor by which a rate that was not confirmed is reduced.
const STEP_DOWN: f64 = 0.95;
/// Maximum number of confirmation trials.
const CONFIRMATIONS: usize = 3;
/// Minimum duration of a short trial in milliseconds, and minimum number of its queries. At low rates, the number is reduced so that the trial takes
/// about [`SLOW_SECONDS`].
const SHORT: (u64, u64) = (15_000, 100);
/// Duration of a short trial at a low rate, in seconds.
const SLOW_SECONDS: f64 = 120.0;
/// Minimum number of queries in a short trial, even at the lowest rate.
const FEWEST_QUERIES: u64 = 10;

/// A trial at a rate, in queries per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The rate, in queries per second.
    pub rate: f64,
    /// Whether the trial has the full length of the test.
    pub full: bool,
}

/// The next step of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Run a trial.
    Run(Trial),
    /// The search has ended: the last trial confirmed this rate.
    Confirmed(f64),
    /// The search has ended: no trial of full length met the limits.
    NotConfirmed,
    /// The search has ended: even the lowest rate does not meet the limits.
    TooSlow,
}

/// Returns the next step after these trials, each of which comes with whether it met the limits. `start` is a guess for the first rate.
pub fn next(start: Option<f64>, tried: &[(Trial, bool)]) -> Next {
    let full = || tried.iter().filter(|(trial, _)| trial.full);
    if let Some((last, met)) = full().next_back() {
        return match met {
            true => Next::Confirmed(last.rate),
            false if full().count() >= CONFIRMATIONS => Next::NotConfirmed,
            false => Next::Run(Trial { rate: last.rate * STEP_DOWN, full: true }),
        };
    }
    let rates = |wanted: bool| tried.iter().filter(move |(_, met)| *met == wanted).map(|(trial, _)| trial.rate);
    let (lower, upper) = (rates(true).reduce(f64::max), rates(false).reduce(f64::min));
    let short = |rate| Next::Run(Trial { rate, full: false });
    match (lower, upper) {
        (None, None) => short(start.filter(|it| it.is_finite()).unwrap_or(START).clamp(RANGE.0, RANGE.1)),
        (None, Some(upper)) if upper / 2.0 < RANGE.0 => Next::TooSlow,
        (None, Some(upper)) => short(upper / 2.0),
        (Some(lower), None) if lower * 2.0 <= RANGE.1 => short(lower * 2.0),
        (Some(lower), Some(upper)) if upper > lower * NARROW => short((lower * upper).sqrt()),
        (Some(lower), _) => Next::Run(Trial { rate: lower, full: true }),
    }
}

/// Returns the settings of a trial. A short trial is too short for LoadGen's verdict, so only its limits are checked.
pub fn settings(of_test: &Settings, trial: Trial) -> Settings {
    let mut settings = Settings { server_target_qps: trial.rate, ..of_test.clone() };
    if !trial.full {
        settings.min_duration_ms = SHORT.0.min(of_test.min_duration_ms);
        let in_time = (trial.rate * SLOW_SECONDS).ceil() as u64;
        settings.min_query_count = in_time.clamp(FEWEST_QUERIES, SHORT.1).min(of_test.min_query_count);
        // Whole passes over the samples would make the trial too long.
        settings.sample_concatenate_permutation = false;
        settings.performance_issue_unique = false;
        settings.accuracy_log_sampling_target = 0;
        settings.accuracy_log_probability = 0.0;
    }
    settings
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Runs the search for a server that meets its limits up to `short` queries per second in short trials, and up to `full` in long
    /// trials. Returns the trials, and how the search ended.
    fn search(start: Option<f64>, short: f64, full: f64) -> (Vec<(Trial, bool)>, Next) {
        let mut tried = Vec::new();
        loop {
            match next(start, &tried) {
                Next::Run(trial) => tried.push((trial, trial.rate <= if trial.full { full } else { short })),
                end => return (tried, end),
            }
            assert!(tried.len() < 200, "{tried:?}");
        }
    }

    #[test]
    fn it_doubles_narrows_and_confirms() {
        let (tried, end) = search(None, 11.0, 11.0);
        let rates: Vec<f64> = tried.iter().take(5).map(|(trial, _)| trial.rate).collect();
        assert_eq!(rates, [1.0, 2.0, 4.0, 8.0, 16.0]);
        let Next::Confirmed(found) = end else { panic!("{end:?}") };
        assert!((11.0 / NARROW..=11.0).contains(&found), "{found}");
        assert_eq!(tried.iter().filter(|(trial, _)| trial.full).count(), 1);
    }

    #[test]
    fn a_guess_that_is_too_high_is_halved() {
        let (tried, end) = search(Some(100.0), 30.0, 30.0);
        assert_eq!(tried[1].0, Trial { rate: 50.0, full: false });
        assert!(matches!(end, Next::Confirmed(rate) if (30.0 / NARROW..=30.0).contains(&rate)), "{end:?}");
    }

    #[test]
    fn what_holds_for_a_short_time_only_is_tried_lower_and_then_given_up() {
        let (tried, end) = search(None, 8.0, 7.7);
        let Next::Confirmed(found) = end else { panic!("{end:?}") };
        assert!(found <= 7.7 && tried.iter().filter(|(trial, _)| trial.full).count() == 2, "{tried:?}");
        assert_eq!(search(None, 8.0, 1.0).1, Next::NotConfirmed);
        assert_eq!(search(None, 0.0, 0.0).1, Next::TooSlow);
    }

    #[test]
    fn a_server_without_a_limit_is_confirmed_at_the_highest_rate() {
        assert_eq!(search(None, f64::INFINITY, f64::INFINITY).1, Next::Confirmed(RANGE.1));
    }

    #[test]
    fn a_short_trial_keeps_the_limits_and_the_seeds() {
        let test = Settings {
            min_duration_ms: 600_000,
            min_query_count: 13_368,
            sample_concatenate_permutation: true,
            performance_issue_unique: true,
            server_ttft_latency: 5,
            schedule_rng_seed: 7,
            ..Settings::default()
        };
        let short = settings(&test, Trial { rate: 3.0, full: false });
        assert_eq!((short.min_duration_ms, short.min_query_count, short.server_target_qps), (15_000, 100, 3.0));
        assert_eq!((short.server_ttft_latency, short.schedule_rng_seed), (5, 7));
        assert!(!short.sample_concatenate_permutation && !short.performance_issue_unique);
        for (rate, queries) in [(1.0, 100), (0.5, 60), (0.25, 30), (1.0 / 64.0, 10)] {
            assert_eq!(settings(&test, Trial { rate, full: false }).min_query_count, queries, "{rate}");
        }
        let full = settings(&test, Trial { rate: 3.0, full: true });
        assert_eq!(full, Settings { server_target_qps: 3.0, ..test });
    }

    proptest! {
        #[test]
        fn it_always_ends_and_never_confirms_what_fails(start in prop::option::of(any::<f64>()), short in 0.0..1e7, share in 0.0..1.2) {
            let full: f64 = short * share;
            match search(start, short, full).1 {
                Next::Confirmed(rate) => prop_assert!(rate <= full),
                Next::NotConfirmed | Next::TooSlow => {}
                Next::Run(trial) => prop_assert!(false, "{:?}", trial),
            }
        }
    }
}
