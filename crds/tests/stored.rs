//! What older releases stored is read, and what a release lets a user change after the creation is what the docs say.

#![cfg(feature = "kube")]

use crds::{
    BenchmarkRun, RunIdentity, Settings,
    benchmark_run::{PerRequestRecords, RetryCause},
    resolve::resolve,
};
use serde_json::Value;

#[test]
fn a_run_of_an_older_release_is_read() {
    let stored = r#"{
        "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "chat", "uid": "u"},
        "spec": {
            "target": {"simulator": {"preset": "gpu"}},
            "profile": {"name": "sanity_random", "variables": {"isl": "1024"}, "overrides": {"load.stages.0.rate": "5"}},
            "launcher": {"resources": {"requests": {"cpu": "1"}}},
            "storage": {"none": {}, "perRequestRecords": "Off"},
            "validity": {"maxErrorRatio": "0.01", "maxCpuShare": "0.9", "maxStealShare": "0.1"},
            "execution": {"retry": {"limit": 2, "on": ["TargetUnavailable"]}}
        }
    }"#;
    let run: BenchmarkRun = serde_json::from_str(stored).unwrap();
    assert_eq!(run.spec.storage.per_request_records, PerRequestRecords::None);
    // The API server drops `on`, which it knows no more; the changelog tells.
    assert_eq!(run.spec.execution.retry.reasons, [RetryCause::Disrupted, RetryCause::StartTimeout]);
    let identity = RunIdentity { name: "chat".into(), namespace: "bench".into(), uid: "u".into(), attempt: 1 };
    let resolved = resolve(identity, &run.spec, &Settings::default()).unwrap();
    assert!((resolved.validity.max_error_ratio - 0.01).abs() < 1e-12);
}

#[test]
fn every_field_is_immutable_but_three() {
    let crd: Value = serde_saphyr::from_str(&crds::crd_yaml().unwrap()).unwrap();
    let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let rules = spec["x-kubernetes-validations"].as_array().unwrap().iter().map(|it| it["rule"].as_str().unwrap());
    let held: Vec<&str> = rules.flat_map(|it| it.split(" && ")).collect();
    let free = ["suspend", "cancel", "cleanup"];
    for field in spec["properties"].as_object().unwrap().keys() {
        let is_held = held.contains(&format!("self.{field} == oldSelf.{field}").as_str());
        assert_ne!(is_held, free.contains(&field.as_str()), "{field}");
    }
}
