//! BenchmarkRun `benchwright.dev/v1alpha1`: the spec as the user wrote it.
//!
//! Every optional field is an `Option` or a group of such fields, and the schema has no defaults. So the stored object is exactly what the user
//! wrote, and [`crate::resolve`] fills in the defaults. Rules that the API server can check are CEL rules here. [`crate::resolve`] checks them
//! again, for runs without an API server.
//!
//! An absent field and a null field mean the same. An empty group such as `{}` also means the same as an absent one. The exceptions are members of a
//! union (`simulator`, `pvc`, `none`, `cleanup.run`): an empty group selects this member, with all of its defaults.
//!
//! The values of our own enums are PascalCase, abbreviations in capitals (`HTTP2`, `OpenAIChat`). Names from other tools stay as these tools write
//! them, such as the harness `inference-perf`.

mod execution;
pub(crate) mod field;
pub(crate) mod files;
mod hardware;
mod harness;
mod launcher;
mod profiling;
mod references;
mod search;
mod server;
mod slo;
mod storage;
mod target;
mod validity;

use std::collections::BTreeMap;

#[cfg(feature = "kube")]
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::AnyValue;
pub use crate::server_engine::{MetricsKind, ServerEngine};
#[cfg(feature = "kube")]
use crate::status::BenchmarkRunStatus;
pub use execution::{
    Cancel, Cleanup, Collect, Deadlines, Execution, JobsCleanup, MAX_FOLDER_BYTES, Retry, RetryCause, RunCleanup,
    ServerCleanup,
};
use field::is_default;
pub use files::{ClaimRef, ProfileFile, is_object_name};
pub use hardware::Hardware;
pub use harness::Harness;
pub use launcher::{Launcher, MAX_RESOURCE_NAME, MAX_RESOURCES, RESERVED_LABELS, Resources, Scheduling, Toleration};
pub use profiling::{ProfilerKind, Profiling};
pub use references::{GatewayRef, KeyRef, Scheme, ServiceRef};
pub use search::{Search, SearchOver, SearchRecovery};
pub use server::{
    Distribution, HubToken, Lifecycle, MAX_DEVICE_NAME, MAX_DEVICES, MAX_REPLICAS, MAX_SERVER_SCRIPT, MAX_SERVER_TEXT,
    ModelClaim, Server, ServerMethod,
};
pub use slo::{
    Baseline, EVERY_STAGE, Enforcement, MAX_OBJECTIVE_NAME, MAX_OBJECTIVES, MAX_REGRESSION_PERCENT, Metric, MetricUnit,
    Objective, Slo, Stat,
};
pub use storage::{FolderRetention, NoStorage, PerRequestRecords, Pvc, S3, SecretRef, Storage};
pub use target::{
    Api, Auth, CaSource, HttpVersion, MetricsSource, Readiness, ReadinessProbe, Simulator, SimulatorPreset, Target, Tls,
};
pub use validity::Validity;

/// The API group of all kinds in this crate.
pub const GROUP: &str = "benchwright.dev";
/// The API version that is served and stored.
pub const VERSION: &str = "v1alpha1";
/// The kind of a benchmark run.
pub const KIND: &str = "BenchmarkRun";
/// An annotation for runs outside of a cluster: the folder that relative paths in the profile are resolved against. If absent, the folder of the
/// profile's file is used.
pub const PATHS_FROM: &str = "benchwright.dev/paths-from";
/// The largest seed: the largest integer that every JSON reader keeps exactly.
pub const MAX_SEED: u64 = 9_007_199_254_740_991;
/// Maximum number of repeats of a run. All repeats run in one Job, which must live until the last repeat has ended. More repeats would narrow the
/// confidence interval of the mean only slightly.
pub const MAX_REPEATS: u32 = 30;
/// Maximum length of a run's name, in bytes. `<name>-a<attempt>` must fit into a label value of 63 bytes, with some room to spare.
pub const MAX_NAME_BYTES: usize = 46;
/// Maximum length of `metadata.generateName`, in bytes: the API server appends five characters.
pub const MAX_GENERATE_NAME_BYTES: usize = MAX_NAME_BYTES - 5;
/// Maximum size of an inline profile, in bytes.
pub const MAX_INLINE_PROFILE_BYTES: usize = 32 * 1024;
/// Maximum length of a prompt salt, in bytes. A UID with an attempt number fits, and so does a longer text that a user chooses.
pub const MAX_PROMPT_SALT_BYTES: usize = 128;

