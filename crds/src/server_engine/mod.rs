//! The server engines that Benchwright knows: one file per engine, with one row of facts. To add an engine, add its file, a variant of
//! [`ServerEngine`], and a line in [`ServerEngine::row`]. If the engine has metrics of its own, also add a variant of [`MetricsKind`].

mod custom;
pub mod metric_names;
mod metrics_kind;
mod row;
mod sglang;
mod simulator;
pub mod startup_log;
mod vllm;

use serde::{Deserialize, Serialize};

pub use metrics_kind::MetricsKind;
pub use row::{ArgumentsForm, LayerRanges, ModelArgument, Options, Profiler, Program, Row, StartupLog, TraceFolder};

/// The program of a managed server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum ServerEngine {
    /// vLLM.
    #[serde(rename = "VLLM")]
    Vllm,
    /// SGLang.
    #[serde(rename = "SGLang")]
    Sglang,
    /// Benchwright's own simulated vLLM, in a separate process.
    Simulator,
    /// Any other program with OpenAI's API.
    Custom,
}

impl ServerEngine {
    /// All engines. If several rows match, the first one is used.
    pub const ALL: [ServerEngine; 4] =
        [ServerEngine::Vllm, ServerEngine::Sglang, ServerEngine::Simulator, ServerEngine::Custom];

    /// The facts about the engine.
    pub fn row(self) -> &'static Row {
        match self {
            ServerEngine::Vllm => &vllm::ROW,
            ServerEngine::Sglang => &sglang::ROW,
            ServerEngine::Simulator => &simulator::ROW,
            ServerEngine::Custom => &custom::ROW,
        }
    }

    /// Whether the engine is Benchwright's own simulator, which needs neither an image nor a command in the spec.
    pub fn is_own(self) -> bool {
        self == ServerEngine::Simulator
    }

    /// Whether Benchwright knows the command and the options of the engine.
    pub fn is_known(self) -> bool {
        self != ServerEngine::Custom
    }

    /// The name in a spec.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The name in reports, in the spelling of the engine's authors.
    pub fn title(self) -> &'static str {
        self.row().title
    }

    /// The engines with a known startup log.
    pub fn with_startup_log() -> impl Iterator<Item = (ServerEngine, &'static StartupLog)> {
        ServerEngine::ALL.into_iter().filter_map(|it| Some((it, it.row().startup_log.as_ref()?)))
    }
}

impl MetricsKind {
    /// The engine with these metrics. `None` if they are not the metrics of a known model server.
    pub fn engine(self) -> Option<ServerEngine> {
        ServerEngine::ALL.into_iter().find(|it| it.row().metrics.is_some() && it.row().metrics_kind == self)
    }

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            MetricsKind::Auto => "Auto",
            MetricsKind::EndpointPicker => "EndpointPicker",
            MetricsKind::Dcgm => "DCGM",
            MetricsKind::Prometheus => "Prometheus",
            MetricsKind::Vllm | MetricsKind::Sglang => self.engine().map_or("", ServerEngine::title),
        }
    }

    /// Whether the metrics come from a server that serves a model.
    pub fn serves_model(self) -> bool {
        self.engine().is_some()
    }
}

#[cfg(test)]
mod tests;
