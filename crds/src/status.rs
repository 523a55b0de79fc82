//! The status of a BenchmarkRun as the operator reports it.

use jiff::Timestamp;
#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

pub use crate::phase::Phase;
use crate::{
    EffectiveSpec,
    accuracy::AccuracyStatus,
    envelope::ArtifactRef,
    figure::{Microseconds, Milli},
    objective::ObjectiveStatus,
    outcome::Outcome,
    reason::{Reason, Reported},
    search_status::SearchStatus,
    server_status::ServerStatus,
    summary::{RunSummary, StageSummary},
};

/// Maximum number of attempts in a status.
pub const MAX_ATTEMPTS: usize = 5;

/// The state of a run, as the operator reports it.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct BenchmarkRunStatus {
    /// The generation of the spec that this status describes; -1 before the operator has seen the run.
    #[serde(default = "unseen")]
    pub observed_generation: i64,
    /// The phase of the run, derived from the conditions, for people and selectors.
    pub phase: Option<Phase>,
    /// The result of the run. Absent until the run has finished.
    pub outcome: Option<Outcome>,
    /// The reason for the phase, in one word.
    #[serde(default, skip_serializing_if = "Reported::is_empty")]
    pub reason: Reported<Reason>,
    /// When the load began: time zero of the figures.
    pub load_start_time: Option<Timestamp>,
    /// When the preparation of an attempt began, in Pending and Preparing: execution.deadlines.prepareSeconds counts from this time. Waiting for the
    /// target or the namespace does not count.
    pub preparing_since: Option<Timestamp>,
    /// When the run entered its final phase.
    pub completion_time: Option<Timestamp>,
    /// When the Jobs of the finished run were gone, as spec.cleanup.jobs requires.
    pub jobs_deleted_time: Option<Timestamp>,
    /// Values that the operator derived from the spec.
    pub resolved: Option<Resolved>,
    /// The fields of the spec with defaults, and the values that the last attempt used.
    #[serde(default, deserialize_with = "of_any_release")]
    #[cfg_attr(feature = "kube", schemars(with = "EffectiveSpec"))]
    pub effective_spec: Option<Box<EffectiveSpec>>,
    /// The last five attempts, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 5)))]
    #[cfg_attr(feature = "kube", x_kube(merge_strategy = ListMerge::Map(vec!["number".to_string()])))]
    pub attempts: Vec<Attempt>,
    /// The model server that the operator started for the run.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "ServerStatus"))]
    pub server: Option<ServerStatus>,
    /// True: the run was stopped before all requests were issued. The figures cover only the issued requests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The headline figures.
    pub summary: Option<RunSummary>,
    /// Figures of the summary and the answer of the search as text for people, which `kubectl get` prints. Present only if the figures are valid (Passed, SLOViolated or
    /// Inconclusive) and not partial. Programs should read the summary.
    pub columns: Option<Box<Columns>>,
    /// The result of the search. Absent if the run was none, or if there are no figures yet.
    pub search: Option<Box<SearchStatus>>,
    /// One row per stage, up to 24.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 24)))]
    #[cfg_attr(feature = "kube", x_kube(merge_strategy = ListMerge::Map(vec!["name".to_string()])))]
    pub stages: Vec<StageSummary>,
    /// True: there were more stages than rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stages_truncated: bool,
    /// One row per objective of spec.slo.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    #[cfg_attr(feature = "kube", x_kube(merge_strategy = ListMerge::Map(vec!["name".to_string()])))]
    pub objectives: Vec<ObjectiveStatus>,
    /// True: there were more objectives than rows. The condition SLOMet counts all of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub objectives_truncated: bool,
    /// The accuracy of the answers, if they were scored.
    pub accuracy: Option<AccuracyStatus>,
    /// The files of the results folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 16)))]
    #[cfg_attr(feature = "kube", x_kube(merge_strategy = ListMerge::Map(vec!["name".to_string()])))]
    pub artifacts: Vec<ArtifactRef>,
    /// Ready, Reconciling, Stalled, Finished, Succeeded, SLOMet, TargetReady, ResultsStored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 16)))]
    #[cfg_attr(feature = "kube", x_kube(merge_strategy = ListMerge::Map(vec!["type".to_string()])))]
    pub conditions: Vec<Condition>,
}

fn unseen() -> i64 {
    -1
}

/// Deserializes values that any release might have stored, because every run must stay readable. A field that the other release did not have gets the
/// default of this release. If a value has a word that this release does not know, the result is `None`.
fn of_any_release<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Box<EffectiveSpec>>, D::Error> {
    let stored = Option::<serde_json::Value>::deserialize(deserializer)?;
    Ok(stored.and_then(EffectiveSpec::from_stored).map(Box::new))
}

impl Default for BenchmarkRunStatus {
    fn default() -> Self {
        BenchmarkRunStatus {
            observed_generation: unseen(),
            phase: None,
            outcome: None,
            reason: Reported::default(),
            load_start_time: None,
            preparing_since: None,
            completion_time: None,
            jobs_deleted_time: None,
            resolved: None,
            effective_spec: None,
            attempts: Vec::new(),
            server: None,
            partial: false,
            summary: None,
            columns: None,
            search: None,
            stages: Vec::new(),
            stages_truncated: false,
            objectives: Vec::new(),
            objectives_truncated: false,
            accuracy: None,
            artifacts: Vec::new(),
            conditions: Vec::new(),
        }
    }
}

