//! Combines a spec, the settings of its environment and the defaults into a [`ResolvedRun`], which the launcher receives as `run.yaml`.
//! Only this module checks fields of the spec; only [`effective`] fills in defaults.

mod beside_errors;
mod collect;
mod credentials;
pub mod effective;
pub mod egress;
mod errors;
mod files;
mod hardware;
mod identity;
mod metrics;
pub mod mounts;
mod pods;
mod profile;
mod profiling;
mod repeat;
mod retention;
mod search;
mod server;
mod service_url;
mod settings;
mod slo;
mod startup;
mod target;
mod upload;
mod url;
mod validity;

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

pub use beside_errors::resolve_profile;
pub use credentials::{REDACTED, is_secret_name, without_credentials};
pub use effective::{EffectiveSpec, Retention, claim, jobs_cleanup, run_cleanup, server_cleanup};
pub use egress::Egress;
use errors::Errors;
pub use errors::FieldError;
pub use hardware::{Hardware, Price};
pub use identity::{RunIdentity, generate_name_problem, repeat_name};
pub use metrics::{METRICS_PATH, MetricsEndpoint};
pub use pods::{NetworkPolicySettings, PodSecurity, Scraper};
pub use profile::ProfileSource;
pub use profiling::ResolvedProfiling;
pub use search::ResolvedSearch;
pub use server::{
    DEV_MODE, InferenceStack, LOG_PORT, LOG_TOKEN, LogAddress, ManagedServer, OWN_PROGRAM, Place, PodTimes,
    ReplicaStart, ServerInPods, ServerNames, ServerReplicas, SleepFault, StackFile, llm_d_server, log_port,
    managed_server, resolve_server, server_image,
};
pub use settings::Settings;
pub use slo::{Bound, ResolvedBaseline, ResolvedObjective, ResolvedSlo, Scope, objective_problem, readable_slo};
pub use target::{Endpoint, unix_socket};
pub use upload::{Upload, results_uri};
pub use url::url_problem;
pub use validity::ValidityBounds;

use crate::{
    benchmark_run::{
        Api, BenchmarkRunSpec, FolderRetention, Harness, HttpVersion, MAX_RESOURCE_NAME, PerRequestRecords,
        RESERVED_LABELS, ReadinessProbe, is_object_name,
    },
    units::{Seed, Span},
    wording::quoted,
};

/// Everything that the launcher needs besides the profile. All defaults are filled in.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedRun {
    /// The name, UID and attempt of the run.
    pub run: RunIdentity,
    /// The target of the load.
    pub endpoint: Endpoint,
    /// The replicas of the server that the operator started. The field is absent if the launcher starts the server, or if there is only one replica.
    pub server_replicas: Option<ServerReplicas>,
    /// The server that the operator started for this run. The field is absent if the run has another target, or does not run in a cluster.
    pub server: Option<Box<ServerInPods>>,
    /// The endpoints with the server's metrics. If absent, the metrics are read at `/metrics` of the target, if it has metrics.
    pub metrics: Option<Vec<MetricsEndpoint>>,
    /// The API to call. If absent, the profile defines the API.
    pub api: Option<Api>,
    /// The version of HTTP for requests to the target.
    pub http_version: HttpVersion,
    /// The model to request. If absent, the profile's model is used, else the model that the server serves.
    pub model: Option<String>,
    /// The file with the bearer token.
    pub token_file: Option<PathBuf>,
    /// The file with additional certificate authorities, PEM-encoded.
    pub ca_file: Option<PathBuf>,
    /// The addresses that the launcher may not connect to. The field is absent outside of a cluster.
    pub egress: Option<Egress>,
    /// The check that decides whether the server is ready.
    pub readiness_probe: ReadinessProbe,
    /// How long to wait until the server is ready.
    pub readiness_timeout: Span,
    /// The accelerators behind the target. The field is absent if the spec does not describe them.
    pub hardware: Option<Hardware>,
    /// The harness that defines the profile's format.
    pub harness: Harness,
    /// The source of the profile as the report shows it: the name of a shipped profile, `inline`, or `configMap/<name>/<key>`.
    pub profile_source: String,
    /// The seed of every random draw of the run.
    pub seed: Seed,
    /// Whether the user chose the seed. If so, every repeat uses it; otherwise each repeat draws its own. True in files of earlier releases.
    #[serde(default = "fixed", skip_serializing_if = "Clone::clone")]
    pub fixed_seed: bool,
    /// The synthetic prompts derive from this text and the seed.
    pub prompt_salt: String,
    /// How many times the load is run, from 1 to 30. Each repeat has its own prompt salt.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub repeat: u32,
    /// Which per-request records are stored.
    pub per_request_records: PerRequestRecords,
    /// Whether a results folder is kept.
    pub store_results: bool,
    /// The bucket to upload the results folder to. The field is absent if there is no bucket.
    pub upload: Option<Upload>,
    /// Which finished results folders are kept besides the folder of this run. If absent, all folders are kept.
    pub retention: Option<FolderRetention>,
    /// Whether a results folder that cannot be written fails the run.
    pub storage_required: bool,
    /// Bounds of a valid measurement.
    pub validity: ValidityBounds,
    /// The objectives of the run. The field is absent if the run has no objectives.
    pub slo: Option<ResolvedSlo>,
    /// The window in which a profiler records the server. The field is absent if there is no such window.
    pub profiling: Option<ResolvedProfiling>,
    /// The search for the highest load that meets the objectives. If absent, the profile's stages are run.
    pub search: Option<ResolvedSearch>,
    /// Earlier attempts whose results folders can be reported again. The operator saw that their Jobs completed, but their results were lost. The
    /// folder alone is not a proof that an attempt completed, because everyone who may create a run can write to a shared claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finished_attempts: Vec<u32>,
    /// The results folder on the claim that is reported instead of sending a load.
    pub collect: Option<String>,
    /// Whether the launcher prepares everything, but waits for a person instead of sending the load.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub debug: bool,
    /// Maximum time for issuing requests and draining together.
    pub run_deadline: Span,
    /// Time for the launcher to drain and to write its report after a stop signal.
    pub grace_period: Span,
}

