//! How a run is executed and how it ends: retries, deadlines, cancellation and cleanup.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::field::is_default;

/// Retries, deadlines and the grace period for a stop.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Execution {
    /// The failures after which another attempt starts, and the maximum number of attempts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retry: Retry,
    /// Time limits for the phases of an attempt.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deadlines: Deadlines,
    /// Sends no load. Reports a finished results folder that an earlier run left on the claim. If absent, the load is sent.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Collect"))]
    pub collect: Option<Collect>,
    /// Time for the launcher to drain and to write its report after a stop request, in seconds. Default: 60.
    #[cfg_attr(feature = "kube", schemars(range(min = 5, max = 3600)))]
    pub grace_period_seconds: Option<u32>,
}

/// An existing results folder to report, instead of sending a load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Collect {
    /// Name of the results folder on the claim of spec.storage.pvc. The folder has the name of the Job that wrote it.
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 128), regex(pattern = "^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$"))
    )]
    pub folder: String,
}

/// Maximum length of the name of a results folder to collect, in bytes.
pub const MAX_FOLDER_BYTES: usize = 128;

/// The failures after which another attempt starts, and the maximum number of attempts.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Retry {
    /// Maximum number of further attempts. Default: 1.
    #[cfg_attr(feature = "kube", schemars(range(max = 4)))]
    pub limit: Option<u32>,
    /// Failures after which another attempt starts. Default: Disrupted and StartTimeout.
    #[cfg_attr(feature = "kube", schemars(length(max = 3)))]
    pub reasons: Option<Vec<RetryCause>>,
}

/// A failure after which another attempt can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum RetryCause {
    /// The pod was evicted, preempted or lost with its node.
    Disrupted,
    /// The target did not become ready in time.
    TargetUnavailable,
    /// The launcher did not start measuring in time.
    StartTimeout,
}

/// Time limits for the parts of an attempt, in seconds.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Deadlines {
    /// Time limit for the creation of ConfigMap, volume and Job. Default: 900.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 86400)))]
    pub prepare_seconds: Option<u32>,
    /// Time limit from the creation of the Job until the launcher measures: scheduling, volume, image, readiness of the target.
    /// Default: 1800.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 86400)))]
    pub start_seconds: Option<u32>,
    /// Time limit from the start of the measurement until the launcher ends. With repeats, the limit applies to each repeat. Default: 3600.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 604_800)))]
    pub run_seconds: Option<u32>,
    /// Time limit from the end of the launcher until its result is read. Default: 300.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 86400)))]
    pub collect_seconds: Option<u32>,
}

/// How a run is ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Cancel {
    /// Stop issuing requests, wait for the requests in flight, and store the partial result.
    Graceful,
    /// End the pod immediately.
    Immediate,
}

/// What to delete after a run has finished, and when.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Cleanup {
    /// Deletes the BenchmarkRun with its Jobs, pods and ConfigMaps. The results on the volume stay. If absent, the run stays.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "RunCleanup"))]
    pub run: Option<RunCleanup>,
    /// Deletes the Jobs of a finished run with their pods and logs. The run, its status and the results on the volume stay. If absent, the Jobs
    /// stay as long as the run.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "JobsCleanup"))]
    pub jobs: Option<JobsCleanup>,
    /// Removes the server of a finished run if target.server.lifecycle is Keep or Reuse. A shared server is removed when no other run uses it; if
    /// several runs used it, the setting of the run that finished last applies. In a cluster only. If absent, the server stays for 86400
    /// seconds, a day.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "ServerCleanup"))]
    pub server: Option<ServerCleanup>,
}

/// How long a finished BenchmarkRun stays.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct RunCleanup {
    /// Seconds from the completion of a run that succeeded to its deletion. Default: 604800, 7 days.
    #[cfg_attr(feature = "kube", schemars(range(max = 2_147_483_647)))]
    pub after_success_seconds: Option<u32>,
    /// Seconds from the completion of a run that failed or was cancelled to its deletion. Default: 2592000, 30 days.
    #[cfg_attr(feature = "kube", schemars(range(max = 2_147_483_647)))]
    pub after_failure_seconds: Option<u32>,
}

/// How long the Jobs of a finished run stay.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct JobsCleanup {
    /// Seconds from the completion of a run that succeeded to the deletion of its Jobs. Default: 3600, an hour.
    #[cfg_attr(feature = "kube", schemars(range(max = 2_147_483_647)))]
    pub after_success_seconds: Option<u32>,
    /// Seconds from the completion of a run that failed or was cancelled to the deletion of its Jobs. Default: 604800, 7 days.
    #[cfg_attr(feature = "kube", schemars(range(max = 2_147_483_647)))]
    pub after_failure_seconds: Option<u32>,
}

/// How long the server of a finished run stays.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct ServerCleanup {
    /// Seconds from the completion of a run that succeeded to the removal of its server. Default: 3600, an hour.
    #[cfg_attr(feature = "kube", schemars(range(max = 2_147_483_647)))]
    pub after_success_seconds: Option<u32>,
    /// Seconds from the completion of a run that failed or was cancelled to the removal of its server. Default: 3600, an hour.
    #[cfg_attr(feature = "kube", schemars(range(max = 2_147_483_647)))]
    pub after_failure_seconds: Option<u32>,
}
