//! The statistics of a start from its log.

use std::collections::BTreeMap;

use crds::server_engine::{
    ServerEngine,
    startup_log::{Figure, StepName},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A start of a server, according to its log. Values that the log lacks are absent.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Startup {
    pub outcome: Outcome,
    /// The engine, if the log identifies it.
    #[serde(default, with = "crate::engine_id")]
    pub engine: Option<ServerEngine>,
    pub version: Option<String>,
    /// The name under which the model is served, otherwise the requested name.
    pub model: Option<String>,
    pub load_format: Option<String>,
    pub sleep_mode: Option<bool>,
    /// The time of the first line, if the log contains only one start: the program was started before it.
    pub first_line: Option<Timestamp>,
    /// When the server printed its arguments.
    pub started: Option<Timestamp>,
    /// When the server listed its routes; with several API servers, the last time.
    pub ready: Option<Timestamp>,
    /// From `started` to `ready`.
    pub ready_seconds: Option<f64>,
    /// The part of `ready_seconds` without an active step.
    pub uncategorized_seconds: Option<f64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<Figure, f64>,
    /// In the order of [`StepName`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sleep_wake: Vec<SleepWake>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<Gpu>,
    /// The arguments of the engine: for vLLM those that differ from their defaults, for SGLang all. Secrets are redacted.
    pub args: Option<Map<String, Value>>,
    pub failure: Option<Failure>,
    pub log: LogFacts,
}

/// How a start ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// The server logged that it serves.
    Ready,
    /// It did not become ready, and one of its processes ended with an exception or refused its arguments.
    Failed,
    /// Neither: the log ends earlier.
    #[default]
    Unfinished,
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ready => "ready",
            Outcome::Failed => "failed",
            Outcome::Unfinished => "unfinished",
        }
    }
}

/// A process of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Process {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

impl Process {
    /// As vLLM prints it: `Worker pid=7`.
    pub fn text(&self) -> String {
        match self.pid {
            Some(pid) => format!("{} pid={pid}", self.name),
            None => self.name.clone(),
        }
    }
}

/// A step of a start. Steps of different processes may overlap.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    pub name: StepName,
    /// The process of the step; for several processes, the process that finished it last. `None`: its lines name no process.
    pub process: Option<Process>,
    /// The process that ended the step, if no process both began and ended it.
    pub ended_by: Option<Process>,
    /// The number of processes with this step.
    pub processes: u32,
    pub started: Timestamp,
    /// The difference between the time stamps of two lines, which have whole seconds unless the server was configured for more.
    pub seconds: f64,
}

/// A change of the sleep mode.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SleepWake {
    pub kind: SleepWakeKind,
    pub at: Option<Timestamp>,
    pub seconds: f64,
    /// Freed GPU memory, from the worker that printed it last.
    pub freed_gib: Option<f64>,
    pub in_use_gib: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SleepWakeKind {
    Sleep,
    Wake,
}

impl SleepWakeKind {
    pub fn name(self) -> &'static str {
        match self {
            SleepWakeKind::Sleep => "sleep",
            SleepWakeKind::Wake => "wake",
        }
    }
}

/// A GPU, as the preprocess hook of llm-d-benchmark lists it in the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gpu {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uuid: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub compute_cap: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub persistence_mode: String,
}

/// Why a server was not ready. Its texts are from the log, with secrets redacted.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The first process that failed.
    pub process: Option<Process>,
    /// The exception of that process, otherwise its first error line.
    pub error: Option<String>,
    /// The number of that line in the log, from 1.
    pub line: Option<u64>,
    /// The last line of the log.
    pub last_line: String,
}

/// Facts about the log itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogFacts {
    /// Number of non-empty lines.
    pub lines: u64,
    /// Lines that were longer than [`crate::MAX_LINE`]; the rest of them was not read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_lines: u64,
    /// Starts before the described one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub earlier_starts: u64,
    /// Remarks for the reader on how the log was read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Startup {
    /// The memory of the model divided by its load time, in GiB/s. `None`: one of them is unknown or zero.
    pub fn transfer_rate(&self) -> Option<f64> {
        let (size, seconds) = (self.figures.get(&Figure::ModelSizeGib)?, self.figures.get(&Figure::ModelLoadSeconds)?);
        (*seconds > 0.0 && *size > 0.0).then(|| size / seconds)
    }

    pub fn step(&self, name: StepName) -> Option<&Step> {
        self.steps.iter().find(|it| it.name == name)
    }
}
