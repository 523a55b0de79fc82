//! A model server that Benchwright itself starts and ends.

use std::collections::BTreeMap;

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

#[cfg(feature = "kube")]
use super::field::bounded_text;
use super::{GatewayRef, KeyRef, Resources, Scheduling, field::is_default};
use crate::{AnyValue, server_engine::ServerEngine};

/// The most replicas of a managed server.
pub const MAX_REPLICAS: u32 = 64;
/// The longest text of the command, the arguments and the environment, in characters.
pub const MAX_SERVER_TEXT: u32 = 1024;
/// The longest script of preprocess, in characters.
pub const MAX_SERVER_SCRIPT: u32 = 4096;
/// The most devices of a replica.
pub const MAX_DEVICES: usize = 16;
/// The longest name of a device, in characters.
pub const MAX_DEVICE_NAME: u32 = 128;

/// A model server that is started for the run, waited for as target.readiness says, watched, and ended.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Server {
    /// Which program it is: VLLM, SGLang, Simulator (Benchwright's own simulated vLLM) or Custom. It decides how the fields below
    /// become arguments.
    pub engine: ServerEngine,

    /// Who starts it. Standalone: Benchwright. ModelService: you, with llm-d's own charts; Benchwright makes their values of these fields, and
    /// waits until the model servers behind gatewayRef are ready. VLLM in a cluster only. Default: Standalone.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "ServerMethod"))]
    pub method: Option<ServerMethod>,

    /// The Gateway that the load goes through with ModelService, which needs it. Its httpRoute is by default `llm-d-` and the name of the run.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "GatewayRef"))]
    pub gateway_ref: Option<GatewayRef>,

    /// The image of the engine, in a cluster; VLLM, SGLang and Custom need it there. Default: for Simulator the image of the launcher.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 512)))]
    pub image: Option<String>,

    /// The model: its name on a hub, or its path. VLLM and SGLang need it, or modelClaim.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 1024)))]
    pub model: Option<String>,

    /// Weights on a claim in the namespace of the run, mounted read-only, in place of model. In a cluster only.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "ModelClaim"))]
    pub model_claim: Option<ModelClaim>,

    /// The token of the hub, for models that need one. In a cluster only; elsewhere the server inherits HF_TOKEN.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "HubToken"))]
    pub hub_token: Option<HubToken>,

    /// True: the engine runs without the server of its API, so that the figures measure the engine alone: vLLM's LLM class behind an endpoint
    /// of Benchwright's, which has completions and no chats. VLLM outside of a cluster only. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offline: bool,

    /// The program and what comes before its arguments. Default: `vllm serve`, `python3 -m sglang.launch_server` or
    /// `benchwright sim`, with offline `benchwright offline-engine`. Custom needs it outside of a cluster; in one it has the entry point of its image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 32), extend("items" = bounded_text(MAX_SERVER_TEXT))))]
    pub command: Vec<String>,

    /// Bash script that runs before the engine, on the same machine; in a cluster, in the container of each replica. The variables that it
    /// exports reach the engine. The server fails where one of its commands fails.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = MAX_SERVER_SCRIPT)))]
    pub preprocess: Option<String>,

    /// Arguments, given as they are after those of the other fields. `$(PORT)` stands for the port of the replica, and
    /// outside of a cluster `$(REPLICA)` for its number from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 128), extend("items" = bounded_text(MAX_SERVER_TEXT))))]
    pub args: Vec<String>,

    /// Options of the engine by name, without dashes before it: `max-num-batched-tokens: 8192` becomes
    /// `--max-num-batched-tokens 8192`, true the flag alone, and false `--no-` and the name for VLLM and nothing for the others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 64)))]
    pub config: BTreeMap<String, AnyValue>,

    /// Environment variables, beside those that the process inherits outside of a cluster.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 64, "additionalProperties" = bounded_text(MAX_SERVER_TEXT))))]
    pub env: BTreeMap<String, String>,

    /// GPUs that one copy of the model is spread over: a number, or Auto, all GPUs of the replica. Default: Auto.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::auto_or_count"))]
    pub tensor_parallel_size: Option<AnyValue>,

    /// The most tokens of prompt and answer together. Default: that of the engine.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 100_000_000)))]
    pub max_model_len: Option<u32>,

    /// The most requests that are computed at a time. Default: that of the engine.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 1_000_000)))]
    pub max_num_seqs: Option<u32>,

    /// The share of a GPU's memory that the engine may take, above 0 and up to 1. Default: that of the engine.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::share"))]
    pub gpu_memory_utilization: Option<AnyValue>,

    /// The type of the weights and activations, such as bfloat16. Default: that of the engine.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 64)))]
    pub dtype: Option<String>,

    /// How the weights are quantized, such as fp8. Default: what the model says.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 64)))]
    pub quantization: Option<String>,

    /// How the weights are loaded, such as safetensors, runai_streamer or dummy. Default: that of the engine.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 64)))]
    pub load_format: Option<String>,

    /// The port on which it listens; outside of a cluster the first replica, and the others on those after it. Default: 8000;
    /// outside of a cluster any that is free.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 65535)))]
    pub port: Option<u16>,

    /// How many servers of the same kind share the load. Default: 1, and with devices as many as it has sets.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 64)))]
    pub replicas: Option<u32>,

    /// The devices of each replica, a list for each, such as `[["0", "1"], ["2", "3"]]`; they become CUDA_VISIBLE_DEVICES. Outside of a
    /// cluster only; in one resources says how many a replica has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 64), extend("items" = device_set())))]
    pub devices: Vec<Vec<String>>,

    /// Which replica a request goes to: RoundRobin, each in turn; LeastOutstanding, the one with the fewest requests under way.
    /// Default: RoundRobin.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Distribution"))]
    pub distribution: Option<Distribution>,

    /// CPU, memory and GPUs of a replica. In a cluster only.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Resources"))]
    pub resources: Option<Resources>,

    /// Which nodes the replicas may run on. In a cluster only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scheduling: Scheduling,

    /// The service account of the replicas' pods. Its token is not mounted. In a cluster only. Default: that of the namespace.
    #[cfg_attr(feature = "kube", schemars(length(max = 253)))]
    pub service_account_name: Option<String>,

    /// True: in a cluster a small program of Benchwright's starts the command in the container, keeps its log and the traces of a profiler, and
    /// gives them to the launcher. Default: true, but for Custom without command, because the entry point of an image is not known.
    pub wrapper: Option<bool>,

    /// PerRun: started for the run and ended with it. Keep: started for the run and left running. Reuse: the running server of
    /// the same description is used, or one is started, and left running. Default: PerRun.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Lifecycle"))]
    pub lifecycle: Option<Lifecycle>,
}

/// The devices of one replica.
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

/// Weights on a claim, mounted read-only.
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
    /// The folder of the model in it, such as `llama-3.1-8b`. Default: the root of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "kube",
        schemars(length(max = 512), regex(pattern = r"^[-._a-zA-Z0-9]+(/[-._a-zA-Z0-9]+)*$"))
    )]
    pub path: Option<String>,
}

/// The token of a hub of models. It never stands in arguments, status or logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct HubToken {
    /// The Secret in the namespace of the run that holds it.
    pub secret_key_ref: KeyRef,
}

/// Which replica a request goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Distribution {
    /// Each replica in turn.
    #[default]
    RoundRobin,
    /// The replica with the fewest requests under way.
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
    /// The running server of the same description, or one that is started; left running.
    Reuse,
}
