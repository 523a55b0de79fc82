//! Maps metric names to the kind of server that reports them, and to their meaning. Pure.
//!
//! The metric names of server engines are defined in [`crds::server_engine`]. All other names come from the metrics guide of the Gateway API
//! Inference Extension, and from the default counters of NVIDIA's DCGM exporter.

use std::{collections::HashMap, sync::LazyLock};

use Role::*;
use Shape::{Counter, Gauge, Histogram, Info};
pub use crds::server_engine::metric_names::{Role, Shape};
use crds::server_engine::{MetricsKind, ServerEngine, metric_names::MetricNames};

/// A source of metrics that serves no model.
struct Exporter {
    kind: MetricsKind,
    metrics: MetricNames,
}

const EXPORTERS: [Exporter; 2] = [
    // Names come from llm-d and from the Gateway API Inference Extension.
    Exporter {
        kind: MetricsKind::EndpointPicker,
        metrics: MetricNames {
            prefixes: &[
                "inference_extension_",
                "inference_pool_",
                "inference_objective_",
                "inference_model_",
                "llm_d_inference_scheduler_",
            ],
            families: &[
                ("inference_pool_ready_pods", Gauge, PoolReadyPods),
                ("inference_pool_average_queue_size", Gauge, PoolQueue),
                ("inference_pool_average_kv_cache_utilization", Gauge, PoolKvCacheUsage),
            ],
        },
    },
    Exporter {
        kind: MetricsKind::Dcgm,
        metrics: MetricNames {
            prefixes: &["DCGM_FI_"],
            families: &[
                ("DCGM_FI_DEV_GPU_UTIL", Gauge, GpuUtilization),
                ("DCGM_FI_DEV_POWER_USAGE", Gauge, GpuPower),
                ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", Counter, GpuEnergy),
                ("DCGM_FI_DEV_FB_USED", Gauge, GpuMemory),
            ],
        },
    },
];

/// The metric names of all known sources, including server engines.
fn sources() -> impl Iterator<Item = (MetricsKind, &'static MetricNames)> {
    let engines = ServerEngine::ALL.into_iter().filter_map(|it| Some((it.row().metrics_kind, it.row().metrics?)));
    engines.chain(EXPORTERS.iter().map(|it| (it.kind, &it.metrics)))
}

/// The kind of source that reports a metric with this name; `None` if any source may report it.
pub fn source_of(name: &str) -> Option<MetricsKind> {
    let is_of = |metrics: &MetricNames| metrics.prefixes.iter().any(|prefix| name.starts_with(prefix));
    sources().find(|(_, metrics)| is_of(metrics)).map(|(kind, _)| kind)
}

/// The part of a metric that one series contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Gauge,
    Counter,
    Bucket,
    Sum,
    Count,
    Info,
}

/// The meaning of a metric name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    pub role: Role,
    pub part: Part,
}

static BY_NAME: LazyLock<HashMap<&'static str, (Shape, Role)>> = LazyLock::new(|| {
    let families = sources().flat_map(|(_, metrics)| metrics.families);
    families.map(|(name, shape, role)| (*name, (*shape, *role))).collect()
});

/// The meaning of a metric name. `None` if no figure needs the metric. Such a metric is kept only for an address of which all metrics are kept.
pub fn meaning(name: &str) -> Option<Meaning> {
    let known = |name: &str| BY_NAME.get(name).copied();
    let histogram = |suffix: &str, part: Part| {
        let (shape, role) = known(name.strip_suffix(suffix)?)?;
        (shape == Histogram).then_some(Meaning { role, part })
    };
    let whole = || {
        let (shape, role) = known(name).or_else(|| known(name.strip_suffix("_total")?))?;
        let part = match shape {
            Gauge => Part::Gauge,
            Counter => Part::Counter,
            Info => Part::Info,
            // A histogram has no series with its own name; they always have one of the suffixes below.
            Histogram => return None,
        };
        Some(Meaning { role, part })
    };
    let found = whole()
        .or_else(|| histogram("_bucket", Part::Bucket))
        .or_else(|| histogram("_sum", Part::Sum))
        .or_else(|| histogram("_count", Part::Count));
    found.or_else(|| {
        // All metrics of these sources are kept, because there are few, and their names differ between releases.
        let kept = matches!(source_of(name)?, MetricsKind::EndpointPicker | MetricsKind::Dcgm);
        kept.then(|| Meaning { role: Kept, part: part_by_name(name) })
    })
}

/// The part of an unknown metric, guessed from the suffix of its name. A counter whose name has no suffix is treated as a gauge.
pub fn part_by_name(name: &str) -> Part {
    [("_total", Part::Counter), ("_bucket", Part::Bucket), ("_sum", Part::Sum), ("_count", Part::Count)]
        .into_iter()
        .find(|(suffix, _)| name.ends_with(suffix))
        .map_or(Part::Gauge, |(_, part)| part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: Option<(Role, Part)>) {
        assert_eq!(meaning(name).map(|it| (it.role, it.part)), expected, "{name}");
    }

    #[test]
    fn names_of_old_and_new_releases_mean_the_same() {
        check("vllm:kv_cache_usage_perc", Some((KvCacheUsage, Part::Gauge)));
        check("vllm:gpu_cache_usage_perc", Some((KvCacheUsage, Part::Gauge)));
        check("vllm:prompt_tokens_total", Some((PromptTokens, Part::Counter)));
        check("vllm:prompt_tokens", Some((PromptTokens, Part::Counter)));
        check("vllm:gpu_prefix_cache_hits_total", Some((OldPrefixHits, Part::Counter)));
        check("vllm:time_to_first_token_seconds_bucket", Some((Ttft, Part::Bucket)));
        check("sglang:num_queue_reqs", Some((Waiting, Part::Gauge)));
        check("sglang:e2e_request_latency_seconds_count", Some((E2e, Part::Count)));
    }

    #[test]
    fn what_no_figure_needs_is_not_kept_except_of_pickers_and_gpus() {
        check("vllm:time_to_first_token_seconds", None);
        check("vllm:time_to_first_token_seconds_created", None);
        // This metric is a histogram, although its name ends like that of a counter.
        check("vllm:iteration_tokens_total", None);
        check("python_info", None);
        check("inference_extension_scheduler_e2e_duration_seconds_bucket", Some((Kept, Part::Bucket)));
        check("DCGM_FI_DEV_SM_CLOCK", Some((Kept, Part::Gauge)));
        check("DCGM_FI_DEV_POWER_USAGE", Some((GpuPower, Part::Gauge)));
    }

    #[test]
    fn a_name_says_whose_it_is() {
        assert_eq!(source_of("vllm:x"), Some(MetricsKind::Vllm));
        assert_eq!(source_of("inference_pool_ready_pods"), Some(MetricsKind::EndpointPicker));
        assert_eq!(source_of("DCGM_FI_DEV_GPU_UTIL"), Some(MetricsKind::Dcgm));
        assert_eq!(source_of("http_requests_total"), None);
    }

    #[test]
    fn no_name_stands_twice() {
        assert_eq!(BY_NAME.len(), sources().map(|it| it.1.families.len()).sum::<usize>());
    }
}
