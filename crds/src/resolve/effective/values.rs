//! The fields of a spec that have defaults, with the values in use. The status repeats them.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::benchmark_run::{
    Distribution, Enforcement, Harness, HttpVersion, Lifecycle, PerRequestRecords, ReadinessProbe, Resources,
    RetryCause, Scheme, SimulatorPreset,
};

/// The fields of a spec that have defaults, with the values that an attempt uses. Their names are the same as in the spec. Cleanup is missing because
/// it can change at any time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct EffectiveSpec {
    /// How the target is reached.
    pub target: Target,
    /// The harness that defines the format of the profile.
    pub harness: Harness,
    /// The workload.
    pub profile: Profile,
    /// The seed of every random draw of the run.
    pub seed: u64,
    /// How many times the load is run.
    pub repeat: u32,
    /// The pod that issues the load.
    pub launcher: Launcher,
    /// Where the results folder is stored.
    pub storage: Storage,
    /// Bounds of a valid measurement. Beyond a bound the figures do not count.
    pub validity: Validity,
    /// The effect of a missed objective. The field is absent if the spec has no objectives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<Slo>,
    /// Retries, deadlines and the grace period for a stop.
    pub execution: Execution,
}

/// How the target is reached.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Target {
    /// The embedded simulated vLLM. The field is absent if the run has another target.
    pub simulator: Option<Simulator>,
    /// Port, scheme and path of the Service. The field is absent if the run has another target.
    pub service_ref: Option<Service>,
    /// The managed server. The field is absent if the run has another target.
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
    /// The kind of server that is simulated.
    pub preset: SimulatorPreset,
}

/// A managed server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Server {
    /// The server's port in a cluster.
    pub port: u16,
    /// Number of equal servers that share the load.
    pub replicas: u32,
    /// How a replica is chosen for a request.
    pub distribution: Distribution,
    /// When the server is started and ended.
    pub lifecycle: Lifecycle,
    /// Whether Benchwright's wrapper program starts the server in a cluster, and stores its log.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wrapper: bool,
}

/// Port, scheme and path of a Service.
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
    /// The check that decides whether the server is ready.
    pub probe: ReadinessProbe,
    /// How long to wait until the server is ready, in seconds.
    pub timeout_seconds: u32,
}

/// The workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Profile {
    /// The source of the profile's text: the name of a shipped profile, `inline`, or `configMap/<name>/<key>`.
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

/// Where the results folder is stored.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Storage {
    /// The PersistentVolumeClaim of the results. The field is absent if the results folder is not kept on a claim.
    pub pvc: Option<Claim>,
    /// The bucket of the results. The field is absent if the results are not stored in a bucket.
    pub s3: Option<S3>,
    /// Whether a results folder that cannot be written fails the run.
    pub required: bool,
    /// Which per-request records are stored.
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
    /// The size to request when the claim is created.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub size: String,
    /// The StorageClass when the claim is created. If absent, the cluster's default StorageClass is used.
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
    /// Prefix of all object keys. If absent, the keys have no prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(length(max = 512)))]
    pub prefix: Option<String>,
    /// The URL of the server, without a slash at its end.
    #[cfg_attr(feature = "kube", schemars(length(max = 512)))]
    pub endpoint: String,
    /// The region in the signature of the requests.
    #[cfg_attr(feature = "kube", schemars(length(max = 64)))]
    pub region: String,
    /// Time limit of the upload, in seconds.
    pub upload_timeout_seconds: u32,
}

/// Bounds of a valid measurement. Shares are decimal text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Validity {
    /// Minimum number of requests that must succeed.
    pub min_successful_requests: u64,
    /// Maximum share of failed requests.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub max_error_ratio: String,
    /// Maximum 99th percentile of the send lag, in milliseconds.
    pub max_send_lag_p99_milliseconds: u32,
    /// Maximum 99th percentile of the receive delay, in milliseconds.
    pub max_receive_delay_p99_milliseconds: u32,
    /// Maximum share of a stage in which a load thread can use a CPU or wait for one.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub max_cpu_share: String,
    /// Maximum share of periods in which the launcher reaches its CPU limit.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub max_throttled_share: String,
    /// Maximum share of the machine's CPU time that the hypervisor can give to other machines.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub max_steal_share: String,
    /// Maximum share of reads that are late and contain several tokens.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub max_coalesced_read_share: String,
    /// Maximum share of time in which the launcher could not run.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub max_stalled_share: String,
    /// Maximum step of the clock, and maximum time that the machine was asleep, in milliseconds.
    pub max_clock_step_milliseconds: u32,
}

/// The effect of a missed objective.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Slo {
    /// Fail: the run fails. Report: only status and report show it.
    pub enforcement: Enforcement,
    /// The comparison with an earlier run. The field is absent if there is no baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
}

/// The comparison with an earlier run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Baseline {
    /// Maximum difference by which a figure can be worse, in percent of the earlier value.
    pub max_regression_percent: u32,
}

/// Retries, deadlines and the grace period for a stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Execution {
    /// Which failures start another attempt, and how many times.
    pub retry: Retry,
    /// Time limits for the parts of an attempt.
    pub deadlines: Deadlines,
    /// Time for the launcher to drain and to write its report after a stop request, in seconds.
    pub grace_period_seconds: u32,
}

/// Which failures start another attempt, and how many times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Retry {
    /// Maximum number of further attempts.
    pub limit: u32,
    /// Failures after which another attempt starts.
    #[cfg_attr(feature = "kube", schemars(length(max = 3)))]
    pub reasons: Vec<RetryCause>,
}

/// Time limits for the parts of an attempt, in seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Deadlines {
    /// Time limit until ConfigMap, volume and Job exist.
    pub prepare_seconds: u32,
    /// Time limit from the creation of the Job until the launcher measures.
    pub start_seconds: u32,
    /// Time limit from the start of the measurement until the launcher ends.
    pub run_seconds: u32,
    /// Time limit from the end of the launcher until its result is read.
    pub collect_seconds: u32,
}
