//! Names of options: which field sets one, which names mean the same, and which an engine is known to have.

use std::borrow::Cow;

use crate::benchmark_run::ServerEngine;

/// An option that a field sets: its name for vLLM, and for SGLang.
pub(super) struct FieldOption {
    /// The field of `spec.target.server`.
    pub(super) field: &'static str,
    /// The option of vLLM, which is its canonical name here.
    pub(super) vllm: &'static str,
    /// The option of SGLang.
    pub(super) sglang: &'static str,
}

/// The fields that become an option of vLLM and of SGLang. `mem-fraction-static` is SGLang's share of the memory for weights and
/// KV cache, which is nearest to what the field means for vLLM.
pub(super) const FIELDS: [FieldOption; 7] = [
    FieldOption { field: "tensorParallelSize", vllm: "tensor-parallel-size", sglang: "tensor-parallel-size" },
    FieldOption { field: "maxModelLen", vllm: "max-model-len", sglang: "context-length" },
    FieldOption { field: "maxNumSeqs", vllm: "max-num-seqs", sglang: "max-running-requests" },
    FieldOption { field: "gpuMemoryUtilization", vllm: "gpu-memory-utilization", sglang: "mem-fraction-static" },
    FieldOption { field: "dtype", vllm: "dtype", sglang: "dtype" },
    FieldOption { field: "quantization", vllm: "quantization", sglang: "quantization" },
    FieldOption { field: "loadFormat", vllm: "load-format", sglang: "load-format" },
];

/// The field that sets an option; `None`: none does. Those of [`FIELDS`], and the model.
pub(super) fn field_of(engine: ServerEngine, option: &str) -> Option<&'static str> {
    let found = match engine {
        ServerEngine::Vllm | ServerEngine::Simulator => FIELDS.iter().find(|it| it.vllm == option),
        ServerEngine::Sglang => FIELDS.iter().find(|it| it.sglang == option),
        ServerEngine::Custom => return None,
    };
    let model = match engine {
        ServerEngine::Sglang => option == "model-path",
        _ => option == "model",
    };
    found.map(|it| it.field).or(model.then_some("model"))
}

/// Why an option cannot be given at all; `None`: it can.
pub(super) fn refusal(engine: ServerEngine, option: &str) -> Option<&'static str> {
    if engine == ServerEngine::Custom {
        return None;
    }
    match option {
        "port" => Some("port of the server sets it; take it out, and write spec.target.server.port"),
        "host" => Some("Benchwright chooses the address that it calls; take it out"),
        "uds" => Some("the server is called by its port; take it out"),
        "ssl-keyfile" | "ssl-certfile" => Some("a server that Benchwright starts is called without TLS; take it out"),
        _ => None,
    }
}

/// Whether an option is given a secret, which reports would show.
pub(super) fn is_secret(option: &str) -> bool {
    let option = option.to_ascii_lowercase();
    let whole = ["api-key", "hf-token", "token", "password", "secret"];
    whole.contains(&option.as_str())
        || ["-api-key", "-token", "-password", "-secret"].iter().any(|it| option.ends_with(it))
}

/// Whether a variable of this name holds a secret.
pub(super) fn is_secret_variable(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let ends = ["TOKEN", "KEY", "SECRET", "PASSWORD"];
    ends.iter().any(|it| name == *it || name.strip_suffix(it).is_some_and(|it| it.ends_with('_')))
}

/// An option under its one name: with dashes for underscores, and not its short form.
pub(super) fn canonical(engine: ServerEngine, written: &str) -> Cow<'_, str> {
    // What follows a dot is a key of a JSON value.
    let (name, keys) = written.split_at(written.find('.').unwrap_or(written.len()));
    let name = name.replace('_', "-");
    let name = match (engine, name.as_str()) {
        (ServerEngine::Custom, _) => return Cow::Borrowed(written),
        (_, "tp" | "tp-size") => "tensor-parallel-size",
        (_, "pp" | "pp-size") => "pipeline-parallel-size",
        (_, "dp" | "dp-size") => "data-parallel-size",
        (ServerEngine::Vllm, "q") => "quantization",
        (ServerEngine::Sglang, "model") => "model-path",
        _ => return Cow::Owned(format!("{name}{keys}")),
    };
    Cow::Owned(format!("{name}{keys}"))
}

/// Whether the release knows an option of the engine. The list is that of vLLM 0.6 to 0.11 and of SGLang 0.4 and 0.5, without what is
/// rare; an engine gets the others too, and the report lists them.
pub(super) fn is_known(engine: ServerEngine, option: &str) -> bool {
    let option = option.split('.').next().unwrap_or_default();
    let positive = option.strip_prefix("no-").unwrap_or(option);
    match engine {
        ServerEngine::Vllm => VLLM.contains(&positive) || FIELDS.iter().any(|it| it.vllm == positive),
        ServerEngine::Sglang => SGLANG.contains(&option) || FIELDS.iter().any(|it| it.sglang == option),
        // The simulator refuses what it does not know, and of another program all is as its author means it.
        ServerEngine::Simulator | ServerEngine::Custom => true,
    }
}

