//! Tests with a hostile tenant, who creates objects of etcd's maximum size, or runs whose status cannot be written. Other tenants must hardly notice
//! it.

use std::time::{Duration, Instant};

use crds::status::Phase;
use e2e::{
    Cluster, Namespace,
    control_plane::{
        ControlPlane,
        operator::{Operator, alone},
        runs,
    },
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Map, Value, json};

/// The operator's memory limit in the chart, in KiB.
const MEMORY_LIMIT: u64 = 256 * 1024;
/// Number of objects of each kind.
const OBJECTS: usize = 64;
/// Number of times that the operator restarts and reads all objects again.
const STARTS: usize = 3;
/// Time limit for the operator to become ready, and for another tenant's run to start.
const SOON: Duration = Duration::from_secs(30);
/// Time limit for the start of a run that waits for a run whose status cannot be written.
const PATIENCE: Duration = Duration::from_secs(60);

/// Many small entries. Together with the managedFields that the API server adds for them, they take about a megabyte.
fn small_entries(prefix: &str) -> impl Iterator<Item = String> {
    (0..34_000_u32).map(move |it| format!("{prefix}{it:05x}"))
}

fn labels() -> Map<String, Value> {
    small_entries("l").map(|it| (it, json!(""))).collect()
}

/// Creates [`OBJECTS`] objects, only a few concurrently because each is large.
async fn create_large(plane: &ControlPlane, path: &str, object: impl Fn(usize) -> Value) -> anyhow::Result<()> {
    let all = (0..OBJECTS).map(|it| Ok(object(it)));
    stream::iter(all)
        .try_for_each_concurrent(4, async |it| runs::create(&plane.client, path, &it).await.map(drop))
        .await
}

/// A run that never starts, with the maximum amount of metadata.
fn large_run(number: usize) -> Value {
    let mut run = runs::suspended(&format!("large-{number}"));
    match number % 2 {
        0 => run["metadata"]["labels"] = labels().into(),
        _ => run["metadata"]["finalizers"] = small_entries("example.com/f").take(20_000).collect(),
    }
    run
}

