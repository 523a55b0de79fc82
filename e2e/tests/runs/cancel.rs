//! Tests of runs that a user cancels or suspends, or whose Job a user deletes.

use std::time::Duration;

use anyhow::Context;
use crds::{BenchmarkRunStatus, Outcome, status::Phase};
use e2e::{Cluster, ModelServer, Namespace};
use k8s_openapi::api::{batch::v1::Job, core::v1::ConfigMap, networking::v1::NetworkPolicy};
use kube::{
    Api,
    api::{DeleteParams, ListParams},
};
use tokio::time::Instant;

use crate::runs::{SOON, against, simulated};

const NO_STORAGE: &str = "storage: {none: {}}";

async fn running(purpose: &str, more: &str) -> anyhow::Result<Namespace> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, purpose).await?;
    namespace.create_run("chat", &simulated(5.0, 600, more)).await?;
    namespace.wait_for("chat", "phase Running", SOON, |it| it.phase == Some(Phase::Running)).await?;
    Ok(namespace)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_graceful_cancel_keeps_the_partial_figures() -> anyhow::Result<()> {
    let namespace = running("graceful", NO_STORAGE).await?;
    let pod = namespace
        .pods("chat")
        .await?
        .into_iter()
        .find_map(|it| it.metadata.name)
        .context("a run that measures has a pod")?;
    let progress = format!("/api/v1/namespaces/{}/pods/{pod}:8080/proxy/metrics", namespace.name);
    namespace
        .until("a request that succeeded", SOON, || async {
            let text = namespace.client.request_text(http::Request::get(&progress).body(Vec::new())?).await?;
            let ended =
                text.lines().find(|it| it.starts_with("benchwright_requests_ended_total{outcome=\"succeeded\"}"));
            Ok(ended.filter(|it| !it.ends_with(" 0")).map(drop))
        })
        .await?;
    namespace.patch_run("chat", "cancel: Graceful").await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!((status.phase, status.outcome), (Some(Phase::Cancelled), Some(Outcome::Cancelled)), "{status:?}");
    let summary = status.summary.as_ref();
    assert!(
        summary.is_some_and(|it| it.requests > it.failed + it.cancelled),
        "the partial figures are lost: {status:?}"
    );

    let error = namespace.patch_run("chat", "cancel: null").await.err().map(|it| it.to_string());
    assert!(error.as_ref().is_some_and(|it| it.contains("cannot be removed")), "a cancel was taken back: {error:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn an_immediate_cancel_ends_the_pod_at_once() -> anyhow::Result<()> {
    let namespace = running("immediate", NO_STORAGE).await?;
    namespace.patch_run("chat", "cancel: Immediate").await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!(status.phase, Some(Phase::Cancelled), "{status:?}");
    namespace
        .until("the end of the pod", SOON, || async { Ok(namespace.pods("chat").await?.is_empty().then_some(())) })
        .await?;
    let policies: Api<NetworkPolicy> = namespace.api();
    let gone = || async { Ok(policies.list(&ListParams::default()).await?.items.is_empty().then_some(())) };
    namespace.until("the end of the attempt's NetworkPolicy", SOON, gone).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_run_that_is_suspended_again_and_again_keeps_the_config_maps_of_two_attempts() -> anyhow::Result<()> {
    let namespace = running("suspended", NO_STORAGE).await?;
    let of_runs = ListParams::default().labels("benchwright.dev/run=chat");
    for number in 1..4 {
        let maps = namespace.api::<ConfigMap>().list(&of_runs).await?.items;
        assert_eq!(maps.len(), number.min(2), "attempt {number}");
        for (suspend, phase) in [(true, Phase::Suspended), (false, Phase::Running)] {
            namespace.patch_run("chat", &format!("suspend: {suspend}")).await?;
            namespace.wait_for("chat", phase.name(), SOON * 2, |it| it.phase == Some(phase)).await?;
        }
    }
    Ok(())
}

/// Maximum time after the cancellation in which the server may still receive new requests: one second, tripled for a busy machine.
const STILL_SENT: Duration = Duration::from_secs(3);
/// Additional time for the operator and the kubelet, besides the launcher's grace period.
const BESIDE_GRACE: Duration = Duration::from_secs(5);
const GRACE_SECONDS: u32 = 15;
// A server whose answers never end would fail the readiness probe Generate.
const TARGET: &str = "{serviceRef: {name: server}, readiness: {probe: Models}}";

/// Cancels a run against a server, and returns the status of the run. `arguments` determine how the server answers. The run must end within `limit`.
async fn assert_cancelled_within(
    purpose: &str,
    arguments: &[&str],
    cancel: &str,
    limit: Duration,
) -> anyhow::Result<BenchmarkRunStatus> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, purpose).await?;
    let server = ModelServer::start(&namespace, "server", arguments).await?;
    let more = format!("{NO_STORAGE}\nexecution: {{gracePeriodSeconds: {GRACE_SECONDS}}}");
    namespace.create_run("chat", &against(TARGET, 20.0, 600, &more)).await?;
    let load = "a load at the server";
    namespace.until(load, SOON, || async { Ok((server.requests().await? >= 40.0).then_some(())) }).await?;

    let cancelled = Instant::now();
    namespace.patch_run("chat", &format!("cancel: {cancel}")).await?;
    let (mut count, mut last_sent) = (0.0, Duration::ZERO);
    let (mut status, mut ended) = (None, Duration::ZERO);
    // The loop continues until the pod is gone, so that it also sees requests that are sent late.
    while status.is_none() || !namespace.pods("chat").await?.is_empty() {
        let requests = server.requests().await?;
        if requests > count {
            (count, last_sent) = (requests, cancelled.elapsed());
        }
        if status.is_none() {
            status = Some(namespace.status("chat").await?).filter(|it| it.phase.is_some_and(Phase::is_terminal));
            ended = cancelled.elapsed();
        }
        assert!(cancelled.elapsed() < SOON, "neither run nor pod ended: {:?}", namespace.status("chat").await?);
    }
    let answers = if arguments.is_empty() { "a normal" } else { "a stalled" };
    println!(
        "figure 13: {cancel} with {answers} server: last request after {:.1} s, end of the run after {:.1} s",
        last_sent.as_secs_f64(),
        ended.as_secs_f64()
    );
    let status = status.context("the loop ends with a status")?;
    assert_eq!(status.phase, Some(Phase::Cancelled), "{status:?}");
    assert!(last_sent <= STILL_SENT && ended <= limit, "last request {last_sent:?}, end {ended:?}, {status:?}");
    Ok(status)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_graceful_cancel_ends_within_the_grace_period_with_partial_figures() -> anyhow::Result<()> {
    let limit = Duration::from_secs(GRACE_SECONDS.into()) + BESIDE_GRACE;
    // Two servers: the answers of the first one end, and those of the second one never end.
    let (drained, cut) = tokio::join!(
        assert_cancelled_within("drained", &[], "Graceful", limit),
        assert_cancelled_within("cut", &["--stall-after-tokens", "2"], "Graceful", limit),
    );
    let (drained, cut) = (drained?, cut?);
    assert!(drained.partial && cut.partial, "{drained:?}\n{cut:?}");
    let figures = drained.summary.as_ref().context("a run that drained has figures")?;
    assert!(figures.requests >= 40 && figures.failed == 0, "{figures:?}");
    assert!(cut.summary.is_some_and(|it| it.cancelled >= 40), "the requests that had no answer are not counted");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn an_immediate_cancel_ends_within_five_seconds() -> anyhow::Result<()> {
    let status = assert_cancelled_within("at-once", &[], "Immediate", BESIDE_GRACE).await?;
    assert_eq!(status.reason, "Cancelled", "{status:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_job_that_somebody_deletes_is_lost_and_not_made_again() -> anyhow::Result<()> {
    let namespace = running("job-lost", NO_STORAGE).await?;
    for job in namespace.jobs().await? {
        let name = job.metadata.name.unwrap_or_default();
        namespace.api::<Job>().delete(&name, &DeleteParams::background().grace_period(0)).await?;
    }
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "JobLost"), "{status:?}");
    assert!(namespace.jobs().await?.is_empty());
    Ok(())
}
