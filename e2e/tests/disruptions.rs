//! Tests in which Kubernetes itself removes the pod of a run: it is drained, preempted, or evicted because it fills the disk. These tests have their
//! own binary and run one after the other, because they cordon and fill the only node.

use std::time::Duration;

use anyhow::Context;
use crds::{BenchmarkRunStatus, Outcome, status::Phase};
use e2e::{Cluster, Namespace, PATIENT, tools};
use k8s_openapi::api::{
    core::v1::{Node, Pod},
    scheduling::v1::PriorityClass,
};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ListParams, PostParams},
};
use serde_json::json;

const SOON: Duration = Duration::from_secs(90);

/// Ensures that only one test runs at a time.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// The spec of a run that sends load to the embedded simulator for this number of seconds.
fn spec(seconds: u32, more: &str) -> String {
    let profile = format!("profile: {{variables: {{rate: '5', duration: '{seconds}'}}}}");
    format!("target: {{simulator: {{}}}}\n{profile}\nstorage: {{none: {{}}}}\n{PATIENT}\n{more}")
}

/// Waits until the attempt with this number is measuring, and returns its pod.
async fn measuring(namespace: &Namespace, number: u32) -> anyhow::Result<Pod> {
    let running = |it: &BenchmarkRunStatus| {
        it.phase == Some(Phase::Running) && it.attempts.last().is_some_and(|it| it.number == number)
    };
    namespace.wait_for("chat", "an attempt that measures", SOON, running).await?;
    let pods = namespace.pods("chat").await?;
    let of_attempt =
        pods.into_iter().find(|it| it.labels().get("benchwright.dev/attempt") == Some(&number.to_string()));
    of_attempt.context("an attempt that measures has a pod")
}

/// Asserts that the first attempt ended as Disrupted, that the second one sent the whole load, and that the figures contain nothing of the first.
fn assert_measured_again(status: &BenchmarkRunStatus, requests: u64) {
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    let reasons: Vec<_> = status.attempts.iter().map(|it| it.reason.to_string()).collect();
    assert_eq!(reasons, ["Disrupted", "RunSucceeded"], "{status:?}");
    let counts = status.summary.as_ref().map(|it| (it.requests, it.failed, it.cancelled));
    assert_eq!(counts, Some((requests, 0, 0)), "{status:?}");
}

/// Makes the node schedulable again on drop.
struct Cordoned(String);

impl Cordoned {
    /// Cordons a node, and waits until the scheduler knows it. On a busy machine that takes seconds, during which it would still assign a pod to the
    /// node.
    async fn new(node: &str, namespace: &Namespace) -> anyhow::Result<Cordoned> {
        tools::kubectl(&["cordon", node])?;
        let cordoned = Cordoned(node.to_owned());
        let pods: Api<Pod> = namespace.api();
        let probe: Pod = serde_json::from_value(json!({
            "metadata": {"generateName": "probe-"},
            "spec": {
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "shell", "image": "localhost/busybox:1", "command": ["sleep", "60"]}],
            },
        }))?;
        let refused = || async {
            let name = pods.create(&PostParams::default(), &probe).await?.name_any();
            let decided = || async {
                let pod = pods.get(&name).await?;
                let is_placed = pod.spec.as_ref().is_some_and(|it| it.node_name.is_some());
                let conditions = pod.status.iter().flat_map(|it| it.conditions.iter().flatten());
                let is_refused = conditions.into_iter().any(|it| it.type_ == "PodScheduled" && it.status == "False");
                Ok((is_placed || is_refused).then_some(is_refused))
            };
            let is_refused = namespace.until("the scheduler's decision", SOON, decided).await?;
            pods.delete(&name, &DeleteParams::default()).await?;
            Ok(is_refused.then_some(()))
        };
        namespace.until("a scheduler that knows the cordon", SOON, refused).await?;
        Ok(cordoned)
    }
}

