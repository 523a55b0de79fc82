//! Which names of which server mean what. Pure.
//!
//! Sources: vLLM's `vllm/v1/metrics/loggers.py` (0.16 and 0.32) and `vllm/engine/metrics.py` (before v1), SGLang's
//! production metrics page, the metrics guide of the Gateway API Inference Extension, and the default counters of NVIDIA's
//! DCGM exporter.

use std::{collections::HashMap, sync::LazyLock};

use Role::*;
use Shape::{Counter, Gauge, Histogram, Info};

/// What serves the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Engine {
    Vllm,
    Sglang,
    /// The endpoint picker of llm-d and of the Gateway API Inference Extension.
    EndpointPicker,
    /// NVIDIA's exporter of GPU metrics.
    Dcgm,
    /// Any other Prometheus text.
    Prometheus,
}

impl Engine {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Vllm => "vLLM",
            Engine::Sglang => "SGLang",
            Engine::EndpointPicker => "EndpointPicker",
            Engine::Dcgm => "DCGM",
            Engine::Prometheus => "Prometheus",
        }
    }

    /// Whose metric it is by its name; `None`: it may be anybody's.
    pub fn from_metric(name: &str) -> Option<Engine> {
        PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, engine)| *engine)
    }

    /// Whether it serves a model.
    pub fn serves_model(self) -> bool {
        matches!(self, Engine::Vllm | Engine::Sglang)
    }
}

const PREFIXES: [(&str, Engine); 8] = [
    ("vllm:", Engine::Vllm),
    ("sglang:", Engine::Sglang),
    ("inference_extension_", Engine::EndpointPicker),
    ("inference_pool_", Engine::EndpointPicker),
    ("inference_objective_", Engine::EndpointPicker),
    ("inference_model_", Engine::EndpointPicker),
    ("llm_d_inference_scheduler_", Engine::EndpointPicker),
    ("DCGM_FI_", Engine::Dcgm),
];

/// What a metric is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    Running,
    Waiting,
    /// Share of the KV cache in use.
    KvCacheUsage,
    Preemptions,
    PromptTokens,
    GenerationTokens,
    Succeeded,
    /// Tokens that were looked up in the prefix cache.
    PrefixQueries,
    /// Its name up to 0.10; a release may have both.
    OldPrefixQueries,
    /// Tokens that were found there.
    PrefixHits,
    /// Its name up to 0.10; a release may have both.
    OldPrefixHits,
    Ttft,
    Itl,
    /// The name of ITL in older releases; a release may have both.
    OldItl,
    E2e,
    Queue,
    Prefill,
    Decode,
    PoolReadyPods,
    /// Mean number of waiting requests of the pods of a pool.
    PoolQueue,
    PoolKvCacheUsage,
    /// Share of time in which the GPU ran a kernel, in percent.
    GpuUtilization,
    /// Watts.
    GpuPower,
    /// Millijoules since the driver was loaded.
    GpuEnergy,
    /// MiB of the GPU's memory in use.
    GpuMemory,
    /// Its labels hold the settings of the KV cache.
    CacheConfig,
    /// Kept in the samples, and part of no figure.
    Kept,
}

impl Role {
    /// The role of the older name of the same figure, which counts where an address has no metric with the newer one.
    pub fn old(self) -> Option<Role> {
        match self {
            Itl => Some(OldItl),
            PrefixQueries => Some(OldPrefixQueries),
            PrefixHits => Some(OldPrefixHits),
            _ => None,
        }
    }

    /// Whether the counter goes on when the server begins again, and so does not begin at zero where it is new to us: energy
    /// counts from the load of the driver.
    pub fn is_absolute(self) -> bool {
        self == GpuEnergy
    }
}

/// How the values of a metric change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Gauge,
    /// Grows, and falls only when the server begins again.
    Counter,
    /// Buckets, a sum and a count; each of them a counter.
    Histogram,
    /// The value is of no interest; the labels are.
    Info,
}

/// The part of a metric that a series is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Gauge,
    Counter,
    Bucket,
    Sum,
    Count,
    Info,
}

/// What a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    pub role: Role,
    pub part: Part,
}

