//! Snapshots: a BenchmarkRun as input, and all its manifests as output.

use crds::{Settings, resolve::PodSecurity, status::Phase};
use operator::plan::{Child, Turn, plan};

use crate::behaviour::fixture::*;

const EVERYTHING: &str = "
target:
  serviceRef: {name: gateway, port: 8443, scheme: HTTPS, path: /llm}
  api: OpenAICompletions
  model: org/model
  auth: {secretKeyRef: {name: api-key, key: token}}
  tls: {ca: {configMapRef: {name: authorities, key: root.pem}}}
  readiness: {probe: Models, timeoutSeconds: 60}
profile:
  name: sanity_random
  files: [{configMapRef: {name: traces, key: prod.csv}}, {claim: {claimName: datasets}}]
seed: 7
launcher:
  image: registry.example/launcher@sha256:0123
  resources: {requests: {cpu: '2', memory: 2Gi}, limits: {memory: 4Gi}}
  scheduling:
    nodeSelector: {pool: load}
    tolerations: [{key: dedicated, operator: Equal, value: load, effect: NoSchedule}, {operator: Exists, tolerationSeconds: 5}]
    priorityClassName: high
    runtimeClassName: kata
    schedulerName: packs
  serviceAccountName: puller
  labels: {team: serving}
  annotations: {note: hello}
storage: {pvc: {claimName: results, size: 5Gi, storageClassName: fast}, required: false, perRequestRecords: None}
validity: {minSuccessfulRequests: 10, maxErrorRatio: '0.05', maxSendLagP99Milliseconds: 5}
execution: {deadlines: {startSeconds: 100, runSeconds: 200}, gracePeriodSeconds: 30}
";

fn manifests(spec: &str) -> String {
    manifests_with(spec, settings())
}

fn manifests_with(spec: &str, settings: Settings) -> String {
    let run = in_phase(spec, Phase::Preparing);
    let made = plan(&run, &nothing(&run), &Turn { settings: &settings, now: at(1) });
    let text = |child: &Child| match child {
        Child::ConfigMap(it) | Child::ChartValues(it) => serde_saphyr::to_string(it),
        Child::NetworkPolicy(it) => serde_saphyr::to_string(it),
        Child::Claim(it) => serde_saphyr::to_string(it),
        Child::Job(it) => serde_saphyr::to_string(it),
        Child::Service(it) => serde_saphyr::to_string(it),
        Child::Deployment(it) => serde_saphyr::to_string(it),
    };
    made.create.iter().map(|it| format!("---\n{}", text(it).unwrap())).collect()
}

#[test]
fn a_run_with_everything() {
    insta::assert_snapshot!(manifests(EVERYTHING));
}

#[test]
fn a_run_with_nothing_but_a_target() {
    insta::assert_snapshot!(manifests(SIMULATOR));
}

#[test]
fn certificate_authorities_come_from_a_config_map_or_a_secret() {
    for (reference, volume) in [("configMapRef", "configMap"), ("secretKeyRef", "secret")] {
        let ca = format!("ca: {{{reference}: {{name: authorities, key: root.pem}}}}");
        let text = manifests(&format!("{{target: {{url: 'https://h', tls: {{{ca}}}}}}}"));
        let job = text.split("---\n").find(|it| it.contains("kind: Job")).unwrap();
        let job: serde_json::Value = serde_saphyr::from_str(job).unwrap();
        let volumes = job["spec"]["template"]["spec"]["volumes"].as_array().unwrap();
        let tls = volumes.iter().find(|it| it["name"] == "tls").unwrap();
        let item = &tls[volume]["items"][0];
        assert_eq!((&item["key"], &item["path"]), (&"root.pem".into(), &"ca.crt".into()), "{tls}");
        assert!(text.contains("caFile: /etc/benchwright/tls/ca.crt"), "{text}");
    }
}