impl Drop for Cordoned {
    fn drop(&mut self) {
        if let Err(error) = tools::kubectl(&["uncordon", &self.0]) {
            eprintln!("the node stays cordoned: {error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_drained_launcher_is_measured_again() -> anyhow::Result<()> {
    let _alone = ALONE.lock().await;
    let cluster = Cluster::with_operator().await?;
    let namespace = Namespace::new(&cluster, "drain").await?;
    namespace.create_run("chat", &spec(60, "execution: {gracePeriodSeconds: 15}")).await?;
    let pod = measuring(&namespace, 1).await?;
    let node = pod.spec.and_then(|it| it.node_name).context("a pod that runs has a node")?;
    let cordoned = Cordoned::new(&node, &namespace).await?;
    // Only the pods of this run are drained, because the operator could not move to another node.
    let selector = ["--pod-selector", "benchwright.dev/run=chat"];
    tools::kubectl(
        &[&["drain", &node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s"][..], &selector].concat(),
    )?;
    let waits = |it: &BenchmarkRunStatus| it.reason == "Unschedulable";
    namespace.wait_for("chat", "an attempt that waits for a node", SOON, waits).await?;
    drop(cordoned);
    assert_measured_again(&namespace.wait_finished("chat", 2 * SOON).await?, 300);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_preempted_launcher_is_measured_again() -> anyhow::Result<()> {
    let _alone = ALONE.lock().await;
    let cluster = Cluster::with_operator().await?;
    let namespace = Namespace::new(&cluster, "preempted").await?;
    let class = json!({"metadata": {"name": namespace.name}, "value": 1000});
    let classes: Api<PriorityClass> = Api::all(cluster.client.clone());
    classes.create(&PostParams::default(), &serde_json::from_value(class)?).await?;
    // The launcher requests more than half of the node's CPUs, so that the launcher and the other pod do not fit on the node together.
    let nodes: Api<Node> = Api::all(cluster.client.clone());
    let node = nodes.list(&ListParams::default()).await?.items.into_iter().next().context("a cluster has a node")?;
    let slots = node.status.and_then(|it| it.allocatable).and_then(|it| it.get("cpu").cloned());
    let cpus: u32 = slots.context("a node has CPUs")?.0.parse()?;
    let most = format!("{}m", cpus * 1000 * 6 / 10);
    let launcher = format!("launcher: {{resources: {{requests: {{cpu: {most}, memory: 64Mi}}}}}}");
    namespace.create_run("chat", &spec(20, &format!("{launcher}\nexecution: {{gracePeriodSeconds: 15}}"))).await?;
    measuring(&namespace, 1).await?;

    let important: Pod = serde_json::from_value(json!({
        "metadata": {"name": "important"},
        "spec": {
            "priorityClassName": namespace.name, "terminationGracePeriodSeconds": 0,
            "containers": [{
                "name": "shell", "image": "localhost/busybox:1", "command": ["sleep", "600"],
                "resources": {"requests": {"cpu": most}},
            }],
        },
    }))?;
    let pods: Api<Pod> = namespace.api();
    pods.create(&PostParams::default(), &important).await?;
    let ended = |it: &BenchmarkRunStatus| it.attempts.len() == 2;
    namespace.wait_for("chat", "a second attempt", SOON, ended).await?;
    pods.delete("important", &DeleteParams::default()).await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    classes.delete(&namespace.name, &DeleteParams::default()).await?;
    assert_measured_again(&status, 100);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_launcher_that_the_kubelet_evicts_is_disrupted() -> anyhow::Result<()> {
    let _alone = ALONE.lock().await;
    let namespace = Namespace::new(&Cluster::with_operator().await?, "evicted").await?;
    // The limit is below the size of the launcher's own log, so the kubelet evicts the pod as on a node with a full disk.
    let launcher = "launcher: {resources: {limits: {ephemeral-storage: 1}}}";
    namespace.create_run("chat", &spec(120, &format!("{launcher}\nexecution: {{retry: {{limit: 0}}}}"))).await?;
    let status = namespace.wait_finished("chat", 2 * SOON).await?;
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "Disrupted"), "{status:?}");
    let ready = status.conditions.iter().find(|it| it.kind == "Ready").context("a condition Ready")?;
    println!("figure 14: an eviction by a kubelet is reported: {}", ready.message.lines().next().unwrap_or_default());
    assert!(ready.message.contains("ephemeral"), "{}", ready.message);
    Ok(())
}
