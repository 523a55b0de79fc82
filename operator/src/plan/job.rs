//! The Job of an attempt. Its pod complies with Pod Security `restricted` without user settings, and has no API token.

use std::{collections::BTreeMap, path::Path};

use crds::{
    AnyValue, BenchmarkRun, EffectiveSpec, Settings,
    benchmark_run::{ClaimRef, KeyRef},
    pod::{USER, container_security, pod_security},
    resolve::{LOG_TOKEN, PodSecurity, STATUS_PORT, effective, mounts},
};
use k8s_openapi::{
    api::{
        batch::v1::{Job, JobSpec, PodFailurePolicy, PodFailurePolicyOnPodConditionsPattern, PodFailurePolicyRule},
        core::v1::{
            ConfigMapProjection, ConfigMapVolumeSource, Container, ContainerPort, EmptyDirVolumeSource, EnvVar,
            HTTPGetAction, KeyToPath, LocalObjectReference, PersistentVolumeClaimVolumeSource, PodSpec,
            PodTemplateSpec, Probe, ProjectedVolumeSource, ResourceRequirements, SecretProjection, SecretVolumeSource,
            Volume, VolumeMount, VolumeProjection,
        },
    },
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::ObjectMeta, util::intstr::IntOrString},
};

use super::meta;

/// Name of the launcher's container.
pub const CONTAINER: &str = "launcher";
/// Size limit of /tmp. It has room for one file of at most 4 GiB that a profile downloads, and for the launcher's temporary files. The kubelet evicts
/// a pod that exceeds it.
const TMP_SIZE: &str = "5Gi";
/// Size limit of the folder for results before their upload. It equals the default size of a claim. The kubelet evicts a pod that exceeds it.
const RESULTS_SIZE: &str = "20Gi";
/// Annotations that prevent autoscalers from removing a node while the pod runs. If the pod were evicted, its measurement would be lost.
pub(super) const STAY: [(&str, &str); 2] =
    [("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"), ("karpenter.sh/do-not-disrupt", "true")];
/// Kubernetes ends the Job this long after the last deadline of the launcher, in seconds.
const BACKSTOP_SECONDS: i64 = 300;

/// The Job's `activeDeadlineSeconds`: the time after which Kubernetes ends the Job in any case.
pub fn deadline(effective: &EffectiveSpec) -> i64 {
    let deadlines = [effective.execution.deadlines.start_seconds, effective.launcher_seconds()];
    deadlines.into_iter().map(i64::from).sum::<i64>() + BACKSTOP_SECONDS
}

/// Builds the Job.
pub fn build(run: &BenchmarkRun, attempt: u32, effective: &EffectiveSpec, settings: &Settings) -> Job {
    let deadline = deadline(effective);
    Job {
        metadata: meta::owned(run, attempt, meta::attempt_name(run, attempt)),
        spec: Some(JobSpec {
            completion_mode: Some("Indexed".into()),
            completions: Some(1),
            parallelism: Some(1),
            backoff_limit: Some(0),
            active_deadline_seconds: Some(deadline),
            pod_replacement_policy: Some("Failed".into()),
            pod_failure_policy: Some(PodFailurePolicy {
                rules: vec![PodFailurePolicyRule {
                    action: "FailJob".into(),
                    on_pod_conditions: Some(vec![PodFailurePolicyOnPodConditionsPattern {
                        type_: "DisruptionTarget".into(),
                        status: "True".into(),
                    }]),
                    ..PodFailurePolicyRule::default()
                }],
            }),
            template: template(run, attempt, effective, settings, deadline),
            ..JobSpec::default()
        }),
        ..Job::default()
    }
}

/// The labels of the launcher's pod, except the target label.
pub fn pod_labels(run: &BenchmarkRun, attempt: u32) -> BTreeMap<String, String> {
    let mut labels = run.spec.launcher.labels.clone();
    labels.extend(meta::labels(run, attempt));
    labels
}