/// The figures that `kubectl get` prints, as text to four significant digits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Columns {
    /// The duration, such as `300.1s`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub duration: String,
    /// 99th percentile of TTFT, such as `46.65ms`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub ttft_p99: String,
    /// 99th percentile of ITL, such as `11.2ms`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub itl_p99: String,
    /// Output tokens per second, such as `503.6`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub output_tokens_per_second: String,
    /// The answer of the search, such as `14.2/s` or `43 users`; `none` if there is no answer. Absent if the run was no search.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub answer: String,
    /// Maximum probability that the answer is above the capacity, such as `5 %`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub risk: String,
    /// An estimate of the capacity with its 10th and 90th percentile, such as `15.6 (14.9-16.4)`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 80)))]
    pub edge: String,
}

impl Columns {
    /// The columns of a run with these figures and the result of its search, if it was one.
    pub fn new(summary: &RunSummary, search: Option<&SearchStatus>) -> Columns {
        let text = |text: fn(&SearchStatus) -> String| search.map(text).unwrap_or_default();
        let (answer, risk) = (text(SearchStatus::answer_text), text(SearchStatus::risk_text));
        Columns { answer, risk, edge: text(SearchStatus::edge_text), ..Columns::from(summary) }
    }
}

impl From<&RunSummary> for Columns {
    fn from(summary: &RunSummary) -> Self {
        let time = |it: Option<Microseconds>| it.map(|it| it.to_string()).unwrap_or_default();
        let rate = |it: Option<Milli>| it.map(|it| it.to_string()).unwrap_or_default();
        Columns {
            duration: summary.duration_microseconds.to_string(),
            ttft_p99: time(summary.ttft.map(|it| it.p99_microseconds)),
            itl_p99: time(summary.itl.map(|it| it.p99_microseconds)),
            output_tokens_per_second: rate(summary.output_tokens_per_second_milli),
            ..Columns::default()
        }
    }
}

/// Values that the operator derived from the spec.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Resolved {
    /// Base URL of the target, or `simulator`; empty if the figures come from the results folder of another run.
    #[cfg_attr(feature = "kube", schemars(length(max = 2048)))]
    pub endpoint: String,
    /// The model in requests; empty until the launcher has detected it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 256)))]
    pub model: String,
    /// SHA-256 of the rendered profile, in hex.
    #[cfg_attr(feature = "kube", schemars(length(max = 64)))]
    pub profile_sha256: String,
}

/// One attempt of the run.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Attempt {
    /// Number of the attempt, counted from 1.
    pub number: u32,
    /// The Job of the attempt.
    #[cfg_attr(feature = "kube", schemars(length(max = 63)))]
    pub job_name: String,
    /// The UID of that Job. It is stored because another Job can get the same name, but never the same UID.
    #[serde(rename = "jobUID")]
    #[cfg_attr(feature = "kube", schemars(length(max = 64)))]
    pub job_uid: Option<String>,
    /// The UID of the ConfigMap with the launcher's input, which has the name of the Job. The operator trusts only this ConfigMap.
    #[serde(rename = "configMapUID")]
    #[cfg_attr(feature = "kube", schemars(length(max = 64)))]
    pub config_map_uid: Option<String>,
    /// The name of the launcher's pod. Empty until the operator has seen the pod.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 253)))]
    pub pod_name: String,
    /// The UID of that pod. Termination messages of other pods are ignored.
    #[serde(rename = "podUID")]
    #[cfg_attr(feature = "kube", schemars(length(max = 64)))]
    pub pod_uid: Option<String>,
    /// The node that the pod ran on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 253)))]
    pub node_name: String,
    /// The image of the launcher with its digest, as reported by the node. A tag, as in effectiveSpec.launcher.image, can later point to another
    /// image.
    #[serde(default, rename = "imageID", skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 512)))]
    pub image_id: String,
    /// When the operator decided to start the attempt.
    pub start_time: Timestamp,
    /// When the operator first saw that the launcher was measuring.
    pub running_time: Option<Timestamp>,
    /// When the attempt ended.
    pub end_time: Option<Timestamp>,
    /// The reason for the end of the attempt.
    #[serde(default, skip_serializing_if = "Reported::is_empty")]
    pub reason: Reported<Reason>,
}

/// One aspect of the state, with the patterns and bounds of Kubernetes' metav1.Condition type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Condition {
    /// The aspect of the state.
    #[serde(rename = "type")]
    #[cfg_attr(
        feature = "kube",
        schemars(
            length(max = 316),
            regex(
                pattern = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
            )
        )
    )]
    pub kind: String,
    /// True, False or Unknown.
    pub status: ConditionStatus,
    /// The reason, in one word.
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 1024), regex(pattern = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"))
    )]
    pub reason: Reported<Reason>,
    /// An explanation of the reason, with the remedy.
    #[cfg_attr(feature = "kube", schemars(length(max = 32_768)))]
    pub message: String,
    /// When the status of this condition last changed.
    pub last_transition_time: Timestamp,
    /// The generation of the spec that the condition describes.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(range(min = 0)))]
    pub observed_generation: i64,
}

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum ConditionStatus {
    /// The condition is met.
    True,
    /// The condition is not met.
    False,
    /// It is not known yet whether the condition is met.
    Unknown,
}
