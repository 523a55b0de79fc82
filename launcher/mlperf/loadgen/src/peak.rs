//! Peak search (FindPeakPerformance): finds the highest rate that meets the limits of the Server scenario.
//!
//! Each trial is a separate performance phase. The next trial depends only on the trials before it, so a run and its logs agree. Whether a trial
//! succeeds depends only on the limits, not on durations, counts or early stopping.

use workload_profiles::loadgen::Settings;

use super::logs::number::fixed;

/// LoadGen's message if a peak search is requested in any other scenario. LoadGen then runs nothing.
pub const SERVER_ONLY: &str = "Finding peak performance is only supported in Server scenarios.";
/// Maximum number of trials. LoadGen has no maximum, but with a step of 1 its rate would grow beyond the range of numbers.
const MOST_TRIALS: usize = 2_000;

/// One trial of the search. Rates are in queries per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trial {
    /// A trial at the rate of the settings.
    Base { rate: f64 },
    /// A trial at `upper`, to find a rate that is too high.
    Boundary {
        /// The highest rate that met the limits so far.
        lower: f64,
        /// The next higher rate to try.
        upper: f64,
    },
    /// A trial halfway between the bounds.
    Middle {
        /// The highest rate that met the limits so far.
        lower: f64,
        /// The lowest rate that did not meet the limits.
        upper: f64,
    },
}

/// A completed trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    pub trial: Trial,
    /// Whether the trial met its limits (`perf_constraints_met`) and no sample failed.
    pub met: bool,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    Run(Trial),
    /// The search has ended. The trial with this index, from 0, has the highest rate that meets the limits.
    Found(usize),
    /// The search has ended, because the rate of the settings is already too high.
    BaseFails,
}

impl Trial {
    pub fn rate(self) -> f64 {
        match self {
            Trial::Base { rate } => rate,
            Trial::Boundary { upper, .. } => upper,
            Trial::Middle { lower, upper } => lower + (upper - lower) / 2.0,
        }
    }

    /// Returns the text that LoadGen logs before the trial.
    pub fn text(self) -> String {
        let bounds = |lower, upper| format!("[{}, {})", fixed(lower, 6), fixed(upper, 6));
        let rate = fixed(self.rate(), 6);
        match self {
            Trial::Base { .. } => format!("FindPeakPerformance: Check validity of the base settings field: {rate}"),
            Trial::Boundary { lower, upper } => format!("FindBoundaries: Checking fields {}", bounds(lower, upper)),
            Trial::Middle { lower, upper } => {
                let bounds = bounds(lower, upper);
                format!("FindPeakPerformanceBinarySearch: Testing the mid value of bounds {bounds}: {rate}")
            }
        }
    }
}

/// Returns the next step after these trials.
pub fn next(settings: &Settings, tried: &[Tried]) -> Next {
    let Some(last) = tried.last() else {
        return Next::Run(Trial::Base { rate: settings.server_target_qps });
    };
    let Some(best) = tried.iter().rposition(|it| it.met) else { return Next::BaseFails };
    let lower = tried[best].trial.rate();
    let found = Next::Found(best);
    if tried.len() >= MOST_TRIALS {
        return found;
    }
    let bounded = !(last.met && matches!(last.trial, Trial::Base { .. } | Trial::Boundary { .. }));
    if !bounded {
        let upper = lower * (1.0 + settings.server_find_peak_qps_boundary_step_size);
        let higher = upper.is_finite() && upper > lower;
        return if higher { Next::Run(Trial::Boundary { lower, upper }) } else { found };
    }
    let too_high = tried.iter().filter(|it| !it.met).map(|it| it.trial.rate());
    let upper = too_high.fold(f64::INFINITY, f64::min);
    let middle = Trial::Middle { lower, upper };
    // Adjacent doubles have no value between them, whatever precision is requested.
    let between = lower < middle.rate() && middle.rate() < upper;
    // LoadGen stores the number of decimals in eight bits.
    let scale = 10_f64.powi(i32::from(settings.server_find_peak_qps_decimals_of_precision as u8));
    let apart = (lower * scale).floor() + 1.0 < (upper * scale).floor();
    if apart && between { Next::Run(middle) } else { found }
}

