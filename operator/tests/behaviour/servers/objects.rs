//! Snapshots of all objects that belong to a server.

use crds::{
    Settings,
    resolve::{NetworkPolicySettings, PodSecurity},
    status::Phase,
};
use operator::plan::{Child, Turn, plan, server::ServerState};

use super::*;

fn manifests(spec: &str, settings: &Settings) -> String {
    let run = preparing(spec);
    let made = plan(&run, &before_launcher(&run, ServerState::default()), &Turn { settings, now: at(1) });
    let text = |child: &Child| match child {
        Child::Service(it) => serde_saphyr::to_string(it),
        Child::Deployment(it) => serde_saphyr::to_string(it),
        _ => Ok(kind(child).to_owned()),
    };
    made.create.iter().map(|it| format!("---\n{}", text(it).unwrap())).collect()
}

const ENGINE: &str = "
target:
  server:
    engine: VLLM
    image: vllm/vllm-openai:v0.11.0
    modelClaim: {claimName: weights, path: llama}
    hubToken: {secretKeyRef: {name: hub, key: token}}
    args: [--chat-template, '{{ $(PORT) $$ }}']
    config: {max-num-batched-tokens: 8192}
    env: {VLLM_LOGGING_LEVEL: INFO, PRICE: '5$'}
    maxModelLen: 4096
    replicas: 2
    resources: {requests: {cpu: '8', memory: 64Gi}, limits: {memory: 64Gi, nvidia.com/gpu: 2}}
    scheduling:
      nodeSelector: {gpu: h100}
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      priorityClassName: low
    serviceAccountName: puller
  readiness: {timeoutSeconds: 600}
";

#[test]
fn the_objects_of_an_engine() {
    insta::assert_snapshot!(manifests(ENGINE, &settings()));
}

#[test]
fn the_objects_of_a_simulator() {
    insta::assert_snapshot!(manifests(ONE, &settings()));
}

#[test]
fn the_objects_of_a_shared_server_belong_to_no_run() {
    let text = manifests(REUSE, &settings());
    assert!(
        !text.contains("ownerReferences") && !text.contains(UID) && !text.contains("benchwright.dev/run"),
        "{text}"
    );
    assert!(
        !manifests(KEEP, &settings()).contains("name: benchwright-"),
        "a server that is kept has the name of its run"
    );
}

#[test]
fn on_openshift_the_namespace_assigns_the_user_of_a_simulator() {
    let text = manifests(ONE, &Settings { pod_security: PodSecurity::OpenShift, ..settings() });
    assert!(!text.contains("runAsUser") && text.contains("runAsNonRoot: true"), "{text}");
}

#[test]
fn the_launcher_may_reach_the_pods_of_its_server_and_nothing_else() {
    let run = with_ready_server(TWO, Phase::Preparing);
    let settings = Settings { network_policy: Some(NetworkPolicySettings::default()), ..settings() };
    let mut observed = before_launcher(&run, exists(vec![ready("s-a"), ready("s-b")]));
    let input = input(&run, 1);
    observed.reach = operator::plan::network_policy::reach(&run, &input, None, &settings);
    let made = plan(&run, &observed, &Turn { settings: &settings, now: at(40) });
    let policy = made.create.iter().find_map(|it| match it {
        Child::NetworkPolicy(it) => Some(serde_saphyr::to_string(it).unwrap()),
        _ => None,
    });
    let policy = policy.unwrap();
    for line in ["benchwright.dev/server: chat-2db482-server", "port: 8000"] {
        assert!(policy.contains(line), "{line} is missing in {policy}");
    }
    assert!(!policy.contains("0.0.0.0/0"), "{policy}");
    // The URL resolves to all replicas, so the metrics of each are read.
    let metrics = input.run.metrics.unwrap();
    assert_eq!(metrics[0].url, "http://chat-2db482-pods.bench.svc.cluster.local:8000/metrics");
    assert_eq!(input.run.endpoint.name(), "http://chat-2db482-server.bench.svc.cluster.local:8000");
}