fn template(
    run: &BenchmarkRun,
    attempt: u32,
    effective: &EffectiveSpec,
    settings: &Settings,
    deadline: i64,
) -> PodTemplateSpec {
    let launcher = &run.spec.launcher;
    let labels = pod_labels(run, attempt);
    let mut annotations = launcher.annotations.clone();
    annotations.extend(STAY.map(|(key, value)| (key.to_owned(), value.to_owned())));
    let (volumes, mounts) = volumes(run, attempt, effective).into_iter().unzip();
    let scheduling = &launcher.scheduling;
    let user = (settings.pod_security == PodSecurity::Restricted).then_some(USER);
    PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: Some(labels), annotations: Some(annotations), ..ObjectMeta::default() }),
        spec: Some(PodSpec {
            // The pod has its own deadline. With it the kubelet ends the pod even if its Job is gone, or if an injected container keeps it running.
            active_deadline_seconds: Some(deadline),
            automount_service_account_token: Some(false),
            containers: vec![container(&effective.launcher, mounts)],
            enable_service_links: Some(false),
            image_pull_secrets: Some(settings.launcher_pull_secrets.iter().map(|it| pull_secret(it)).collect()),
            node_selector: Some(scheduling.node_selector.clone()).filter(|it| !it.is_empty()),
            priority_class_name: scheduling.priority_class_name.clone().filter(|it| !it.is_empty()),
            restart_policy: Some("Never".into()),
            runtime_class_name: scheduling.runtime_class_name.clone().filter(|it| !it.is_empty()),
            scheduler_name: scheduling.scheduler_name.clone().filter(|it| !it.is_empty()),
            security_context: Some(pod_security([user; 3])),
            // The account is used for pull secrets and for rights that the cluster grants through it. Its token is not mounted in the pod.
            service_account_name: launcher.service_account_name.clone().filter(|it| !it.is_empty()),
            termination_grace_period_seconds: Some(i64::from(effective.execution.grace_period_seconds)),
            tolerations: Some(scheduling.tolerations.iter().map(Into::into).collect()),
            volumes: Some(volumes),
            ..PodSpec::default()
        }),
    }
}

/// Passes the bearer token for the log of the server to the launcher.
pub fn add_log_token(job: &mut Job, token: &str) {
    let pod = job.spec.as_mut().and_then(|it| it.template.spec.as_mut());
    for container in pod.into_iter().flat_map(|it| &mut it.containers) {
        container.env.get_or_insert_default().push(log_token_variable(token));
    }
}

/// The environment variable with the bearer token for the log of a server.
pub fn log_token_variable(token: &str) -> EnvVar {
    EnvVar { name: LOG_TOKEN.into(), value: Some(token.to_owned()), value_from: None }
}

fn container(launcher: &effective::Launcher, volume_mounts: Vec<VolumeMount>) -> Container {
    let resources = &launcher.resources;
    Container {
        name: CONTAINER.into(),
        image: Some(launcher.image.clone()),
        image_pull_policy: Some(launcher.image_pull_policy.clone()),
        args: Some(vec!["run".into()]),
        ports: Some(vec![ContainerPort {
            container_port: STATUS_PORT.into(),
            name: Some("status".into()),
            ..ContainerPort::default()
        }]),
        readiness_probe: Some(Probe {
            http_get: Some(HTTPGetAction {
                path: Some("/ready".into()),
                port: IntOrString::Int(STATUS_PORT.into()),
                ..HTTPGetAction::default()
            }),
            // The launcher needs a moment until it listens. An earlier probe would fail, and cause a Warning event in every run.
            initial_delay_seconds: Some(1),
            period_seconds: Some(1),
            failure_threshold: Some(3),
            ..Probe::default()
        }),
        resources: Some(ResourceRequirements {
            requests: quantities(&resources.requests),
            limits: quantities(&resources.limits),
            ..ResourceRequirements::default()
        }),
        security_context: Some(container_security()),
        termination_message_policy: Some("FallbackToLogsOnError".into()),
        volume_mounts: Some(volume_mounts),
        // Relative paths in a profile refer to the folder of the profile.
        working_dir: Some(mounts::INPUT.into()),
        ..Container::default()
    }
}

