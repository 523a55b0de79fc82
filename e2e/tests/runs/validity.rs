//! Tests of runs with the default validity bounds. The figures of these runs must not be valid.

use anyhow::Context;
use crds::{BenchmarkRunStatus, Outcome, status::Phase};
use e2e::{Cluster, ModelServer, Namespace, tools};

use crate::runs::{SOON, profile};

/// Runs a spec that sets no validity bounds. Returns the status and the message at the end.
async fn ended(namespace: &Namespace, spec: &str) -> anyhow::Result<(BenchmarkRunStatus, String)> {
    namespace.create_run("chat", spec).await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    let ready = status.conditions.iter().find(|it| it.kind == "Ready").context("a condition Ready")?;
    println!("{:?} {}: {}", status.outcome, status.reason, ready.message);
    let message = ready.message.clone();
    Ok((status, message))
}

fn inline(rate: f64, seconds: u32) -> anyhow::Result<String> {
    Ok(format!("profile: {{inline: {}}}\nstorage: {{none: {{}}}}", serde_json::to_string(&profile(rate, seconds))?))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_target_that_answers_404_to_all_never_passes() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "all-404").await?;
    ModelServer::start(&namespace, "server", &["--fail-status", "404"]).await?;
    let target = "target: {serviceRef: {name: server}, readiness: {probe: Models}}";
    let (status, message) = ended(&namespace, &format!("{target}\n{}", inline(10.0, 5)?)).await?;
    assert_eq!((status.phase, status.outcome), (Some(Phase::Failed), Some(Outcome::Invalid)), "{status:?}");
    assert_eq!((status.reason.as_str(), status.columns), ("MeasurementInvalid", None));
    assert!(message.contains("TooFewSuccesses") || message.contains("TargetLost"), "{message}");
    let summary = status.summary.context("the figures of an invalid run are kept")?;
    assert!(summary.requests > 0 && summary.failed == summary.requests, "{summary:?}");
    let table = tools::kubectl(&["get", "benchmarkruns", "--namespace", &namespace.name])?;
    assert!(table.contains("Invalid") && !table.contains("Passed"), "{table}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_launcher_that_is_starved_of_cpu_is_invalid() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "starved").await?;
    let starved = "launcher: {resources: {requests: {cpu: 50m}, limits: {cpu: 50m, memory: 1Gi}}}";
    let (status, message) =
        ended(&namespace, &format!("target: {{simulator: {{}}}}\n{starved}\n{}", inline(200.0, 5)?)).await?;
    assert_eq!((status.phase, status.outcome), (Some(Phase::Failed), Some(Outcome::Invalid)), "{status:?}");
    assert_eq!((status.reason.as_str(), status.columns), ("MeasurementInvalid", None));
    let own_fault = ["SendLagTooLarge", "ReceiveDelayTooLarge", "CpuThrottled", "SchedulerStalled", "ReadsCoalesced"];
    assert!(own_fault.iter().any(|it| message.starts_with(it)), "{message}");
    Ok(())
}
