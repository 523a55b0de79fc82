//! Tests in which a node is lost, a pod is evicted or preempted, or a node is drained. Each test has its own namespace, operator and nodes.

use std::time::Duration;

use anyhow::Context as _;
use crds::{BenchmarkRunStatus, Outcome, Reason, status::Phase};
use e2e::{
    Cluster, Namespace,
    control_plane::{
        ControlPlane,
        operator::{Operator, alone},
    },
    tools,
};
use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{Node, Pod},
    scheduling::v1::PriorityClass,
};
use kube::{
    Api,
    api::{DeleteParams, EvictParams, Patch, PatchParams, PostParams},
};
use serde_json::json;

/// Maximum time for a step of the scheduler or of a controller on a busy machine.
const SOON: Duration = Duration::from_secs(120);
/// Maximum time until the pod of a lost node is removed, which happens a minute after the loss.
const LATER: Duration = Duration::from_secs(300);
/// The label of the nodes of a test.
const POOL: &str = "scale.benchwright.dev/pool";
/// The label of the nodes for which KWOK sends heartbeats.
const KWOK: &str = "scale.benchwright.dev/node";

/// A run with two attempts. The first attempt runs until an event ends it, and the second attempt succeeds after a second.
struct Scene {
    plane: ControlPlane,
    namespace: Namespace,
    pool: &'static str,
    /// The operator, which is killed at the end of the test.
    _operator: Operator,
}

impl Scene {
    /// Starts an operator, creates nodes with these numbers of CPUs, creates the run, and waits until it is measuring.
    async fn begin(pool: &'static str, cpus: &[u32]) -> anyhow::Result<Scene> {
        let plane = ControlPlane::connect().await?;
        let namespace = Namespace::new(&Cluster { client: plane.client.clone() }, pool).await?;
        let mut flags = alone()?;
        flags.extend(["--watch-namespace".to_owned(), namespace.name.clone()]);
        let mut operator = Operator::start(&plane, "operator-a", pool, &flags)?;
        operator.wait_ready(SOON).await?;
        let scene = Scene { plane, namespace, pool, _operator: operator };
        for (number, cpu) in cpus.iter().enumerate() {
            scene.make_node(number, *cpu).await?;
        }
        let spec = format!(
            "target: {{simulator: {{}}}}\nprofile: {{name: sanity_random}}\nstorage: {{none: {{}}}}\n\
             execution: {{gracePeriodSeconds: 15, deadlines: {{collectSeconds: 5}}}}\n\
             launcher: {{annotations: {{scale.benchwright.dev/hold: first, scale.benchwright.dev/duration: 1s}}, \
                resources: {{requests: {{cpu: '2'}}}}, scheduling: {{nodeSelector: {{{POOL}: {pool}}}}}}}\n"
        );
        scene.namespace.create_run("chat", &spec).await?;
        scene.namespace.wait_for("chat", "phase Running", SOON, |it| it.phase == Some(Phase::Running)).await?;
        Ok(scene)
    }

    async fn make_node(&self, number: usize, cpu: u32) -> anyhow::Result<()> {
        let size = json!({"cpu": cpu.to_string(), "memory": "64Gi", "pods": "100"});
        let name = format!("{}-{number}", self.pool);
        let node = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {KWOK: "kwok", POOL: self.pool}},
            "status": {"allocatable": size, "capacity": size},
        }))?;
        self.nodes().create(&PostParams::default(), &node).await?;
        Ok(())
    }

    fn nodes(&self) -> Api<Node> {
        Api::all(self.plane.client.clone())
    }

    /// The only existing pod of the run.
    async fn pod(&self) -> anyhow::Result<Pod> {
        let pods = self.namespace.pods("chat").await?;
        anyhow::ensure!(pods.len() == 1, "{} pods", pods.len());
        pods.into_iter().next().context("the attempt has no pod")
    }

    async fn pod_name(&self) -> anyhow::Result<String> {
        self.pod().await?.metadata.name.context("a pod has a name")
    }

    async fn node_name(&self) -> anyhow::Result<String> {
        self.pod().await?.spec.and_then(|it| it.node_name).context("a pod that runs has a node")
    }

    /// Waits until the first attempt has ended, and returns the status.
    async fn first_end(&self, limit: Duration) -> anyhow::Result<BenchmarkRunStatus> {
        let ended = |it: &BenchmarkRunStatus| it.attempts.first().is_some_and(|it| it.end_time.is_some());
        self.namespace.wait_for("chat", "the end of attempt 1", limit, ended).await
    }

    async fn end(&self, limit: Duration) -> anyhow::Result<(BenchmarkRunStatus, Vec<String>)> {
        let status = self.namespace.wait_finished("chat", limit).await?;
        Ok((status, self.namespace.events("chat").await?))
    }
}

