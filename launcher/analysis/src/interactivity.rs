//! Interactivity: how fast tokens reach one user. Other benchmarks define it in three ways, which give different numbers; this module has all three.

use std::time::Duration;

use super::Figures;

/// Output tokens per second per user. A figure is absent if the distribution it needs is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interactivity {
    /// MLPerf Endpoints: 1000 / (TPOT p90 in ms). Nine of ten requests get their tokens at least this fast after the first one.
    pub inverse_of_tpot_p90: Option<f64>,
    /// InferenceX: the median of 1/TPOT, which equals 1 / (median of TPOT). Excludes the time to the first token.
    pub median_of_inverse_tpot: Option<f64>,
    /// AgentX: 1 / p90(latency / OSL). Includes the time to the first token. Latency counts from sending.
    pub inverse_of_ntpot_p90: Option<f64>,
}

impl Interactivity {
    /// Computes the interactivity from figures. `None` if no request has a TPOT or an NTPOT.
    pub fn new(figures: &Figures) -> Option<Interactivity> {
        let found = Interactivity {
            inverse_of_tpot_p90: figures.tpot.and_then(|it| per_second(it.p90)),
            median_of_inverse_tpot: figures.tpot.and_then(|it| per_second(it.p50)),
            inverse_of_ntpot_p90: figures.ntpot.and_then(|it| per_second(it.p90)),
        };
        (found != Interactivity::default()).then_some(found)
    }
}

/// The inverse of a time per token; `None` if the time is zero, because all tokens arrived in one event.
fn per_second(time_per_token: Duration) -> Option<f64> {
    (!time_per_token.is_zero()).then(|| 1.0 / time_per_token.as_secs_f64())
}
