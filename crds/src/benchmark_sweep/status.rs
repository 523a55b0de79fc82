//! The status of a BenchmarkSweep as the operator reports it.

use jiff::Timestamp;
#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::status::Condition;

/// What the operator knows of a sweep.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct BenchmarkSweepStatus {
    /// The generation of the spec that this status describes; -1 until the operator writes the first status.
    #[serde(default = "unseen")]
    pub observed_generation: i64,
    /// Running: runs are started one after the other. Succeeded: every run has valid figures. Failed: at least one run has none, or the sweep ended
    /// before its last run.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "SweepPhase"))]
    pub phase: Option<SweepPhase>,
    /// How many runs have ended with valid figures, of how many, such as `5/48`.
    pub progress: Option<String>,
    /// Number of runs that used all of their attempts without valid figures.
    pub failed: Option<u32>,
    /// The cell that is running, such as `server=a,rate=10`.
    pub current: Option<String>,
    /// When the first run was started.
    pub start_time: Option<Timestamp>,
    /// When the sweep ended.
    pub completion_time: Option<Timestamp>,
    /// The cells with the mean figures of their runs, in the order of the factors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 256)))]
    pub cells: Vec<SweepCellStatus>,
    /// Ready, Reconciling, Stalled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 8)))]
    #[cfg_attr(feature = "kube", x_kube(merge_strategy = ListMerge::Map(vec!["type".to_string()])))]
    pub conditions: Vec<Condition>,
}

fn unseen() -> i64 {
    -1
}

impl Default for BenchmarkSweepStatus {
    fn default() -> Self {
        BenchmarkSweepStatus {
            observed_generation: unseen(),
            phase: None,
            progress: None,
            failed: None,
            current: None,
            start_time: None,
            completion_time: None,
            cells: Vec::new(),
            conditions: Vec::new(),
        }
    }
}

/// The phase of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum SweepPhase {
    Running,
    Succeeded,
    Failed,
}

/// A cell of a sweep with the mean figures of its runs. Each figure is absent if no run has it.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct SweepCellStatus {
    /// The levels, such as `server=a,rate=10`.
    pub cell: String,
    /// Number of runs with valid figures.
    pub runs: u32,
    /// Mean TTFT, p99, in milliseconds.
    pub ttft_p99: Option<f64>,
    /// Mean TPOT, p50, in milliseconds.
    pub tpot_p50: Option<f64>,
    /// Output tokens per second.
    pub output_tokens_per_second: Option<f64>,
}
