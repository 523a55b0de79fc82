//! `serverMetrics` in `report.json`: the servers' metrics.

use std::{collections::BTreeMap, time::Duration};

use analysis::{Analysis, servers::ServerAnalysis};
use serde::{Deserialize, Serialize};
use server_metrics::{
    identity::{Identity, Model},
    scraped::Address,
    series::{Latency, Levels, WindowFigures},
};

use super::{server_series::ServerSeriesDocument, token_comparison, values::millis};

/// The metrics of the servers.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerMetricsDocument {
    pub interval_ms: f64,
    pub scrape_cpu_ms: f64,
    pub endpoints: Vec<EndpointDocument>,
    pub identity: Vec<IdentityDocument>,
    pub run: ServerWindowDocument,
    pub stages: Vec<ServerStageDocument>,
    pub client_prompt_tokens: Option<u64>,
    pub client_generation_tokens: Option<u64>,
    pub other_requests: Option<f64>,
    /// The result of comparing the servers' token counts with the usage of the answers. Absent in reports of earlier releases.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub token_comparison: String,
    pub remarks: Vec<String>,
    pub time_series: Option<ServerSeriesDocument>,
}

impl ServerMetricsDocument {
    pub(super) fn new(server: &ServerAnalysis, analysis: &Analysis) -> ServerMetricsDocument {
        let window = |it: &WindowFigures| ServerWindowDocument::new(it, server.zero);
        let stages = analysis.stages.iter().zip(&server.stages);
        let stage = |(stage, figures): (&analysis::StageAnalysis, &Option<WindowFigures>)| ServerStageDocument {
            name: stage.stage.name.clone(),
            figures: figures.as_ref().map(window),
        };
        ServerMetricsDocument {
            interval_ms: millis(server.scraped.interval),
            scrape_cpu_ms: millis(server.scraped.cpu),
            endpoints: server.scraped.addresses.iter().map(|it| EndpointDocument::new(it, server)).collect(),
            identity: IdentityDocument::of_all(&server.scraped.addresses),
            run: window(&server.run),
            stages: stages.map(stage).collect(),
            client_prompt_tokens: server.client.and_then(|it| it.prompt.whole()),
            client_generation_tokens: server.client.and_then(|it| it.output.whole()),
            other_requests: server.others.map(|it| it.others),
            token_comparison: token_comparison::words(server, analysis),
            remarks: server.remarks.clone(),
            time_series: server.over_time.as_ref().map(ServerSeriesDocument::new),
        }
    }
}

/// One address that was scraped.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointDocument {
    pub url: String,
    pub address: Option<String>,
    pub kind: Option<String>,
    pub scrapes: u64,
    pub failures: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failure_reasons: BTreeMap<String, u64>,
    pub scrape_mean_ms: Option<f64>,
    pub scrape_max_ms: Option<f64>,
    pub mean_bytes: Option<f64>,
    pub series: u64,
    pub series_left_out: u64,
    pub bad_lines: u64,
}

impl EndpointDocument {
    fn new(address: &Address, server: &ServerAnalysis) -> EndpointDocument {
        let samples = server.store().addresses().get(address.index);
        let count = |of: fn(&server_metrics::series::Address) -> usize| samples.map_or(0, of) as u64;
        EndpointDocument {
            url: address.url.clone(),
            address: address.address.map(|it| it.to_string()),
            kind: address.engine.map(|it| it.name().to_owned()),
            scrapes: address.scrapes,
            failures: address.failures,
            failure_reasons: address.reasons.clone(),
            scrape_mean_ms: address.mean_time.map(millis),
            scrape_max_ms: address.max_time.map(millis),
            mean_bytes: address.mean_bytes,
            series: count(server_metrics::series::Address::series),
            series_left_out: count(|it| it.left_out),
            bad_lines: count(|it| it.bad_lines),
        }
    }
}

/// An identity that one or more servers reported.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdentityDocument {
    /// Number of addresses with this report.
    pub endpoints: u64,
    pub engine: Option<String>,
    pub version: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelDocument>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cache_config: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gpus: BTreeMap<String, u64>,
}

impl IdentityDocument {
    fn of_all(addresses: &[Address]) -> Vec<IdentityDocument> {
        let mut found: Vec<(&Identity, u64)> = Vec::new();
        for address in addresses.iter().filter(|it| it.identity != Identity::default()) {
            match found.iter_mut().find(|(it, _)| **it == address.identity) {
                Some((_, count)) => *count += 1,
                None => found.push((&address.identity, 1)),
            }
        }
        found.into_iter().map(|(it, count)| IdentityDocument::new(it, count)).collect()
    }

    fn new(identity: &Identity, endpoints: u64) -> IdentityDocument {
        IdentityDocument {
            endpoints,
            engine: identity.engine.map(|it| it.name().to_owned()),
            version: identity.version.clone(),
            models: identity.models.iter().map(ModelDocument::new).collect(),
            cache_config: identity.cache_config.clone(),
            gpus: identity.gpus.clone(),
        }
    }
}

