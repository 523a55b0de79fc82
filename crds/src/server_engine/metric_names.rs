//! Types that describe the names of Prometheus metrics.

/// The metrics of a server.
#[derive(Debug, PartialEq, Eq)]
pub struct MetricNames {
    /// Prefixes of the metric names that only this server uses.
    pub prefixes: &'static [&'static str],
    /// The metrics to keep. Names have no suffix `_total`, `_bucket`, `_sum` or `_count`.
    pub families: &'static [Family],
}

/// Name of a metric, how its values change, and what it is used for.
pub type Family = (&'static str, Shape, Role);

/// What a metric is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    Running,
    Waiting,
    /// Share of the KV cache that is in use.
    KvCacheUsage,
    Preemptions,
    PromptTokens,
    GenerationTokens,
    Succeeded,
    /// Number of tokens that were looked up in the prefix cache.
    PrefixQueries,
    /// The name of [`Role::PrefixQueries`] up to vLLM 0.10. Some releases have both names.
    OldPrefixQueries,
    /// Number of tokens that were found in the prefix cache.
    PrefixHits,
    /// The name of [`Role::PrefixHits`] up to vLLM 0.10. Some releases have both names.
    OldPrefixHits,
    Ttft,
    Itl,
    /// The name of the ITL metric in older releases. Some releases have both names.
    OldItl,
    E2e,
    Queue,
    Prefill,
    Decode,
    PoolReadyPods,
    /// Mean number of waiting requests per pod of an InferencePool.
    PoolQueue,
    PoolKvCacheUsage,
    /// Share of time in which the GPU ran a kernel, in percent.
    GpuUtilization,
    /// Power of the GPU, in watts.
    GpuPower,
    /// Energy that the GPU has used since its driver was loaded, in millijoules.
    GpuEnergy,
    /// Memory of the GPU that is in use, in MiB.
    GpuMemory,
    /// A metric with the settings of the KV cache as labels.
    CacheConfig,
    /// The metric is stored in the samples, but used for no figure.
    Kept,
}

impl Role {
    /// The role of the same figure under its older metric name. An address that lacks the newer name is read with the older one. `None` if there is
    /// no older name.
    pub fn old(self) -> Option<Role> {
        match self {
            Role::Itl => Some(Role::OldItl),
            Role::PrefixQueries => Some(Role::OldPrefixQueries),
            Role::PrefixHits => Some(Role::OldPrefixHits),
            _ => None,
        }
    }

    /// Whether the counter survives a restart of the server, so that it can start above zero. For example, the energy counts from the moment at which
    /// the GPU's driver was loaded.
    pub fn is_absolute(self) -> bool {
        self == Role::GpuEnergy
    }
}

/// How the values of a metric change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Gauge,
    /// The value only increases, except when the server restarts.
    Counter,
    /// Buckets, a sum and a count. Each of them is a counter.
    Histogram,
    /// Only the labels of the metric matter. Its value has no meaning.
    Info,
}
