//! The status of a BenchmarkSweep as the operator reports it.

use jiff::Timestamp;
#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::{
    figure::{Microseconds, Milli},
    status::Condition,
};

/// The state of a sweep, as the operator reports it. All fields but the times can be computed again from the runs of the sweep.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct BenchmarkSweepStatus {
    /// The generation of the spec that this status describes; -1 until the operator writes the first status.
    #[serde(default = "unseen")]
    pub observed_generation: i64,
    /// Running: runs are started one after the other. Suspended: suspend is true, and no run is in progress. Succeeded: every run has valid figures.
    /// Failed: at least one run has none, the sweep ended before its last run, or the spec is invalid.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "SweepPhase"))]
    pub phase: Option<SweepPhase>,
    /// How many runs have valid figures, of how many, such as `5/48`.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub progress: Option<String>,
    /// Number of runs that used all of their attempts without valid figures.
    pub failed: Option<u32>,
    /// The cell whose run is in progress, such as `server=a,rate=10`.
    #[cfg_attr(feature = "kube", schemars(length(max = 256)))]
    pub current: Option<String>,
    /// The run in progress.
    #[cfg_attr(feature = "kube", schemars(length(max = 63)))]
    pub current_run: Option<String>,
    /// When the first run was created.
    pub start_time: Option<Timestamp>,
    /// When the sweep ended.
    pub completion_time: Option<Timestamp>,
    /// One row per cell, in the order of the factors: row 3 shows the runs whose names contain `-c3-`.
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
            current_run: None,
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
    Suspended,
    Succeeded,
    Failed,
}

/// A cell of a sweep with the mean figures of its runs. Each figure is absent if no run has it.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct SweepCellStatus {
    /// The levels, such as `server=a,rate=10`. Long names are cut.
    #[cfg_attr(feature = "kube", schemars(length(max = 256)))]
    pub cell: String,
    /// Number of runs with valid figures.
    pub runs: u32,
    /// Number of runs that used all of their attempts without valid figures.
    #[serde(default, skip_serializing_if = "crate::benchmark_run::field::is_default")]
    pub failed: u32,
    /// Mean over the runs of the TTFT, p99.
    pub ttft_p99_microseconds: Option<Microseconds>,
    /// Mean over the runs of the TPOT, p50.
    pub tpot_p50_microseconds: Option<Microseconds>,
    /// Mean over the runs of the output tokens per second, in thousandths.
    pub output_tokens_per_second_milli: Option<Milli>,
}
