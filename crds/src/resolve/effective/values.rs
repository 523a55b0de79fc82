//! The values of the fields that have defaults. The status repeats them.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::benchmark_run::{
    Distribution, Enforcement, Harness, HttpVersion, Lifecycle, PerRequestRecords, ReadinessProbe, Resources,
    RetryCause, Scheme, SimulatorPreset,
};

/// The fields of a spec that have defaults, with the values that an attempt is given. Names are those of the spec. Only
/// cleanup is missing, because it may change at any time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct EffectiveSpec {
    /// How the target is reached.
    pub target: Target,
    /// Whose profile format the profile is written in.
    pub harness: Harness,
    /// The workload.
    pub profile: Profile,
    /// Every random draw of the run derives from it.
    pub seed: u64,
    /// How many times the load is run.
    pub repeat: u32,
    /// The pod that issues the load.
    pub launcher: Launcher,
    /// Where the results folder is kept.
    pub storage: Storage,
    /// Bounds past which the figures do not count.
    pub validity: Validity,
    /// What an objective that is missed does; absent where the spec has no objectives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<Slo>,
    /// Retries, deadlines and the time to drain.
    pub execution: Execution,
}

/// How the target is reached.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Target {
    /// The embedded simulated vLLM, where it is the target.
    pub simulator: Option<Simulator>,
    /// How the Service is spoken to, where one is the target.
    pub service_ref: Option<Service>,
    /// The managed server, where one is the target.
    pub server: Option<Server>,
    /// The version of HTTP.
    pub http_version: HttpVersion,
    /// How the launcher finds out that the server is ready to be measured.
    pub readiness: Readiness,
    /// Whether the run has the target to itself.
    pub exclusive: bool,
}

/// The embedded simulated vLLM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Simulator {
    /// Which server it simulates.
    pub preset: SimulatorPreset,
}

/// A managed server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Server {
    /// The port on which it listens in a cluster.
    pub port: u16,
    /// How many servers share the load.
    pub replicas: u32,
    /// Which replica a request goes to.
    pub distribution: Distribution,
    /// How long it lives.
    pub lifecycle: Lifecycle,
    /// Whether a program of Benchwright's starts it in a cluster, which keeps its log.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wrapper: bool,
}

/// How a Service is spoken to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Service {
    /// Port of the Service.
    pub port: u16,
    /// HTTP or HTTPS.
    pub scheme: Scheme,
    /// The part of every request's path before `/v1`.
    #[cfg_attr(feature = "kube", schemars(length(max = 1024)))]
    pub path: String,
}

/// How the launcher finds out that the server is ready to be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Readiness {
    /// What counts as ready.
    pub probe: ReadinessProbe,
    /// How long it is waited for, in seconds.
    pub timeout_seconds: u32,
}

/// The workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Profile {
    /// Where the profile's text comes from: the name of a shipped profile, `inline`, or `configMap/<name>/<key>`.
    #[cfg_attr(feature = "kube", schemars(length(max = 640)))]
    pub source: String,
}

/// The pod that issues the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Launcher {
    /// The image.
    #[cfg_attr(feature = "kube", schemars(length(max = 512)))]
    pub image: String,
    /// When the image is pulled: Always, IfNotPresent or Never.
    #[cfg_attr(feature = "kube", schemars(length(max = 16)))]
    pub image_pull_policy: String,
    /// CPU and memory.
    pub resources: Resources,
}

/// Where the results folder is kept.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Storage {
    /// The PersistentVolumeClaim of the results; absent where no results folder is kept on one.
    pub pvc: Option<Claim>,
    /// The bucket of the results; absent where they are kept in none.
    pub s3: Option<S3>,
    /// Whether a results folder that cannot be written fails the run.
    pub required: bool,
    /// Whether every request leaves a row.
    pub per_request_records: PerRequestRecords,
}

/// The PersistentVolumeClaim of the results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Claim {
    /// The name of the claim.
    #[cfg_attr(feature = "kube", schemars(length(max = 253)))]
    pub claim_name: String,
    /// The size to ask for when it is created.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub size: String,
    /// The StorageClass when it is created. Absent: that of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(length(max = 253)))]
    pub storage_class_name: Option<String>,
}

/// The bucket of the results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct S3 {
    /// The name of the bucket.
    #[cfg_attr(feature = "kube", schemars(length(max = 63)))]
    pub bucket: String,
    /// What the keys of all objects begin with; absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(length(max = 512)))]
    pub prefix: Option<String>,
    /// The URL of the server, without a slash at its end.
    #[cfg_attr(feature = "kube", schemars(length(max = 512)))]
    pub endpoint: String,
    /// The region that requests are signed for.
    #[cfg_attr(feature = "kube", schemars(length(max = 64)))]
    pub region: String,
    /// The longest that the upload may take, in seconds.
    pub upload_timeout_seconds: u32,
}

/// Bounds past which the figures do not count. Shares are decimal text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Validity {
    /// The fewest requests that must succeed.
    pub min_successful_requests: u64,
    /// The largest share of failed requests.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub max_error_ratio: String,
    /// The largest 99th percentile of the send lag, in milliseconds.
    pub max_send_lag_p99_milliseconds: u32,
    /// The largest 99th percentile of the receive delay, in milliseconds.
    pub max_receive_delay_p99_milliseconds: u32,
    /// The largest share of its time that a load thread may use a CPU or wait for one.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub max_cpu_share: String,
    /// The largest share of periods in which the CPU limit was reached.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub max_throttled_share: String,
    /// The largest share of the machine's CPU time that its hypervisor may give to others.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub max_steal_share: String,
    /// The largest share of reads that held several tokens and came late.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub max_coalesced_read_share: String,
    /// The largest share of time in which the launcher could not run.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub max_stalled_share: String,
    /// The largest step of the clock, and the longest sleep of the machine, in milliseconds.
    pub max_clock_step_milliseconds: u32,
}

/// What an objective that is missed does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Slo {
    /// Fail: the run fails. Report: nothing else changes.
    pub enforcement: Enforcement,
    /// The comparison with an earlier run; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
}

/// The comparison with an earlier run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Baseline {
    /// By how many percent of the earlier value a figure may be worse.
    pub max_regression_percent: u32,
}

/// Retries, deadlines and the time to drain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Execution {
    /// Which failures start another attempt, and how many times.
    pub retry: Retry,
    /// How long each part of an attempt may take.
    pub deadlines: Deadlines,
    /// How long the launcher has to drain and to write its report after it was asked to stop, in seconds.
    pub grace_period_seconds: u32,
}

/// Which failures start another attempt, and how many times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Retry {
    /// How many times at most.
    pub limit: u32,
    /// After which failures.
    #[cfg_attr(feature = "kube", schemars(length(max = 3)))]
    pub reasons: Vec<RetryCause>,
}

/// How long each part of an attempt may take, in seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Deadlines {
    /// Until ConfigMap, volume and Job exist.
    pub prepare_seconds: u32,
    /// From the creation of the Job until the launcher measures.
    pub start_seconds: u32,
    /// From the start of the measurement until the launcher ends.
    pub run_seconds: u32,
    /// From the end of the launcher until its result is read.
    pub collect_seconds: u32,
}