/// One benchmark of one LLM serving endpoint: the target, the load, and the bounds of a valid measurement.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
        printcolumn(name = "SLO", type_ = "string", json_path = ".status.conditions[?(@.type==\"SLOMet\")].status"),
        printcolumn(name = "Verified", type_ = "string", json_path = ".status.conditions[?(@.type==\"Verified\")].status"),
        printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
        printcolumn(name = "Attempt", type_ = "integer", json_path = ".status.attempts[-1:].number", priority = 1),
        printcolumn(name = "Duration", type_ = "string", json_path = ".status.columns.duration", priority = 1),
        printcolumn(name = "Answer", type_ = "string", json_path = ".status.columns.answer", priority = 1),
        printcolumn(name = "Risk", type_ = "string", json_path = ".status.columns.risk", priority = 1),
        printcolumn(name = "Edge", type_ = "string", json_path = ".status.columns.edge", priority = 1),
        printcolumn(name = "Trials", type_ = "integer", json_path = ".status.search.trials", priority = 1),
        printcolumn(name = "Target", type_ = "string", json_path = ".status.resolved.endpoint", priority = 1),
        printcolumn(name = "Message", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].message", priority = 1)
    )
)]
#[cfg_attr(
    feature = "kube",
    x_kube(
        validation = Rule::new("self.target == oldSelf.target").message(IMMUTABLE).field_path(".target"),
        validation = unchanged("harness"),
        validation = unchanged("profile"),
        validation = unchanged("seed"),
        validation = unchanged("repeat"),
        validation = Rule::new("!has(self.repeat) || self.repeat == 1 || !has(self.profile) || !has(self.profile.promptSalt)")
            .message("promptSalt and repeat cannot be combined, because all runs would send the same prompts, which the server would then have in its cache; take one of them out")
            .field_path(".repeat"),
        validation = Rule::new("!has(self.repeat) || self.repeat == 1 || !has(self.harness) || self.harness != 'loadgen'")
            .message("a run of LoadGen tests cannot be repeated; take repeat out, and create one BenchmarkRun per test run")
            .field_path(".repeat"),
        validation = unchanged("launcher"),
        validation = unchanged("storage"),
        validation = unchanged("validity"),
        validation = unchanged("slo"),
        validation = unchanged("profiling"),
        validation = unchanged("search"),
        validation = unchanged("execution"),
        validation = unchanged("queueName"),
        validation = Rule::new("!has(oldSelf.cancel) || has(self.cancel)")
            .message("cancel cannot be removed: a cancelled run is not resumed; create another run instead")
    )
)]
pub struct BenchmarkRunSpec {
    /// The serving stack under test. Set exactly one of url, serviceRef, gatewayRef, simulator and server.
    pub target: Target,

    /// The harness that defines the format of the profile. Default: inference-perf.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Harness"))]
    pub harness: Option<Harness>,

    /// The workload: a shipped profile by name, a text, or a ConfigMap; with variables and overrides.
    #[serde(default, skip_serializing_if = "is_default")]
    pub profile: Profile,

    /// The seed of every random draw of the run. The same seed and profile send the same requests at the same times.
    /// Default: each run draws a seed, which all its attempts use. The status and the report contain the seed.
    #[cfg_attr(feature = "kube", schemars(range(min = 0, max = MAX_SEED)))]
    pub seed: Option<u64>,

    /// Number of runs of the load, one after the other, each with its own prompts. The status then shows the mean over the runs, and
    /// repeats.json has the spread between runs. Default: 1.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 30)))]
    pub repeat: Option<u32>,

    /// The pod that issues the load.
    #[serde(default, skip_serializing_if = "is_default")]
    pub launcher: Launcher,

    /// Where the results folder is stored.
    #[serde(default, skip_serializing_if = "is_default")]
    pub storage: Storage,

