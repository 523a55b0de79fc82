//! BenchmarkRun `benchwright.dev/v1alpha1`: the spec as the user wrote it.
//!
//! Defaults stand here once, as serde defaults, and so are the same in the CRD, in the operator and on a laptop. Rules
//! that the API server can check are CEL rules here; [`crate::resolve`] checks them again where there is no API server.

mod execution;
pub(crate) mod files;
mod launcher;
mod storage;
mod target;
mod validity;

use std::collections::BTreeMap;

#[cfg(feature = "kube")]
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::AnyValue;
#[cfg(feature = "kube")]
use crate::status::BenchmarkRunStatus;
pub use execution::{Cancel, Cleanup, Deadlines, Execution, Retry, RetryCause, RunCleanup};
pub use files::{ClaimRef, ProfileFile, is_object_name};
pub use launcher::{Launcher, Resources, Scheduling, Toleration};
pub use storage::{NoStorage, PerRequestRecords, Pvc, Storage};
pub use target::{
    Api, Auth, HttpVersion, KeyRef, Readiness, ReadinessProbe, Scheme, ServiceRef, Simulator, SimulatorPreset, Target,
    Tls,
};
pub use validity::Validity;

/// The API group of every kind of this project.
pub const GROUP: &str = "benchwright.dev";
/// The version that is served and stored.
pub const VERSION: &str = "v1alpha1";
/// The kind that a user writes.
pub const KIND: &str = "BenchmarkRun";
/// An annotation for runs outside of a cluster: the folder from which relative paths in the profile count. Absent: the folder
/// of the file that holds the profile.
pub const PATHS_FROM: &str = "benchwright.dev/paths-from";
/// The longest name of a run, in bytes: `<name>-a<attempt>` must fit a label value of 63 with room to spare.
pub const MAX_NAME_BYTES: usize = 46;
/// The largest inline profile, in bytes.
pub const MAX_INLINE_PROFILE_BYTES: usize = 32 * 1024;
/// The longest salt of prompts, in bytes: a UID, an attempt, and room for names of one's own.
pub const MAX_PROMPT_SALT_BYTES: usize = 128;

/// One benchmark of one LLM serving endpoint: what to send to whom, and when the figures count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(CustomResource, KubeSchema))]
#[cfg_attr(
    feature = "kube",
    kube(
        group = "benchwright.dev",
        version = "v1alpha1",
        kind = "BenchmarkRun",
        namespaced,
        status = "BenchmarkRunStatus",
        shortname = "bmr",
        category = "benchwright",
        derive = "PartialEq",
        doc = "One benchmark of one LLM serving endpoint, and its figures",
        selectable = ".status.phase",
        selectable = ".status.outcome",
        validation = Rule::new("self.metadata.name.size() <= 46 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')")
            .message("metadata.name must be at most 46 letters a-z, digits and dashes and begin with a letter: it names the run's Job and pods"),
        printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
        printcolumn(name = "Outcome", type_ = "string", json_path = ".status.outcome"),
        printcolumn(name = "Reason", type_ = "string", json_path = ".status.reason"),
        printcolumn(name = "Model", type_ = "string", json_path = ".status.resolved.model"),
        printcolumn(name = "TTFT-P99", type_ = "string", json_path = ".status.columns.ttftP99"),
        printcolumn(name = "ITL-P99", type_ = "string", json_path = ".status.columns.itlP99"),
        printcolumn(name = "Out-Tok/s", type_ = "string", json_path = ".status.columns.outputTokensPerSecond"),
        printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
        printcolumn(name = "Attempt", type_ = "integer", json_path = ".status.attempts[-1:].number", priority = 1),
        printcolumn(name = "Duration", type_ = "string", json_path = ".status.columns.duration", priority = 1),
        printcolumn(name = "Target", type_ = "string", json_path = ".status.resolved.endpoint", priority = 1)
    )
)]
#[cfg_attr(
    feature = "kube",
    x_kube(
        validation = Rule::new(
            "self.target == oldSelf.target && self.harness == oldSelf.harness && self.profile == oldSelf.profile && self.seed == oldSelf.seed"
        ).message("a run is immutable: only suspend, cancel and cleanup may change; create another run instead"),
        validation = Rule::new(
            "self.launcher == oldSelf.launcher && self.storage == oldSelf.storage && self.validity == oldSelf.validity && self.execution == oldSelf.execution"
        ).message("a run is immutable: only suspend, cancel and cleanup may change; create another run instead"),
        validation = Rule::new("!has(oldSelf.cancel) || has(self.cancel)")
            .message("cancel cannot be removed: a cancelled run is not resumed; create another run instead")
    )
)]
pub struct BenchmarkRunSpec {
    /// The serving stack under test. Exactly one of url, serviceRef and simulator.
    pub target: Target,

