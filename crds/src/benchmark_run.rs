//! BenchmarkRun `benchwright.dev/v1alpha1`: the spec as the user wrote it.
//!
//! Defaults stand here once, as serde defaults, and so are the same in the CRD, in the operator and on a laptop. Rules
//! that the API server can check are CEL rules here; [`crate::resolve`] checks them again where there is no API server.

use std::collections::BTreeMap;

#[cfg(feature = "kube")]
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

#[cfg(feature = "kube")]
use crate::status::BenchmarkRunStatus;

/// The API group of every kind of this project.
pub const GROUP: &str = "benchwright.dev";
/// The version that is served and stored.
pub const VERSION: &str = "v1alpha1";
/// The kind that a user writes.
pub const KIND: &str = "BenchmarkRun";
/// The longest name of a run, in bytes: `<name>-a<attempt>` must fit a label value of 63 with room to spare.
pub const MAX_NAME_BYTES: usize = 46;
/// The largest inline profile, in bytes.
pub const MAX_INLINE_PROFILE_BYTES: usize = 32 * 1024;

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
        printcolumn(name = "Model", type_ = "string", json_path = ".status.resolved.model"),
        printcolumn(name = "TTFT-P99", type_ = "string", json_path = ".status.summary.ttft.p99"),
        printcolumn(name = "ITL-P99", type_ = "string", json_path = ".status.summary.itl.p99"),
        printcolumn(name = "Out-Tok/s", type_ = "string", json_path = ".status.summary.outputTokensPerSecond"),
        printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
        printcolumn(name = "Reason", type_ = "string", json_path = ".status.reason", priority = 1),
        printcolumn(name = "Attempt", type_ = "integer", json_path = ".status.attempts[-1:].number", priority = 1),
        printcolumn(name = "Duration", type_ = "string", json_path = ".status.summary.duration", priority = 1),
        printcolumn(name = "Target", type_ = "string", json_path = ".status.resolved.endpoint", priority = 1)
    )
)]
#[cfg_attr(
    feature = "kube",
    x_kube(
        validation = Rule::new(
            "self.target == oldSelf.target && self.harness == oldSelf.harness && self.profile == oldSelf.profile && self.seed == oldSelf.seed"
        ).message("a run is immutable: only suspend, cancel and ttlSecondsAfterFinished may change; create another run instead"),
        validation = Rule::new(
            "self.launcher == oldSelf.launcher && self.storage == oldSelf.storage && self.validity == oldSelf.validity && self.policy == oldSelf.policy"
        ).message("a run is immutable: only suspend, cancel and ttlSecondsAfterFinished may change; create another run instead"),
        validation = Rule::new("oldSelf.cancel == 'None' || self.cancel != 'None'")
            .message("cancel is one-way: a cancelled run cannot be resumed; create another run instead")
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
    pub policy: Policy,

    /// True: do not start. A run in progress loses its attempt, because a benchmark cannot pause, and begins a new one
    /// when this turns false again.
    #[serde(default)]
    pub suspend: bool,

    /// Graceful: stop issuing, drain, keep the partial result. Immediate: end the pod at once. It cannot be taken back.
    #[serde(default)]
    pub cancel: Cancel,

    /// When a finished run is deleted, with its pods and ConfigMap; the results on the volume stay. Absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<TtlSecondsAfterFinished>,
}

#[cfg(feature = "kube")]
impl BenchmarkRun {
    /// Whether its status never changes again.
    pub fn is_finished(&self) -> bool {
        let phase = self.status.as_ref().and_then(|it| it.phase);
        phase.is_some_and(crate::status::Phase::is_terminal)
    }
}

/// The serving stack under test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
#[cfg_attr(
    feature = "kube",
    x_kube(validation = Rule::new("[has(self.url), has(self.serviceRef), has(self.simulator)].filter(it, it).size() == 1")
        .message("set exactly one of url, serviceRef and simulator"))
)]
pub struct Target {
    /// Base URL of the server, http or https, without `/v1`, such as `http://gateway.llm-d:80`. Outside of a cluster also
    /// `unix:` and the path of a socket, such as `unix:/run/vllm.sock`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "kube",
        schemars(length(max = 2048), regex(pattern = r"^(https?://[^\s/@]+[^\s@]*|unix:/[^\s]+)$"))
    )]
    pub url: Option<String>,

    /// A Service in the namespace of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_ref: Option<ServiceRef>,

    /// The embedded simulated vLLM, inside the launcher: for a first run, for tests, and for measuring the launcher itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulator: Option<Simulator>,

    /// The API to call. Absent: what the profile says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<Api>,

    /// The version of HTTP.
    #[serde(default)]
    pub http_version: HttpVersion,

    /// The model to ask for. Empty: the one that the server serves; more than one served is an error.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(length(max = 256)))]
    pub model: String,

    /// The bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,

    /// Private certificate authorities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,

    /// How to find out that the server is ready to be measured.
    #[serde(default)]
    pub readiness: Readiness,
}

