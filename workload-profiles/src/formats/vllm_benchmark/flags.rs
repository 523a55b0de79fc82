//! All flags of `vllm bench serve` (version 0.32), of its older form `benchmark_serving.py`, and of InferenceMAX's copy of the older form.

use crate::formats::common::flags::{Flag, Form, Tool};

const ONE: Form = Form::One;
const SWITCH: Form = Form::Switch;
const WORDS: Form = Form::Words(' ');

pub(super) const VLLM: Tool =
    Tool { name: "vllm bench serve", flags: &[&SERVER, &LOAD, &DATA, &SAMPLING, &OWN_WORK], lists_add: false };
pub(super) const INFERENCEMAX: Tool = Tool { name: "InferenceMAX's benchmark_serving.py", ..VLLM };

const SERVER: [Flag; 13] = [
    Flag::read(ONE, &["backend", "endpoint-type"]),
    Flag::read(ONE, &["base-url"]),
    Flag::read(ONE, &["host"]),
    Flag::read(ONE, &["port"]),
    Flag::read(ONE, &["endpoint"]),
    Flag::read(ONE, &["model"]),
    Flag::read(ONE, &["served-model-name"]),
    Flag::read(ONE, &["tokenizer"]),
    Flag::read(Form::Pairs { sign: '=', between: ' ' }, &["header"]),
    Flag::read(WORDS, &["lora-modules"]),
    Flag::read(ONE, &["lora-assignment"]),
    Flag::noticed(
        &["insecure"],
        "is not used: the certificate of the server is checked; name its authority in target.tls",
    ),
    Flag::noticed(
        &["ready-check-timeout-sec"],
        "is not used: target.readiness of the run decides how long a server is waited for",
    ),
];

const LOAD: [Flag; 12] = [
    Flag::read(ONE, &["num-prompts"]),
    Flag::read(ONE, &["request-rate"]),
    Flag::read(ONE, &["burstiness"]),
    Flag::read(ONE, &["max-concurrency"]),
    Flag::read(ONE, &["ramp-up-strategy"]),
    Flag::read(ONE, &["ramp-up-start-rps"]),
    Flag::read(ONE, &["ramp-up-end-rps"]),
    Flag::read(ONE, &["num-warmups"]),
    Flag::read(ONE, &["probe-request-rate"]),
    Flag::read(ONE, &["seed"]),
    Flag::read(Form::Bounds, &["goodput"]),
    Flag::read(SWITCH, &["self-timed"]),
];

