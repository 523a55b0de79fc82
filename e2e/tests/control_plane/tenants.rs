//! One tenant makes objects as large as etcd takes, and others must not notice.

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

/// The memory limit of the chart, in KiB.
const MEMORY_LIMIT: u64 = 256 * 1024;
/// Objects of each kind.
const OBJECTS: usize = 64;
/// How often the operator starts anew, and reads all of them again.
const STARTS: usize = 3;
const SOON: Duration = Duration::from_secs(30);

/// Many small entries: a megabyte with the record of their manager, which the API server adds.
fn small_entries(prefix: &str) -> impl Iterator<Item = String> {
    (0..34_000_u32).map(move |it| format!("{prefix}{it:05x}"))
}

fn labels() -> Map<String, Value> {
    small_entries("l").map(|it| (it, json!(""))).collect()
}

/// Creates as many objects as [`OBJECTS`], few at a time: each is large.
async fn create_large(plane: &ControlPlane, path: &str, object: impl Fn(usize) -> Value) -> anyhow::Result<()> {
    let all = (0..OBJECTS).map(|it| Ok(object(it)));
    stream::iter(all)
        .try_for_each_concurrent(4, async |it| runs::create(&plane.client, path, &it).await.map(drop))
        .await
}

/// A run that never starts, with as much metadata as an object may have.
fn large_run(number: usize) -> Value {
    let mut run = runs::suspended(&format!("large-{number}"));
    match number % 2 {
        0 => run["metadata"]["labels"] = labels().into(),
        _ => run["metadata"]["finalizers"] = small_entries("example.com/f").take(20_000).collect(),
    }
    run
}

/// A pod with the operator's labels, which anybody may set who may create pods.
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
        // From here on it is the scheduler's.
        other.wait_for(&name, "a run that starts", SOON, |it| it.phase == Some(Phase::Starting)).await?;
        let (took, memory) = (began.elapsed(), operator.memory()?);
        println!(
            "start {}: {OBJECTS} runs and {OBJECTS} pods of a megabyte each; the pod of another namespace's run was created {:.1} s after \
             the start; resident {} MiB, at most {} MiB",
            start + 1,
            took.as_secs_f64(),
            memory.resident / 1024,
            memory.peak / 1024,
        );
        anyhow::ensure!(memory.peak < MEMORY_LIMIT, "{memory:?}");
        operator.kill().await?;
    }
    // Nobody else removes these finalizers.
    stream::iter(0..OBJECTS)
        .map(Ok)
        .try_for_each_concurrent(4, async |it| {
            runs::merge(&plane.client, &format!("{path}/large-{it}"), &json!({"metadata": {"finalizers": null}})).await
        })
        .await
}
