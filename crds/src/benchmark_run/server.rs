//! A model server that Benchwright itself starts and ends.

use std::collections::BTreeMap;

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

#[cfg(feature = "kube")]
use super::field::bounded_text;
use super::{GatewayRef, KeyRef, Resources, Scheduling, field::is_default};
use crate::{AnyValue, server_engine::ServerEngine};

/// Maximum number of replicas of a managed server.
pub const MAX_REPLICAS: u32 = 64;
/// Maximum length of one string in the command, the arguments or the environment, in characters.
pub const MAX_SERVER_TEXT: u32 = 1024;
/// Maximum length of the `preprocess` script, in characters.
pub const MAX_SERVER_SCRIPT: u32 = 4096;
/// Maximum number of devices per replica.
pub const MAX_DEVICES: usize = 16;
/// Maximum length of a device's name, in characters.
pub const MAX_DEVICE_NAME: u32 = 128;

/// A model server that is started for the run. The run waits for it as target.readiness defines, watches it, and ends it.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Server {
    /// The program: VLLM, SGLang, Simulator (Benchwright's own simulated vLLM) or Custom. It determines how the fields below become arguments.
    pub engine: ServerEngine,

    /// Who starts the server. Standalone: Benchwright. ModelService: you, with llm-d's own charts; Benchwright creates the charts' values from
    /// these fields, and waits until the model servers behind gatewayRef are ready. Only for VLLM in a cluster. Default: Standalone.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "ServerMethod"))]
    pub method: Option<ServerMethod>,

    /// The Gateway for the load; required with ModelService. If httpRoute is absent, it is `llm-d-` and the name of the run.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "GatewayRef"))]
    pub gateway_ref: Option<GatewayRef>,

    /// The image of the engine; in a cluster only, where VLLM, SGLang and Custom need it. Default: for Simulator the image of the launcher.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 512)))]
    pub image: Option<String>,

    /// The model: its name on a hub, or its path. VLLM and SGLang need this field or modelClaim.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 1024)))]
    pub model: Option<String>,

    /// A claim with the weights, in the run's namespace, mounted read-only. Replaces model. In a cluster only.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "ModelClaim"))]
    pub model_claim: Option<ModelClaim>,

    /// The token of the hub, for models that need one. In a cluster only; elsewhere the server inherits HF_TOKEN.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "HubToken"))]
    pub hub_token: Option<HubToken>,

    /// True: the engine runs without its API server, so that the figures measure the engine alone: Benchwright's own endpoint calls vLLM's LLM class;
    /// it supports completions, but no chats. Only for VLLM outside of a cluster. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offline: bool,

    /// The program and its first arguments; args and the other fields follow. Default: `vllm serve`, `python3 -m sglang.launch_server` or
    /// `benchwright sim`, with offline `benchwright offline-engine`. Custom needs it outside of a cluster; in a cluster the default is the entry
    /// point of the image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 32), extend("items" = bounded_text(MAX_SERVER_TEXT))))]
    pub command: Vec<String>,

    /// Bash script that runs before the engine, on the same machine; in a cluster, in the container of each replica. The engine inherits the
    /// environment variables that the script exports. If one command of the script fails, the server fails.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = MAX_SERVER_SCRIPT)))]
    pub preprocess: Option<String>,

    /// Further arguments, unchanged, after the arguments from the other fields. `$(PORT)` is replaced by the replica's port, and outside of a cluster
    /// `$(REPLICA)` by its number, counted from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 128), extend("items" = bounded_text(MAX_SERVER_TEXT))))]
    pub args: Vec<String>,

    /// Options of the engine by name, without dashes before it: `max-num-batched-tokens: 8192` becomes `--max-num-batched-tokens 8192`. True becomes
    /// the flag alone. False becomes `--no-` and the name for VLLM, and nothing for other engines.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 64)))]
    pub config: BTreeMap<String, AnyValue>,

    /// Environment variables of the server. Outside of a cluster, the server also inherits the launcher's environment variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 64, "additionalProperties" = bounded_text(MAX_SERVER_TEXT))))]
    pub env: BTreeMap<String, String>,

    /// Number of GPUs for one copy of the model, or Auto for all GPUs of the replica. Default: Auto.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::auto_or_count"))]
    pub tensor_parallel_size: Option<AnyValue>,

    /// Maximum tokens of prompt and answer together. Default: the engine's default.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 100_000_000)))]
    pub max_model_len: Option<u32>,

    /// Maximum number of requests in a batch. Default: the engine's default.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 1_000_000)))]
    pub max_num_seqs: Option<u32>,

    /// Maximum share of a GPU's memory for the engine, above 0 and up to 1. Default: the engine's default.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::share"))]
    pub gpu_memory_utilization: Option<AnyValue>,

    /// The data type of weights and activations, such as bfloat16. Default: the engine's default.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 64)))]
    pub dtype: Option<String>,

    /// The quantization of the weights, such as fp8. Default: the model's own quantization.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 64)))]
    pub quantization: Option<String>,

    /// The format in which the weights are loaded, such as safetensors, runai_streamer or dummy. Default: the engine's default.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 64)))]
    pub load_format: Option<String>,

    /// The port of the server. Outside of a cluster the port of the first replica; the other replicas use the next ports. Default: 8000; outside of a
    /// cluster any free port.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 65535)))]
    pub port: Option<u16>,

    /// Number of equal servers that share the load. Default: 1; with devices, the number of its lists.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 64)))]
    pub replicas: Option<u32>,

    /// The devices of the replicas, one list per replica, such as `[["0", "1"], ["2", "3"]]`; a list becomes CUDA_VISIBLE_DEVICES. Outside of a
    /// cluster only; in a cluster, resources defines the number of devices per replica.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 64), extend("items" = device_set())))]
    pub devices: Vec<Vec<String>>,

    /// How a replica is chosen for a request. RoundRobin: each replica in turn. LeastOutstanding: the replica with the fewest requests in flight.
    /// Default: RoundRobin.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Distribution"))]
    pub distribution: Option<Distribution>,

    /// CPU, memory and GPUs of a replica. In a cluster only.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Resources"))]
    pub resources: Option<Resources>,

    /// The nodes on which the replicas can run. In a cluster only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scheduling: Scheduling,

    /// The service account of the replicas' pods. The account's token is not mounted. In a cluster only. Default: the namespace's service account.
    #[cfg_attr(feature = "kube", schemars(length(max = 253)))]
    pub service_account_name: Option<String>,

    /// True: in a cluster, Benchwright's wrapper program starts the command in the container, stores its log and the traces of a profiler, and sends
    /// both to the launcher. Default: true, except for Custom without command, because the entry point of an image is unknown.
    pub wrapper: Option<bool>,

    /// PerRun: started for the run and ended with it. Keep: started for the run and left running. Reuse: a running server with the same description
    /// is used, or started, and left running. Default: PerRun.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Lifecycle"))]
    pub lifecycle: Option<Lifecycle>,
}

