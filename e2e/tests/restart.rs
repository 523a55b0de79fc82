//! The operator is killed in mid-run. A binary of its own: other runs would lose their operator too.

use std::time::Duration;

use anyhow::Context;
use crds::{Outcome, status::Phase};
use e2e::{Cluster, Namespace, PATIENT};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams};

const SOON: Duration = Duration::from_secs(90);
/// Sixty requests in twelve seconds.
const SPEC: &str = "target: {simulator: {}}\nprofile: {variables: {rate: '5', duration: '12'}}\nstorage: {none: {}}\n";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn an_operator_that_is_killed_in_mid_run_goes_on_where_it_was() -> anyhow::Result<()> {
    let cluster = Cluster::with_operator().await?;
    let namespace = Namespace::new(&cluster, "killed").await?;
    namespace.create_run("chat", &format!("{SPEC}{PATIENT}")).await?;
    namespace.wait_for("chat", "phase Running", SOON, |it| it.phase == Some(Phase::Running)).await?;

    let pods: kube::Api<Pod> = kube::Api::namespaced(cluster.client.clone(), e2e::cluster::SYSTEM_NAMESPACE);
    let operators = ListParams::default().labels("app.kubernetes.io/component=operator");
    for pod in pods.list(&operators).await? {
        let name = pod.metadata.name.context("a pod has a name")?;
        pods.delete(&name, &DeleteParams::default().grace_period(0)).await?;
    }
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    assert_eq!(status.attempts.len(), 1, "{status:?}");
    assert_eq!(namespace.jobs().await?.len(), 1, "one attempt is one Job");
    Ok(())
}