/// Returns the text that is logged when a boundary trial has found a rate that is too high.
pub fn boundaries_text(lower: f64, upper: f64) -> String {
    format!("FindPeakPerformance: Found boundaries: [{}, {})", fixed(lower, 6), fixed(upper, 6))
}

/// Returns the text that is logged at the end of the search.
pub fn found_text(rate: f64) -> String {
    format!("FindPeakPerformance: Found peak performance field: {}", fixed(rate, 6))
}

/// Returns the error that is logged if the rate of the settings is too high.
pub fn base_fails_text(advice: &str) -> String {
    format!("FindPeakPerformance: Initial lower bound does not satisfy performance constraints, msg: {advice}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns all trials, and how the search ended, for a server that meets the limits up to the rate `peak`.
    fn search(settings: &Settings, peak: f64) -> (Vec<Tried>, Next) {
        let mut tried = Vec::new();
        loop {
            match next(settings, &tried) {
                Next::Run(trial) => tried.push(Tried { trial, met: trial.rate() <= peak }),
                end => return (tried, end),
            }
        }
    }

    fn settings(rate: f64, decimals: i32) -> Settings {
        Settings {
            server_target_qps: rate,
            server_find_peak_qps_decimals_of_precision: decimals,
            ..Settings::default()
        }
    }

    #[test]
    fn a_search_doubles_and_then_halves() {
        let (tried, end) = search(&settings(300.0, 0), 846.5);
        let rates: Vec<f64> = tried.iter().map(|it| it.trial.rate()).collect();
        let expected =
            [300.0, 600.0, 1_200.0, 900.0, 750.0, 825.0, 862.5, 843.75, 853.125, 848.4375, 846.09375, 847.265625];
        assert_eq!(rates, expected);
        assert_eq!(end, Next::Found(10));
        let expected = "FindPeakPerformanceBinarySearch: Testing the mid value of bounds [600.000000, 1200.000000): \
                        900.000000";
        assert_eq!(tried[3].trial.text(), expected);
    }

    #[test]
    fn a_base_that_fails_ends_it() {
        let (tried, end) = search(&settings(300.0, 0), 299.0);
        assert_eq!((tried.len(), end), (1, Next::BaseFails));
    }

    #[test]
    fn steps_that_lead_nowhere_end_it_too() {
        for step in [0.0, -0.5, f64::NAN, f64::INFINITY] {
            let settings = Settings { server_find_peak_qps_boundary_step_size: step, ..settings(10.0, 1) };
            assert_eq!(search(&settings, 100.0).1, Next::Found(0));
        }
        let (tried, end) = search(&settings(10.0, 1), f64::INFINITY);
        assert!(tried.len() <= MOST_TRIALS && end == Next::Found(tried.len() - 1));
    }

    proptest! {
        #[test]
        fn the_found_rate_meets_the_limits_and_is_near_the_peak(peak in 10.0_f64..5_000.0, decimals in 0_i32..4) {
            let (tried, end) = search(&settings(10.0, decimals), peak);
            let Next::Found(best) = end else { panic!("{end:?}") };
            let rate = tried[best].trial.rate();
            prop_assert!(rate <= peak && peak - rate <= 2.0 * 10_f64.powi(-decimals), "{} of {}", rate, peak);
        }

        #[test]
        fn every_search_ends(rate: f64, step: f64, decimals: i32, peak: f64) {
            let settings =
                Settings { server_find_peak_qps_boundary_step_size: step, ..settings(rate, decimals) };
            prop_assert!(search(&settings, peak).0.len() <= MOST_TRIALS);
        }
    }
}