/// Asserts that the first attempt was disrupted for this reason, that exactly one attempt followed, and that the figures come from that attempt only.
fn assert_one_more_attempt(status: &BenchmarkRunStatus, events: &[String], cause: &str) {
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    let reasons: Vec<_> = status.attempts.iter().map(|it| it.reason.known()).collect();
    assert_eq!(reasons, [Some(Reason::Disrupted), Some(Reason::RunSucceeded)], "{status:?}");
    let [first, second] = status.attempts.as_slice() else { panic!("two attempts: {status:?}") };
    assert!(first.end_time.is_some_and(|end| end <= second.start_time), "they overlap: {status:?}");
    assert_ne!(first.pod_uid, second.pod_uid);
    // KWOK's simulated launcher reports 1007 requests in attempt 1, 2007 in attempt 2, and 999999 if it is stopped.
    assert_eq!(status.summary.as_ref().map(|it| it.requests), Some(2_007), "{status:?}");
    let retries: Vec<_> = events.iter().filter(|it| it.contains("another attempt follows")).collect();
    assert!(retries.len() == 1 && retries[0].contains("Disrupted") && retries[0].contains(cause), "{events:?}");
    println!("figure 14: one retry, and only its figures count: {cause}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a control plane: make disruptions"]
async fn a_pod_that_is_evicted_is_followed_by_one_attempt() -> anyhow::Result<()> {
    let scene = Scene::begin("evicted", &[4]).await?;
    let pods = scene.namespace.api::<Pod>();
    pods.evict(&scene.pod_name().await?, &EvictParams::default()).await?;
    let (status, events) = scene.end(SOON).await?;
    assert_one_more_attempt(&status, &events, "EvictionByEvictionAPI");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a control plane: make disruptions"]
async fn a_pod_that_is_preempted_is_followed_by_one_attempt() -> anyhow::Result<()> {
    let scene = Scene::begin("preempted", &[3]).await?;
    let class = json!({"metadata": {"name": "more-important"}, "value": 1_000_000});
    let classes: Api<PriorityClass> = Api::all(scene.plane.client.clone());
    classes.create(&PostParams::default(), &serde_json::from_value(class)?).await?;
    let rival: Pod = serde_json::from_value(json!({
        "metadata": {"name": "rival"},
        "spec": {
            "priorityClassName": "more-important", "nodeSelector": {POOL: "preempted"}, "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "rival", "image": "localhost/rival:1", "resources": {"requests": {"cpu": "2"}}}],
        },
    }))?;
    let pods = scene.namespace.api::<Pod>();
    // The creation is retried, because on a busy machine the admission plugin learns of a new PriorityClass late.
    let create = || async { Ok(pods.create(&PostParams::default(), &rival).await.ok().map(drop)) };
    scene.namespace.until("a pod of the new class", SOON, create).await?;
    let first = scene.first_end(SOON).await?;
    assert_eq!(first.attempts[0].reason.known(), Some(Reason::Disrupted), "{first:?}");
    // The node has room for only one of the two pods.
    pods.delete("rival", &DeleteParams::default()).await?;
    let (status, events) = scene.end(SOON).await?;
    assert_one_more_attempt(&status, &events, "PreemptionByScheduler");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a control plane: make disruptions"]
async fn a_run_on_a_node_that_is_drained_goes_on_elsewhere() -> anyhow::Result<()> {
    let scene = Scene::begin("drained", &[4, 4]).await?;
    let node = scene.node_name().await?;
    tools::kubectl(&["drain", &node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s"])?;
    let (status, events) = scene.end(SOON).await?;
    assert_one_more_attempt(&status, &events, "EvictionByEvictionAPI");
    assert_ne!(status.attempts[1].node_name, node, "a drained node takes no pod");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a control plane: make disruptions"]
async fn a_run_on_a_node_that_is_lost_goes_on_when_its_pod_is_gone() -> anyhow::Result<()> {
    let scene = Scene::begin("lost", &[4, 4]).await?;
    let node = scene.node_name().await?;
    // Without this label, KWOK sends no heartbeats for the node and does not change its pods, like a machine without power.
    let label = Patch::Merge(json!({"metadata": {"labels": {KWOK: null}}}));
    scene.nodes().patch(&node, &PatchParams::default(), &label).await?;
    let first = scene.first_end(LATER).await?;
    assert_eq!(first.attempts[0].reason.known(), Some(Reason::Disrupted), "{first:?}");
    // The load of attempt 1 may still run on the lost node, so the pod object must not be removed yet.
    assert_eq!(scene.pod().await?.metadata.uid, first.attempts[0].pod_uid, "its pod is still there");
    assert_eq!(first.attempts.len(), 1, "no attempt begins beside it");
    let jobs = scene.namespace.api::<Job>().list(&kube::api::ListParams::default()).await?;
    assert!(jobs.items.len() <= 1, "{} Jobs", jobs.items.len());

    scene.nodes().delete(&node, &DeleteParams::default()).await?;
    let (status, events) = scene.end(LATER).await?;
    assert_one_more_attempt(&status, &events, "check whether its node is lost");
    assert_ne!(status.attempts[1].node_name, node);
    Ok(())
}
