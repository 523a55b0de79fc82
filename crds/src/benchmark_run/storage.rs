//! What is kept of a run: the results folder and its rows of requests.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::AnyValue;

/// Where the results folder is kept. Without pvc and none it is kept on a claim with the defaults of pvc.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
#[cfg_attr(
    feature = "kube",
    x_kube(validation = Rule::new("!(has(self.pvc) && has(self.none))").message("set at most one of pvc and none"))
)]
pub struct Storage {
    /// A PersistentVolumeClaim, created when it is missing and kept when the run is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(with = "Pvc"))]
    pub pvc: Option<Pvc>,
    /// Keep no results folder: the headline figures in the status are all that stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(with = "NoStorage"))]
    pub none: Option<NoStorage>,
    /// Whether a results folder that cannot be written fails the run. False: the figures count without it. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// Full: a row for every request in requests.parquet, without prompts and outputs. None: no rows. Default: Full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(with = "PerRequestRecords"))]
    pub per_request_records: Option<PerRequestRecords>,
}

/// A PersistentVolumeClaim in the namespace of the run.
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
    /// The size to ask for when it is created, as a Kubernetes quantity. Default: 20Gi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::quantity"))]
    pub size: Option<AnyValue>,
    /// The StorageClass when it is created. Default: that of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(length(max = 253)))]
    pub storage_class_name: Option<String>,
}

/// Keep no results folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct NoStorage {}

/// Whether every request leaves a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum PerRequestRecords {
    /// No rows.
    None,
    /// A row per request.
    Full,
}
