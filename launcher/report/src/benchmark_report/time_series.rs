//! The time series of a stage: one point per bin, at the start of the bin.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    performance,
    values::{at, insert, seconds},
};
use analysis::{BinFigures, BinTimes, Figures, SeriesFigures};
use measurement::recorder::series::OutcomeGroup;
use server_metrics::series::{OverTime, Values};

/// Latencies and rates of the requests; `None` if there are no values.
pub(super) fn requests(series: &SeriesFigures, figures: &Figures, zero: Timestamp) -> Option<Value> {
    let bins = Bins { series, zero };
    let counted = performance::has_token_counts(figures);
    let mut latency = Map::new();
    insert(&mut latency, "time_to_first_token", bins.times("s", |it| it.ttft));
    let itl = bins.times("s/token", |it| it.itl).filter(|_| performance::has_token_gaps(figures));
    insert(&mut latency, "inter_token_latency", itl);
    insert(&mut latency, "request_latency", bins.times("s", |it| it.latency));
    let mut throughput = Map::new();
    insert(&mut throughput, "output_token_rate", bins.rate("tokens/s", |it| it.output_tokens).filter(|_| counted));
    insert(&mut throughput, "request_rate", bins.rate("queries/s", |it| it.ended[OutcomeGroup::Ok as usize]));
    let mut all = Map::new();
    insert(&mut all, "latency", Some(latency).filter(|it| !it.is_empty()).map(Value::Object));
    insert(&mut all, "throughput", Some(throughput).filter(|it| !it.is_empty()).map(Value::Object));
    Some(all).filter(|it| !it.is_empty()).map(Value::Object)
}

/// What the servers reported during a stage; `None` if no bin has a value. Counters are left out, because the format requires their total since the
/// server started, and for a bin that total is unknown.
pub(super) fn servers(of: &OverTime, stage: &Figures, zero: Timestamp) -> Option<Value> {
    let (from, to) = (stage.first_due?, stage.last_end?);
    let series = |units: &str, values: &Values| {
        let points: Vec<Value> = values
            .iter()
            .flatten()
            .zip(0_u32..)
            .filter_map(|(value, bin)| {
                let begin = of.bin_width.checked_mul(bin)?;
                let within = begin < to && begin + of.bin_width > from;
                within.then_some(json!({"ts": at(zero, begin)?, "value": (*value)?}))
            })
            .collect();
        (!points.is_empty()).then(|| json!({"units": units, "series": points}))
    };
    let mut all = Map::new();
    insert(&mut all, "kv_cache_usage", series("fraction", &of.kv_cache_usage));
    insert(&mut all, "gpu_utilization", series("fraction", &of.gpu_utilization));
    insert(&mut all, "power_consumption", series("Watts", &of.gpu_power));
    insert(&mut all, "num_requests_running", series("count", &of.running));
    insert(&mut all, "num_requests_waiting", series("count", &of.waiting));
    insert(&mut all, "prefix_cache_hit_rate", series("fraction", &of.prefix_hit_share));
    Some(all).filter(|it| !it.is_empty()).map(Value::Object)
}

struct Bins<'a> {
    series: &'a SeriesFigures,
    zero: Timestamp,
}

impl Bins<'_> {
    /// Each bin with its start and end, counted from the start of the run.
    fn all(&self) -> impl Iterator<Item = (Duration, Duration, &BinFigures)> {
        let SeriesFigures { bin_width, start, bins, .. } = self.series;
        let begin = move |index: usize| *start + *bin_width * u32::try_from(index).unwrap_or(u32::MAX);
        bins.iter().enumerate().map(move |(index, it)| (begin(index), begin(index) + *bin_width, it))
    }

    /// A series of times; `None` if no bin has a value.
    fn times(&self, units: &str, of_bin: impl Fn(&BinFigures) -> Option<BinTimes>) -> Option<Value> {
        let points: Vec<Value> = self
            .all()
            .filter_map(|(begin, _, bin)| {
                let it = of_bin(bin)?;
                let [p50, p90, p99] = [it.p50, it.p90, it.p99].map(seconds);
                Some(json!({"ts": at(self.zero, begin)?, "p50": p50, "p90": p90, "p99": p99}))
            })
            .collect();
        (!points.is_empty()).then(|| json!({"units": units, "series": points}))
    }

    /// The rate in each bin: its count divided by the part of the bin between the first and the last event of the series. If that part is shorter
    /// than half a bin, the bin has no rate, because a few events would give a very large one. `None` if all counts are zero.
    fn rate(&self, units: &str, of_bin: impl Fn(&BinFigures) -> u64) -> Option<Value> {
        if self.series.bins.iter().all(|it| of_bin(it) == 0) {
            return None;
        }
        let points: Vec<Value> = self
            .all()
            .filter_map(|(begin, end, bin)| {
                let covered = end.min(self.series.last_event).checked_sub(begin.max(self.series.first_event))?;
                let rate = of_bin(bin) as f64 / covered.as_secs_f64();
                (covered * 2 >= self.series.bin_width).then_some(json!({"ts": at(self.zero, begin)?, "value": rate}))
            })
            .collect();
        (!points.is_empty()).then(|| json!({"units": units, "series": points}))
    }
}