/// Schema of the devices of one replica.
#[cfg(feature = "kube")]
fn device_set() -> serde_json::Value {
    serde_json::json!({"type": "array", "maxItems": MAX_DEVICES, "items": bounded_text(MAX_DEVICE_NAME)})
}

/// Who starts a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum ServerMethod {
    /// Benchwright.
    #[default]
    Standalone,
    /// llm-d's own charts, which Benchwright does not install.
    ModelService,
}

/// A claim with the weights, mounted read-only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct ModelClaim {
    /// Name of the claim, in the namespace of the run.
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$"))
    )]
    pub claim_name: String,
    /// The folder of the model on the claim, such as `llama-3.1-8b`. Default: the root of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "kube",
        schemars(length(max = 512), regex(pattern = r"^[-._a-zA-Z0-9]+(/[-._a-zA-Z0-9]+)*$"))
    )]
    pub path: Option<String>,
}

/// The token of a model hub. It never appears in arguments, status or logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct HubToken {
    /// The Secret with the token, in the run's namespace.
    pub secret_key_ref: KeyRef,
}

/// How a replica is chosen for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Distribution {
    /// Each replica in turn.
    #[default]
    RoundRobin,
    /// The replica with the fewest requests in flight.
    LeastOutstanding,
}

/// How long a managed server lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Lifecycle {
    /// Started for the run and ended with it.
    #[default]
    PerRun,
    /// Started for the run and left running.
    Keep,
    /// A running server with the same description, or a new one; left running.
    Reuse,
}