    /// Whose profile format the profile is written in.
    #[serde(default)]
    pub harness: Harness,

    /// The workload: a shipped profile by name, a text, or a ConfigMap; with variables and overrides.
    #[serde(default)]
    pub profile: Profile,

    /// Every random draw of the run derives from it: the same seed and profile send the same requests at the same times.
    #[serde(default = "defaults::seed")]
    #[cfg_attr(feature = "kube", schemars(range(min = 0, max = 9_007_199_254_740_991_i64)))]
    pub seed: u64,

    /// The pod that issues the load.
    #[serde(default)]
    pub launcher: Launcher,

    /// Where the results folder is kept.
    #[serde(default)]
    pub storage: Storage,

    /// Bounds past which the figures do not count, and the outcome is Invalid.
    #[serde(default)]
    pub validity: Validity,

    /// Retries, deadlines and the time to drain.
    #[serde(default)]
    pub execution: Execution,

    /// True: do not start. A run in progress loses its attempt, because a benchmark cannot pause, and begins a new one
    /// when this turns false again.
    #[serde(default)]
    pub suspend: bool,

    /// Ends the run early. Graceful: stop issuing, drain, keep the partial result. Immediate: end the pod at once. Once it is
    /// set it cannot be removed. Absent: the run is not cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<Cancel>,

    /// What is deleted of a finished run, and when. Absent: nothing.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cleanup: Cleanup,
}

#[cfg(feature = "kube")]
impl BenchmarkRun {
    /// Whether its status never changes again.
    pub fn is_finished(&self) -> bool {
        let phase = self.status.as_ref().and_then(|it| it.phase);
        phase.is_some_and(crate::status::Phase::is_terminal)
    }
}

/// Whose profile format is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Harness {
    /// Benchwright's own format, which reaches all that the engine can do.
    Benchwright,
    /// The format of inference-perf.
    #[default]
    InferencePerf,
    /// MLPerf LoadGen's scenarios and settings.
    Loadgen,
}

impl Harness {
    /// The name as users write it; also the folder of its shipped profiles.
    pub fn name(self) -> &'static str {
        match self {
            Harness::Benchwright => "benchwright",
            Harness::InferencePerf => "inference-perf",
            Harness::Loadgen => "loadgen",
        }
    }

    /// The shipped profile of a run that names none.
    pub fn default_profile(self) -> &'static str {
        match self {
            Harness::Benchwright | Harness::InferencePerf => "sanity_random",
            Harness::Loadgen => "sanity",
        }
    }
}

/// The workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
#[cfg_attr(
    feature = "kube",
    x_kube(validation = Rule::new("[has(self.name), has(self.inline), has(self.configMapRef)].filter(it, it).size() <= 1")
        .message("set at most one of name, inline and configMapRef; without any the profile is sanity_random, of loadgen sanity"))
)]
pub struct Profile {
    /// A profile that ships with Benchwright. Absent, with inline and configMapRef absent too: sanity_random, of loadgen sanity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 128)))]
    pub name: Option<String>,

    /// The text of a profile, with template variables or without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 32768)))]
    pub inline: Option<String>,

    /// A ConfigMap in the namespace of the run that holds the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<KeyRef>,

