//! Predicts the verdict on a performance phase from what has completed so far. The progress of a run shows it.
//!
//! [`Forecast::Lost`] is certain, because the number of queries over a limit never decreases. All other predictions assume that the phase continues
//! as before.

use std::time::Duration;

use workload_profiles::loadgen::{Effective, Scenario, Settings};

use crate::results::{early_stopping::EarlyStopping, percentile_place};

/// The progress of a running phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoFar {
    /// Number of generated queries; in Offline, the number of samples in its only query.
    pub planned: u64,
    /// Number of completed queries; in Offline, number of completed samples.
    pub completed: u64,
    /// Time since the start of the phase.
    pub elapsed: Duration,
    /// Number of completed samples over the latency limit, in Server without token latencies.
    pub over_latency: u64,
    /// Number of completed samples over the first-token limit, in Server with token latencies.
    pub over_ttft: u64,
    /// Number of completed samples over the limit on the time per output token, in Server with token latencies.
    pub over_tpot: u64,
    /// Number of failed samples.
    pub failed: u64,
}

/// The predicted verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forecast {
    /// Nothing has completed yet.
    Unknown,
    /// VALID if the phase continues as before.
    Valid,
    /// INVALID if the phase continues as before, for this reason.
    Invalid(String),
    /// Certainly INVALID, for this reason.
    Lost(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseForecast {
    pub forecast: Forecast,
    /// Number of further queries (in Offline, samples) that must complete within the limits.
    pub more: u64,
}

pub fn forecast(settings: &Settings, effective: &Effective, so_far: &SoFar) -> PhaseForecast {
    let mut it = match settings.scenario {
        Scenario::Offline => offline(effective, so_far),
        scenario => match EarlyStopping::at(effective.target_latency_percentile) {
            Err(error) => PhaseForecast { forecast: Forecast::Lost(error.to_string()), more: 0 },
            Ok(test) if scenario == Scenario::Server => server(settings, effective, so_far, &test),
            Ok(test) => streams(effective, so_far, &test),
        },
    };
    if so_far.failed > 0 {
        it.forecast = Forecast::Lost(format!("{} samples failed", so_far.failed));
    } else if so_far.completed == 0 && !matches!(it.forecast, Forecast::Lost(_)) {
        it.forecast = Forecast::Unknown;
    }
    it
}

fn server(settings: &Settings, effective: &Effective, so_far: &SoFar, test: &EarlyStopping) -> PhaseForecast {
    let latency = [("latency", so_far.over_latency)];
    let token = [("TTFT", so_far.over_ttft), ("TPOT", so_far.over_tpot)];
    let limits: &[(&str, u64)] = if settings.use_token_latencies { &token } else { &latency };
    let most = limits.iter().map(|(_, over)| *over).max().unwrap_or_default();
    let needed = test.queries(most).max(effective.min_query_count);
    let more = needed.saturating_sub(so_far.completed);
    let planned = so_far.planned;
    let Some(budget) = test.budget(planned) else {
        let why = format!("{planned} queries are too few for early stopping, which needs {}", test.queries(0));
        return PhaseForecast { forecast: Forecast::Lost(why), more };
    };
    // The value at the percentile's position is within the limit if all values above the limit have positions after it.
    let place = percentile_place(planned, effective.target_latency_percentile);
    let allowed = budget.min(planned.saturating_sub(1).saturating_sub(place));
    let of = |over: u64| format!("{over} of {planned} queries over the limit, where {allowed} may be");
    let projected = |over: u64| scaled(over, planned, so_far.completed);
    let lost = limits.iter().find(|(_, over)| *over > allowed);
    let risky = limits.iter().find(|(_, over)| projected(*over) > allowed);
    let forecast = match (lost, risky) {
        (Some((name, over)), _) => Forecast::Lost(format!("{name}: {}", of(*over))),
        (None, Some((name, over))) => Forecast::Invalid(format!("{name}: at this pace {}", of(projected(*over)))),
        (None, None) => Forecast::Valid,
    };
    PhaseForecast { forecast, more }
}

/// Predicts SingleStream and MultiStream, which end after enough queries and enough time.
fn streams(effective: &Effective, so_far: &SoFar, test: &EarlyStopping) -> PhaseForecast {
    let least = test.least_for_estimate();
    let needed = least.max(effective.min_query_count);
    let shortest = Duration::from_millis(effective.min_duration_ms);
    let nanos = |it: Duration| u64::try_from(it.as_nanos()).unwrap_or(u64::MAX);
    // `then`: expected number of queries at the end of the minimum duration. `all`: expected duration of all generated queries.
    let then = scaled(so_far.completed, nanos(shortest), nanos(so_far.elapsed)).max(effective.min_query_count);
    let all = Duration::from_nanos(scaled(nanos(so_far.elapsed), so_far.planned, so_far.completed));
    let forecast = if so_far.planned < needed {
        Forecast::Lost(format!("{} queries were generated, and {needed} are needed", so_far.planned))
    } else if all < shortest {
        Forecast::Invalid(format!(
            "the generated queries run out after {all:.0?}, and the test must last {shortest:?}; lower the expected latency"
        ))
    } else if then < least {
        Forecast::Invalid(format!(
            "{then} queries at the end of the minimum duration are too few for early stopping, which needs {least}"
        ))
    } else {
        Forecast::Valid
    };
    PhaseForecast { forecast, more: needed.saturating_sub(so_far.completed) }
}

fn offline(effective: &Effective, so_far: &SoFar) -> PhaseForecast {
    let shortest = Duration::from_millis(effective.min_duration_ms);
    let share = so_far.planned as f64 / so_far.completed.max(1) as f64;
    let all = Duration::try_from_secs_f64(so_far.elapsed.as_secs_f64() * share).unwrap_or(Duration::MAX);
    let too_few = so_far.planned < effective.min_sample_count;
    let why =
        || format!("all samples take only {all:.0?}, and the test must last {shortest:?}; raise the expected rate");
    let forecast = match (all < shortest, so_far.completed >= so_far.planned) {
        _ if too_few => Forecast::Lost(format!(
            "{} samples were generated, and {} are needed",
            so_far.planned, effective.min_sample_count
        )),
        (true, true) => Forecast::Lost(why()),
        (true, false) => Forecast::Invalid(why()),
        (false, _) => Forecast::Valid,
    };
    PhaseForecast { forecast, more: so_far.planned.saturating_sub(so_far.completed) }
}

/// Returns `value * whole / part`, rounded up.
fn scaled(value: u64, whole: u64, part: u64) -> u64 {
    let scaled = (u128::from(value) * u128::from(whole)).div_ceil(u128::from(part.max(1)));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use workload_profiles::loadgen::Qsl;

    use super::*;
    use crate::results::{PhaseResult, Results, validity::Validity};

    fn settings(scenario: Scenario) -> Settings {
        Settings { scenario, min_duration_ms: 10_000, server_target_latency_ns: 100, ..Settings::default() }
    }

    fn effective(settings: &Settings) -> Effective {
        let qsl = Qsl { name: String::new(), total_sample_count: 10, performance_sample_count: 10 };
        Effective::new(settings, &qsl)
    }

    fn check(scenario: Scenario, so_far: SoFar) -> PhaseForecast {
        let settings = settings(scenario);
        forecast(&settings, &effective(&settings), &so_far)
    }

    fn halfway() -> SoFar {
        SoFar { planned: 2_000, completed: 1_000, elapsed: Duration::from_secs(5), ..SoFar::default() }
    }

    #[test]
    fn a_server_run_within_its_limits_is_on_its_way() {
        let found = check(Scenario::Server, halfway());
        assert_eq!(found, PhaseForecast { forecast: Forecast::Valid, more: 0 });
        let early = SoFar { completed: 100, ..halfway() };
        assert_eq!(check(Scenario::Server, early).more, 359);
    }

    #[test]
    fn queries_over_the_limit_first_endanger_a_server_run_and_then_end_its_hope() {
        let over = |over_latency| check(Scenario::Server, SoFar { over_latency, ..halfway() }).forecast;
        assert!(matches!(over(1), Forecast::Valid));
        assert!(matches!(over(8), Forecast::Invalid(why) if why.contains("latency: at this pace 16 of 2000")));
        assert!(matches!(over(19), Forecast::Lost(why) if why.contains("latency: 19 of 2000")));
    }

    #[test]
    fn a_failed_sample_loses_every_run() {
        for scenario in Scenario::ALL {
            let found = check(scenario, SoFar { failed: 1, ..halfway() });
            assert_eq!(found.forecast, Forecast::Lost("1 samples failed".into()));
        }
    }

    #[test]
    fn nothing_completed_is_nothing_known() {
        for scenario in Scenario::ALL {
            let found = check(scenario, SoFar { planned: 2_000, ..SoFar::default() });
            assert_eq!(found.forecast, Forecast::Unknown, "{scenario:?}");
        }
    }

    #[test]
    fn a_stream_is_short_of_queries_or_of_time() {
        let slow = SoFar { planned: 2_000, completed: 10, elapsed: Duration::from_secs(5), ..SoFar::default() };
        assert_eq!(check(Scenario::SingleStream, slow), PhaseForecast { forecast: Forecast::Valid, more: 90 });
        assert!(matches!(check(Scenario::MultiStream, slow).forecast, Forecast::Invalid(why) if why.contains("662")));
        let fast = SoFar { completed: 1_000, elapsed: Duration::from_secs(1), ..slow };
        assert!(
            matches!(check(Scenario::SingleStream, fast).forecast, Forecast::Invalid(why) if why.contains("run out"))
        );
    }

    #[test]
    fn offline_is_a_matter_of_time() {
        assert_eq!(check(Scenario::Offline, halfway()).forecast, Forecast::Valid);
        let fast = SoFar { elapsed: Duration::from_secs(4), ..halfway() };
        assert!(matches!(check(Scenario::Offline, fast).forecast, Forecast::Invalid(_)));
        let done = SoFar { completed: 2_000, ..fast };
        assert!(matches!(check(Scenario::Offline, done).forecast, Forecast::Lost(_)));
    }

    proptest! {
        #[test]
        fn what_is_lost_never_becomes_valid(over in 0_u64..60, seen in 0_u64..60, planned in 1_u64..3_000) {
            let (over, seen) = (over.min(planned), seen.min(over).min(planned));
            let settings = settings(Scenario::Server);
            let effective = effective(&settings);
            let so_far = SoFar { planned, completed: seen.max(1), over_latency: seen, ..SoFar::default() };
            let early = forecast(&settings, &effective, &so_far);
            let latency = |place| if place < over { 101 } else { 100 };
            let measured = PhaseResult {
                sample_latencies_ns: (0..planned).map(latency).collect(),
                queries_issued: planned,
                final_query_scheduled_time_s: 10.0,
                ..PhaseResult::default()
            };
            let validity = Validity::from_results(&Results::new(&measured, &settings, &effective), vec![]);
            prop_assert!(!(matches!(early.forecast, Forecast::Lost(_)) && validity.valid()));
            // Once everything has completed, the prediction must equal the verdict.
            let complete = SoFar { completed: planned, over_latency: over, ..so_far };
            let found = forecast(&settings, &effective, &complete).forecast;
            let enough = planned >= effective.min_query_count;
            prop_assert_eq!(found == Forecast::Valid && enough, validity.valid());
        }
    }
}