/// A Service in the namespace of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct ServiceRef {
    /// Its name.
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"))
    )]
    pub name: String,
    /// Its port.
    #[serde(default = "defaults::port")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 65535)))]
    pub port: u16,
    /// http or https.
    #[serde(default)]
    pub scheme: Scheme,
    /// What stands before `/v1` in the path of every request.
    #[serde(default = "defaults::path")]
    #[cfg_attr(feature = "kube", schemars(length(max = 1024), regex(pattern = r"^/[^\s?#]*$")))]
    pub path: String,
}

/// How a Service is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Scheme {
    /// Plain HTTP.
    #[default]
    Http,
    /// HTTP over TLS.
    Https,
}

/// The embedded simulated vLLM. Its speed is fixed by a preset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Simulator {
    /// Which server it plays.
    #[serde(default)]
    pub preset: SimulatorPreset,
}

/// The speed of the simulated server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum SimulatorPreset {
    /// An 8B model on one data-centre GPU, roughly: tens of milliseconds to the first token, 10 ms between tokens.
    #[default]
    Gpu,
    /// A tiny model on a CPU: a few milliseconds between tokens.
    Tiny,
    /// Answers at once: what is measured is the launcher.
    Instant,
}

/// Which endpoint of the OpenAI API is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Api {
    /// `/v1/chat/completions`
    #[serde(rename = "OpenAIChat")]
    Chat,
    /// `/v1/completions`
    #[serde(rename = "OpenAICompletions")]
    Completions,
}

/// The version of HTTP that is spoken with the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum HttpVersion {
    /// Over TLS HTTP/2 where the server offers it, else HTTP/1.1.
    #[default]
    Auto,
    /// HTTP/1.1, a connection for each request under way.
    #[serde(rename = "HTTP1")]
    Http1,
    /// HTTP/2, up to 100 requests on a connection; without TLS the server must know it beforehand.
    #[serde(rename = "HTTP2")]
    Http2,
}

/// The bearer token, mounted as a file; it never stands in arguments, environment, status or logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Auth {
    /// The Secret in the namespace of the run that holds it.
    pub secret_key_ref: KeyRef,
}

/// Private certificate authorities, trusted beside the public ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Tls {
    /// The ConfigMap in the namespace of the run that holds them, PEM-encoded.
    pub ca_config_map_ref: KeyRef,
}

/// One key of a Secret or ConfigMap in the namespace of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct KeyRef {
    /// Name of the object.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 253)))]
    pub name: String,
    /// Key in its data.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 253), regex(pattern = r"^[-._a-zA-Z0-9]+$")))]
    pub key: String,
}

/// How to find out that the server is ready to be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Readiness {
    /// Generate: a real generation of one token must succeed, because a server lists its models before it can answer.
    /// Models: `/v1/models` must answer.
    #[serde(default)]
    pub probe: ReadinessProbe,
    /// How long to wait for it, in seconds.
    #[serde(default = "defaults::readiness_timeout")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 86400)))]
    pub timeout_seconds: u32,
}

impl Default for Readiness {
    fn default() -> Self {
        Readiness { probe: ReadinessProbe::default(), timeout_seconds: defaults::readiness_timeout() }
    }
}

/// What counts as ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum ReadinessProbe {
    /// A generation of one token succeeds.
    #[default]
    Generate,
    /// `/v1/models` answers.
    Models,
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

    /// Values for the variables of the template.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 64, "additionalProperties" = bounded_text(1024))))]
    pub variables: BTreeMap<String, String>,

    /// Values to set in the rendered profile, by dotted path, such as `load.stages.0.rate`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 64, "additionalProperties" = bounded_text(1024))))]
    pub overrides: BTreeMap<String, String>,
}

