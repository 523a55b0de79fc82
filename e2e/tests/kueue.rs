//! Tests of runs in the queues of a real Kueue: they wait for quota, report a missing queue, and release their quota.

use std::time::Duration;

use crds::{BenchmarkRun, Outcome, Reason, Word as _, status::Phase};
use e2e::{Cluster, Namespace, PATIENT, tools};
use serde_json::{Value, json};

/// Maximum time until a pod runs, on a busy machine.
const SOON: Duration = Duration::from_secs(180);

/// Creates a ClusterQueue with the name of the namespace and these quotas. A launcher of these tests requests 100m and 1Gi.
fn quota(namespace: &Namespace, cpu: &str, memory: &str) -> anyhow::Result<()> {
    tools::apply(&json!({
        "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor", "metadata": {"name": "default"},
    }))?;
    tools::apply(&json!({
        "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": namespace.name},
        "spec": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace.name}},
            "preemption": {"withinClusterQueue": "LowerPriority"},
            "resourceGroups": [{
                "coveredResources": ["cpu", "memory"],
                "flavors": [{"name": "default", "resources": [
                    {"name": "cpu", "nominalQuota": cpu}, {"name": "memory", "nominalQuota": memory},
                ]}],
            }],
        },
    }))
}

/// Creates the queue `load` in the namespace.
fn queue(namespace: &Namespace) -> anyhow::Result<()> {
    tools::apply(&json!({
        "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue",
        "metadata": {"name": "load", "namespace": namespace.name}, "spec": {"clusterQueue": namespace.name},
    }))
}

async fn create(namespace: &Namespace, name: &str, seconds: u32, more: &str) -> anyhow::Result<()> {
    let spec = format!(
        "{{target: {{simulator: {{}}}}, queueName: load, storage: {{none: {{}}}}, execution: {{retry: {{limit: 0}}}}, \
          profile: {{variables: {{rate: '5', duration: '{seconds}'}}}}, {PATIENT}, {more}}}"
    );
    namespace.create_run(name, &spec).await
}

async fn wait_for_reason(namespace: &Namespace, name: &str, reason: Reason) -> anyhow::Result<Value> {
    let status = namespace.wait_for(name, reason.name(), SOON, |it| it.reason == reason).await?;
    println!("{name}: {:?} {}: {}", status.phase, status.reason, message(&serde_json::to_value(&status)?));
    Ok(serde_json::to_value(status)?)
}

fn condition<'a>(status: &'a Value, kind: &str) -> &'a Value {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().find(|it| it["type"] == kind).unwrap_or(&Value::Null)
}

fn message(status: &Value) -> &str {
    condition(status, "Ready")["message"].as_str().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster with Kueue: make kueue"]
async fn a_run_waits_for_quota_and_then_runs() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "quota").await?;
    quota(&namespace, "50m", "1Gi")?;
    queue(&namespace)?;
    create(&namespace, "chat", 3, "").await?;
    let waits = namespace.wait_for("chat", "Kueue's words", SOON, |it| {
        it.reason == Reason::Queued && it.conditions.iter().any(|it| it.message.contains("quota"))
    });
    let status = serde_json::to_value(waits.await?)?;
    println!("{}", message(&status));
    assert_eq!(status["phase"], "Suspended");
    assert_eq!(condition(&status, "Reconciling")["status"], "True", "{status:#}");
    assert!(namespace.pods("chat").await?.is_empty());

    quota(&namespace, "100m", "1Gi")?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!((status.outcome, status.attempts.len()), (Some(Outcome::Passed), 1), "{status:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster with Kueue: make kueue"]
async fn a_queue_that_is_missing_is_named_and_the_run_goes_on_with_it() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "missing").await?;
    create(&namespace, "chat", 3, "").await?;
    let status = wait_for_reason(&namespace, "chat", Reason::QueueNotFound).await?;
    assert_eq!(status["phase"], "Suspended");
    assert_eq!(condition(&status, "Stalled")["status"], "True", "{status:#}");
    assert!(condition(&status, "Reconciling").is_null(), "{status:#}");
    assert!(message(&status).contains("spec.queueName: is \"load\""), "{status:#}");

    quota(&namespace, "1", "2Gi")?;
    queue(&namespace)?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    assert!(status.conditions.iter().all(|it| it.kind != "Stalled"), "{status:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster with Kueue: make kueue"]
async fn a_run_of_a_higher_priority_takes_the_place_of_one_that_measures() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "preempt").await?;
    quota(&namespace, "100m", "1Gi")?;
    queue(&namespace)?;
    tools::apply(&json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": namespace.name}, "value": 1000,
    }))?;
    create(&namespace, "low", 20, "").await?;
    namespace.wait_for("low", "phase Running", SOON, |it| it.phase == Some(Phase::Running)).await?;
    let urgent = format!("launcher: {{scheduling: {{priorityClassName: {}}}}}", namespace.name);
    create(&namespace, "high", 3, &urgent).await?;
    let high = namespace.wait_finished("high", SOON).await?;
    assert_eq!(high.outcome, Some(Outcome::Passed), "{high:?}");

    let low = namespace.wait_finished("low", SOON).await?;
    println!("{}", namespace.events("low").await?.join("\n"));
    let ends: Vec<_> = low.attempts.iter().map(|it| it.reason.as_str()).collect();
    assert_eq!(ends, ["Suspended", "RunSucceeded"], "{low:?}");
    assert_eq!(low.outcome, Some(Outcome::Passed), "{low:?}");
    // The second attempt began after the other run had ended, so there was only one load at a time.
    assert!(low.attempts[1].running_time > high.completion_time, "{low:?} {high:?}");
    tools::kubectl(&["delete", "priorityclass", &namespace.name])?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster with Kueue: make kueue"]
async fn a_run_in_line_can_be_suspended_resumed_and_cancelled() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "leaves").await?;
    quota(&namespace, "0", "0")?;
    queue(&namespace)?;
    create(&namespace, "chat", 3, "").await?;
    wait_for_reason(&namespace, "chat", Reason::Queued).await?;
    namespace.patch_run("chat", "{suspend: true}").await?;
    wait_for_reason(&namespace, "chat", Reason::Suspended).await?;
    let left =
        namespace.until("the end of the Job", SOON, async || Ok(namespace.jobs().await?.is_empty().then_some(())));
    left.await?;
    namespace.patch_run("chat", "{suspend: false}").await?;
    wait_for_reason(&namespace, "chat", Reason::Queued).await?;
    namespace.patch_run("chat", "{cancel: Graceful}").await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!((status.phase, status.outcome), (Some(Phase::Cancelled), Some(Outcome::Cancelled)), "{status:?}");
    let left =
        namespace.until("the end of the Job", SOON, async || Ok(namespace.jobs().await?.is_empty().then_some(())));
    left.await?;
    assert!(namespace.api::<BenchmarkRun>().get_opt("chat").await?.is_some());
    Ok(())
}
