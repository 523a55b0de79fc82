//! The texts that engines print while they start: one table for all versions.
//!
//! The launcher looks for every text, whatever the version: a log may not name its version, and builds from source have texts of both
//! sides of a release.

use Known::{Log, PublicLog, Source};
use Role::{Begins, Ends, Number, Ready, Starts};

use crate::{figure::Figure, startup::Engine, steps::StepName};

/// A text, and what a line with it means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Text {
    pub engine: Engine,
    pub text: &'static str,
    /// Whether a message begins with it. Else it may stand anywhere in the line.
    pub begins_message: bool,
    pub roles: &'static [Role],
    /// The releases, or the dates of logs, in which it was seen.
    pub seen_in: &'static str,
    pub known: Known,
}

/// What a line with a text means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    /// A start begins. The lower number is the better time of it.
    Begins(u8),
    /// The server serves. `true`: the time of the line is when it does.
    Ready(bool),
    Starts(StepName),
    /// The lower number is the better end, where a process prints both.
    Ends(StepName, u8),
    /// The first number behind the text, or behind these words after it.
    Number(Figure, &'static str),
}

/// From where a text is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// A log in `launcher/startup/tests/logs` has it.
    Log,
    /// Logs of GPUs in public issues and repositories have it.
    PublicLog,
    /// The source of the engine, or of llm-d-benchmark's nop, has it; no log was seen.
    Source,
}

impl Known {
    pub fn name(self) -> &'static str {
        match self {
            Known::Log => "a log in the tests",
            Known::PublicLog => "public logs",
            Known::Source => "source only",
        }
    }
}

const fn vllm(text: &'static str, roles: &'static [Role], seen_in: &'static str, known: Known) -> Text {
    Text { engine: Engine::Vllm, text, begins_message: true, roles, seen_in, known }
}

const fn sglang(text: &'static str, roles: &'static [Role], seen_in: &'static str, known: Known) -> Text {
    Text { engine: Engine::Sglang, text, begins_message: true, roles, seen_in, known }
}

/// The text may stand anywhere in its line.
const fn anywhere(text: Text) -> Text {
    Text { begins_message: false, ..text }
}

