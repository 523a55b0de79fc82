//! Tests in which the operator is killed during a run, or loses its connection to the API server. They have their own binary and run one after the
//! other, because they affect all runs in the cluster.

use std::time::Duration;

use anyhow::Context;
use crds::{Outcome, status::Phase};
use e2e::{Cluster, Namespace, PATIENT, outage::assert_runs_outlive_an_outage, tools};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams};

const SOON: Duration = Duration::from_secs(90);
/// A run that sends sixty requests in twelve seconds.
const SPEC: &str = "target: {simulator: {}}\nprofile: {variables: {rate: '5', duration: '12'}}\nstorage: {none: {}}\n";

/// Ensures that only one test runs at a time.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn an_operator_that_is_killed_in_mid_run_goes_on_where_it_was() -> anyhow::Result<()> {
    let _alone = ALONE.lock().await;
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

/// Duration of the API server's outage. It is longer than the operator's delays after its first failures. `make soak` has a longer outage.
const API_SERVER_AWAY: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs our own cluster: make e2e"]
async fn runs_outlive_an_api_server_that_is_down_for_a_while() -> anyhow::Result<()> {
    let _alone = ALONE.lock().await;
    assert_runs_outlive_an_outage(API_SERVER_AWAY, PATIENT).await
}

/// A packet filter rule on the node that blocks the API server. Dropping this value removes the rule.
struct Cut(Vec<&'static str>);

impl Cut {
    fn new(how: &[&'static str]) -> anyhow::Result<Cut> {
        let rule = [&["INPUT", "-p", "tcp", "--dport", "6443", "-j"], how].concat();
        tools::cluster(&[&["exec", "iptables", "-I"], rule.as_slice()].concat())?;
        Ok(Cut(rule))
    }
}

impl Drop for Cut {
    fn drop(&mut self) {
        if let Err(error) = tools::cluster(&[&["exec", "iptables", "-D"], self.0.as_slice()].concat()) {
            eprintln!("the API server stays cut off: {error}");
        }
    }
}

/// Duration of the blocked connection. It is longer than the operator needs to give up a connection, but short enough for the other parts of the
/// cluster.
const OUTAGE: Duration = Duration::from_secs(60);
/// Maximum time until the operator sees the API server again: its time to detect a dead connection plus its delay between retries, doubled for a busy
/// machine.
const SEEN_AGAIN: Duration = Duration::from_secs(60);
/// Maximum time until the scheduler, the controllers and the kubelet see the API server again. This may take longer than for the operator. The next
/// tests need all of them.
const ALL_SEEN_AGAIN: Duration = Duration::from_secs(300);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_run_made_after_a_network_cut_is_seen_soon() -> anyhow::Result<()> {
    let _alone = ALONE.lock().await;
    let cluster = Cluster::with_operator().await?;
    for (number, how) in [&["DROP"][..], &["REJECT", "--reject-with", "tcp-reset"][..]].into_iter().enumerate() {
        let mut namespace = Namespace::new(&cluster, "cut").await?;
        let cut = Cut::new(how)?;
        tokio::time::sleep(OUTAGE).await;
        drop(cut);
        // The connections of this test are dead as well, so it needs a new client.
        let name = format!("chat-{number}");
        namespace.client = Cluster::connect().await?.client;
        namespace.create_run(&name, &format!("{SPEC}{PATIENT}")).await?;
        let started = std::time::Instant::now();
        namespace.wait_for(&name, "a phase", SEEN_AGAIN, |it| it.phase.is_some()).await?;
        println!("{how:?}: the new run was seen after {:?}", started.elapsed());
        let status = namespace.wait_finished(&name, ALL_SEEN_AGAIN).await?;
        assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
        println!("{how:?}: it passed after {:?}", started.elapsed());
    }
    Ok(())
}
