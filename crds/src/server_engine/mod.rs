//! The server engines that Benchwright knows, one file per engine with a row of facts. A new engine is such a file, a variant of
//! [`ServerEngine`], a line in [`ServerEngine::row`], and a variant of [`MetricsKind`] if it has metrics of its own.

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

/// Which program a managed server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum ServerEngine {
    /// vLLM.
    #[serde(rename = "VLLM")]
    Vllm,
    /// SGLang.
    #[serde(rename = "SGLang")]
    Sglang,
    /// Benchwright's own simulated vLLM, as a process of its own.
    Simulator,
    /// Any other program with the API of OpenAI.
    Custom,
}

impl ServerEngine {
    /// All engines. Where several rows match, the first one counts.
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

    /// Whether the engine is Benchwright's own simulator, which needs no configured image or command.
    pub fn is_own(self) -> bool {
        self == ServerEngine::Simulator
    }

    /// Whether Benchwright knows the command and the options of the engine.
    pub fn is_known(self) -> bool {
        self != ServerEngine::Custom
    }

    /// The name as users write it.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The name in reports, as its makers write it.
    pub fn title(self) -> &'static str {
        self.row().title
    }

    /// The engines with a known startup log.
    pub fn with_startup_log() -> impl Iterator<Item = (ServerEngine, &'static StartupLog)> {
        ServerEngine::ALL.into_iter().filter_map(|it| Some((it, it.row().startup_log.as_ref()?)))
    }
}

impl MetricsKind {
    /// The engine that these metrics belong to. `None`: they belong to no model server, or to an unknown one.
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

    /// Whether these are the metrics of a server that serves a model.
    pub fn serves_model(self) -> bool {
        self.engine().is_some()
    }
}

#[cfg(test)]
mod tests;
