//! The types that describe the log of a starting server engine.
//!
//! One list has the texts of all versions of an engine. A log may not contain the version, and builds from source can print texts of two successive
//! releases.

use serde::{Deserialize, Serialize};

/// A text in a log, and the meaning of a line that contains it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Text {
    pub text: &'static str,
    /// Whether the text must be at the beginning of the message. Otherwise it can appear anywhere in the line.
    pub begins_message: bool,
    pub roles: &'static [Role],
    /// The releases, or the dates of the logs, in which the text was seen.
    pub seen_in: &'static str,
    pub known: Known,
}

/// What a line means if it contains a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    /// The start begins. The number is a rank: if several such lines appear, the line with the lowest rank has the most exact time.
    Begins(u8),
    /// The server is ready. `true` if the time of the line is the time at which it became ready.
    Ready(bool),
    Starts(StepName),
    /// The step ends. The number is a rank: if a process prints several such lines, the line with the lowest rank has the most exact time.
    Ends(StepName, u8),
    /// The line contains this figure: the first number after the text. Exception: if the second field is not empty, the first number after the words
    /// in the second field.
    Number(Figure, &'static str),
}

/// How it is known that an engine prints a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The text is in a log in `launcher/startup/tests/logs`.
    Log,
    /// The text is in logs of GPU servers in public issues and repositories.
    PublicLog,
    /// The text is in the source code of the engine or of llm-d-benchmark's nop; no log with it was seen.
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
    /// A text that must be at the beginning of a message.
    pub(super) const fn new(text: &'static str, roles: &'static [Role], seen_in: &'static str, known: Known) -> Text {
        Text { text, begins_message: true, roles, seen_in, known }
    }

    /// Returns the text with a change: it can appear anywhere in its line.
    pub(super) const fn anywhere(self) -> Text {
        Text { begins_message: false, ..self }
    }
}

/// A step of the start, in the order in which the steps run. The names are from llm-d-benchmark's nop, except for two of ours.
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
    /// The warm-up of vLLM on a CPU, in which it compiles. The name is ours.
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

    /// The larger step that contains this step. `None` if this step is not a part of another one.
    pub fn within(self) -> Option<StepName> {
        matches!(self, StepName::Dynamo | StepName::Inductor).then_some(StepName::PytorchCompilation)
    }
}

/// A number that an engine prints. Only the first line with it is used. With several workers, this is the line of the worker that prints first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Figure {
    DistributedInitSeconds,
    ModelInitSeconds,
    WeightsLoadSeconds,
    ModelLoadSeconds,
    /// The memory size of the model. Older engines print GB, but mean 2^30 bytes.
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
    /// The part of `EngineInitSeconds` that was spent on compilation.
    CompilationSeconds,
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Gib,
    Tokens,
}

impl Unit {
    /// The unit as it is printed after a number.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Gib => "GiB",
            Unit::Tokens => "tokens",
        }
    }
}

impl Figure {
    /// All figures, in the order of a start.
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

    /// The name for people.
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