/// The pod that issues the load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Launcher {
    /// The image. Empty: the operator's own setting.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(length(max = 512)))]
    pub image: String,

    /// CPU and memory. Absent: the operator's own setting. A CPU limit distorts what is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,

    /// Which nodes it may run on.
    #[serde(default)]
    pub scheduling: Scheduling,

    /// Labels of the pod, beside those of Benchwright.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 32, "additionalProperties" = bounded_text(63))))]
    #[cfg_attr(
        feature = "kube",
        x_kube(validation = Rule::new("!self.exists(key, key.startsWith('benchwright.dev/') || key.startsWith('app.kubernetes.io/') || key.startsWith('batch.kubernetes.io/'))")
            .message("labels under benchwright.dev/, app.kubernetes.io/ and batch.kubernetes.io/ are set by the operator; choose another prefix"))
    )]
    pub labels: BTreeMap<String, String>,

    /// Annotations of the pod.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 32, "additionalProperties" = bounded_text(1024))))]
    pub annotations: BTreeMap<String, String>,
}

/// CPU and memory, as Kubernetes quantities.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Resources {
    /// What the scheduler sets aside.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 16, "additionalProperties" = bounded_text(32))))]
    pub requests: BTreeMap<String, String>,
    /// What the pod may not exceed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 16, "additionalProperties" = bounded_text(32))))]
    pub limits: BTreeMap<String, String>,
}

/// Which nodes the launcher may run on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Scheduling {
    /// Labels that the node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 32, "additionalProperties" = bounded_text(63))))]
    pub node_selector: BTreeMap<String, String>,
    /// Taints that it tolerates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub tolerations: Vec<Toleration>,
    /// Its PriorityClass.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(length(max = 253)))]
    pub priority_class_name: String,
}

/// A taint that the launcher tolerates; the fields mean what they mean in a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Toleration {
    /// Key of the taint; absent with operator Exists: every taint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(length(max = 253)))]
    pub key: Option<String>,
    /// Equal or Exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(regex(pattern = "^(Equal|Exists)$"), length(max = 8)))]
    pub operator: Option<String>,
    /// Value of the taint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(length(max = 63)))]
    pub value: Option<String>,
    /// NoSchedule, PreferNoSchedule or NoExecute; absent: every effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "kube",
        schemars(regex(pattern = "^(NoSchedule|PreferNoSchedule|NoExecute)$"), length(max = 16))
    )]
    pub effect: Option<String>,
    /// How long a NoExecute taint is tolerated, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(range(max = 2_147_483_647)))]
    pub toleration_seconds: Option<i64>,
}

/// Where the results folder is kept. Neither pvc nor none: pvc with its defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
#[cfg_attr(
    feature = "kube",
    x_kube(validation = Rule::new("!(has(self.pvc) && has(self.none))").message("set at most one of pvc and none"))
)]
pub struct Storage {
    /// A PersistentVolumeClaim, created when it is missing and kept when the run is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pvc: Option<Pvc>,
    /// Keep no results folder: the headline figures in the status are all that stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub none: Option<NoStorage>,
    /// False: figures count although the results folder could not be written.
    #[serde(default = "defaults::yes")]
    pub required: bool,
    /// Full: a row for every request in requests.parquet, without prompts and outputs. Off: none.
    #[serde(default)]
    pub per_request_records: PerRequestRecords,
}

impl Default for Storage {
    fn default() -> Self {
        Storage { pvc: None, none: None, required: true, per_request_records: PerRequestRecords::default() }
    }
}

/// A PersistentVolumeClaim in the namespace of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Pvc {
    /// Its name.
    #[serde(default = "defaults::claim_name")]
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$"))
    )]
    pub claim_name: String,
    /// The size to ask for when it is created, as a Kubernetes quantity.
    #[serde(default = "defaults::claim_size")]
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 32), regex(pattern = r"^[0-9]+(\.[0-9]+)?(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P)?$"))
    )]
    pub size: String,
    /// The StorageClass when it is created. Empty: the cluster's default.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(length(max = 253)))]
    pub storage_class_name: String,
}

impl Default for Pvc {
    fn default() -> Self {
        Pvc { claim_name: defaults::claim_name(), size: defaults::claim_size(), storage_class_name: String::new() }
    }
}

/// Keep no results folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct NoStorage {}

/// Whether every request leaves a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum PerRequestRecords {
    /// No rows.
    Off,
    /// A row per request.
    #[default]
    Full,
}

