//! [I/O] The launcher's input: the resolved run and the rendered profile.

use std::{sync::Arc, time::Instant};

use crds::{
    BenchmarkRun, EffectiveSpec, Reason, ResolvedRun, ServerStatus, Settings, any_value,
    benchmark_run::{KeyRef, is_object_name},
    resolve::{Endpoint, FieldError, InferenceStack, ProfileSource, effective, managed_server, resolve},
};
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::{Api, Client, ResourceExt as _, api::ListParams};
use workload_profiles::{ProfileError, Workload, errors_beside_others};

use super::{
    baseline::{self, Earlier},
    kept::Kept,
    reader::{Reader, Request},
    target::gateway::{self, Asked},
};
use crate::{
    context::Context,
    error::Error,
    metrics::Metrics,
    plan::{
        InputError, LauncherInput, What, meta,
        policy::{self, Limits, UNKNOWN_TARGET, Violation},
        status,
    },
};

/// Number of Services per page of a list request.
const SERVICES_PAGE: u32 = 500;
/// Maximum number of Services to compare with the launcher's labels. It is bounded because a reconciliation has a time limit.
const MAX_SERVICES: usize = 10_000;

/// The reason why there is no input.
enum Failure {
    /// The reconciliation failed, and the next reconciliation tries again.
    Turn(Error),
    /// A read failed. The reader has recorded it, and a later reconciliation tries again.
    Unread,
    /// The spec, the profile or a ConfigMap that the spec names is invalid.
    Input(InputError),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Turn(error)
    }
}

impl From<ProfileError> for Failure {
    /// Converts an error that concerns only the spec.
    fn from(error: ProfileError) -> Self {
        input_error(Reason::ProfileInvalid, error.to_string())
    }
}

/// The error for a profile that cannot be run. More people may read the status than the profile's ConfigMap, so for a ConfigMap the message contains
/// only paths and positions, and none of its text.
fn unusable_text(source: &ProfileSource, error: &ProfileError) -> Failure {
    let message = match source {
        ProfileSource::ConfigMap(KeyRef { name, key }) => format!(
            "spec.profile.configMapRef: the profile under {key:?} of ConfigMap {name:?} has {}, whose texts this status does not show, because others may read it; to see them, save the value of the key to FILE, and run `benchwright plan --simulator --profile FILE`",
            error.places()
        ),
        ProfileSource::Inline(_) | ProfileSource::Shipped(_) => error.to_string(),
    };
    input_error(Reason::ProfileInvalid, message)
}

fn input_error(reason: Reason, message: String) -> Failure {
    Failure::Input(InputError { reason, message })
}

/// The objects in the run's namespace, besides the run itself, from which the input is read.
pub(super) struct Sources {
    /// Records how long profiles take to render.
    pub(super) metrics: Arc<Metrics>,
    /// Client for Gateways and their related objects.
    pub(super) client: Client,
    /// ConfigMaps with profiles and their files.
    pub(super) config_maps: Api<ConfigMap>,
    /// Earlier runs, for baselines.
    pub(super) runs: Api<BenchmarkRun>,
    /// Services. No Service may select a launcher's pod.
    pub(super) services: Api<Service>,
}

impl Sources {
    pub(super) fn new(context: &Context, run: &BenchmarkRun) -> Self {
        let (client, namespace) = (&context.client, run.namespace().unwrap_or_default());
        Sources {
            metrics: Arc::clone(&context.metrics),
            client: client.clone(),
            config_maps: Api::namespaced(client.clone(), &namespace),
            runs: Api::namespaced(client.clone(), &namespace),
            services: Api::namespaced(client.clone(), &namespace),
        }
    }
}

/// Returns the launcher's input. If the attempt has a ConfigMap, the input is read from it. Otherwise the spec is resolved, and the profile is copied
/// from the previous attempt or rendered. `None` if something could not be read.
pub(super) async fn launcher_input(
    sources: &Sources,
    kept: Kept,
    run: &BenchmarkRun,
    attempt: u32,
    settings: &Settings,
    limits: &Limits,
    reader: &mut Reader,
) -> Result<Option<Result<LauncherInput, InputError>>, Error> {
    match prepare(sources, &kept, run, attempt, settings, limits, reader).await {
        Ok(input) => Ok(Some(Ok(input))),
        Err(Failure::Input(error)) => Ok(Some(Err(error))),
        Err(Failure::Unread) => Ok(None),
        Err(Failure::Turn(error)) => Err(error),
    }
}

