//! The types that describe the log of a starting server engine.
//!
//! The texts of all versions of an engine are in one list: a log may not name its version, and builds from source have texts of both sides
//! of a release.

use serde::{Deserialize, Serialize};

/// A text, and what a line with it means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Text {
    pub text: &'static str,
    /// Whether the message begins with the text. Otherwise the text may appear anywhere in the line.
    pub begins_message: bool,
    pub roles: &'static [Role],
    /// The releases, or the dates of logs, in which the text was seen.
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
    /// The first number after the text, or after these words that follow it.
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

impl Text {
    /// A text at the beginning of a message.
    pub(super) const fn new(text: &'static str, roles: &'static [Role], seen_in: &'static str, known: Known) -> Text {
        Text { text, begins_message: true, roles, seen_in, known }
    }

    /// The same text anywhere in its line.
    pub(super) const fn anywhere(self) -> Text {
        Text { begins_message: false, ..self }
    }
}

/// A step, in startup order. The names are from llm-d-benchmark's nop, plus two of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StepName {
    #[serde(rename = "Detect Platform")]
    DetectPlatform,
    #[serde(rename = "LLM Imports")]
    LlmImports,
    #[serde(rename = "Get Model Info")]
    GetModelInfo,
    #[serde(rename = "Worker Initialization")]
    WorkerInitialization,
    #[serde(rename = "Model Loading")]
    ModelLoading,
    #[serde(rename = "Pytorch Compilation")]
    PytorchCompilation,
    #[serde(rename = "Dynamo")]
    Dynamo,
    #[serde(rename = "Inductor")]
    Inductor,
    /// Ours: the warm-up of vLLM on a CPU, in which it compiles.
    #[serde(rename = "Warm-up")]
    WarmUp,
    #[serde(rename = "CUDA Graph Capture")]
    CudaGraphCapture,
    #[serde(rename = "API Server Starts")]
    ApiServerStarts,
}

impl StepName {
    pub const ALL: [StepName; 11] = [
        StepName::DetectPlatform,
        StepName::LlmImports,
        StepName::GetModelInfo,
        StepName::WorkerInitialization,
        StepName::ModelLoading,
        StepName::PytorchCompilation,
        StepName::Dynamo,
        StepName::Inductor,
        StepName::WarmUp,
        StepName::CudaGraphCapture,
        StepName::ApiServerStarts,
    ];

    pub fn name(self) -> &'static str {
        match self {
            StepName::DetectPlatform => "Detect Platform",
            StepName::LlmImports => "LLM Imports",
            StepName::GetModelInfo => "Get Model Info",
            StepName::WorkerInitialization => "Worker Initialization",
            StepName::ModelLoading => "Model Loading",
            StepName::PytorchCompilation => "Pytorch Compilation",
            StepName::Dynamo => "Dynamo",
            StepName::Inductor => "Inductor",
            StepName::WarmUp => "Warm-up",
            StepName::CudaGraphCapture => "CUDA Graph Capture",
            StepName::ApiServerStarts => "API Server Starts",
        }
    }

    /// The step that contains this step.
    pub fn within(self) -> Option<StepName> {
        matches!(self, StepName::Dynamo | StepName::Inductor).then_some(StepName::PytorchCompilation)
    }
}

/// A number that an engine prints. The first line with it counts: with several workers, the line of the first worker to print it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Figure {
    DistributedInitSeconds,
    ModelInitSeconds,
    WeightsLoadSeconds,
    ModelLoadSeconds,
    /// The memory that the model takes. Older engines print GB and mean 2^30 bytes.
    ModelSizeGib,
    DynamoSeconds,
    LoadCompiledGraphSeconds,
    CompileGraphSeconds,
    TorchCompileSeconds,
    WarmUpSeconds,
    InitialFreeGib,
    FreeAfterProfilingGib,
    MemoryProfilingSeconds,
    KvCacheGib,
    KvCacheTokens,
    GraphCaptureSeconds,
    GraphCaptureGib,
    EngineInitSeconds,
    /// The part of `EngineInitSeconds` that compiled.
    CompilationSeconds,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Gib,
    Tokens,
}

impl Unit {
    /// The unit as it appears after a number.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Gib => "GiB",
            Unit::Tokens => "tokens",
        }
    }
}

impl Figure {
    /// All of them, in the order of a start.
    pub const ALL: [Figure; 19] = [
        Figure::DistributedInitSeconds,
        Figure::ModelInitSeconds,
        Figure::WeightsLoadSeconds,
        Figure::ModelLoadSeconds,
        Figure::ModelSizeGib,
        Figure::DynamoSeconds,
        Figure::LoadCompiledGraphSeconds,
        Figure::CompileGraphSeconds,
        Figure::TorchCompileSeconds,
        Figure::WarmUpSeconds,
        Figure::InitialFreeGib,
        Figure::FreeAfterProfilingGib,
        Figure::MemoryProfilingSeconds,
        Figure::KvCacheGib,
        Figure::KvCacheTokens,
        Figure::GraphCaptureSeconds,
        Figure::GraphCaptureGib,
        Figure::EngineInitSeconds,
        Figure::CompilationSeconds,
    ];

    /// The name that people read.
    pub fn name(self) -> &'static str {
        match self {
            Figure::DistributedInitSeconds => "distributed init",
            Figure::ModelInitSeconds => "model init",
            Figure::WeightsLoadSeconds => "weights load",
            Figure::ModelLoadSeconds => "model load",
            Figure::ModelSizeGib => "model size",
            Figure::DynamoSeconds => "Dynamo transform",
            Figure::LoadCompiledGraphSeconds => "load of compiled graphs",
            Figure::CompileGraphSeconds => "compilation of a graph",
            Figure::TorchCompileSeconds => "torch.compile",
            Figure::WarmUpSeconds => "warm-up run",
            Figure::InitialFreeGib => "free memory before",
            Figure::FreeAfterProfilingGib => "free memory after profiling",
            Figure::MemoryProfilingSeconds => "memory profiling",
            Figure::KvCacheGib => "KV cache",
            Figure::KvCacheTokens => "KV cache in tokens",
            Figure::GraphCaptureSeconds => "graph capture",
            Figure::GraphCaptureGib => "memory of graphs",
            Figure::EngineInitSeconds => "engine init",
            Figure::CompilationSeconds => "compilation in engine init",
        }
    }

    pub fn unit(self) -> Unit {
        match self {
            Figure::ModelSizeGib
            | Figure::InitialFreeGib
            | Figure::FreeAfterProfilingGib
            | Figure::KvCacheGib
            | Figure::GraphCaptureGib => Unit::Gib,
            Figure::KvCacheTokens => Unit::Tokens,
            _ => Unit::Seconds,
        }
    }
}
