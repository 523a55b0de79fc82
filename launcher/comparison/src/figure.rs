//! The figures that are compared.

use crds::benchmark_run::Stat;
use figures::{Figure, Value};

/// The latencies that are compared, each with every statistic in [`STATS`].
const TIMES: [Figure; 5] = [Figure::Ttft, Figure::Tpot, Figure::Itl, Figure::Ntpot, Figure::Latency];
/// The statistics that are compared for each latency.
const STATS: [Stat; 4] = [Stat::Mean, Stat::P50, Stat::P90, Stat::P99];

/// All figures that are compared, in the order in which they are shown.
pub fn compared() -> Vec<Value> {
    let rates = [Figure::GoodputRequestsPerSecond, Figure::RequestsPerSecond, Figure::OutputTokensPerSecond];
    let times = TIMES.into_iter().flat_map(|time| STATS.map(|stat| Value::stat(time, stat)));
    let others = [
        Figure::ErrorRatio,
        Figure::InverseOfTpotP90,
        Figure::MedianOfInverseTpot,
        Figure::InverseOfNtpotP90,
        Figure::CostPerMillionOutputTokens,
    ];
    rates.map(Value::plain).into_iter().chain(times).chain(others.map(Value::plain)).collect()
}

/// The figure from which `figure` is derived, or `figure` itself.
pub(crate) fn source(figure: Figure) -> Figure {
    match figure {
        Figure::InverseOfTpotP90 | Figure::MedianOfInverseTpot => Figure::Tpot,
        Figure::InverseOfNtpotP90 => Figure::Ntpot,
        Figure::CostPerMillionOutputTokens => Figure::OutputTokensPerSecond,
        other => other,
    }
}

/// Whether values of a figure have different meanings if this comparability label differs.
pub(crate) fn depends_on(figure: Figure, label: &str) -> bool {
    // The goodput can have a bound on TTFT, which depends on the clock.
    let is_goodput = figure == Figure::GoodputRequestsPerSecond && label == "clock";
    is_goodput || figure.row().basis.choose("clock", "itl", "tokens") == label
}