fn prepare<'a>(
    sources: &'a Sources,
    kept: &'a Kept,
    run: &'a BenchmarkRun,
    attempt: u32,
    settings: &'a Settings,
    limits: &'a Limits,
    reader: &'a mut Reader,
) -> BoxFuture<'a, Result<LauncherInput, Failure>> {
    Box::pin(async move {
        let Sources { config_maps, services, metrics, .. } = sources;
        check_servers(run, settings)?;
        let resolved_before = kept.resolved(attempt);
        // An attempt keeps the input with which it began.
        let is_new = resolved_before.is_none();
        let (resolved, missing) = match resolved_before {
            Some(resolved) => (resolved, None),
            None => resolve_run(sources, kept, run, attempt, settings, reader).await?,
        };
        let (mut input, workload) = match kept.profile() {
            Some(profile) => {
                find_files(config_maps, run, reader).await?;
                let (workload, _) = workload_profiles::parse(&resolved, &profile)?;
                (LauncherInput::new(resolved, profile), workload)
            }
            None => {
                let template = template(config_maps, run, reader).await?;
                find_files(config_maps, run, reader).await?;
                let began = Instant::now();
                let rendered = render(run, resolved, template).await;
                metrics.rendered(began.elapsed());
                rendered?
            }
        };
        let effective = EffectiveSpec::new(&run.spec, run.metadata.uid.as_deref().unwrap_or_default(), settings);
        let mut violations =
            policy::check(limits, &settings.launcher_image, &run.spec, &effective, &input.run, Some(&workload));
        if limits.target_hosts.is_some() {
            let namespace = run.namespace().unwrap_or_default();
            for name in policy::called_services(&run.spec, &input.run, &workload, &namespace) {
                let found = reader.read(What::Input, Request::get("services", &name), services.get_opt(&name)).await?;
                violations.extend(found.ok_or(Failure::Unread)?.and_then(|it| policy::alias(&name, &it)));
            }
        }
        if !run.spec.launcher.labels.is_empty() {
            let mut labels = run.spec.launcher.labels.clone();
            labels.extend(meta::labels(run, attempt));
            let services = all_services(services, reader).await?;
            violations.extend(policy::joined_services(&run.spec.launcher.labels, &labels, &services));
        }
        if !violations.is_empty() {
            return Err(input_error(Reason::PolicyDenied, Violation::message(&violations)));
        }
        if let Some(missing) = missing {
            // Errors in the run are reported before missing objects, so that nobody waits for a server in vain.
            return Err(Failure::Input(missing));
        }
        if let Some(refusal) = input.run.server.as_deref().and_then(|it| workload.sleep_refusal(&it.server)) {
            return Err(input_error(Reason::ProfileInvalid, refusal));
        }
        if is_new && let Some(about) = input.run.server.as_deref_mut() {
            about.sleep_mode = !workload.measured_sleep_levels(&about.server).is_empty();
        }
        input.run.finished_attempts = status::finished_attempts(run);
        input.remote_files = !policy::remote_files(&workload).is_empty();
        Ok(input)
    })
}

/// Refuses a managed server if the operator has no right to start servers. Otherwise the run would wait forever.
fn check_servers(run: &BenchmarkRun, settings: &Settings) -> Result<(), Failure> {
    if managed_server(&run.spec).is_none() || settings.managed_servers {
        return Ok(());
    }
    let message = "spec.target.server: this installation starts no servers; ask its administrators for managedServers.enabled of the \
                   chart, or start the server yourself, and set target.url or target.serviceRef";
    Err(input_error(Reason::PolicyDenied, message.to_owned()))
}