/// Names without `_total`, `_bucket`, `_sum` and `_count`.
const FAMILIES: &[(&str, Shape, Role)] = &[
    ("vllm:num_requests_running", Gauge, Running),
    ("vllm:num_requests_waiting", Gauge, Waiting),
    ("vllm:kv_cache_usage_perc", Gauge, KvCacheUsage),
    // Up to 0.10.
    ("vllm:gpu_cache_usage_perc", Gauge, KvCacheUsage),
    ("vllm:num_preemptions", Counter, Preemptions),
    ("vllm:prompt_tokens", Counter, PromptTokens),
    ("vllm:generation_tokens", Counter, GenerationTokens),
    ("vllm:request_success", Counter, Succeeded),
    ("vllm:prefix_cache_queries", Counter, PrefixQueries),
    ("vllm:prefix_cache_hits", Counter, PrefixHits),
    // Up to 0.10, and beside the new names from 0.9.2 on.
    ("vllm:gpu_prefix_cache_queries", Counter, OldPrefixQueries),
    ("vllm:gpu_prefix_cache_hits", Counter, OldPrefixHits),
    ("vllm:time_to_first_token_seconds", Histogram, Ttft),
    ("vllm:inter_token_latency_seconds", Histogram, Itl),
    // Up to 0.10, and beside the new name in 0.11.
    ("vllm:time_per_output_token_seconds", Histogram, OldItl),
    ("vllm:e2e_request_latency_seconds", Histogram, E2e),
    ("vllm:request_queue_time_seconds", Histogram, Queue),
    ("vllm:request_prefill_time_seconds", Histogram, Prefill),
    ("vllm:request_decode_time_seconds", Histogram, Decode),
    ("vllm:cache_config_info", Info, CacheConfig),
    ("vllm:num_requests_waiting_by_reason", Gauge, Kept),
    ("vllm:num_requests_swapped", Gauge, Kept),
    ("vllm:cpu_cache_usage_perc", Gauge, Kept),
    ("vllm:gpu_prefix_cache_hit_rate", Gauge, Kept),
    ("vllm:engine_sleep_state", Gauge, Kept),
    ("vllm:external_prefix_cache_queries", Counter, Kept),
    ("vllm:external_prefix_cache_hits", Counter, Kept),
    ("vllm:mm_cache_queries", Counter, Kept),
    ("vllm:mm_cache_hits", Counter, Kept),
    ("vllm:prompt_tokens_by_source", Counter, Kept),
    ("vllm:prompt_tokens_cached", Counter, Kept),
    ("vllm:prompt_tokens_recomputed", Counter, Kept),
    ("vllm:admission_rejections", Counter, Kept),
    ("vllm:corrupted_requests", Counter, Kept),
    ("vllm:spec_decode_num_drafts", Counter, Kept),
    ("vllm:spec_decode_num_draft_tokens", Counter, Kept),
    ("vllm:spec_decode_num_accepted_tokens", Counter, Kept),
    ("sglang:num_running_reqs", Gauge, Running),
    ("sglang:num_queue_reqs", Gauge, Waiting),
    ("sglang:token_usage", Gauge, KvCacheUsage),
    ("sglang:prompt_tokens", Counter, PromptTokens),
    ("sglang:generation_tokens", Counter, GenerationTokens),
    ("sglang:num_requests", Counter, Succeeded),
    ("sglang:cached_tokens", Counter, PrefixHits),
    ("sglang:time_to_first_token_seconds", Histogram, Ttft),
    ("sglang:inter_token_latency_seconds", Histogram, Itl),
    ("sglang:time_per_output_token_seconds", Histogram, OldItl),
    ("sglang:e2e_request_latency_seconds", Histogram, E2e),
    ("sglang:queue_time_seconds", Histogram, Queue),
    ("sglang:cache_hit_rate", Gauge, Kept),
    ("sglang:gen_throughput", Gauge, Kept),
    ("sglang:num_used_tokens", Gauge, Kept),
    ("sglang:num_retracted_reqs", Gauge, Kept),
    ("sglang:num_grammar_queue_reqs", Gauge, Kept),
    ("sglang:spec_accept_length", Gauge, Kept),
    ("inference_pool_ready_pods", Gauge, PoolReadyPods),
    ("inference_pool_average_queue_size", Gauge, PoolQueue),
    ("inference_pool_average_kv_cache_utilization", Gauge, PoolKvCacheUsage),
    ("DCGM_FI_DEV_GPU_UTIL", Gauge, GpuUtilization),
    ("DCGM_FI_DEV_POWER_USAGE", Gauge, GpuPower),
    ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", Counter, GpuEnergy),
    ("DCGM_FI_DEV_FB_USED", Gauge, GpuMemory),
];

static BY_NAME: LazyLock<HashMap<&'static str, (Shape, Role)>> =
    LazyLock::new(|| FAMILIES.iter().map(|(name, shape, role)| (*name, (*shape, *role))).collect());

/// What a name means. `None`: no figure needs it, and it is kept only where every metric of an address is.
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
            // Without its suffix it is no series of a histogram.
            Histogram => return None,
        };
        Some(Meaning { role, part })
    };
    let found = whole()
        .or_else(|| histogram("_bucket", Part::Bucket))
        .or_else(|| histogram("_sum", Part::Sum))
        .or_else(|| histogram("_count", Part::Count));
    found.or_else(|| {
        // There are few of them, and their names differ between releases.
        let kept = matches!(Engine::from_metric(name)?, Engine::EndpointPicker | Engine::Dcgm);
        kept.then(|| Meaning { role: Kept, part: part_by_name(name) })
    })
}

/// The part of a metric that is not known, by the suffix of its name. A gauge and a counter without a suffix look the
/// same.
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
        // A histogram, in spite of its name.
        check("vllm:iteration_tokens_total", None);
        check("python_info", None);
        check("inference_extension_scheduler_e2e_duration_seconds_bucket", Some((Kept, Part::Bucket)));
        check("DCGM_FI_DEV_SM_CLOCK", Some((Kept, Part::Gauge)));
        check("DCGM_FI_DEV_POWER_USAGE", Some((GpuPower, Part::Gauge)));
    }

    #[test]
    fn a_name_says_whose_it_is() {
        assert_eq!(Engine::from_metric("vllm:x"), Some(Engine::Vllm));
        assert_eq!(Engine::from_metric("inference_pool_ready_pods"), Some(Engine::EndpointPicker));
        assert_eq!(Engine::from_metric("DCGM_FI_DEV_GPU_UTIL"), Some(Engine::Dcgm));
        assert_eq!(Engine::from_metric("http_requests_total"), None);
    }

    #[test]
    fn no_name_stands_twice() {
        assert_eq!(BY_NAME.len(), FAMILIES.len());
    }
}
