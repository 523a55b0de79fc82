//! A BenchmarkRun in, all its manifests out.

use crds::status::Phase;
use operator::plan::{Child, Turn, plan};

use crate::fixture::*;

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
  labels: {team: serving}
  annotations: {note: hello}
storage: {pvc: {claimName: results, size: 5Gi, storageClassName: fast}, required: false, perRequestRecords: None}
validity: {minSuccessfulRequests: 10, maxErrorRatio: '0.05', maxSendLagP99Milliseconds: 5}
execution: {deadlines: {startSeconds: 100, runSeconds: 200}, gracePeriodSeconds: 30}
";

fn manifests(spec: &str) -> String {
    let run = in_phase(spec, Phase::Preparing);
    let settings = settings();
    let made = plan(&run, &nothing(&run), &Turn { settings: &settings, now: at(1) });
    let text = |child: &Child| match child {
        Child::ConfigMap(it) => serde_saphyr::to_string(it),
        Child::Claim(it) => serde_saphyr::to_string(it),
        Child::Job(it) => serde_saphyr::to_string(it),
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

// Trap 13 of the formats: `-j N` of llm-d-benchmark starts N pods that each send the whole load of the profile, and merges
// nothing. A run here is one pod.
#[test]
fn a_run_is_one_pod_with_the_load_of_its_profile() {
    for spec in [EVERYTHING, SIMULATOR] {
        let text = manifests(spec);
        let lines = |line: &str| text.lines().filter(|it| it.trim() == line).count();
        assert_eq!((lines("kind: Job"), lines("completions: 1"), lines("parallelism: 1")), (1, 1, 1), "{text}");
    }
}
