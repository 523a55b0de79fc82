//! The pod that reads a claim. It complies with Pod Security `restricted`, has no API token, and mounts the claim read-only. It has none of the
//! operator's labels, so the operator ignores it.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    time::Duration,
};

use crds::{
    BenchmarkRun,
    pod::{USER, container_security, pod_security},
};
use k8s_openapi::{
    api::core::v1::{
        Affinity, Container, LocalObjectReference, NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm,
        PersistentVolumeClaimVolumeSource, Pod, PodSecurityContext, PodSpec, PreferredSchedulingTerm,
        ResourceRequirements, Volume, VolumeMount,
    },
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{ObjectMeta, OwnerReference},
    },
};
use kube::Resource as _;

use super::source::Source;

/// The name of the container.
pub(super) const CONTAINER: &str = "archive";
/// The path at which the results folder is mounted.
pub(super) const MOUNT: &str = "/results";
/// The path of the program in the launcher's image.
pub(super) const PROGRAM: &str = "/benchwright";
/// The creator of the pod, in the label `app.kubernetes.io/managed-by`. It differs from the operator's name, so the operator does not watch the pod.
const MANAGER: &str = "kubectl-benchwright";
/// Kubernetes ends the pod this long after the time limit of its command, even if the plugin was killed.
const MARGIN: Duration = Duration::from_secs(60);
/// Maximum number of characters in the run's name in the pod's name, which can have at most 63 characters.
const MAX_RUN: usize = 40;

/// Values of the launcher's Job that the status does not contain.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FromJob {
    pub(super) pull_secrets: Vec<LocalObjectReference>,
    /// The security context of the launcher's pod. `None` if the Job no longer exists.
    pub(super) security: Option<PodSecurityContext>,
}

/// A pod name with a random suffix, so that no other pod has it.
pub(super) fn name(run: &str) -> String {
    let run: String = run.chars().take(MAX_RUN).collect();
    // `RandomState` is used as a source of randomness: the standard library seeds each instance differently.
    let random = RandomState::new().build_hasher().finish();
    format!("{}-results-{:08x}", run.trim_end_matches(['-', '.']), random as u32)
}

/// Builds the pod. `node` is the preferred node, and `time` is the maximum time for the command.
pub(super) fn build(source: &Source, name: &str, node: &str, job: FromJob, time: Duration) -> Pod {
    let seconds = i64::try_from((time.saturating_add(MARGIN)).as_secs()).unwrap_or(i64::MAX);
    // The kubelet adds its own durations to this number, and the sum must not overflow.
    let seconds = seconds.min(i64::from(u32::MAX));
    let labels = [
        ("app.kubernetes.io/name", "benchwright-results"),
        ("app.kubernetes.io/part-of", "benchwright"),
        ("app.kubernetes.io/component", "results"),
        ("app.kubernetes.io/managed-by", MANAGER),
    ];
    let volume = Volume {
        name: "results".into(),
        // The volume itself is read-only, and not only the mount. Otherwise the kubelet would change the group of the files.
        persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
            claim_name: source.claim.clone(),
            read_only: Some(true),
        }),
        ..Volume::default()
    };
    Pod {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into()),
            // With this owner, the pod is deleted together with the run, even if the plugin is killed.
            owner_references: (!source.uid.is_empty()).then(|| vec![owner(source)]),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            active_deadline_seconds: Some(seconds),
            affinity: (!node.is_empty()).then(|| preferring(node)),
            automount_service_account_token: Some(false),
            containers: vec![container(source, seconds)],
            enable_service_links: Some(false),
            image_pull_secrets: Some(job.pull_secrets).filter(|it| !it.is_empty()),
            node_selector: Some(source.node_selector.clone()).filter(|it| !it.is_empty()),
            restart_policy: Some("Never".into()),
            security_context: Some(security(job.security.as_ref())),
            service_account_name: source.service_account.clone(),
            termination_grace_period_seconds: Some(1),
            tolerations: Some(source.tolerations.iter().map(Into::into).collect::<Vec<_>>())
                .filter(|it| !it.is_empty()),
            volumes: Some(vec![volume]),
            ..PodSpec::default()
        }),
        ..Pod::default()
    }
}

fn owner(source: &Source) -> OwnerReference {
    OwnerReference {
        api_version: BenchmarkRun::api_version(&()).into_owned(),
        kind: BenchmarkRun::kind(&()).into_owned(),
        name: source.run.clone(),
        uid: source.uid.clone(),
        controller: None,
        // `true` would require a right on the run's finalizers.
        block_owner_deletion: None,
    }
}

fn container(source: &Source, seconds: i64) -> Container {
    let amounts = || {
        Some(BTreeMap::from(
            [("cpu", "1"), ("memory", "128Mi")].map(|(it, of)| (it.to_owned(), Quantity(of.to_owned()))),
        ))
    };
    let asked = || {
        Some(BTreeMap::from(
            [("cpu", "100m"), ("memory", "64Mi")].map(|(it, of)| (it.to_owned(), Quantity(of.to_owned()))),
        ))
    };
    Container {
        name: CONTAINER.into(),
        image: Some(source.image.clone()),
        image_pull_policy: Some(source.pull_policy.clone()).filter(|it| !it.is_empty()),
        command: Some(vec![PROGRAM.into()]),
        args: Some(vec!["archive".into(), "--hold".into(), format!("{seconds}s")]),
        resources: Some(ResourceRequirements {
            requests: asked(),
            limits: amounts(),
            ..ResourceRequirements::default()
        }),
        security_context: Some(container_security()),
        // A launcher of an older release does not know the command. Its error is then read from the log.
        termination_message_policy: Some("FallbackToLogsOnError".into()),
        volume_mounts: Some(vec![VolumeMount {
            name: "results".into(),
            mount_path: MOUNT.into(),
            read_only: Some(true),
            sub_path: Some(source.folder.clone()),
            ..VolumeMount::default()
        }]),
        ..Container::default()
    }
}

/// The user and groups of the launcher's Job, because they own the files. Unset if the cluster chooses them.
fn security(job: Option<&PodSecurityContext>) -> PodSecurityContext {
    pod_security(job.map_or([Some(USER); 3], |it| [it.run_as_user, it.run_as_group, it.fs_group]))
}

fn preferring(node: &str) -> Affinity {
    let is_node = NodeSelectorRequirement {
        key: "metadata.name".into(),
        operator: "In".into(),
        values: Some(vec![node.to_owned()]),
    };
    let preference = NodeSelectorTerm { match_fields: Some(vec![is_node]), ..NodeSelectorTerm::default() };
    Affinity {
        node_affinity: Some(NodeAffinity {
            preferred_during_scheduling_ignored_during_execution: Some(vec![PreferredSchedulingTerm {
                weight: 100,
                preference,
            }]),
            ..NodeAffinity::default()
        }),
        ..Affinity::default()
    }
}