async fn all_services(services: &Api<Service>, reader: &mut Reader) -> Result<Vec<Service>, Failure> {
    let mut all = Vec::new();
    let mut page = ListParams::default().limit(SERVICES_PAGE);
    loop {
        let request = Request { verb: "list", resource: "services", name: String::new() };
        let found = reader.read(What::Input, request, services.list(&page)).await?.ok_or(Failure::Unread)?;
        all.extend(found.items);
        match found.metadata.continue_.filter(|it| !it.is_empty() && all.len() < MAX_SERVICES) {
            Some(next) => page = page.continue_token(&next),
            None => return Ok(all),
        }
    }
}

/// Resolves the spec, the URL of its Gateway and the report of its baseline. If llm-d is not ready, the second value names what is missing, and the
/// URL is [`UNKNOWN_TARGET`].
async fn resolve_run(
    Sources { client, runs, .. }: &Sources,
    kept: &Kept,
    run: &BenchmarkRun,
    attempt: u32,
    settings: &Settings,
    reader: &mut Reader,
) -> Result<(ResolvedRun, Option<InputError>), Failure> {
    let mut resolved = match resolve(meta::identity(run, attempt), &run.spec, settings) {
        Ok(resolved) => resolved,
        Err(errors) => return Err(invalid_spec(run, attempt, settings, errors).await),
    };
    let stack = InferenceStack::new(&meta::identity(run, attempt), &run.spec, settings);
    let of_stack = stack.as_ref().map(Asked::of_stack);
    let mut missing = None;
    if let Some(asked) = run.spec.target.gateway_ref.as_ref().map(Asked::as_target).or(of_stack) {
        let request = Request::get("gateways, routes and pods of", asked.name());
        let found = reader.read(What::Input, request, gateway::find(client, run, &asked)).await?;
        let url = match found.ok_or(Failure::Unread)? {
            Ok(url) => url,
            // llm-d may not be installed yet. The rest of the run is checked before the user installs llm-d.
            Err(error) if asked.is_of_stack() => {
                missing = Some(error);
                UNKNOWN_TARGET.to_owned()
            }
            Err(error) => return Err(Failure::Input(error)),
        };
        resolved.endpoint = Endpoint::Url(url);
    }
    if let Some(server) = &mut resolved.server {
        server.pods = run.status.as_ref().and_then(|it| it.server.as_ref()).map(ServerStatus::pod_times);
    }
    if let Some(baseline) = resolved.slo.as_mut().and_then(|it| it.baseline.as_mut()) {
        let Earlier { report, sha256 } = match kept.baseline() {
            Some(earlier) => earlier,
            None => find_baseline(runs, run, reader).await?,
        };
        (baseline.report, baseline.sha256) = (Some(report), sha256);
    }
    Ok((resolved, missing))
}

/// Returns the error for a spec that cannot be resolved. It also contains the errors of the profile, so that the user can correct all of them
/// together.
async fn invalid_spec(run: &BenchmarkRun, attempt: u32, settings: &Settings, mut errors: Vec<FieldError>) -> Failure {
    let (identity, spec, settings) = (meta::identity(run, attempt), run.spec.clone(), settings.clone());
    // Rendering would block a thread of the async runtime for too long.
    let checking = tokio::task::spawn_blocking(move || errors_beside_others(&identity, &spec, &settings));
    // If the task panicked, only the errors of the profile are missing.
    errors.extend(checking.await.unwrap_or_default());
    let lines: Vec<_> = errors.iter().map(FieldError::to_string).collect();
    input_error(Reason::InvalidSpec, lines.join("\n"))
}

/// The report of the earlier run that `spec.slo.baseline` names.
async fn find_baseline(runs: &Api<BenchmarkRun>, run: &BenchmarkRun, reader: &mut Reader) -> Result<Earlier, Failure> {
    let name = run.spec.slo.baseline.as_ref().map(|it| it.run_ref.clone()).unwrap_or_default();
    let found = reader.read(What::Input, Request::get("benchmarkruns", &name), baseline::find(runs, run)).await?;
    found.ok_or(Failure::Unread)?.map_err(|message| input_error(Reason::InvalidSpec, message))
}

