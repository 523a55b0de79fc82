//! Tests of the wrapper in the pods of a server: it provides the log, the startup times and the traces of a profiler.

use anyhow::{Context, ensure};
use crds::{BenchmarkRunStatus, Outcome};
use e2e::{Cluster, Namespace, PATIENT};
use k8s_openapi::api::core::v1::Pod;
use kube::{ResourceExt as _, api::ListParams};
use serde_json::Value;

use crate::runs::{SOON, against};

const CLAIM: &str = "storage: {pvc: {claimName: results, size: 1Gi}}";
/// A simulated server that writes a startup log. Its start takes some seconds.
const SERVER: &str = "engine: Simulator, model: org/m, args: [--preset, tiny, --load-time, 3s]";

/// The content of a file in the results folder of a run.
async fn file(namespace: &Namespace, status: &BenchmarkRunStatus, name: &str) -> anyhow::Result<String> {
    let job = &status.attempts.last().context("a run that ended has an attempt")?.job_name;
    namespace.print_from_claim("results", &["show", &format!("/results/{job}"), "--file", name]).await
}

async fn report(namespace: &Namespace, status: &BenchmarkRunStatus) -> anyhow::Result<Value> {
    Ok(serde_json::from_str(&file(namespace, status, "report.json").await?)?)
}

async fn passed(namespace: &Namespace, name: &str) -> anyhow::Result<BenchmarkRunStatus> {
    let status = namespace.wait_finished(name, SOON * 2).await?;
    assert_eq!((status.outcome, status.reason.as_str()), (Some(Outcome::Passed), "RunSucceeded"), "{status:?}");
    Ok(status)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn the_report_has_the_log_and_the_start_of_each_server() -> anyhow::Result<()> {
    let cluster = Cluster::with_operator().await?;
    // Restricted is the strictest level, so the wrapper may need no more privileges than the simulated server.
    let labels = [("pod-security.kubernetes.io/enforce", "restricted")];
    let namespace = Namespace::labelled(&cluster, "wrapper", &labels).await?;
    let kept = format!("{{server: {{{SERVER}, lifecycle: Keep}}}}");
    namespace.create_run("one", &against(&kept, 5.0, 3, CLAIM)).await?;
    let status = passed(&namespace, "one").await?;
    let document = report(&namespace, &status).await?;
    let start = &document["startups"][0];
    assert_eq!(start["startup"]["outcome"], "ready", "{start}");
    ensure!(start["pod"]["times"]["scheduled"].is_string() && start["pod"]["readySeconds"].is_f64(), "{start}");
    ensure!(start["observedReadySeconds"].as_f64().context("it was seen to be ready")? >= 3.0, "{start}");
    let log = file(&namespace, &status, "server/0.log").await?;
    ensure!(log.contains("org/m"), "{log}");
    ensure!(document["managedServer"].get("notes").is_none(), "{}", document["managedServer"]);
    let pods = ListParams::default().labels("app.kubernetes.io/component=server");
    let pod = namespace.api::<Pod>().list(&pods).await?.items.first().context("the server is kept")?.name_any();
    let path = format!("/api/v1/namespaces/{}/pods/{pod}:8099/proxy/log", namespace.name);
    let refused = cluster.client.request_text(http::Request::get(&path).body(Vec::new())?).await;
    ensure!(format!("{refused:?}").contains("401"), "the log needs no token: {refused:?}");

    namespace.create_run("two", &against(&format!("{{server: {{{SERVER}, replicas: 2}}}}"), 5.0, 3, CLAIM)).await?;
    let status = passed(&namespace, "two").await?;
    let document = report(&namespace, &status).await?;
    assert_eq!(document["startups"].as_array().map(Vec::len), Some(2), "{}", document["managedServer"]);
    file(&namespace, &status, "server/1.log").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_start_is_measured_with_its_steps() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "nop").await?;
    let profile = "profile: {inline: '{sleep_levels: [1, 2]}'}";
    let spec = format!("target: {{server: {{{SERVER}}}}}\nharness: nop\n{profile}\n{PATIENT}\n{CLAIM}\n");
    namespace.create_run("start", &spec).await?;
    let status = passed(&namespace, "start").await?;
    let result: Value = serde_saphyr::from_str(&file(&namespace, &status, "result.yaml").await?)?;
    let metrics = &result["vllm_metrics"][0];
    ensure!(metrics["pod_start"].as_f64().context("it has pod_start")? >= 3.0, "{metrics}");
    ensure!(metrics["categories"].to_string().contains("Model Loading"), "{metrics}");
    let cycles = report(&namespace, &status).await?["startups"][0]["sleepCycles"].clone();
    let levels: Vec<_> = cycles.as_array().context("its sleep was measured")?.iter().map(|it| &it["level"]).collect();
    assert_eq!(levels, [1, 2], "{cycles}");
    // The weights were loaded again, which takes three seconds.
    ensure!(cycles[1]["reloadSeconds"].as_f64().context("they were loaded again")? >= 3.0, "{cycles}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_trace_of_a_pod_is_in_the_results_folder() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "trace").await?;
    for (name, replicas) in [("one", 1), ("two", 2)] {
        let target = format!("{{server: {{{SERVER}, replicas: {replicas}}}}}");
        let more = format!("{CLAIM}\nprofiling: {{kind: Torch, duration: 1s}}");
        namespace.create_run(name, &against(&target, 5.0, 4, &more)).await?;
        let status = passed(&namespace, name).await?;
        let profiling = report(&namespace, &status).await?["profiling"].clone();
        let files = profiling["files"].as_array().cloned().unwrap_or_default();
        assert_eq!(files.len(), 1, "one pod is profiled: {profiling}");
        ensure!(files[0]["bytes"].as_u64().context("a file has a size")? > 0, "{profiling}");
        let trace = files[0]["name"].as_str().context("a file has a name")?;
        ensure!(trace.starts_with("profiling/"), "{trace}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn without_a_wrapper_the_report_says_that_nothing_kept_the_log() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "no-wrapper").await?;
    let target = format!("{{server: {{{SERVER}, wrapper: false}}}}");
    namespace.create_run("chat", &against(&target, 5.0, 2, CLAIM)).await?;
    let status = passed(&namespace, "chat").await?;
    let notes = report(&namespace, &status).await?["managedServer"]["notes"].to_string();
    ensure!(notes.contains("its pods do not keep it"), "{notes}");
    Ok(())
}
