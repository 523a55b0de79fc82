//! The result of reading a log: the statistics of a start.

use std::collections::BTreeMap;

use crds::server_engine::{
    ServerEngine,
    startup_log::{Figure, StepName},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The start of a server as its log describes it. Values are absent if the log does not contain them.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Startup {
    pub outcome: Outcome,
    /// The engine, if the log identifies it.
    #[serde(default, with = "crate::engine_id")]
    pub engine: Option<ServerEngine>,
    pub version: Option<String>,
    /// The name under which the model is served; if unknown, the name that was requested.
    pub model: Option<String>,
    pub load_format: Option<String>,
    pub sleep_mode: Option<bool>,
    /// The time of the first line, which is after the program was launched. Only present if the log contains one start.
    pub first_line: Option<Timestamp>,
    /// The time at which the server printed its arguments.
    pub started: Option<Timestamp>,
    /// The time at which the server listed its routes. If there are several API servers, the latest of these times.
    pub ready: Option<Timestamp>,
    /// Seconds from `started` to `ready`.
    pub ready_seconds: Option<f64>,
    /// The part of `ready_seconds` in which no step was active.
    pub uncategorized_seconds: Option<f64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<Figure, f64>,
    /// The steps, in the order of [`StepName`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sleep_wake: Vec<SleepWake>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<Gpu>,
    /// The arguments of the engine, with secrets redacted. vLLM prints only those that differ from their defaults, SGLang all.
    pub args: Option<Map<String, Value>>,
    pub failure: Option<Failure>,
    pub log: LogFacts,
}

/// How a start ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// The server logged that it serves requests.
    Ready,
    /// The server did not become ready: one of its processes ended with an exception or refused its arguments.
    Failed,
    /// The log ends before the server became ready or failed.
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
    /// The text that vLLM uses, such as `Worker pid=7`.
    pub fn text(&self) -> String {
        match self.pid {
            Some(pid) => format!("{} pid={pid}", self.name),
            None => self.name.clone(),
        }
    }
}

/// A step of a start. Steps of different processes can overlap.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    pub name: StepName,
    /// The process of the step. If several processes had this step, the process that ended it last. `None` if the lines of the step name no process.
    pub process: Option<Process>,
    /// The process that ended the step, if another process began it.
    pub ended_by: Option<Process>,
    /// Number of processes that had this step.
    pub processes: u32,
    pub started: Timestamp,
    /// Seconds between the time stamps of its first and its last line. Time stamps have whole seconds, unless the server was configured for more
    /// precision.
    pub seconds: f64,
}

/// A change of the server's sleep mode.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SleepWake {
    pub kind: SleepWakeKind,
    pub at: Option<Timestamp>,
    pub seconds: f64,
    /// Freed GPU memory in GiB, as printed by the last worker.
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

/// A GPU, as listed in the log by the preprocess hook of llm-d-benchmark.
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

/// The reason why a server did not become ready. The texts are quoted from the log, with secrets redacted.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The process that failed first.
    pub process: Option<Process>,
    /// The exception of that process. If there is none, the first error line of the log.
    pub error: Option<String>,
    /// The number of the line with `error` in the log, from 1.
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
    /// Number of lines that were longer than [`crate::MAX_LINE`]. Only their beginnings were read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_lines: u64,
    /// Number of starts in the log before this one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub earlier_starts: u64,
    /// Notes for the user on how the log was read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Startup {
    /// The load rate in GiB/s: the memory of the model divided by its load time. `None` if one of them is unknown or zero.
    pub fn transfer_rate(&self) -> Option<f64> {
        let (size, seconds) = (self.figures.get(&Figure::ModelSizeGib)?, self.figures.get(&Figure::ModelLoadSeconds)?);
        (*seconds > 0.0 && *size > 0.0).then(|| size / seconds)
    }

    pub fn step(&self, name: StepName) -> Option<&Step> {
        self.steps.iter().find(|it| it.name == name)
    }
}