#[test]
fn results_that_go_to_a_bucket_are_written_to_the_node_and_the_pod_has_the_keys_alone() {
    let s3 = "{bucket: bench, prefix: runs, endpoint: 'http://minio:9000', secretRef: {name: keys}, uploadTimeoutSeconds: 90}";
    let spec = format!(
        "{{target: {{simulator: {{}}}}, storage: {{s3: {s3}}}, execution: {{deadlines: {{startSeconds: 100, runSeconds: 200}}, gracePeriodSeconds: 30}}}}"
    );
    let text = manifests(&spec);
    assert!(!text.contains("kind: PersistentVolumeClaim") && !text.contains("persistentVolumeClaim"), "{text}");
    let job = text.split("---\n").find(|it| it.contains("kind: Job")).unwrap();
    let job: serde_json::Value = serde_saphyr::from_str(job).unwrap();
    let pod = &job["spec"]["template"]["spec"];
    let volume = |name: &str| pod["volumes"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap();
    assert_eq!(volume("results")["emptyDir"]["sizeLimit"], "20Gi");
    let sources = volume("s3")["projected"]["sources"].as_array().unwrap();
    let keys = |index: usize| {
        sources[index]["secret"]["items"].as_array().unwrap().iter().map(|it| it["key"].as_str().unwrap())
    };
    assert_eq!(keys(0).collect::<Vec<_>>(), ["accessKeyId", "secretAccessKey"]);
    assert_eq!(keys(1).collect::<Vec<_>>(), ["sessionToken"]);
    assert_eq!(
        (&sources[0]["secret"]["optional"], &sources[1]["secret"]["optional"]),
        (&serde_json::Value::Null, &true.into())
    );
    let mounts = pod["containers"][0]["volumeMounts"].as_array().unwrap();
    let mount = mounts.iter().find(|it| it["name"] == "s3").unwrap();
    assert_eq!((&mount["mountPath"], &mount["readOnly"]), (&"/etc/benchwright/s3".into(), &true.into()));
    // The sum of 100 s to start, 230 s to measure, 90 s to upload and the operator's margin of 300 s.
    assert_eq!(job["spec"]["activeDeadlineSeconds"], 720);
    for line in ["prefix: runs/bench", "storeResults: true", "pathStyle: true", "timeout: 90s"] {
        assert!(text.lines().any(|it| it.trim() == line), "{line} is missing in {text}");
    }
}

// With `-j N`, llm-d-benchmark starts N pods that each send the whole load of the profile, and merges nothing. Here a run is always one pod.
#[test]
fn a_run_is_one_pod_with_the_load_of_its_profile() {
    for spec in [EVERYTHING, SIMULATOR] {
        let text = manifests(spec);
        let lines = |line: &str| text.lines().filter(|it| it.trim() == line).count();
        assert_eq!((lines("kind: Job"), lines("completions: 1"), lines("parallelism: 1")), (1, 1, 1), "{text}");
    }
}

/// OpenShift's security context constraints refuse users and groups that they have not assigned.
#[test]
fn on_openshift_the_namespace_assigns_user_and_groups() {
    let openshift = manifests_with(EVERYTHING, Settings { pod_security: PodSecurity::OpenShift, ..settings() });
    let left_out: Vec<_> =
        ["runAsUser", "runAsGroup", "fsGroup:"].into_iter().filter(|it| openshift.contains(it)).collect();
    assert_eq!(left_out, Vec::<&str>::new(), "{openshift}");
    for kept in ["runAsNonRoot: true", "readOnlyRootFilesystem: true", "drop:", "RuntimeDefault", "defaultMode: 288"] {
        assert!(openshift.contains(kept), "{kept} is missing in {openshift}");
    }
}

/// An autoscaler that interrupts a measurement destroys it, so users must not be able to allow interruptions.
#[test]
fn autoscalers_leave_the_node_of_a_pod_alone_whatever_the_run_says() {
    let spec = "{target: {simulator: {}}, launcher: {annotations: {karpenter.sh/do-not-disrupt: 'false', note: x}}}";
    let text = manifests(spec);
    let job = text.rsplit("kind: Job").next().unwrap();
    for line in [
        "cluster-autoscaler.kubernetes.io/safe-to-evict: \"false\"",
        "karpenter.sh/do-not-disrupt: \"true\"",
        "note: x",
    ] {
        assert_eq!(job.lines().filter(|it| it.trim() == line).count(), 1, "{line} is missing in {job}");
    }
}

/// The deadline of a Job does not end a pod whose Job is gone, so the pod has a deadline of its own.
#[test]
fn kubernetes_ends_a_pod_at_the_deadline_with_or_without_its_job() {
    let text = manifests(EVERYTHING);
    assert_eq!(text.lines().filter(|it| it.trim() == "activeDeadlineSeconds: 630").count(), 2, "{text}");
    assert_eq!(text.lines().filter(|it| it.trim() == "sizeLimit: 5Gi").count(), 1, "{text}");
}