/// A model that a server lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelDocument {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_model_len: Option<u64>,
}

impl ModelDocument {
    fn new(model: &Model) -> ModelDocument {
        ModelDocument { id: model.id.clone(), max_model_len: model.max_model_len }
    }
}

/// A stage. It has no figures if it had no requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerStageDocument {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<ServerWindowDocument>,
}

/// The metrics of all servers in a time window.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerWindowDocument {
    pub from_ms: Option<f64>,
    pub to_ms: Option<f64>,
    pub whole: bool,
    pub counter_resets: u64,
    pub answered_share: Option<f64>,
    pub running_requests: Option<LevelsDocument>,
    pub requests_by_littles_law: Option<f64>,
    pub waiting_requests: Option<LevelsDocument>,
    pub kv_cache_usage: Option<LevelsDocument>,
    pub preemptions: Option<f64>,
    pub prompt_tokens: Option<f64>,
    pub generation_tokens: Option<f64>,
    pub succeeded_requests: Option<f64>,
    pub prefix_cache_queried_tokens: Option<f64>,
    pub prefix_cache_hit_tokens: Option<f64>,
    pub prefix_cache_hit_share: Option<f64>,
    pub server_ttft_ms: Option<LatencyDocument>,
    pub server_itl_ms: Option<LatencyDocument>,
    pub server_latency_ms: Option<LatencyDocument>,
    pub server_queue_ms: Option<LatencyDocument>,
    pub prefill_ms: Option<LatencyDocument>,
    pub decode_ms: Option<LatencyDocument>,
    pub pool_ready_pods: Option<LevelsDocument>,
    pub pool_queue: Option<LevelsDocument>,
    pub pool_kv_cache_usage: Option<LevelsDocument>,
    pub gpu_utilization: Option<LevelsDocument>,
    pub gpu_power_watts: Option<LevelsDocument>,
    pub gpu_energy_joules: Option<f64>,
    pub gpu_memory_mib: Option<LevelsDocument>,
}

impl ServerWindowDocument {
    fn new(figures: &WindowFigures, zero: Duration) -> ServerWindowDocument {
        let levels = |it: Option<Levels>| it.map(LevelsDocument::new);
        let latency = |it: Option<Latency>| it.map(LatencyDocument::new);
        // A scrape before the start of the run has a negative time.
        let time = |it: Duration| millis(it.saturating_sub(zero)) - millis(zero.saturating_sub(it));
        ServerWindowDocument {
            from_ms: figures.bracket.map(|it| time(it.0)),
            to_ms: figures.bracket.map(|it| time(it.1)),
            whole: figures.whole,
            counter_resets: figures.resets,
            answered_share: figures.answered_share,
            running_requests: levels(figures.running),
            requests_by_littles_law: figures.by_littles_law,
            waiting_requests: levels(figures.waiting),
            kv_cache_usage: levels(figures.kv_cache_usage),
            preemptions: figures.preemptions,
            prompt_tokens: figures.prompt_tokens,
            generation_tokens: figures.generation_tokens,
            succeeded_requests: figures.succeeded,
            prefix_cache_queried_tokens: figures.prefix_queries,
            prefix_cache_hit_tokens: figures.prefix_hits,
            prefix_cache_hit_share: figures.prefix_hit_share(),
            server_ttft_ms: latency(figures.ttft),
            server_itl_ms: latency(figures.itl),
            server_latency_ms: latency(figures.e2e),
            server_queue_ms: latency(figures.queue),
            prefill_ms: latency(figures.prefill),
            decode_ms: latency(figures.decode),
            pool_ready_pods: levels(figures.pool_ready_pods),
            pool_queue: levels(figures.pool_queue),
            pool_kv_cache_usage: levels(figures.pool_kv_cache_usage),
            gpu_utilization: levels(figures.gpu_utilization),
            gpu_power_watts: levels(figures.gpu_power),
            gpu_energy_joules: figures.gpu_energy,
            gpu_memory_mib: levels(figures.gpu_memory),
        }
    }
}

/// A gauge over a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelsDocument {
    pub mean: f64,
    pub min: f64,
    pub max: f64,
}

impl LevelsDocument {
    fn new(it: Levels) -> LevelsDocument {
        LevelsDocument { mean: it.mean, min: it.min, max: it.max }
    }
}

/// A latency distribution from the histogram buckets of the servers.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyDocument {
    pub count: f64,
    pub mean: f64,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p99: Option<f64>,
}

impl LatencyDocument {
    fn new(it: Latency) -> LatencyDocument {
        let [p50, p90, p99] = [it.p50, it.p90, it.p99].map(|it| it.map(|seconds| seconds * 1e3));
        LatencyDocument { count: it.count, mean: it.mean * 1e3, p50, p90, p99 }
    }
}
