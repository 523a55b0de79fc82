//! The types that describe the names of Prometheus metrics.

/// The metrics of a server.
#[derive(Debug, PartialEq, Eq)]
pub struct MetricNames {
    /// Prefixes of its metric names. No other server uses them.
    pub prefixes: &'static [&'static str],
    /// The metrics to keep, without `_total`, `_bucket`, `_sum` and `_count`.
    pub families: &'static [Family],
}

/// A name, how its values change, and the use of the metric.
pub type Family = (&'static str, Shape, Role);

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
    /// The metric's name up to 0.10; a release may have both names.
    OldPrefixQueries,
    /// Tokens that were found there.
    PrefixHits,
    /// The metric's name up to 0.10; a release may have both names.
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
    /// A metric with the settings of the KV cache as labels.
    CacheConfig,
    /// Kept in the samples, and part of no figure.
    Kept,
}

impl Role {
    /// The role of the older name of the same figure. It is used if an address has no metric with the newer name.
    pub fn old(self) -> Option<Role> {
        match self {
            Role::Itl => Some(Role::OldItl),
            Role::PrefixQueries => Some(Role::OldPrefixQueries),
            Role::PrefixHits => Some(Role::OldPrefixHits),
            _ => None,
        }
    }

    /// Whether the counter survives a restart of the server, so that it need not start at zero: energy counts from the load of the driver.
    pub fn is_absolute(self) -> bool {
        self == Role::GpuEnergy
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
