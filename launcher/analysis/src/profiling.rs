//! What a profiler recorded in a run, and which figures it affected.

use crds::benchmark_run::ProfilerKind;
use serde::{Deserialize, Serialize};

/// A profiler in a run, as in `report.json`. All times are in milliseconds.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Profiling {
    /// The profiler.
    pub kind: ProfilerKind,
    /// The stage with the requested window.
    pub stage: String,
    /// Requested start of the window, from the start of the stage.
    pub start_ms: f64,
    /// Requested length of the window.
    pub duration_ms: f64,
    /// The window that was recorded, from the start of the run; absent if nothing was recorded.
    pub window: Option<ProfiledWindow>,
    /// How long the server took to start the profiler; absent if the server received no start request, or did not answer.
    pub start_took_ms: Option<f64>,
    /// How long the server took to stop the profiler and to write the trace.
    pub stop_took_ms: Option<f64>,
    /// The stages with figures that the profiler affects.
    pub stages: Vec<String>,
    /// The trace files, with their names in the results folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<TraceFile>,
    /// Notes, such as why nothing was recorded, why the window is shorter than requested, or where the trace is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// When a profiler recorded, from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProfiledWindow {
    pub from_ms: f64,
    pub to_ms: f64,
}

/// A file of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceFile {
    /// The name of the file in the results folder.
    pub name: String,
    /// The size of the file.
    pub bytes: u64,
}

impl Profiling {
    /// Whether the profiler affects the figures of a stage.
    pub fn touches(&self, stage: &str) -> bool {
        self.stages.iter().any(|it| it == stage)
    }

    /// One sentence per doubt: the figures that the profiler affects, or why nothing was recorded.
    pub(crate) fn remarks(&self) -> impl Iterator<Item = String> {
        let nothing = self
            .window
            .is_none()
            .then(|| format!("spec.profiling is set, but nothing was recorded: {}", self.remarks.join("; ")));
        self.touched().into_iter().chain(nothing)
    }

    /// How the profiler affects the figures; `None` if it affects none.
    fn touched(&self) -> Option<String> {
        let (stages, their) = match self.stages.as_slice() {
            [] => return None,
            [one] => (format!("stage {one}"), "its"),
            many => (format!("stages {}", many.join(", ")), "their"),
        };
        Some(format!(
            "the server was profiled in {stages}, and a profiler slows a server down: {their} figures and the figures of the whole run \
             decide no objective and are left out of comparisons"
        ))
    }
}
