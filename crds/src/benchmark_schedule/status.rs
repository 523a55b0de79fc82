//! The status of a BenchmarkSchedule as the operator reports it.

use jiff::Timestamp;
#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::{Outcome, status::Condition};

/// The state of a schedule, as the operator reports it.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct BenchmarkScheduleStatus {
    /// The generation of the spec that this status describes; -1 until the operator writes the first status.
    #[serde(default = "unseen")]
    pub observed_generation: i64,
    /// The value of `schedule` and `timeZone` for which `countsSince` was set.
    #[cfg_attr(feature = "kube", schemars(length(max = 512)))]
    pub expression: Option<String>,
    /// Times of the schedule before this time start no run. It is the time when the schedule was created, last changed, or resumed after a
    /// suspension.
    pub counts_since: Option<Timestamp>,
    /// The last time of the schedule that started a run or was skipped.
    pub last_schedule_time: Option<Timestamp>,
    /// The next time of the schedule. Absent while the schedule is suspended.
    pub next_schedule_time: Option<Timestamp>,
    /// The run that is about to be created. The operator stores it before the creation, so that no failure starts a run twice.
    pub starting: Option<Start>,
    /// The run in progress.
    #[cfg_attr(feature = "kube", schemars(length(max = 63)))]
    pub active_run: Option<String>,
    /// The newest run.
    pub last_run: Option<RunOfSchedule>,
    /// The run of the last trigger.
    pub triggered: Option<Triggered>,
    /// The reason why the last start was refused. Absent after a successful start, and after a change of the spec.
    pub refusal: Option<Refusal>,
    /// Ready, Reconciling, Stalled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 8)))]
    #[cfg_attr(feature = "kube", x_kube(merge_strategy = ListMerge::Map(vec!["type".to_string()])))]
    pub conditions: Vec<Condition>,
}

fn unseen() -> i64 {
    -1
}

impl Default for BenchmarkScheduleStatus {
    fn default() -> Self {
        BenchmarkScheduleStatus {
            observed_generation: unseen(),
            expression: None,
            counts_since: None,
            last_schedule_time: None,
            next_schedule_time: None,
            starting: None,
            active_run: None,
            last_run: None,
            triggered: None,
            refusal: None,
            conditions: Vec::new(),
        }
    }
}

/// A run that is about to be created.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Start {
    /// The name that the run will have.
    #[cfg_attr(feature = "kube", schemars(length(max = 63)))]
    pub name: String,
    /// The time of the schedule that starts it.
    pub schedule_time: Option<Timestamp>,
    /// The trigger that starts it.
    #[cfg_attr(feature = "kube", schemars(length(max = 256)))]
    pub trigger: Option<String>,
}

/// A run of a schedule.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct RunOfSchedule {
    /// `metadata.name` of the run.
    #[cfg_attr(feature = "kube", schemars(length(max = 63)))]
    pub name: String,
    /// The outcome of the run. Absent until the run has finished.
    pub outcome: Option<Outcome>,
    /// When the run finished.
    pub completion_time: Option<Timestamp>,
}

/// The run of a trigger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Triggered {
    /// The text of the trigger.
    #[cfg_attr(feature = "kube", schemars(length(max = 256)))]
    pub trigger: String,
    /// The name of the run that this trigger started; empty if the API server refused that run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 63)))]
    pub name: String,
    /// True: the run has finished, was deleted, or was refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub finished: bool,
    /// The outcome of the run. Absent until the run has finished, and if the run was deleted before its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// The reason why a run was not created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Refusal {
    /// The generation of the spec of the refused run.
    pub generation: i64,
    /// The refused run, the response of the API server, and the remedy.
    #[cfg_attr(feature = "kube", schemars(length(max = 2048)))]
    pub message: String,
}