/// All texts.
pub const TEXTS: &[Text] = &[
    vllm("non-default args:", &[Begins(0), Starts(StepName::GetModelInfo)], "0.16, 0.32", Log),
    vllm("vLLM API server version", &[Begins(1), Starts(StepName::GetModelInfo)], "before 0.16", Source),
    vllm(
        "No plugins for group vllm.platform_plugins",
        &[Starts(StepName::DetectPlatform)],
        "at DEBUG, on GPUs",
        Source,
    ),
    anywhere(vllm(
        "detected platform",
        &[Ends(StepName::DetectPlatform, 0), Starts(StepName::LlmImports)],
        "2025, on GPUs",
        PublicLog,
    )),
    vllm("Available plugins for group", &[Ends(StepName::LlmImports, 0)], "0.32 at DEBUG", Log),
    vllm("Using max model len", &[Ends(StepName::GetModelInfo, 0)], "0.16, 0.32", Log),
    vllm("Waiting for init message", &[Starts(StepName::WorkerInitialization)], "0.32 at DEBUG", Log),
    vllm("Initializing a V1 LLM engine", &[Starts(StepName::WorkerInitialization)], "0.16, 0.32", Log),
    vllm(
        "Starting to load model",
        &[Ends(StepName::WorkerInitialization, 0), Starts(StepName::ModelLoading)],
        "0.16, 0.32",
        Log,
    ),
    vllm(
        "Loading model from scratch",
        &[Ends(StepName::WorkerInitialization, 0), Starts(StepName::ModelLoading)],
        "llm-d-benchmark looks for it",
        Source,
    ),
    vllm("Initializing model took", &[Number(Figure::ModelInitSeconds, "")], "0.32", Log),
    vllm(
        "Loading weights took",
        &[Ends(StepName::ModelLoading, 1), Number(Figure::WeightsLoadSeconds, "")],
        "0.16, 0.32",
        Log,
    ),
    vllm(
        "Model loading took",
        &[Ends(StepName::ModelLoading, 0), Number(Figure::ModelSizeGib, ""), Number(Figure::ModelLoadSeconds, " and ")],
        "2025-06 to 2026-06, on GPUs",
        PublicLog,
    ),
    vllm(
        "Loading model weights took",
        &[Ends(StepName::ModelLoading, 0), Number(Figure::ModelSizeGib, ""), Number(Figure::ModelLoadSeconds, " and ")],
        "2025-02",
        PublicLog,
    ),
    vllm(
        "Start compiling function",
        &[Starts(StepName::PytorchCompilation), Starts(StepName::Dynamo)],
        "older ones at DEBUG",
        Source,
    ),
    anywhere(vllm(
        "torch/_dynamo",
        &[Starts(StepName::PytorchCompilation), Starts(StepName::Dynamo)],
        "older ones at DEBUG",
        Source,
    )),
    anywhere(vllm(
        "for vLLM's torch.compile",
        &[Starts(StepName::PytorchCompilation), Starts(StepName::Dynamo)],
        "2025-06 to 2026-08, on GPUs",
        PublicLog,
    )),
    vllm(
        "Dynamo bytecode transform time",
        &[Ends(StepName::Dynamo, 0), Starts(StepName::Inductor), Number(Figure::DynamoSeconds, "")],
        "2025-02 to 2026-08, on GPUs",
        PublicLog,
    ),
    vllm(
        "Directly load the compiled graph(s) for",
        &[Number(Figure::LoadCompiledGraphSeconds, " took ")],
        "2025-08 to 2026-08, from the cache",
        PublicLog,
    ),
    vllm("Compiling a graph for", &[Number(Figure::CompileGraphSeconds, " takes ")], "2025-02, on GPUs", PublicLog),
    vllm(
        "torch.compile takes",
        &[
            Ends(StepName::PytorchCompilation, 0),
            Ends(StepName::Inductor, 0),
            Starts(StepName::CudaGraphCapture),
            Number(Figure::TorchCompileSeconds, ""),
        ],
        "2025-02 to 2026-03, on GPUs",
        PublicLog,
    ),
    vllm(
        "torch.compile took",
        &[
            Ends(StepName::PytorchCompilation, 0),
            Ends(StepName::Inductor, 0),
            Starts(StepName::CudaGraphCapture),
            Number(Figure::TorchCompileSeconds, ""),
        ],
        "2026-05 on, on GPUs",
        PublicLog,
    ),
    vllm(
        "torch.compile and initial profiling/warmup run together took",
        &[
            Ends(StepName::PytorchCompilation, 0),
            Ends(StepName::Inductor, 0),
            Starts(StepName::CudaGraphCapture),
            Number(Figure::TorchCompileSeconds, ""),
        ],
        "0.32",
        Source,
    ),
    vllm("Warming up model for the compilation", &[Starts(StepName::WarmUp)], "0.16, 0.32, on CPUs", Log),
    vllm("Warming up done", &[Ends(StepName::WarmUp, 0)], "0.16, 0.32, on CPUs", Log),
    vllm("Initial profiling/warmup run took", &[Number(Figure::WarmUpSeconds, "")], "0.32", Log),
    vllm(
        "Initial free memory:",
        &[Number(Figure::InitialFreeGib, "")],
        "2025-08 to 2026-02, on GPUs at DEBUG",
        PublicLog,
    ),
    vllm("Initial free memory ", &[Number(Figure::InitialFreeGib, "")], "0.32 with kv_cache_memory_bytes", Source),
    vllm(
        "Free memory after profiling:",
        &[Number(Figure::FreeAfterProfilingGib, "")],
        "2025-08 to 2026-02, on GPUs at DEBUG",
        PublicLog,
    ),
    vllm(
        "Memory profiling takes",
        &[Number(Figure::MemoryProfilingSeconds, "")],
        "2025-02 to 2026-02, on GPUs",
        PublicLog,
    ),
    vllm("Available KV cache memory:", &[Number(Figure::KvCacheGib, "")], "2025-08 to 2026-03, on GPUs", PublicLog),
    vllm("GPU KV cache size:", &[Number(Figure::KvCacheTokens, "")], "0.16", Log),
    vllm("CPU KV cache size:", &[Number(Figure::KvCacheTokens, "")], "0.32 on CPUs", Log),
    vllm(
        "Graph capturing finished in",
        &[Number(Figure::GraphCaptureSeconds, ""), Number(Figure::GraphCaptureGib, " took ")],
        "2024-11 to 2026-06, on GPUs",
        PublicLog,
    ),
    vllm(
        "init engine (",
        &[
            Ends(StepName::CudaGraphCapture, 0),
            Number(Figure::EngineInitSeconds, ") took "),
            Number(Figure::CompilationSeconds, "(compilation:"),
        ],
        "0.16, 0.32",
        Log,
    ),
    vllm("Starting vLLM API server", &[Starts(StepName::ApiServerStarts)], "0.16", Log),
    vllm("Starting vLLM server", &[Starts(StepName::ApiServerStarts)], "0.32", Log),
    vllm("Route: /metrics", &[Ends(StepName::ApiServerStarts, 0)], "0.16, 0.32", Log),
    vllm("Available routes are:", &[Ready(true)], "0.16, 0.32", Log),
    vllm("the engine is ready, without its API", &[Ready(true)], "benchwright offline-engine", Source),
    anywhere(vllm("Application startup complete", &[Ready(false)], "0.16, 0.32", Log)),
    anywhere(vllm("Uvicorn running on", &[Ready(false)], "2025-02 on", PublicLog)),
    sglang("server_args=", &[Begins(0), Starts(StepName::LlmImports)], "2025-02 to 2026-08", PublicLog),
    sglang(
        "Init torch distributed begin",
        &[Ends(StepName::LlmImports, 0), Starts(StepName::WorkerInitialization)],
        "2025-02 to 2026-08",
        PublicLog,
    ),
    sglang(
        "Init torch distributed ends",
        &[Number(Figure::DistributedInitSeconds, "elapsed=")],
        "2026-02 to 2026-08",
        PublicLog,
    ),
    sglang(
        "Load weight begin",
        &[Ends(StepName::WorkerInitialization, 0), Starts(StepName::ModelLoading)],
        "2025-02 to 2026-08",
        PublicLog,
    ),
    sglang(
        "Load weight end",
        &[
            Ends(StepName::ModelLoading, 0),
            Number(Figure::ModelLoadSeconds, "elapsed="),
            Number(Figure::ModelSizeGib, "mem usage="),
        ],
        "2025-02 to 2026-05; elapsed since 2026",
        PublicLog,
    ),
    sglang("Capture cuda graph begin", &[Starts(StepName::CudaGraphCapture)], "2025-02 to 2026-08", PublicLog),
    sglang(
        "Capture cuda graph end",
        &[
            Ends(StepName::CudaGraphCapture, 0),
            Number(Figure::GraphCaptureSeconds, "elapsed:"),
            Number(Figure::GraphCaptureGib, "mem usage="),
        ],
        "2025-02 to 2026-08",
        PublicLog,
    ),
    sglang("max_total_num_tokens=", &[Number(Figure::KvCacheTokens, "")], "2025-02 to 2026-08", PublicLog),
    anywhere(sglang("Started server process", &[Starts(StepName::ApiServerStarts)], "2025-02 to 2026-08", PublicLog)),
    sglang(
        "The server is fired up and ready to roll",
        &[Ends(StepName::ApiServerStarts, 0), Ready(true)],
        "2025-02 to 2026-08",
        PublicLog,
    ),
];
