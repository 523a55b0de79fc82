//! What is kept of a run: the results folder and its rows of requests.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::defaults;

/// Where the results folder is kept. Neither pvc nor none: pvc with its defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
#[cfg_attr(
    feature = "kube",
    x_kube(validation = Rule::new("!(has(self.pvc) && has(self.none))").message("set at most one of pvc and none"))
)]
pub struct Storage {
    /// A PersistentVolumeClaim, created when it is missing and kept when the run is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pvc: Option<Pvc>,
    /// Keep no results folder: the headline figures in the status are all that stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub none: Option<NoStorage>,
    /// False: figures count although the results folder could not be written.
    #[serde(default = "defaults::yes")]
    pub required: bool,
    /// Full: a row for every request in requests.parquet, without prompts and outputs. None: no rows.
    #[serde(default)]
    pub per_request_records: PerRequestRecords,
}

impl Default for Storage {
    fn default() -> Self {
        Storage { pvc: None, none: None, required: true, per_request_records: PerRequestRecords::default() }
    }
}

/// A PersistentVolumeClaim in the namespace of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Pvc {
    /// Its name.
    #[serde(default = "defaults::claim_name")]
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$"))
    )]
    pub claim_name: String,
    /// The size to ask for when it is created, as a Kubernetes quantity.
    #[serde(default = "defaults::claim_size")]
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 32), regex(pattern = r"^[0-9]+(\.[0-9]+)?(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P)?$"))
    )]
    pub size: String,
    /// The StorageClass when it is created. Empty: the cluster's default.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(length(max = 253)))]
    pub storage_class_name: String,
}

impl Default for Pvc {
    fn default() -> Self {
        Pvc { claim_name: defaults::claim_name(), size: defaults::claim_size(), storage_class_name: String::new() }
    }
}

/// Keep no results folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct NoStorage {}

/// Whether every request leaves a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum PerRequestRecords {
    /// No rows. Runs that were stored by older releases call it Off.
    #[serde(alias = "Off")]
    None,
    /// A row per request.
    #[default]
    Full,
}
