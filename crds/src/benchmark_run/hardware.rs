//! The hardware that the server runs on. Only the user knows it; it cannot be detected.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::AnyValue;

/// The accelerators behind the target. Reports derive rates per accelerator and costs from these fields only.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Hardware {
    /// The kind of accelerator, such as `H100-SXM-80GB`.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 64)))]
    pub accelerator: Option<String>,
    /// Number of accelerators that serve the model, over all replicas behind the target.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 1_000_000)))]
    pub accelerators: u32,
    /// Price per accelerator and hour, in the given currency. A number above 0. If absent, no costs are reported.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::price"))]
    pub price_per_accelerator_hour: Option<AnyValue>,
    /// The currency of the price, three capital letters as in ISO 4217, such as USD.
    #[cfg_attr(feature = "kube", schemars(length(max = 3), regex(pattern = r"^[A-Z]{3}$")))]
    pub currency: Option<String>,
}