/// Bounds past which the figures do not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Validity {
    /// Fewer requests that succeeded: Invalid.
    #[serde(default = "defaults::min_successful_requests")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 1_000_000_000)))]
    pub min_successful_requests: u64,
    /// A larger share of failed requests: Invalid. A number from 0 to 1, as text.
    #[serde(default = "defaults::max_error_ratio")]
    #[cfg_attr(feature = "kube", schemars(length(max = 12), regex(pattern = r"^(0(\.[0-9]{1,9})?|1(\.0{1,9})?)$")))]
    pub max_error_ratio: String,
    /// Requests that leave later than this after their scheduled time, at the 99th percentile of the run or of a stage:
    /// Invalid, because the launcher did not offer the load that was asked. Milliseconds.
    #[serde(default = "defaults::max_send_lag")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 60_000)))]
    pub max_send_lag_p99_milliseconds: u32,
    /// Bytes that may have lain for longer than this before the launcher read them, at the 99th percentile of the run or
    /// of a stage: Invalid, because times are those of the launcher and not of the server. Milliseconds.
    #[serde(default = "defaults::max_receive_delay")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 60_000)))]
    pub max_receive_delay_p99_milliseconds: u32,
    /// A load thread that used, or waited for, a CPU for a larger share of a stage: Invalid, because the launcher was the
    /// limit. A number from 0 to 1, as text; 1 allows it.
    #[serde(default = "defaults::max_cpu_share")]
    #[cfg_attr(feature = "kube", schemars(length(max = 12), regex(pattern = r"^(0(\.[0-9]{1,9})?|1(\.0{1,9})?)$")))]
    pub max_cpu_share: String,
    /// A larger share of periods in which the launcher had used up its CPU limit: Invalid. A number from 0 to 1, as text.
    #[serde(default = "defaults::max_throttled_share")]
    #[cfg_attr(feature = "kube", schemars(length(max = 12), regex(pattern = r"^(0(\.[0-9]{1,9})?|1(\.0{1,9})?)$")))]
    pub max_throttled_share: String,
    /// A larger share of the machine's CPU time that its hypervisor gave to others: Invalid. A number from 0 to 1, as text.
    #[serde(default = "defaults::max_steal_share")]
    #[cfg_attr(feature = "kube", schemars(length(max = 12), regex(pattern = r"^(0(\.[0-9]{1,9})?|1(\.0{1,9})?)$")))]
    pub max_steal_share: String,
    /// A larger share of reads that held several tokens and came late: Invalid, because gaps between tokens are lost. A
    /// number from 0 to 1, as text.
    #[serde(default = "defaults::max_coalesced_read_share")]
    #[cfg_attr(feature = "kube", schemars(length(max = 12), regex(pattern = r"^(0(\.[0-9]{1,9})?|1(\.0{1,9})?)$")))]
    pub max_coalesced_read_share: String,
    /// A larger share of time in which the launcher could not run for 5 ms or more: Invalid. A number from 0 to 1, as text.
    #[serde(default = "defaults::max_stalled_share")]
    #[cfg_attr(feature = "kube", schemars(length(max = 12), regex(pattern = r"^(0(\.[0-9]{1,9})?|1(\.0{1,9})?)$")))]
    pub max_stalled_share: String,
    /// A larger step of the clock, or a longer sleep of the machine: Invalid, because time passed that was not counted.
    /// Milliseconds.
    #[serde(default = "defaults::max_clock_step")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 86_400_000)))]
    pub max_clock_step_milliseconds: u32,
}

impl Default for Validity {
    fn default() -> Self {
        Validity {
            min_successful_requests: defaults::min_successful_requests(),
            max_error_ratio: defaults::max_error_ratio(),
            max_send_lag_p99_milliseconds: defaults::max_send_lag(),
            max_receive_delay_p99_milliseconds: defaults::max_receive_delay(),
            max_cpu_share: defaults::max_cpu_share(),
            max_throttled_share: defaults::max_throttled_share(),
            max_steal_share: defaults::max_steal_share(),
            max_coalesced_read_share: defaults::max_coalesced_read_share(),
            max_stalled_share: defaults::max_stalled_share(),
            max_clock_step_milliseconds: defaults::max_clock_step(),
        }
    }
}

/// Retries, deadlines and the time to drain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Policy {
    /// When an attempt that failed is made again.
    #[serde(default)]
    pub retry: Retry,
    /// How long each part of an attempt may take.
    #[serde(default)]
    pub deadlines: Deadlines,
    /// How long the launcher has to drain and to write its report after it was asked to stop, in seconds.
    #[serde(default = "defaults::grace_period")]
    #[cfg_attr(feature = "kube", schemars(range(min = 5, max = 3600)))]
    pub grace_period_seconds: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            retry: Retry::default(),
            deadlines: Deadlines::default(),
            grace_period_seconds: defaults::grace_period(),
        }
    }
}

