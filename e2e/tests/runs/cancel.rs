//! Runs that a user cancels, suspends or takes the Job from.

use crds::{Outcome, status::Phase};
use e2e::{Cluster, Namespace};
use k8s_openapi::api::batch::v1::Job;
use kube::api::DeleteParams;

use crate::{SOON, simulated};

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
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
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
        .await
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
