//! The pod that issues the load.

use std::collections::BTreeMap;

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

#[cfg(feature = "kube")]
use super::field::bounded_text;
use super::field::is_default;
use crate::AnyValue;

/// The pod that issues the load.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Launcher {
    /// The image. Default: the operator's own image.
    #[cfg_attr(feature = "kube", schemars(length(max = 512)))]
    pub image: Option<String>,

    /// CPU and memory. Default: the operator's setting, in the chart launcher.resources. A CPU limit distorts the measurement.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Resources"))]
    pub resources: Option<Resources>,

    /// The service account of the pod, for image pull secrets and for rights that a cluster grants to it, such as a security context constraint. The
    /// account's token is not mounted. Default: the namespace's service account.
    #[cfg_attr(feature = "kube", schemars(length(max = 253)))]
    pub service_account_name: Option<String>,

    /// Which nodes the pod can run on.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scheduling: Scheduling,

    /// True: prepare everything, but send no load. The pod waits until the run is cancelled or its runSeconds have passed. The status and the log
    /// explain how to send the load by hand.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub debug: bool,

    /// Further labels of the pod, beside Benchwright's own labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 32, "additionalProperties" = bounded_text(63))))]
    #[cfg_attr(
        feature = "kube",
        x_kube(validation = Rule::new("!self.exists(key, key.startsWith('benchwright.dev/') || key.startsWith('app.kubernetes.io/') || key.startsWith('batch.kubernetes.io/') || key in ['job-name', 'controller-uid'])")
            .message("labels under benchwright.dev/, app.kubernetes.io/ and batch.kubernetes.io/, job-name and controller-uid are set by the operator and by Kubernetes; choose another prefix"))
    )]
    pub labels: BTreeMap<String, String>,

    /// Annotations of the pod.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 32, "additionalProperties" = bounded_text(1024))))]
    pub annotations: BTreeMap<String, String>,
}

/// Label prefixes that are reserved for the operator and Kubernetes.
pub const RESERVED_LABELS: [&str; 3] = ["benchwright.dev/", "app.kubernetes.io/", "batch.kubernetes.io/"];
/// Maximum number of entries in `requests` and in `limits`, each.
pub const MAX_RESOURCES: usize = 16;
/// Maximum length of a resource's name, in characters.
pub const MAX_RESOURCE_NAME: usize = 128;

/// CPU and memory, as Kubernetes quantities.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Resources {
    /// Resources that the scheduler reserves.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = MAX_RESOURCES, "additionalProperties" = crate::any_value::quantity_schema())))]
    pub requests: BTreeMap<String, AnyValue>,
    /// Resources that the pod may not exceed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = MAX_RESOURCES, "additionalProperties" = crate::any_value::quantity_schema())))]
    pub limits: BTreeMap<String, AnyValue>,
}

/// Which nodes the launcher can run on.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Scheduling {
    /// Labels that the node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 32, "additionalProperties" = bounded_text(63))))]
    pub node_selector: BTreeMap<String, String>,
    /// Taints that the pod tolerates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub tolerations: Vec<Toleration>,
    /// The PriorityClass of the pod. Default: the cluster's PriorityClass.
    #[cfg_attr(feature = "kube", schemars(length(max = 253)))]
    pub priority_class_name: Option<String>,
    /// The RuntimeClass of the pod. Default: the runtime of the node.
    #[cfg_attr(feature = "kube", schemars(length(max = 253)))]
    pub runtime_class_name: Option<String>,
    /// The scheduler that chooses the node. If this scheduler does not exist, the run ends with StartTimeout. Default: the cluster's scheduler.
    #[cfg_attr(feature = "kube", schemars(length(max = 253)))]
    pub scheduler_name: Option<String>,
}

/// A taint that the launcher tolerates; the fields mean the same as in a pod.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Toleration {
    /// Key of the taint. If absent with operator Exists, every taint is tolerated.
    #[cfg_attr(feature = "kube", schemars(length(max = 253)))]
    pub key: Option<String>,
    /// Equal or Exists.
    #[cfg_attr(feature = "kube", schemars(regex(pattern = "^(Equal|Exists)$"), length(max = 8)))]
    pub operator: Option<String>,
    /// Value of the taint.
    #[cfg_attr(feature = "kube", schemars(length(max = 63)))]
    pub value: Option<String>,
    /// NoSchedule, PreferNoSchedule or NoExecute. If absent, every effect is tolerated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "kube",
        schemars(regex(pattern = "^(NoSchedule|PreferNoSchedule|NoExecute)$"), length(max = 16))
    )]
    pub effect: Option<String>,
    /// How long a NoExecute taint is tolerated, in seconds.
    #[cfg_attr(feature = "kube", schemars(range(max = 2_147_483_647)))]
    pub toleration_seconds: Option<i64>,
}
