//! What metrics are of.

use serde::{Deserialize, Serialize};

/// What metrics are of. It decides which names are kept: of Prometheus all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum MetricsKind {
    /// The names of the metrics decide.
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
    /// Any other Prometheus text: every metric is kept, within bounds.
    Prometheus,
}
