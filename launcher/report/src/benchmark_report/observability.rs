//! What the servers reported about themselves during a stage, and whether the stage was in a steady state.
//!
//! Shares are fractions, not percentages. Prism reads any value of at most 1 as a fraction, whatever its unit, and would show 0.5 % as 50 %.

use crds::benchmark_run::MetricsKind;
use serde_json::{Map, Value, json};
use server_metrics::series::{Levels, WindowFigures};

use super::{
    revision::Revision,
    steady_state, time_series,
    values::{STACK_LABEL, insert},
};
use analysis::{StageAnalysis, servers::ServerAnalysis};
use document::Parts;

/// Returns what is known about the servers and the steady state. `None` if nothing is known.
pub(super) fn observability(
    revision: Revision,
    report: &Parts<'_>,
    stage: &StageAnalysis,
    index: usize,
) -> Option<Value> {
    let mut all = Map::new();
    if let Some(server) = report.analysis.servers.as_ref()
        && let Some(Some(figures)) = server.stages.get(index)
    {
        let series = server.over_time.as_ref().filter(|_| revision == Revision::V021);
        let series = series.and_then(|it| time_series::servers(it, &stage.figures, report.analysis.started));
        let aggregate = aggregate(figures);
        if aggregate.is_some() || series.is_some() {
            let mut component = Map::new();
            component.insert("component_label".into(), json!(STACK_LABEL));
            insert(&mut component, "aggregate", aggregate);
            insert(&mut component, "time_series", series);
            component.insert("raw_data_path".into(), json!("server_metrics.parquet"));
            all.insert("components".into(), json!([component]));
        }
        all.extend(by_metric(server, figures));
    }
    let steady_state = steady_state::find(stage);
    let steady_state = steady_state.map(|it| steady_state::document(it, &stage.figures, report.analysis.started));
    insert(&mut all, "benchwright_steady_state", steady_state);
    Some(all).filter(|it| !it.is_empty()).map(Value::Object)
}

/// Totals over all servers of the target. Requests, memory and power are summed; shares are means over servers or GPUs.
fn aggregate(of: &WindowFigures) -> Option<Value> {
    let mut found = Map::new();
    insert(&mut found, "kv_cache_usage", levels("fraction", of.kv_cache_usage));
    insert(&mut found, "cache_hit_rate", one("fraction", of.prefix_hit_share()));
    insert(&mut found, "gpu_memory_usage", levels("MiB", of.gpu_memory));
    insert(&mut found, "gpu_utilization", levels("fraction", of.gpu_utilization));
    insert(&mut found, "power_consumption", levels("Watts", of.gpu_power));
    insert(&mut found, "running_requests", levels("count", of.running));
    insert(&mut found, "waiting_requests", levels("count", of.waiting));
    insert(&mut found, "preemptions", one("count", of.preemptions));
    Some(found).filter(|it| !it.is_empty()).map(Value::Object)
}

/// The values of [`aggregate`] under the names that Prism reads. llm-d-benchmark derives these names from the servers' metrics.
fn by_metric(server: &ServerAnalysis, of: &WindowFigures) -> impl Iterator<Item = (String, Value)> {
    let vllm = [
        ("vllm_kv_cache_usage_perc", levels("fraction", of.kv_cache_usage)),
        ("vllm_prefix_cache_hit_rate", one("fraction", of.prefix_hit_share())),
        ("vllm_num_requests_running", levels("count", of.running)),
        ("vllm_num_requests_waiting", levels("count", of.waiting)),
        ("vllm_num_preemptions_total", one("count", of.preemptions)),
    ];
    let pool = [
        ("epp_pool_avg_kv_cache_utilization", levels("fraction", of.pool_kv_cache_usage)),
        ("epp_pool_avg_queue_size", levels("count", of.pool_queue)),
        ("epp_pool_ready_pods", levels("count", of.pool_ready_pods)),
    ];
    let is_vllm = are_all_vllm(server);
    let found = vllm.into_iter().filter(move |_| is_vllm).chain(pool);
    found.filter_map(|(name, it)| Some((name.to_owned(), json!({"aggregated": it?}))))
}

/// Whether all servers that serve models are vLLM, and the figures include no other server's metrics.
fn are_all_vllm(server: &ServerAnalysis) -> bool {
    let mut engines =
        server.scraped.addresses.iter().filter_map(|it| it.engine).filter(|it| it.serves_model()).peekable();
    engines.peek().is_some() && engines.all(|it| it == MetricsKind::Vllm)
}

fn levels(units: &str, of: Option<Levels>) -> Option<Value> {
    of.map(|it| json!({"units": units, "mean": it.mean, "min": it.min, "max": it.max}))
}

fn one(units: &str, value: Option<f64>) -> Option<Value> {
    value.map(|it| json!({"units": units, "mean": it}))
}
