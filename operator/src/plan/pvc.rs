//! The claim of the results folders. Runs share it and it outlives them, so that it has no owner.

use std::collections::BTreeMap;

use crds::{BenchmarkRun, resolve::effective::Claim};
use k8s_openapi::{
    api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements},
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::ObjectMeta},
};
use kube::ResourceExt as _;

use super::meta;

/// Builds the claim. Its access mode is ReadWriteOnce, which every provisioner supports.
pub fn build(run: &BenchmarkRun, pvc: &Claim) -> PersistentVolumeClaim {
    let labels = BTreeMap::from([
        ("app.kubernetes.io/name".to_owned(), "benchwright".to_owned()),
        ("app.kubernetes.io/part-of".to_owned(), "benchwright".to_owned()),
        ("app.kubernetes.io/managed-by".to_owned(), meta::MANAGER.to_owned()),
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