fn volumes(run: &BenchmarkRun, attempt: u32, effective: &EffectiveSpec) -> Vec<(Volume, VolumeMount)> {
    let mount = |name: &str, path: &str, read_only: bool| VolumeMount {
        name: name.into(),
        mount_path: path.into(),
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    };
    let mut all = vec![(
        Volume {
            name: "input".into(),
            projected: Some(ProjectedVolumeSource { sources: Some(input(run, attempt)), ..Default::default() }),
            ..Volume::default()
        },
        mount("input", mounts::INPUT, true),
    )];
    all.push((
        Volume {
            name: "tmp".into(),
            empty_dir: Some(EmptyDirVolumeSource { size_limit: Some(Quantity(TMP_SIZE.into())), medium: None }),
            ..Volume::default()
        },
        mount("tmp", "/tmp", false),
    ));
    if let Some(pvc) = &effective.storage.pvc {
        let source = PersistentVolumeClaimVolumeSource { claim_name: pvc.claim_name.clone(), read_only: None };
        all.push((
            Volume { name: "results".into(), persistent_volume_claim: Some(source), ..Volume::default() },
            mount("results", mounts::RESULTS, false),
        ));
    }
    if let Some(s3) = run.spec.storage.s3.as_ref().filter(|_| effective.storage.s3.is_some()) {
        let empty = EmptyDirVolumeSource { size_limit: Some(Quantity(RESULTS_SIZE.into())), medium: None };
        all.push((
            Volume { name: "results".into(), empty_dir: Some(empty), ..Volume::default() },
            mount("results", mounts::RESULTS, false),
        ));
        let sources = [(&["accessKeyId", "secretAccessKey"][..], false), (&["sessionToken"][..], true)];
        let sources = sources.map(|(keys, optional)| secret_part(&s3.secret_ref.name, keys, optional));
        let credentials = ProjectedVolumeSource {
            sources: Some(sources.into()),
            // The file belongs to root, so the launcher needs access through the file's group. That is the fsGroup, which on OpenShift the cluster
            // sets.
            default_mode: Some(0o440),
        };
        all.push((
            Volume { name: "s3".into(), projected: Some(credentials), ..Volume::default() },
            mount("s3", mounts::S3, true),
        ));
    }
    let claims = run.spec.profile.files.iter().filter_map(|it| it.claim.as_ref());
    for (index, ClaimRef { claim_name }) in claims.enumerate() {
        // The volume itself is read-only, and not only the mount. Otherwise the kubelet would change the group of all files in it.
        let source = PersistentVolumeClaimVolumeSource { claim_name: claim_name.clone(), read_only: Some(true) };
        let name = format!("data-{index}");
        let mounted = mount(&name, &format!("{}/{claim_name}", mounts::DATA), true);
        all.push((Volume { name, persistent_volume_claim: Some(source), ..Volume::default() }, mounted));
    }
    if let Some(auth) = &run.spec.target.auth {
        let source = secret_volume(&auth.secret_key_ref, mounts::TOKEN_FILE);
        all.push((
            Volume { name: "auth".into(), secret: Some(source), ..Volume::default() },
            mount("auth", folder(mounts::TOKEN_FILE), true),
        ));
    }
    if let Some(tls) = &run.spec.target.tls {
        let config_map = tls.ca.config_map_ref.as_ref().map(|key| ConfigMapVolumeSource {
            name: key.name.clone(),
            items: Some(vec![item(key, mounts::CA_FILE)]),
            ..ConfigMapVolumeSource::default()
        });
        let secret = tls.ca.secret_key_ref.as_ref().map(|key| secret_volume(key, mounts::CA_FILE));
        all.push((
            Volume { name: "tls".into(), config_map, secret, ..Volume::default() },
            mount("tls", folder(mounts::CA_FILE), true),
        ));
    }
    all
}

/// The sources of the input folder: the attempt's ConfigMap, and the profile's files from ConfigMaps.
fn input(run: &BenchmarkRun, attempt: u32) -> Vec<VolumeProjection> {
    let part = |name: String, items: Option<Vec<KeyToPath>>| VolumeProjection {
        config_map: Some(ConfigMapProjection { name, items, ..ConfigMapProjection::default() }),
        ..VolumeProjection::default()
    };
    let mut parts = vec![part(meta::attempt_name(run, attempt), None)];
    for key in run.spec.profile.files.iter().filter_map(|it| it.config_map_ref.as_ref()) {
        parts.push(part(key.name.clone(), Some(vec![item(key, &key.key)])));
    }
    parts
}

/// Projects these keys of a Secret to files with the same names. `optional` states whether the keys might be missing.
fn secret_part(name: &str, keys: &[&str], optional: bool) -> VolumeProjection {
    let items = keys.iter().map(|it| KeyToPath { key: (*it).into(), path: (*it).into(), mode: None });
    VolumeProjection {
        secret: Some(SecretProjection {
            name: name.into(),
            items: Some(items.collect()),
            optional: optional.then_some(true),
        }),
        ..VolumeProjection::default()
    }
}

fn secret_volume(key: &KeyRef, file: &str) -> SecretVolumeSource {
    SecretVolumeSource {
        secret_name: Some(key.name.clone()),
        items: Some(vec![item(key, file)]),
        // The file belongs to root, so the launcher needs access through the file's group. That is the fsGroup, which on OpenShift the cluster sets.
        default_mode: Some(0o440),
        ..SecretVolumeSource::default()
    }
}

fn folder(file: &'static str) -> &'static str {
    Path::new(file).parent().and_then(Path::to_str).expect("the mounted files are constants in folders")
}

fn item(key: &KeyRef, file: &str) -> KeyToPath {
    let name = file.rsplit_once('/').map_or(file, |(_, name)| name);
    KeyToPath { key: key.key.clone(), path: name.into(), mode: None }
}

pub(super) fn quantities(amounts: &BTreeMap<String, AnyValue>) -> Option<BTreeMap<String, Quantity>> {
    let all = amounts.iter().map(|(name, amount)| (name.clone(), Quantity(amount.text())));
    (!amounts.is_empty()).then(|| all.collect())
}

pub(super) fn pull_secret(name: &str) -> LocalObjectReference {
    LocalObjectReference { name: name.to_owned() }
}