/// The text of the profile, before it is rendered.
async fn template(config_maps: &Api<ConfigMap>, run: &BenchmarkRun, reader: &mut Reader) -> Result<String, Failure> {
    match ProfileSource::from_spec(&run.spec) {
        ProfileSource::Inline(text) => Ok(text),
        ProfileSource::Shipped(name) => {
            Ok(workload_profiles::shipped(effective::harness(&run.spec), &name)?.to_owned())
        }
        ProfileSource::ConfigMap(key) => {
            match value_of(config_maps, "spec.profile.configMapRef", &key, reader).await? {
                Ok(Value::Text(text)) => Ok(text),
                Ok(Value::Binary) => {
                    let message = format!(
                        "spec.profile.configMapRef.key: {:?} of ConfigMap {:?} is binary; put the profile's text under data",
                        key.key, key.name
                    );
                    Err(input_error(Reason::ProfileInvalid, message))
                }
                Err(message) => Err(input_error(Reason::ProfileNotFound, message)),
            }
        }
    }
}

/// Checks that the ConfigMaps of the profile's files exist and contain the keys.
async fn find_files(config_maps: &Api<ConfigMap>, run: &BenchmarkRun, reader: &mut Reader) -> Result<(), Failure> {
    let mut missing = Vec::new();
    for (index, file) in run.spec.profile.files.iter().enumerate() {
        let Some(key) = &file.config_map_ref else { continue };
        let field = format!("spec.profile.files[{index}].configMapRef");
        missing.extend(value_of(config_maps, &field, key, reader).await?.err());
    }
    if missing.is_empty() { Ok(()) } else { Err(input_error(Reason::ProfileNotFound, missing.join("\n"))) }
}

async fn render(
    run: &BenchmarkRun,
    resolved: ResolvedRun,
    template: String,
) -> Result<(LauncherInput, Workload), Failure> {
    let profile = run.spec.profile.clone();
    // Rendering has a time limit, but can still take too long for a thread of the async runtime.
    let source = ProfileSource::from_spec(&run.spec);
    let rendering = tokio::task::spawn_blocking(move || {
        let variables = workload_profiles::variables(&resolved, &profile.variables)?;
        let overrides = any_value::texts(&profile.overrides);
        let prepared = workload_profiles::prepare(&resolved, &template, &variables, &overrides)
            .map_err(|error| unusable_text(&source, &error))?;
        Ok::<_, Failure>((resolved, prepared))
    });
    let (run, prepared) = rendering.await.map_err(|error| Failure::Turn(Error::Render(error)))??;
    Ok((LauncherInput::new(run, prepared.text), prepared.workload))
}

/// A value in a ConfigMap: text or binary.
enum Value {
    Text(String),
    Binary,
}

/// The value under a key of a ConfigMap. The inner error names what is missing.
async fn value_of(
    config_maps: &Api<ConfigMap>,
    field: &str,
    key: &KeyRef,
    reader: &mut Reader,
) -> Result<Result<Value, String>, Failure> {
    let name = &key.name;
    if !is_object_name(name) {
        // The name becomes part of a URL, so it must be valid.
        return Ok(Err(format!("{field}.name: {name:?} is no name of a ConfigMap; use a-z, 0-9, - and .")));
    }
    let request = Request::get("configmaps", name);
    let found = reader.read(What::Input, request, config_maps.get_opt(name)).await?.ok_or(Failure::Unread)?;
    let Some(found) = found else {
        return Ok(Err(format!("{field}.name: there is no ConfigMap {name:?} in this namespace; create it")));
    };
    let (mut texts, binaries) = (found.data.unwrap_or_default(), found.binary_data.unwrap_or_default());
    if let Some(text) = texts.remove(&key.key) {
        return Ok(Ok(Value::Text(text)));
    }
    if binaries.contains_key(&key.key) {
        return Ok(Ok(Value::Binary));
    }
    // The message contains no names of keys, because they can be confidential like the values.
    let keys = match texts.len() + binaries.len() {
        1 => "1 key".to_owned(),
        count => format!("{count} keys"),
    };
    Ok(Err(format!("{field}.key: ConfigMap {name:?} has no key {:?}; it has {keys}, write the name of one", key.key)))
}
