//! Tests of a run with a queue on a cluster without Kueue. `make kueue` runs the tests with Kueue.

use crds::{Outcome, status::Phase};
use e2e::{Cluster, Namespace};

use crate::runs::SOON;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn without_kueue_a_run_of_a_queue_does_not_start() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "queue").await?;
    namespace.create_run("chat", "target: {simulator: {}}\nqueueName: load\nstorage: {none: {}}").await?;
    let status = namespace.wait_for("chat", "QueueNotFound", SOON, |it| it.reason == "QueueNotFound").await?;
    assert_eq!(status.phase, Some(Phase::Suspended), "{status:?}");
    assert!(namespace.pods("chat").await?.is_empty());
    namespace.patch_run("chat", "{cancel: Immediate}").await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!(status.outcome, Some(Outcome::Cancelled), "{status:?}");
    Ok(())
}