impl ResolvedRun {
    /// Reads a run from its JSON. Other crates call this function so that the deserialization code for these types is compiled only once.
    ///
    /// # Errors
    /// The text is not JSON, or a field is missing, unknown or of a wrong type.
    pub fn from_json(text: &str) -> Result<ResolvedRun, crate::json::FieldError> {
        crate::json::read(text)
    }
}

fn fixed() -> bool {
    true
}

fn once() -> u32 {
    1
}

fn is_once(repeat: &u32) -> bool {
    *repeat == once()
}

/// The port on which a launcher in a pod answers `/ready` and `/metrics`.
pub const STATUS_PORT: u16 = 8080;

/// Checks a spec and fills in defaults. For a spec with a Gateway (`target.gatewayRef`, `target.server.gatewayRef`) the URL of the endpoint is empty.
///
/// # Errors
/// All invalid fields.
pub fn resolve(
    identity: RunIdentity,
    spec: &BenchmarkRunSpec,
    settings: &Settings,
) -> Result<ResolvedRun, Vec<FieldError>> {
    let effective = EffectiveSpec::new(spec, &identity.uid, settings);
    let mut errors = Errors::default();
    identity::check_name(&identity.name, &mut errors);
    let endpoint = target::endpoint(spec, &identity, settings, &mut errors);
    let server = server::in_pods(&identity, spec, settings);
    let metrics = metrics::endpoints(spec, &identity.namespace, settings, &mut errors);
    let metrics = metrics.or_else(|| server::metrics(&identity, spec, settings));
    let server_replicas = server::replicas(&identity, spec, settings);
    server::check_run(&identity, spec, &mut errors);
    target::check_model(spec, &mut errors);
    target::check_ca(spec, &mut errors);
    let hardware = hardware::hardware(spec.target.hardware.as_ref(), &mut errors);
    profile::check(spec, &mut errors);
    repeat::check(spec, &effective, &mut errors);
    startup::check(spec, &effective, !identity.namespace.is_empty(), &mut errors);
    files::check(spec, &mut errors);
    let retention = retention::retention(spec, &identity.namespace, &mut errors);
    let upload = upload::upload(spec, &effective.storage, &identity.namespace, &mut errors);
    let validity = validity::bounds(&effective.validity, &mut errors);
    let collect = collect::folder(spec, &mut errors);
    let slo = slo::slo(spec, !identity.namespace.is_empty(), &mut errors);
    let profiling = profiling::profiling(spec, &effective, !identity.namespace.is_empty(), &mut errors);
    let search = search::search(spec, &effective, slo.as_ref(), &mut errors);
    check_times(&effective, &mut errors);
    check_resource_names(spec, &mut errors);
    check_labels(spec, &mut errors);
    check_image(spec, &mut errors);
    check_service_account(spec, &mut errors);
    let seconds = |count: u32| Span(Duration::from_secs(u64::from(count)));
    let egress = egress(&identity, spec, settings);
    let prompt_salt = spec.profile.prompt_salt.clone().unwrap_or_else(|| identity.prompt_salt());
    errors.none_or(ResolvedRun {
        run: identity,
        endpoint,
        server_replicas,
        server,
        metrics,
        api: spec.target.api,
        http_version: effective.target.http_version,
        model: target::model(spec),
        token_file: spec.target.auth.as_ref().map(|_| PathBuf::from(mounts::TOKEN_FILE)),
        ca_file: spec.target.tls.as_ref().map(|_| PathBuf::from(mounts::CA_FILE)),
        egress,
        readiness_probe: effective.target.readiness.probe,
        readiness_timeout: seconds(effective.target.readiness.timeout_seconds),
        hardware,
        harness: effective.harness,
        profile_source: effective.profile.source,
        seed: Seed(effective.seed),
        fixed_seed: spec.seed.is_some(),
        prompt_salt,
        repeat: effective.repeat,
        per_request_records: effective.storage.per_request_records,
        store_results: effective.storage.pvc.is_some() || effective.storage.s3.is_some(),
        upload,
        retention,
        storage_required: effective.storage.required,
        validity,
        slo,
        profiling,
        search,
        finished_attempts: Vec::new(),
        collect,
        debug: spec.launcher.debug,
        run_deadline: seconds(effective.execution.deadlines.run_seconds),
        grace_period: seconds(effective.execution.grace_period_seconds),
    })
}

