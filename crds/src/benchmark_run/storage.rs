//! The stored results of a run: the results folder and its per-request rows.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::AnyValue;

/// Where the results folder is stored. Without pvc, s3 and none it is stored on a claim with the defaults of pvc.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
#[cfg_attr(
    feature = "kube",
    x_kube(validation = Rule::new("[has(self.pvc), has(self.s3), has(self.none)].filter(it, it).size() <= 1")
        .message("set at most one of pvc, s3 and none"))
)]
pub struct Storage {
    /// A PersistentVolumeClaim. The operator creates the claim if it does not exist, and does not delete it with the run.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Pvc"))]
    pub pvc: Option<Pvc>,
    /// A bucket of Amazon S3 or of another server with the S3 API. The launcher uploads the folder at the end.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "S3"))]
    pub s3: Option<S3>,
    /// Stores no results folder. Only the headline figures in the status remain.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "NoStorage"))]
    pub none: Option<NoStorage>,
    /// True: the run fails if the results folder cannot be written. False: the figures count without the folder. Default: true.
    pub required: Option<bool>,
    /// Full: requests.parquet with one row per request, and measurement.bin for `benchwright analyse`, with the error texts of servers. Neither file
    /// contains prompts or outputs. FullWithTokenTimes: measurement.bin also has the times between tokens, which take memory and disk space per
    /// token. None: neither file. Default: Full.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "PerRequestRecords"))]
    pub per_request_records: Option<PerRequestRecords>,
}

/// A PersistentVolumeClaim in the namespace of the run.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Pvc {
    /// The name of the claim. Default: workload-pvc.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$"))
    )]
    pub claim_name: Option<String>,
    /// The size to request when the claim is created, as a Kubernetes quantity. Default: 20Gi.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::quantity"))]
    pub size: Option<AnyValue>,
    /// The StorageClass when the claim is created. Default: the cluster's StorageClass.
    #[cfg_attr(feature = "kube", schemars(length(max = 253)))]
    pub storage_class_name: Option<String>,
    /// The finished results folders, of all runs, that stay on the claim. If absent, all folders stay.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "FolderRetention"))]
    pub retention: Option<FolderRetention>,
}

/// Which finished results folders stay on a claim. After the launcher has written its own folder, it deletes the folders that exceed either limit.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct FolderRetention {
    /// Maximum number of stored folders, including the folder of this run. The oldest folders are deleted first. If absent, all folders stay.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 10_000)))]
    pub keep_runs: Option<u32>,
    /// Maximum age of a stored folder, in days. If absent, there is no limit.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 3_650)))]
    pub keep_days: Option<u32>,
}

/// A bucket of Amazon S3 or of another server with the S3 API. The folder of an attempt is `<prefix>/<namespace>/<name of its Job>/`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct S3 {
    /// The name of the bucket, which must exist.
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 3, max = 63), regex(pattern = r"^[a-z0-9][-.a-z0-9]*[a-z0-9]$"))
    )]
    pub bucket: String,
    /// Prefix of all object keys, such as `team-a/runs`, without a slash at its beginning and end. If absent, the keys have no prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 512), regex(pattern = r"^[-._a-zA-Z0-9]+(/[-._a-zA-Z0-9]+)*$"))
    )]
    pub prefix: Option<String>,
    /// The URL of the server: http or https, host and port. Requests then have the bucket in the path. If absent, Amazon S3 in the region is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "kube",
        schemars(
            length(max = 512),
            regex(pattern = r"^https?://(\[[0-9a-fA-F:.]+\]|[-._a-zA-Z0-9]+)(:[0-9]{1,5})?(/[^\s?#@]*)?$")
        )
    )]
    pub endpoint: Option<String>,
    /// The region in the signature of the requests. Default: us-east-1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 64), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))
    )]
    pub region: Option<String>,
    /// The Secret with the keys `accessKeyId` and `secretAccessKey`, and optionally `sessionToken`.
    pub secret_ref: SecretRef,
    /// Time limit of the upload with all retries, in seconds. Default: 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 86_400)))]
    pub upload_timeout_seconds: Option<u32>,
}

/// A Secret in the namespace of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct SecretRef {
    /// Name of the Secret.
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$"))
    )]
    pub name: String,
}

/// Keep no results folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct NoStorage {}

/// Which per-request records are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum PerRequestRecords {
    /// No records.
    None,
    /// One row per request.
    Full,
    /// One row per request, and the times between its tokens.
    FullWithTokenTimes,
}
