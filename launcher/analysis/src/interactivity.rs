//! Interactivity: how fast tokens reach one user. Three definitions from other benchmarks, which differ by construction.

use std::time::Duration;

use super::Figures;

/// Output tokens per second and user. A figure is absent if its distribution is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interactivity {
    /// 1000 / (TPOT p90 in ms): nine in ten requests reach at least this speed after their first token. MLPerf Endpoints.
    pub inverse_of_tpot_p90: Option<f64>,
    /// Median of 1/TPOT, which is 1 / (median of TPOT). It excludes the time to the first token as well. InferenceX.
    pub median_of_inverse_tpot: Option<f64>,
    /// 1 / p90(latency / OSL): includes the time to the first token. Latency counts from sending. AgentX.
    pub inverse_of_ntpot_p90: Option<f64>,
}

impl Interactivity {
    /// `None` if no request has a TPOT or an NTPOT.
    pub fn new(figures: &Figures) -> Option<Interactivity> {
        let found = Interactivity {
            inverse_of_tpot_p90: figures.tpot.and_then(|it| per_second(it.p90)),
            median_of_inverse_tpot: figures.tpot.and_then(|it| per_second(it.p50)),
            inverse_of_ntpot_p90: figures.ntpot.and_then(|it| per_second(it.p90)),
        };
        (found != Interactivity::default()).then_some(found)
    }
}

/// `None` for a time of zero, such as between tokens of one event.
fn per_second(time_per_token: Duration) -> Option<f64> {
    (!time_per_token.is_zero()).then(|| 1.0 / time_per_token.as_secs_f64())
}
