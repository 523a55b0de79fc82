//! The claim for the results folders. It has no owner, because runs share it and it must outlive them.

use std::collections::BTreeMap;

use crds::{BenchmarkRun, resolve::effective::Claim};
use k8s_openapi::{
    api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements},
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::ObjectMeta},
};
use kube::ResourceExt as _;

use super::meta;

/// The label with which the owner of a claim allows results on it.
pub const RESULTS: &str = "benchwright.dev/results";
/// The label with the name of the program that created an object.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// Whether results can be written to a claim: the operator created it, or its owner labelled it. Other claims must not be mounted, because the
/// kubelet changes the group of all files in the volume to the pod's fsGroup, and for example a database can then refuse to open its files.
pub fn is_for_results(claim: &ObjectMeta) -> bool {
    let label = |key: &str| claim.labels.as_ref().and_then(|it| it.get(key)).map(String::as_str);
    label(MANAGED_BY) == Some(meta::MANAGER) || label(RESULTS) == Some("true")
}

/// The reason why a claim that is not for results is refused, with field, value and remedy.
pub fn refusal(pvc: &Claim) -> String {
    let name = &pvc.claim_name;
    format!(
        "spec.storage.pvc.claimName: is {name:?}, a claim that the operator did not create; a run would change the group of all files on its volume. If that may happen, run `kubectl label pvc {name} {RESULTS}=true` and create the run again; otherwise name another claim"
    )
}

/// Builds the claim. Its access mode is ReadWriteOnce, which every provisioner supports.
pub fn build(run: &BenchmarkRun, pvc: &Claim) -> PersistentVolumeClaim {
    let labels = BTreeMap::from([
        ("app.kubernetes.io/name".to_owned(), "benchwright".to_owned()),
        ("app.kubernetes.io/part-of".to_owned(), "benchwright".to_owned()),
        (MANAGED_BY.to_owned(), meta::MANAGER.to_owned()),
    ]);
    PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: Some(pvc.claim_name.clone()),
            namespace: run.namespace(),
            labels: Some(labels),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".into()]),
            resources: Some(VolumeResourceRequirements {
                requests: Some(BTreeMap::from([("storage".to_owned(), Quantity(pvc.size.clone()))])),
                ..VolumeResourceRequirements::default()
            }),
            storage_class_name: pvc.storage_class_name.clone(),
            ..PersistentVolumeClaimSpec::default()
        }),
        ..PersistentVolumeClaim::default()
    }
}
