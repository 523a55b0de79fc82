//! The kind of server that metrics come from.

use serde::{Deserialize, Serialize};

/// The kind of server that metrics come from. It decides which metrics are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum MetricsKind {
    /// The kind is detected from the metric names.
    #[default]
    Auto,
    /// vLLM.
    #[serde(rename = "VLLM")]
    Vllm,
    /// SGLang.
    #[serde(rename = "SGLang")]
    Sglang,
    /// The endpoint picker of llm-d or of the Gateway API Inference Extension.
    EndpointPicker,
    /// NVIDIA's DCGM exporter.
    #[serde(rename = "DCGM")]
    Dcgm,
    /// Any other source in Prometheus' text format. All metrics are kept, up to a maximum.
    Prometheus,
}