/// When an attempt that failed is made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Retry {
    /// How many times at most; a status remembers five attempts.
    #[serde(default = "defaults::retry_limit")]
    #[cfg_attr(feature = "kube", schemars(range(max = 4)))]
    pub limit: u32,
    /// After which failures.
    #[serde(default = "defaults::retry_on")]
    #[cfg_attr(feature = "kube", schemars(length(max = 3)))]
    pub on: Vec<RetryCause>,
}

impl Default for Retry {
    fn default() -> Self {
        Retry { limit: defaults::retry_limit(), on: defaults::retry_on() }
    }
}

/// A failure that another attempt may get past.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum RetryCause {
    /// The pod was evicted, preempted or lost with its node.
    Disrupted,
    /// The target did not become ready in time.
    TargetUnavailable,
    /// The launcher did not start measuring in time.
    StartTimeout,
}

/// How long each part of an attempt may take, in seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Deadlines {
    /// Until ConfigMap and volume exist.
    #[serde(default = "defaults::prepare_seconds")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 86400)))]
    pub prepare_seconds: u32,
    /// From the creation of the Job until the launcher measures: scheduling, volume, image, readiness of the target.
    #[serde(default = "defaults::start_seconds")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 86400)))]
    pub start_seconds: u32,
    /// From there until the launcher ends.
    #[serde(default = "defaults::run_seconds")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 604_800)))]
    pub run_seconds: u32,
    /// From there until the result is read.
    #[serde(default = "defaults::collect_seconds")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 86400)))]
    pub collect_seconds: u32,
}

impl Default for Deadlines {
    fn default() -> Self {
        Deadlines {
            prepare_seconds: defaults::prepare_seconds(),
            start_seconds: defaults::start_seconds(),
            run_seconds: defaults::run_seconds(),
            collect_seconds: defaults::collect_seconds(),
        }
    }
}

/// Whether and how a run is to be ended early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Cancel {
    /// Let it run.
    #[default]
    None,
    /// Stop issuing, drain, keep the partial result.
    Graceful,
    /// End the pod at once.
    Immediate,
}

/// When a finished run is deleted, in seconds after it finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct TtlSecondsAfterFinished {
    /// After a success.
    #[serde(default = "defaults::ttl_succeeded")]
    #[cfg_attr(feature = "kube", schemars(range(max = 2_147_483_647)))]
    pub succeeded: u32,
    /// After a failure or a cancel.
    #[serde(default = "defaults::ttl_failed")]
    #[cfg_attr(feature = "kube", schemars(range(max = 2_147_483_647)))]
    pub failed: u32,
}

/// A text of at most so many characters; the API server needs bounds to estimate what a rule costs.
#[cfg(feature = "kube")]
fn bounded_text(max: u32) -> serde_json::Value {
    serde_json::json!({"type": "string", "maxLength": max})
}

/// What a field is when the user left it out. llm-d-benchmark's own value wherever it has one.
mod defaults {
    use super::RetryCause;

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
    pub(super) fn max_error_ratio() -> String {
        "0.01".into()
    }
    pub(super) fn max_send_lag() -> u32 {
        10
    }
    /// As much as the send lag: TTFT errs by both.
    pub(super) fn max_receive_delay() -> u32 {
        10
    }
    /// Past it requests and tokens queue for the thread for several times as long as one of them takes.
    pub(super) fn max_cpu_share() -> String {
        "0.9".into()
    }
    /// Past a twentieth, p95 is the launcher's and not the server's; the same for reads and stalls.
    pub(super) fn max_throttled_share() -> String {
        "0.05".into()
    }
    /// Of all CPUs, and so not all of it is the launcher's loss.
    pub(super) fn max_steal_share() -> String {
        "0.1".into()
    }
    pub(super) fn max_coalesced_read_share() -> String {
        "0.05".into()
    }
    pub(super) fn max_stalled_share() -> String {
        "0.05".into()
    }
    /// Figures count on a clock that no step moves: only a step as large as a machine makes that was paused tells something.
    pub(super) fn max_clock_step() -> u32 {
        1_000
    }
    pub(super) fn retry_limit() -> u32 {
        1
    }
    pub(super) fn retry_on() -> Vec<RetryCause> {
        vec![RetryCause::Disrupted, RetryCause::TargetUnavailable, RetryCause::StartTimeout]
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
    pub(super) fn ttl_succeeded() -> u32 {
        604_800
    }
    pub(super) fn ttl_failed() -> u32 {
        2_592_000
    }
}