const DATA: [Flag; 51] = [
    Flag::read(ONE, &["dataset-name"]),
    Flag::read(ONE, &["dataset-path"]),
    Flag::refused(
        &["dataset"],
        "is an older form of dataset-name sharegpt; write dataset-name: sharegpt, and the path as dataset-path",
    ),
    Flag::read(ONE, &["input-len"]),
    Flag::read(ONE, &["output-len"]),
    Flag::read(SWITCH, &["disable-shuffle"]),
    Flag::read(SWITCH, &["no-oversample"]),
    Flag::read(SWITCH, &["no-self-timed"]),
    Flag::read(SWITCH, &["skip-chat-template"]),
    Flag::read(SWITCH, &["use-chat-template"]),
    Flag::read(ONE, &["random-input-len"]),
    Flag::read(ONE, &["random-output-len"]),
    Flag::read(ONE, &["random-range-ratio"]),
    Flag::read(ONE, &["random-prefix-len"]),
    Flag::read(ONE, &["random-batch-size"]),
    Flag::read(ONE, &["random-mm-base-items-per-request"]),
    Flag::read(ONE, &["random-mm-num-mm-items-range-ratio"]),
    Flag::read(Form::Json, &["random-mm-limit-mm-per-prompt"]),
    Flag::read(ONE, &["random-mm-bucket-config"]),
    Flag::read(ONE, &["sharegpt-output-len"]),
    Flag::read(ONE, &["sonnet-input-len"]),
    Flag::read(ONE, &["sonnet-output-len"]),
    Flag::read(ONE, &["sonnet-prefix-len"]),
    Flag::read(ONE, &["custom-output-len"]),
    Flag::read(ONE, &["prefix-repetition-prefix-len"]),
    Flag::read(ONE, &["prefix-repetition-suffix-len"]),
    Flag::read(ONE, &["prefix-repetition-num-prefixes"]),
    Flag::read(ONE, &["prefix-repetition-output-len"]),
    Flag::read(ONE, &["spec-bench-output-len"]),
    Flag::read(ONE, &["spec-bench-category"]),
    Flag::read(ONE, &["speed-bench-output-len"]),
    Flag::read(ONE, &["speed-bench-category"]),
    Flag::read(ONE, &["speed-bench-dataset-subset"]),
    Flag::read(ONE, &["timed-trace-chunk-hash-size"]),
    Flag::read(ONE, &["timed-trace-sec-multiplier"]),
    Flag::read(ONE, &["timed-trace-label-timestamp"]),
    Flag::read(ONE, &["timed-trace-label-input-length"]),
    Flag::read(ONE, &["timed-trace-label-output-length"]),
    Flag::read(ONE, &["timed-trace-label-hash-ids"]),
    Flag::read(ONE, &["hf-name"]),
    Flag::read(ONE, &["hf-subset"]),
    Flag::read(ONE, &["hf-split"]),
    Flag::read(ONE, &["hf-output-len"]),
    Flag::read(ONE, &["bfcl-categories"]),
    Flag::read(ONE, &["blazedit-min-distance"]),
    Flag::read(ONE, &["blazedit-max-distance"]),
    Flag::read(ONE, &["asr-max-audio-len-sec"]),
    Flag::read(ONE, &["asr-min-audio-len-sec"]),
    Flag::read(SWITCH, &["custom-ensure-client-side-data"]),
    Flag::refused(
        &["enable-multimodal-chat"],
        "makes chats for vLLM's offline benchmark; take it out, and set backend to openai-chat for chats",
    ),
    Flag::refused(
        &["no-reranker"],
        "belongs to the ranking of texts, which generates no tokens and cannot be measured here",
    ),
];

const SAMPLING: [Flag; 13] = [
    Flag::read(SWITCH, &["ignore-eos"]),
    Flag::read(ONE, &["logprobs"]),
    Flag::read(ONE, &["best-of"]),
    Flag::read(ONE, &["temperature"]),
    Flag::read(ONE, &["top-p"]),
    Flag::read(ONE, &["top-k"]),
    Flag::read(ONE, &["min-p"]),
    Flag::read(ONE, &["frequency-penalty"]),
    Flag::read(ONE, &["presence-penalty"]),
    Flag::read(ONE, &["repetition-penalty"]),
    Flag::read(Form::Json, &["extra-body"]),
    Flag::noticed(&["use-beam-search"], "is not used: vllm bench serve accepts it, and does not send it either"),
    Flag::noticed(
        &["chat-template-kwargs"],
        "is not used: no chat template is applied in the client; to change the template of the server, write chat_template_kwargs into extra-body",
    ),
];

const OWN_WORK: [Flag; 20] = [
    Flag::ignored(&["executable"]),
    Flag::read(ONE, &["label"]),
    Flag::ignored(&["metadata"]),
    Flag::ignored(&["save-result"]),
    Flag::ignored(&["save-detailed"]),
    Flag::ignored(&["append-result"]),
    Flag::ignored(&["result-dir"]),
    Flag::ignored(&["result-filename"]),
    Flag::ignored(&["disable-tqdm"]),
    Flag::ignored(&["plot-timeline"]),
    Flag::ignored(&["timeline-itl-thresholds"]),
    Flag::ignored(&["plot-dataset-stats"]),
    Flag::ignored(&["trust-remote-code"]),
    Flag::ignored(&["tokenizer-mode"]),
    Flag::ignored(&["skip-tokenizer-init"]),
    Flag::ignored(&["no-stream"]),
    Flag::noticed(&["request-id-prefix"], "is not used: x-request-id begins with the id of the run"),
    Flag::read(ONE, &["percentile-metrics"]),
    Flag::read(ONE, &["metric-percentiles"]),
    Flag::noticed(&["profile"], "is not used: the profiler of the server is not started"),
];
