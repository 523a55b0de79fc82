//! Tests of the source that is read from a run, and of the pod that is built from it.

use std::time::Duration;

use archive::Received;
use crds::{BenchmarkRun, EffectiveSpec, Settings};
use serde_json::{Value, json};

use super::*;

const JOB: &str = "chat-2db482-a1";

/// A finished run with its results on a claim.
fn run(change: impl FnOnce(&mut Value)) -> BenchmarkRun {
    let spec = json!({"target": {"simulator": {}}, "storage": {"pvc": {"claimName": "results"}}});
    let settings = Settings { launcher_image: "registry.example/benchwright:1".into(), ..Settings::default() };
    let effective = EffectiveSpec::new(&serde_json::from_value(spec.clone()).unwrap(), "", &settings);
    let mut run = json!({
        "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun",
        "metadata": {"name": "chat", "namespace": "bench", "uid": "uid-of-chat"}, "spec": spec,
        "status": {
            "observedGeneration": 1, "phase": "Succeeded", "outcome": "Passed", "effectiveSpec": effective,
            "attempts": [{"number": 1, "jobName": JOB, "nodeName": "node-1", "startTime": "2026-01-01T00:00:00Z"}],
            "conditions": [{
                "type": "ResultsStored", "status": "True", "reason": "Stored", "message": "in a folder",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
            "artifacts": [
                {"name": "report.json", "uri": format!("pvc://results/{JOB}/report.json"), "bytes": 5, "sha256": "aa"},
                {"name": "report.md", "uri": format!("pvc://results/{JOB}/report.md"), "bytes": 5, "sha256": "bb"},
            ],
        },
    });
    change(&mut run);
    serde_json::from_value(run).unwrap()
}

fn source(change: impl FnOnce(&mut Value)) -> Source {
    Source::from_run(&run(change), "bench", None).unwrap()
}

fn assert_without_folder(change: impl FnOnce(&mut Value), part: &str) {
    let message = Source::from_run(&run(change), "bench", None).unwrap_err().to_string();
    assert!(message.contains(part), "{part:?} is not in {message}");
}

#[test]
fn a_run_says_where_its_results_are() {
    let found = source(|_| {});
    assert_eq!((found.claim.as_str(), found.folder.as_str(), found.node.as_str()), ("results", JOB, "node-1"));
    assert_eq!(found.image, "registry.example/benchwright:1");
    let other = Source::from_run(&run(|_| {}), "bench", Some("other:2")).unwrap();
    assert_eq!(other.image, "other:2");
    // The second attempt reported the folder of the first.
    let again = source(|it| {
        let attempts = it["status"]["attempts"].as_array_mut().unwrap();
        attempts.push(json!({"number": 2, "jobName": "chat-2db482-a2", "startTime": "2026-01-01T00:00:00Z"}));
    });
    assert_eq!(again.folder, JOB);
    let collected = source(|it| it["spec"]["execution"] = json!({"collect": {"folder": "earlier-0a1b2c-a1"}}));
    assert_eq!((collected.folder.as_str(), collected.job.as_str()), ("earlier-0a1b2c-a1", JOB));
}

#[test]
fn a_run_whose_folder_is_in_a_bucket_says_how_to_copy_it() {
    let s3 = json!({
        "bucket": "bench", "prefix": "runs", "endpoint": "http://minio:9000", "region": "us-east-1", "uploadTimeoutSeconds": 600,
    });
    let in_bucket = |it: &mut Value| {
        it["status"]["effectiveSpec"]["storage"]["pvc"] = Value::Null;
        it["status"]["effectiveSpec"]["storage"]["s3"] = s3.clone();
        it["status"]["artifacts"] = json!([{
            "name": "report.json", "uri": format!("s3://bench/runs/bench/{JOB}/report.json"), "bytes": 5, "sha256": "aa",
        }]);
    };
    let uri = format!("s3://bench/runs/bench/{JOB}");
    let command = format!("aws s3 cp --recursive --endpoint-url http://minio:9000 --region us-east-1 {uri} {JOB}");
    assert_without_folder(in_bucket, &command);
    // The second attempt reported the folder of the first.
    let again = |it: &mut Value| {
        in_bucket(it);
        let attempts = it["status"]["attempts"].as_array_mut().unwrap();
        attempts.push(json!({"number": 2, "jobName": "chat-2db482-a2", "startTime": "2026-01-01T00:00:00Z"}));
    };
    assert_without_folder(again, &command);
    let unstored = |it: &mut Value| {
        in_bucket(it);
        it["status"]["conditions"][0]["status"] = json!("False");
        it["status"]["conditions"][0]["message"] = json!("the bucket is full");
    };
    assert_without_folder(unstored, "the launcher stored none; the bucket is full");
    let hostile = |it: &mut Value| {
        in_bucket(it);
        it["status"]["attempts"][0]["jobName"] = json!("a; rm -rf");
    };
    assert_without_folder(hostile, "which is not a valid name");
}

#[test]
fn a_run_without_a_folder_says_why() {
    assert_without_folder(
        |it| it["status"]["phase"] = json!("Running"),
        "chat has not ended, and its results folder is not complete",
    );
    assert_without_folder(|it| it["status"]["effectiveSpec"]["storage"]["pvc"] = Value::Null, "spec.storage is none");
    assert_without_folder(|it| it["status"]["attempts"] = json!([]), "no launcher was started");
    assert_without_folder(
        |it| {
            it["status"]["conditions"][0]["status"] = json!("False");
            it["status"]["conditions"][0]["message"] = json!("the volume is full");
        },
        "the launcher stored none; the volume is full",
    );
    assert_without_folder(|it| it["status"]["attempts"][0]["jobName"] = json!("../etc"), "which is not a valid name");
    assert_without_folder(|it| it["status"]["effectiveSpec"]["launcher"]["image"] = json!(""), "give one with --image");
}

#[test]
fn the_pod_is_restricted_and_not_one_of_the_operators() {
    let job = pod::FromJob::default();
    let pod = pod::build(&source(|_| {}), "chat-results-1", "node-1", job, Duration::from_secs(600));
    let pod = serde_json::to_value(pod).unwrap();
    let labels = pod["metadata"]["labels"].as_object().unwrap();
    assert!(labels.keys().all(|it| !it.contains("benchwright.dev")), "{labels:?}");
    assert_eq!(labels["app.kubernetes.io/managed-by"], "kubectl-benchwright");
    assert_eq!(
        pod["metadata"]["ownerReferences"],
        json!([{"apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun", "name": "chat", "uid": "uid-of-chat"}])
    );
    let (spec, container) = (&pod["spec"], &pod["spec"]["containers"][0]);
    assert_eq!(
        spec["securityContext"],
        json!({
            "runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532, "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        })
    );
    assert_eq!(
        container["securityContext"],
        json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": true})
    );
    assert_eq!(spec["automountServiceAccountToken"], false);
    assert_eq!(spec["activeDeadlineSeconds"], 660);
    assert_eq!(spec["restartPolicy"], "Never");
    assert_eq!(
        spec["volumes"],
        json!([{"name": "results", "persistentVolumeClaim": {"claimName": "results", "readOnly": true}}])
    );
    assert_eq!(
        container["volumeMounts"],
        json!([{"name": "results", "mountPath": "/results", "readOnly": true, "subPath": JOB}])
    );
    assert_eq!(
        (&container["command"], &container["args"]),
        (&json!(["/benchwright"]), &json!(["archive", "--hold", "660s"]))
    );
}

#[test]
fn the_pod_has_the_service_account_that_the_run_names_without_its_token() {
    let build =
        |source: &Source| pod::build(source, "chat-results-1", "", pod::FromJob::default(), Duration::from_secs(600));
    let named = build(&source(|it| it["spec"]["launcher"] = json!({"serviceAccountName": "puller"}))).spec.unwrap();
    assert_eq!(
        (named.service_account_name.as_deref(), named.automount_service_account_token),
        (Some("puller"), Some(false))
    );
    assert_eq!(build(&source(|_| {})).spec.unwrap().service_account_name, None);
}

#[test]
fn the_users_of_the_pod_are_those_of_the_launchers_job() {
    // As on OpenShift, where the cluster chooses user and groups.
    let job = pod::FromJob { security: Some(Default::default()), ..Default::default() };
    let pod = pod::build(&source(|_| {}), "chat-results-1", "", job, Duration::from_secs(600));
    let security = pod.spec.unwrap().security_context.unwrap();
    assert_eq!((security.run_as_user, security.fs_group, security.run_as_non_root), (None, None, Some(true)));
}

#[test]
fn the_name_of_the_pod_fits_and_is_new() {
    let long = "a".repeat(63);
    let (one, other) = (pod::name(&long), pod::name(&long));
    assert!(one != other && one.len() <= 63, "{one}");
    assert!(pod::name(&format!("{}-b", "a".repeat(39))).starts_with(&format!("{}-results-", "a".repeat(39))));
}

#[test]
fn files_are_held_against_the_status() {
    let file = |name: &str, sha256: &str| Received { name: name.into(), bytes: 5, sha256: sha256.into() };
    let source = source(|_| {});
    let said = |received: &[Received], only: &[&str]| compare(&source, received, only).map_err(|it| it.to_string());
    assert_eq!(said(&[file("report.json", "aa"), file("report.md", "bb"), file("more", "cc")], &[]), Ok(()));
    assert_eq!(said(&[file("report.json", "aa")], &["report.json"]), Ok(()));
    let problem = said(&[file("report.json", "ab")], &[]).unwrap_err();
    assert!(problem.contains("report.json differs, report.md is missing; --unverified"), "{problem}");
}

#[test]
fn sizes_are_for_people() {
    let sizes = [0, 1023, 1024, 1 << 30, u64::MAX].map(size);
    assert_eq!(sizes, ["0 bytes", "1023 bytes", "1.0 KiB", "1.0 GiB", "16777216.0 TiB"]);
}