/// A pod with the operator's labels. Everyone who may create pods can set them.
fn large_pod(number: usize) -> Value {
    let mut labels = labels();
    labels.insert("app.kubernetes.io/managed-by".into(), json!("benchwright-operator"));
    labels.insert("benchwright.dev/run".into(), json!(format!("large-{number}")));
    let env: Vec<_> = (0..10_000).map(|it| json!({"name": format!("E{it:04x}")})).collect();
    let env = if number.is_multiple_of(2) { env } else { Vec::new() };
    json!({
        "metadata": {"name": format!("large-{number}"), "labels": labels},
        "spec": {"nodeSelector": {"no": "node"}, "containers": [{"name": "c", "image": "i", "env": env}]},
    })
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a control plane: make tenants"]
async fn large_objects_of_a_tenant_cost_the_operator_nothing() -> anyhow::Result<()> {
    let plane = ControlPlane::connect().await?;
    let cluster = Cluster { client: plane.client.clone() };
    let (hostile, other) = (Namespace::new(&cluster, "hostile").await?, Namespace::new(&cluster, "other").await?);
    let path = runs::runs_path(&hostile.name);
    create_large(&plane, &path, large_run).await?;
    create_large(&plane, &format!("/api/v1/namespaces/{}/pods", hostile.name), large_pod).await?;
    for start in 0..STARTS {
        let mut operator = Operator::start(&plane, "operator-a", "tenants", &alone()?)?;
        let began = Instant::now();
        operator.wait_ready(SOON).await?;
        let name = format!("run-{start}");
        runs::create(&plane.client, &runs::runs_path(&other.name), &runs::short(&name, 1)).await?;
        // From here on the duration depends on the scheduler, so it is not measured.
        other.wait_for(&name, "a run that starts", SOON, |it| it.phase == Some(Phase::Starting)).await?;
        let (took, memory) = (began.elapsed(), operator.memory()?);
        println!(
            "figure 27: another namespace's pod starts beside {OBJECTS} runs and pods of 1 MB each: after {:.1} s, peak memory \
             {} MiB",
            took.as_secs_f64(),
            memory.peak / 1024,
        );
        anyhow::ensure!(memory.peak < MEMORY_LIMIT, "{memory:?}");
        operator.kill().await?;
    }
    // The finalizers must be removed here, because nobody else does it.
    stream::iter(0..OBJECTS)
        .map(Ok)
        .try_for_each_concurrent(4, async |it| {
            runs::merge(&plane.client, &format!("{path}/large-{it}"), &json!({"metadata": {"finalizers": null}})).await
        })
        .await
}

/// How a tenant prevents the operator from writing the status of a run.
#[derive(Clone, Copy, Debug)]
enum Cause {
    /// The run has the maximum size for etcd, so there is no room for a status.
    Size,
    /// An admission webhook refuses all status writes.
    Webhook,
}

/// Creates a run on a target whose status cannot be written.
async fn create_unwritable(
    plane: &ControlPlane,
    namespace: &Namespace,
    cause: Cause,
    target: &str,
) -> anyhow::Result<()> {
    let mut run = runs::run("unwritable", json!({}), json!({"target": {"url": target}}));
    match cause {
        Cause::Webhook => {
            let name = format!("{}.example.com", namespace.name);
            let webhook = json!({
                "metadata": {"name": name},
                "webhooks": [{
                    "name": name, "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
                    "timeoutSeconds": 1, "clientConfig": {"url": "https://127.0.0.1:1/"},
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace.name}},
                    "rules": [{"apiGroups": ["benchwright.dev"], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["benchmarkruns/status"]}],
                }],
            });
            let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
            runs::create(&plane.client, path, &webhook).await?;
            // A webhook takes effect a moment after its creation.
            tokio::time::sleep(Duration::from_secs(3)).await;
        }
        Cause::Size => {
            let all: Vec<_> = small_entries("l").chain(small_entries("m")).collect();
            // Find the largest size that is accepted, to within a few kilobytes, which is less than a status needs.
            let mut labels = all.len();
            loop {
                run["metadata"]["labels"] =
                    all.iter().take(labels).map(|it| (it.clone(), json!(""))).collect::<Map<_, _>>().into();
                match runs::create(&plane.client, &runs::runs_path(&namespace.name), &run).await {
                    Ok(_) => return Ok(()),
                    Err(_) if labels > 100 => labels -= 100,
                    Err(error) => return Err(error),
                }
            }
        }
    }
    runs::create(&plane.client, &runs::runs_path(&namespace.name), &run).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a control plane: make tenants"]
async fn a_run_whose_status_cannot_be_written_delays_others_by_less_than_a_minute() -> anyhow::Result<()> {
    let plane = ControlPlane::connect().await?;
    let cluster = Cluster { client: plane.client.clone() };
    let mut operator = Operator::start(&plane, "operator-a", "unwritable", &alone()?)?;
    operator.wait_ready(SOON).await?;
    for cause in [Cause::Webhook, Cause::Size] {
        let (hostile, other) = (Namespace::new(&cluster, "hostile").await?, Namespace::new(&cluster, "other").await?);
        let target = format!("http://gateway.{}.svc:8000", other.name);
        create_unwritable(&plane, &hostile, cause, &target).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let began = Instant::now();
        let own = runs::run("own", json!({}), json!({"target": {"url": target}}));
        runs::create(&plane.client, &runs::runs_path(&other.name), &own).await?;
        other.wait_for("own", "a run that starts", PATIENCE, |it| it.phase == Some(Phase::Starting)).await?;
        let written = hostile.status("unwritable").await?;
        anyhow::ensure!(written.phase.is_none(), "{cause:?}: a status was written: {written:?}");
        println!(
            "figure 29: another namespace's run on the same target begins after: {cause:?} {:.1} s",
            began.elapsed().as_secs_f64()
        );
    }
    operator.kill().await
}