/// The addresses that the installation blocks. The hosts of the server that the operator starts for the run are exempt.
fn egress(run: &RunIdentity, spec: &BenchmarkRunSpec, settings: &Settings) -> Option<Egress> {
    let mut egress = settings.egress.clone()?;
    let own = server::called_host(run, spec, settings);
    // The list contains only exceptions to `blocked`. So hosts can also be added to an empty list: this forbids no other host.
    egress.allowed_hosts.extend(own.into_iter().flatten());
    Some(egress)
}

fn check_times(effective: &EffectiveSpec, errors: &mut Errors) {
    let deadlines = &effective.execution.deadlines;
    for (path, seconds) in [
        ("spec.target.readiness.timeoutSeconds", effective.target.readiness.timeout_seconds),
        ("spec.execution.deadlines.prepareSeconds", deadlines.prepare_seconds),
        ("spec.execution.deadlines.startSeconds", deadlines.start_seconds),
        ("spec.execution.deadlines.runSeconds", deadlines.run_seconds),
        ("spec.execution.deadlines.collectSeconds", deadlines.collect_seconds),
    ] {
        if seconds == 0 {
            errors.add(path, "is 0; give it at least 1");
        }
    }
    let found = effective.execution.grace_period_seconds;
    if found < 5 {
        errors.add(
            "spec.execution.gracePeriodSeconds",
            &format!("is {found}; give it at least 5 seconds, which draining and writing the report take"),
        );
    }
}

/// Limits the length of resource names, because the status repeats them and its size is limited. The check is here because the schema cannot limit
/// the keys of a map whose values are int-or-string.
fn check_resource_names(spec: &BenchmarkRunSpec, errors: &mut Errors) {
    let resources = &spec.launcher.resources;
    let groups = resources.iter().flat_map(|it| [("requests", &it.requests), ("limits", &it.limits)]);
    for (group, names) in groups {
        for name in names.keys().filter(|it| it.len() > MAX_RESOURCE_NAME) {
            let path = format!("spec.launcher.resources.{group}");
            errors.add(&path, &format!("has the name {}; write at most {MAX_RESOURCE_NAME} characters", quoted(name)));
        }
    }
}

/// Refuses images that the API server accepts, but that no container runtime can start.
fn check_image(spec: &BenchmarkRunSpec, errors: &mut Errors) {
    let image = spec.launcher.image.as_deref().unwrap_or_default();
    if image.chars().any(|it| it.is_whitespace() || it.is_control()) {
        let message = format!("is {}; write an image without blanks, such as registry/name:tag", quoted(image));
        errors.add("spec.launcher.image", &message);
    }
}

/// Refuses reserved labels. A rule of the CRD makes the API server refuse the same labels.
fn check_labels(spec: &BenchmarkRunSpec, errors: &mut Errors) {
    for label in spec.launcher.labels.keys() {
        if let Some(prefix) = RESERVED_LABELS.iter().find(|it| label.starts_with(**it)) {
            let label = quoted(label);
            errors.add(
                "spec.launcher.labels",
                &format!("has {label}; labels under {prefix} are set by the operator, choose another prefix"),
            );
        }
    }
}

/// Refuses an invalid service account name. The Job could create no pod with it, and the status could not report why.
fn check_service_account(spec: &BenchmarkRunSpec, errors: &mut Errors) {
    let name = spec.launcher.service_account_name.as_deref().filter(|it| !it.is_empty());
    if let Some(name) = name.filter(|it| !is_object_name(it)) {
        let message = format!("is {}, which is no name of a service account; use a-z, 0-9, - and .", quoted(name));
        errors.add("spec.launcher.serviceAccountName", &message);
    }
}

#[cfg(test)]
mod tests;