const VLLM: [&str; 112] = [
    "additional-config",
    "all2all-backend",
    "allow-credentials",
    "allowed-headers",
    "allowed-local-media-path",
    "allowed-methods",
    "allowed-origins",
    "api-key",
    "api-server-count",
    "async-scheduling",
    "attention-backend",
    "block-size",
    "calculate-kv-scales",
    "chat-template",
    "chat-template-content-format",
    "code-revision",
    "compilation-config",
    "config",
    "config-format",
    "convert",
    "cpu-offload-gb",
    "cuda-graph-sizes",
    "data-parallel-address",
    "data-parallel-backend",
    "data-parallel-rank",
    "data-parallel-rpc-port",
    "data-parallel-size",
    "data-parallel-size-local",
    "data-parallel-start-rank",
    "disable-cascade-attn",
    "disable-chunked-mm-input",
    "disable-custom-all-reduce",
    "disable-fastapi-docs",
    "disable-frontend-multiprocessing",
    "disable-log-requests",
    "disable-log-stats",
    "disable-sliding-window",
    "disable-uvicorn-access-log",
    "distributed-executor-backend",
    "download-dir",
    "enable-auto-tool-choice",
    "enable-chunked-prefill",
    "enable-dbo",
    "enable-eplb",
    "enable-expert-parallel",
    "enable-force-include-usage",
    "enable-log-outputs",
    "enable-log-requests",
    "enable-layerwise-nvtx-tracing",
    "enable-lora",
    "enable-prefix-caching",
    "enable-prompt-embeds",
    "enable-prompt-tokens-details",
    "enable-request-id-headers",
    "enable-server-load-tracking",
    "enable-sleep-mode",
    "enforce-eager",
    "eplb-config",
    "fully-sharded-loras",
    "generation-config",
    "guided-decoding-backend",
    "headless",
    "hf-config-path",
    "hf-overrides",
    "hf-token",
    "ignore-patterns",
    "kv-cache-dtype",
    "kv-cache-memory-bytes",
    "kv-events-config",
    "kv-transfer-config",
    "limit-mm-per-prompt",
    "logits-processors",
    "logprobs-mode",
    "long-prefill-token-threshold",
    "lora-modules",
    "max-cpu-loras",
    "max-log-len",
    "max-logprobs",
    "max-lora-rank",
    "max-loras",
    "max-num-batched-tokens",
    "max-num-partial-prefills",
    "max-parallel-loading-workers",
    "max-seq-len-to-capture",
    "middleware",
    "mm-processor-kwargs",
    "model",
    "model-impl",
    "model-loader-extra-config",
    "num-gpu-blocks-override",
    "otlp-traces-endpoint",
    "override-generation-config",
    "pipeline-parallel-size",
    "prefix-caching-hash-algo",
    "profiler-config",
    "reasoning-parser",
    "response-role",
    "revision",
    "root-path",
    "runner",
    "safetensors-load-strategy",
    "scheduling-policy",
    "seed",
    "served-model-name",
    "skip-tokenizer-init",
    "speculative-config",
    "swap-space",
    "task",
    "tokenizer",
    "tokenizer-mode",
    "tool-call-parser",
    "trust-remote-code",
];

const SGLANG: [&str; 75] = [
    "allow-auto-truncate",
    "api-key",
    "attention-backend",
    "base-gpu-id",
    "chat-template",
    "chunked-prefill-size",
    "constrained-json-whitespace-pattern",
    "cpu-offload-gb",
    "cuda-graph-bs",
    "cuda-graph-max-bs",
    "data-parallel-size",
    "decode-attention-backend",
    "decode-log-interval",
    "deepep-mode",
    "device",
    "disable-chunked-prefix-cache",
    "disable-cuda-graph",
    "disable-custom-all-reduce",
    "disable-overlap-schedule",
    "disable-radix-cache",
    "disaggregation-bootstrap-port",
    "disaggregation-mode",
    "disaggregation-transfer-backend",
    "dist-init-addr",
    "dist-timeout",
    "download-dir",
    "enable-dp-attention",
    "enable-dp-lm-head",
    "enable-hierarchical-cache",
    "enable-layerwise-nvtx-marker",
    "enable-lora",
    "enable-memory-saver",
    "enable-metrics",
    "enable-mixed-chunk",
    "enable-torch-compile",
    "enable-two-batch-overlap",
    "expert-parallel-size",
    "grammar-backend",
    "hicache-ratio",
    "hicache-size",
    "is-embedding",
    "json-model-override-args",
    "kv-cache-dtype",
    "load-balance-method",
    "log-level",
    "log-requests",
    "lora-backend",
    "lora-paths",
    "max-loras-per-batch",
    "max-prefill-tokens",
    "max-queued-requests",
    "max-total-tokens",
    "mm-attention-backend",
    "model-loader-extra-config",
    "model-path",
    "moe-a2a-backend",
    "nnodes",
    "node-rank",
    "page-size",
    "pipeline-parallel-size",
    "prefill-attention-backend",
    "random-seed",
    "reasoning-parser",
    "revision",
    "sampling-backend",
    "schedule-conservativeness",
    "schedule-policy",
    "served-model-name",
    "show-time-cost",
    "skip-server-warmup",
    "speculative-algorithm",
    "speculative-num-draft-tokens",
    "tokenizer-path",
    "tool-call-parser",
    "trust-remote-code",
];