    /// Values for the variables of the template: texts, numbers, true or false. A list is a text, such as "[1, 2, 4]".
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 64)))]
    pub variables: BTreeMap<String, AnyValue>,

    /// Values to set in the rendered profile, by dotted path, such as `load.stages.0.rate`. A list or a mapping is a text,
    /// such as "[1, 2, 4]".
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 64)))]
    pub overrides: BTreeMap<String, AnyValue>,

    /// Makes the texts of synthetic prompts those of an earlier run: the seeds.promptSalt of its report.json. Absent: every
    /// run and attempt has texts of its own, so that no server has them in its prefix cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 128)))]
    pub prompt_salt: Option<String>,

    /// Files that the profile reads, such as a recorded trace, by relative path or under /data. On a laptop they are looked
    /// for where the profile says, and this list is not used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 16)))]
    pub files: Vec<ProfileFile>,
}

/// Whether a group says nothing: then it is not written, and the schema has no default for it.
fn is_default<T: Default + PartialEq>(group: &T) -> bool {
    *group == T::default()
}

/// A text of at most `max` characters; the API server needs bounds to estimate what a rule costs.
#[cfg(feature = "kube")]
fn bounded_text(max: u32) -> serde_json::Value {
    serde_json::json!({"type": "string", "maxLength": max})
}

/// What a field is when the user left it out. llm-d-benchmark's own value wherever it has one.
mod defaults {
    use super::{AnyValue, RetryCause};

    pub(super) fn seed() -> u64 {
        42
    }
    pub(super) fn port() -> u16 {
        80
    }
    pub(super) fn path() -> String {
        "/".into()
    }
    pub(super) fn readiness_timeout() -> u32 {
        900
    }
    pub(super) fn yes() -> bool {
        true
    }
    pub(super) fn claim_name() -> String {
        "workload-pvc".into()
    }
    pub(super) fn claim_size() -> String {
        "20Gi".into()
    }
    pub(super) fn min_successful_requests() -> u64 {
        1
    }
    pub(super) fn max_error_ratio() -> AnyValue {
        0.01.into()
    }
    pub(super) fn max_send_lag() -> u32 {
        10
    }
    /// As much as the send lag: TTFT errs by both.
    pub(super) fn max_receive_delay() -> u32 {
        10
    }
    /// Past it requests and tokens queue for the thread for several times as long as one of them takes.
    pub(super) fn max_cpu_share() -> AnyValue {
        0.9.into()
    }
    /// Past a twentieth, p95 is the launcher's and not the server's; the same for reads and stalls.
    pub(super) fn max_throttled_share() -> AnyValue {
        0.05.into()
    }
    /// Of all CPUs, and so not all of it is the launcher's loss.
    pub(super) fn max_steal_share() -> AnyValue {
        0.1.into()
    }
    pub(super) fn max_coalesced_read_share() -> AnyValue {
        0.05.into()
    }
    pub(super) fn max_stalled_share() -> AnyValue {
        0.05.into()
    }
    /// Figures count on a clock that no step moves: only a step as large as a machine makes that was paused tells something.
    pub(super) fn max_clock_step() -> u32 {
        1_000
    }
    pub(super) fn retry_limit() -> u32 {
        1
    }
    pub(super) fn retry_reasons() -> Vec<RetryCause> {
        // Not TargetUnavailable: the first attempt has waited for the target for readiness.timeoutSeconds already.
        vec![RetryCause::Disrupted, RetryCause::StartTimeout]
    }
    pub(super) fn prepare_seconds() -> u32 {
        900
    }
    pub(super) fn start_seconds() -> u32 {
        1800
    }
    pub(super) fn run_seconds() -> u32 {
        3600
    }
    pub(super) fn collect_seconds() -> u32 {
        300
    }
    pub(super) fn grace_period() -> u32 {
        60
    }
    pub(super) fn after_success() -> u32 {
        604_800
    }
    pub(super) fn after_failure() -> u32 {
        2_592_000
    }
}