    /// Bounds of a valid measurement. Beyond a bound the figures do not count, and the outcome is Invalid.
    #[serde(default, skip_serializing_if = "is_default")]
    pub validity: Validity,

    /// Objectives on the figures. If one is missed, the figures still count, and the outcome is SLOViolated.
    #[serde(default, skip_serializing_if = "is_default")]
    pub slo: Slo,

    /// A profiler that records the server during a part of one stage. If absent, no profiler runs.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Profiling"))]
    pub profiling: Option<Profiling>,

    /// A search for the highest load at which all objectives of slo hold, instead of the profile's stages. If absent, no search is made.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Search"))]
    pub search: Option<Search>,

    /// Retries, deadlines and the grace period for a stop.
    #[serde(default, skip_serializing_if = "is_default")]
    pub execution: Execution,

    /// The LocalQueue of Kueue, in the run's namespace, that admits the run. If absent, the run uses no queue.
    #[cfg_attr(feature = "kube", schemars(regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"), length(max = 63)))]
    pub queue_name: Option<String>,

    /// True: do not start. A run in progress loses its attempt, because a benchmark cannot pause. It begins a new attempt when the field is false
    /// again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspend: bool,

    /// Ends the run early. Graceful: stop issuing requests, wait for the requests in flight, and store the partial result. Immediate: end the
    /// pod immediately. The field cannot be removed once it is set. If absent, the run is not cancelled.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Cancel"))]
    pub cancel: Option<Cancel>,

    /// What to delete after a run has finished, and when. If absent, nothing is deleted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cleanup: Cleanup,
}

#[cfg(feature = "kube")]
impl BenchmarkRun {
    /// Whether the run has finished, so that its status never changes again.
    pub fn is_finished(&self) -> bool {
        let phase = self.status.as_ref().and_then(|it| it.phase);
        phase.is_some_and(crate::status::Phase::is_terminal)
    }
}

/// The workload.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
#[cfg_attr(
    feature = "kube",
    x_kube(validation = Rule::new("[has(self.name), has(self.inline), has(self.configMapRef)].filter(it, it).size() <= 1")
        .message("set at most one of name, inline and configMapRef; if none is set, the profile is sanity_random, or sanity with the harness loadgen"))
)]
pub struct Profile {
    /// A profile that ships with Benchwright. Default, if inline and configMapRef are absent too: sanity_random; for harness loadgen sanity.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 128)))]
    pub name: Option<String>,

    /// The text of a profile, which can contain template variables.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 32768)))]
    pub inline: Option<String>,

    /// A ConfigMap in the run's namespace that contains the profile's text.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "KeyRef"))]
    pub config_map_ref: Option<KeyRef>,

    /// Values for the variables of the template: texts, numbers, true or false. Write a list as a text, such as "[1, 2, 4]".
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 64)))]
    pub variables: BTreeMap<String, AnyValue>,

    /// Values to set in the rendered profile, by dotted path, such as `load.stages.0.rate`. Write a list or a mapping as a text, such as "[1, 2, 4]".
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 64)))]
    pub overrides: BTreeMap<String, AnyValue>,

    /// Repeats the synthetic prompts of an earlier run: the value of seeds.promptSalt in that run's report.json. If absent, every run and
    /// attempt has its own texts, so that no server has them in its prefix cache.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 128)))]
    pub prompt_salt: Option<String>,

    /// Files that the profile reads, such as a recorded trace. The profile names them by relative path or under /data. Outside of a cluster this list
    /// is not used: the profile's paths refer to local files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 16)))]
    pub files: Vec<ProfileFile>,
}

/// The error message for a user who edits an immutable field.
#[cfg(feature = "kube")]
const IMMUTABLE: &str = "a run is immutable: only suspend, cancel and cleanup may change; create another run instead";

/// The CEL rule that an optional field of the spec keeps its value from creation.
#[cfg(feature = "kube")]
fn unchanged(field: &str) -> kube::core::Rule {
    let rule =
        format!("has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})");
    kube::core::Rule::new(rule).message(IMMUTABLE).field_path(format!(".{field}"))
}
