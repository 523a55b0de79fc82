//! Tests of the servers that runs describe: they are started before the load, watched, and gone when the run has finished.

use anyhow::{Context, ensure};
use crds::{BenchmarkRun, BenchmarkRunStatus, Outcome, status::Phase};
use e2e::{Cluster, Namespace, processes::Process};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{Pod, Service},
};
use kube::{
    ResourceExt as _,
    api::{DeleteParams, ListParams, PropagationPolicy},
};

use crate::runs::{SOON, against};

const NO_STORAGE: &str = "storage: {none: {}}";
const CLAIM: &str = "storage: {pvc: {claimName: results, size: 1Gi}}";
/// The label selector of all objects of servers.
const SERVERS: &str = "app.kubernetes.io/component=server";

/// The existing objects of servers in a namespace, as kind and name.
async fn servers(namespace: &Namespace) -> anyhow::Result<Vec<String>> {
    let params = ListParams::default().labels(SERVERS);
    let deployments = namespace.api::<Deployment>().list(&params).await?.into_iter().map(|it| it.name_any());
    let services = namespace.api::<Service>().list(&params).await?.into_iter().map(|it| it.name_any());
    let pods = namespace.api::<Pod>().list(&params).await?.into_iter().map(|it| it.name_any());
    let named = |kind: &str, all: Vec<String>| all.into_iter().map(|it| format!("{kind}/{it}")).collect::<Vec<_>>();
    let all = [("deployment", deployments.collect()), ("service", services.collect()), ("pod", pods.collect())];
    Ok(all.into_iter().flat_map(|(kind, names)| named(kind, names)).collect())
}

async fn assert_gone(namespace: &Namespace, status: &BenchmarkRunStatus) -> anyhow::Result<()> {
    let left = servers(namespace).await?;
    assert!(left.is_empty(), "the run has finished, and this is left: {left:?}\n{status:?}");
    let server = status.server.as_ref().context("the status has the server")?;
    assert!(server.gone_time.is_some() && server.held_end.is_none(), "{server:?}");
    Ok(())
}

/// The message of the condition Ready.
fn message(status: &BenchmarkRunStatus) -> &str {
    status.conditions.iter().find(|it| it.kind == "Ready").map_or("", |it| it.message.as_str())
}

async fn pod_of_server(namespace: &Namespace) -> anyhow::Result<Pod> {
    let pods = namespace.api::<Pod>().list(&ListParams::default().labels(SERVERS)).await?;
    pods.into_iter().next().context("the server has a pod")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_run_starts_its_server_measures_it_and_leaves_nothing() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "servers").await?;
    let target = "{server: {engine: Simulator, model: org/m, args: [--preset, tiny]}}";
    namespace.create_run("chat", &against(target, 5.0, 3, NO_STORAGE)).await?;
    namespace.wait_for("chat", "reason ServerStarting", SOON, |it| it.reason == "ServerStarting").await?;
    let status = namespace.wait_for("chat", "phase Running", SOON, |it| it.phase == Some(Phase::Running)).await?;
    let server = status.server.clone().context("a run that measures has its server in the status")?;
    assert_eq!((server.ready_replicas, server.restarts), (1, 0), "{server:?}");
    assert!(server.ready_time.is_some() && server.container_time.is_some(), "{server:?}");
    let found = servers(&namespace).await?;
    assert_eq!(found.len(), 3, "{found:?}");
    let status = namespace.wait_finished("chat", SOON * 2).await?;
    assert_eq!((status.outcome, status.reason.as_str()), (Some(Outcome::Passed), "RunSucceeded"), "{status:?}");
    assert_eq!(status.resolved.as_ref().map(|it| it.model.as_str()), Some("org/m"));
    assert_gone(&namespace, &status).await?;
    let server = status.server.context("it stays in the status")?;
    println!(
        "server: decided {}, pods {:?}, node {:?}, container {:?}, ready {:?}, removed {:?}, gone {:?}",
        server.start_time,
        server.pods_time,
        server.scheduled_time,
        server.container_time,
        server.ready_time,
        server.stop_time,
        server.gone_time
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn two_replicas_share_the_load_and_are_both_measured() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "replicas").await?;
    let target = "{server: {engine: Simulator, replicas: 2, args: [--preset, tiny]}}";
    namespace.create_run("chat", &against(target, 10.0, 5, CLAIM)).await?;
    let status = namespace.wait_for("chat", "phase Running", SOON, |it| it.phase == Some(Phase::Running)).await?;
    assert_eq!(status.server.as_ref().map(|it| it.ready_replicas), Some(2), "{status:?}");
    let found = servers(&namespace).await?;
    assert_eq!(found.iter().filter(|it| it.starts_with("pod/")).count(), 2, "{found:?}");
    assert_eq!(found.iter().filter(|it| it.starts_with("service/")).count(), 2, "{found:?}");
    let status = namespace.wait_finished("chat", SOON * 2).await?;
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    assert_gone(&namespace, &status).await?;
    let job = &status.attempts.last().context("a run that ended has an attempt")?.job_name;
    let folder = format!("/results/{job}");
    let report = namespace.print_from_claim("results", &["show", &folder, "--file", "report.json"]).await?;
    let report: serde_json::Value = serde_json::from_str(&report)?;
    let spread = &report["serverReplicas"];
    assert_eq!((&spread["distribution"], &spread["fallback"]), (&"RoundRobin".into(), &serde_json::Value::Null));
    let called = spread["called"].as_array().context("each replica has its own address")?;
    let requests: Vec<_> = called.iter().filter_map(|it| it["requests"].as_u64()).collect();
    // With RoundRobin, each replica gets every second request.
    assert_eq!(requests, [25, 25], "{spread}");
    assert_ne!(called[0]["url"], called[1]["url"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn an_engine_that_is_killed_in_mid_run_ends_it() -> anyhow::Result<()> {
    if std::env::var_os("KUBECONFIG").is_some() {
        println!("NOT TESTED: the processes of a foreign cluster are not those of this machine");
        return Ok(());
    }
    let namespace = Namespace::new(&Cluster::with_operator().await?, "killed").await?;
    let target = "{server: {engine: Simulator, args: [--preset, tiny]}}";
    namespace.create_run("chat", &against(target, 5.0, 120, NO_STORAGE)).await?;
    namespace.wait_for("chat", "phase Running", SOON, |it| it.phase == Some(Phase::Running)).await?;
    // The process is killed from the node, because the image has no shell.
    let uid = pod_of_server(&namespace).await?.metadata.uid.context("a stored pod has a UID")?;
    Process::of_pod(&uid)?.kill()?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "ServerDied"), "{status:?}");
    assert!(message(&status).contains("SIGKILL"), "{}", message(&status));
    assert_gone(&namespace, &status).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn an_engine_that_exceeds_its_memory_says_so() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "server-oom").await?;
    // The shell doubles a text until the memory limit is reached. It is used because none of our images has a program that allocates memory on
    // request.
    let script = "echo the last words >&2; x=a; while true; do x=$x$x; done";
    let target = format!(
        "{{server: {{engine: Custom, image: 'localhost/busybox:1', command: [sh, -c, '{script}'], resources: {{limits: {{memory: 32Mi}}}}}}}}"
    );
    namespace.create_run("chat", &against(&target, 5.0, 5, NO_STORAGE)).await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "ServerFailed"), "{status:?}");
    assert!(message(&status).contains("OOMKilled"), "{}", message(&status));
    assert_gone(&namespace, &status).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn an_engine_that_ends_before_it_is_ready_is_quoted_without_its_secrets() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "server-words").await?;
    let script = "echo HF_TOKEN=canary7f3a9c52e1d84b06; echo ValueError: no such model; exit 3";
    let target = format!("{{server: {{engine: Custom, image: 'localhost/busybox:1', command: [sh, -c, '{script}']}}}}");
    namespace.create_run("chat", &against(&target, 5.0, 5, NO_STORAGE)).await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "ServerFailed"), "{status:?}");
    let found = message(&status);
    assert!(found.contains("exit code 3") && found.contains("ValueError: no such model"), "{found}");
    let run = serde_json::to_value(namespace.api::<BenchmarkRun>().get("chat").await?)?;
    let shown = format!("{}{}", run["status"], namespace.events("chat").await?.join("\n"));
    assert!(!shown.contains("canary7f3a9c52e1d84b06") && shown.contains("<redacted>"), "{shown}");
    assert_gone(&namespace, &status).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn an_image_of_a_server_that_does_not_exist_is_named() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "server-image").await?;
    let target = "{server: {engine: Custom, image: 'localhost/not-there:1'}}";
    let more = format!("{NO_STORAGE}\nexecution: {{retry: {{limit: 0}}, deadlines: {{startSeconds: 10}}}}");
    let profile = serde_json::to_string(&crate::runs::profile(1.0, 1))?;
    let spec = format!("target: {target}\nprofile: {{inline: {profile}}}\n{more}\n");
    namespace.create_run("chat", &spec).await?;
    namespace.wait_for("chat", "reason ImagePull", SOON, |it| it.reason == "ImagePull").await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "ImagePull"), "{status:?}");
    assert!(message(&status).contains("localhost/not-there:1"), "{}", message(&status));
    assert_gone(&namespace, &status).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_server_that_never_answers_and_one_that_no_node_takes_end_in_time() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "server-never").await?;
    let profile = serde_json::to_string(&crate::runs::profile(1.0, 1))?;
    let spec = |server: &str| {
        format!(
            "target: {{server: {{{server}}}, readiness: {{timeoutSeconds: 10}}}}\nprofile: {{inline: {profile}}}\n{NO_STORAGE}\n\
             execution: {{retry: {{limit: 0}}, deadlines: {{startSeconds: 15}}}}\n"
        )
    };
    let silent = "engine: Custom, image: 'localhost/busybox:1', command: [sleep, '600']";
    namespace.create_run("silent", &spec(silent)).await?;
    namespace.create_run("no-gpu", &spec("engine: Simulator, resources: {limits: {nvidia.com/gpu: 1}}")).await?;
    let status = namespace.wait_finished("silent", SOON * 2).await?;
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "ServerFailed"), "{status:?}");
    let found = message(&status);
    assert!(found.contains("/v1/models") && found.contains("target.readiness.timeoutSeconds"), "{found}");
    let status = namespace.wait_finished("no-gpu", SOON).await?;
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "Unschedulable"), "{status:?}");
    assert!(message(&status).contains("nvidia.com/gpu"), "{}", message(&status));
    assert_gone(&namespace, &status).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_server_that_is_kept_goes_with_its_run() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "kept").await?;
    let target = "{server: {engine: Simulator, lifecycle: Keep, args: [--preset, tiny]}}";
    namespace.create_run("chat", &against(target, 5.0, 2, NO_STORAGE)).await?;
    let status = namespace.wait_finished("chat", SOON * 2).await?;
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    assert_eq!(servers(&namespace).await?.len(), 3);
    namespace.api::<BenchmarkRun>().delete("chat", &DeleteParams::background()).await?;
    namespace
        .until("the end of the kept server", SOON, || async { Ok(servers(&namespace).await?.is_empty().then_some(())) })
        .await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn kept_and_shared_servers_are_removed_after_their_time() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "server-time").await?;
    let more = format!("{NO_STORAGE}\ncleanup: {{server: {{afterSuccessSeconds: 1}}}}");
    for (name, lifecycle) in [("kept", "Keep"), ("shared", "Reuse")] {
        let target = format!("{{server: {{engine: Simulator, lifecycle: {lifecycle}, args: [--preset, tiny]}}}}");
        namespace.create_run(name, &against(&target, 5.0, 2, &more)).await?;
        let status = namespace.wait_finished(name, SOON * 2).await?;
        assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
        let gone = |it: &BenchmarkRunStatus| it.server.as_ref().is_some_and(|it| it.gone_time.is_some());
        namespace.wait_for(name, "the end of its server", SOON * 2, gone).await?;
        let left = servers(&namespace).await?;
        assert!(left.is_empty(), "{lifecycle}: {left:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_run_that_is_deleted_without_its_children_does_not_leave_its_server() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "server-orphan").await?;
    let target = "{server: {engine: Simulator, args: [--preset, tiny]}}";
    namespace.create_run("chat", &against(target, 5.0, 120, NO_STORAGE)).await?;
    namespace.wait_for("chat", "phase Running", SOON, |it| it.phase == Some(Phase::Running)).await?;
    let orphan = DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
    namespace.api::<BenchmarkRun>().delete("chat", &orphan).await?;
    namespace
        .until("the end of the server", SOON * 2, || async { Ok(servers(&namespace).await?.is_empty().then_some(())) })
        .await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn runs_of_one_description_share_a_server_one_after_the_other() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "shared").await?;
    let target = "{server: {engine: Simulator, lifecycle: Reuse, args: [--preset, tiny]}}";
    for name in ["first", "second"] {
        namespace.create_run(name, &against(target, 5.0, 5, NO_STORAGE)).await?;
    }
    let mut ends = Vec::new();
    for name in ["first", "second"] {
        let status = namespace.wait_finished(name, SOON * 3).await?;
        assert_eq!(status.outcome, Some(Outcome::Passed), "{name}: {status:?}");
        let server = status.server.context("the status has the server")?;
        ends.push((status.load_start_time, status.completion_time, server.name));
    }
    assert_eq!(ends[0].2, ends[1].2, "one server for both");
    ensure!(ends[0].2.starts_with("benchwright-"), "{ends:?}");
    // Either of the two runs may have been the first.
    ends.sort();
    let second_begins = ends[1].0.context("it measured")?.as_second() + 1;
    assert!(second_begins >= ends[0].1.context("it has an end")?.as_second(), "both at the same time: {ends:?}");
    assert_eq!(servers(&namespace).await?.len(), 3, "it stays");
    let runs = namespace.api::<BenchmarkRun>();
    for name in ["first", "second"] {
        runs.delete(name, &DeleteParams::background()).await?;
    }
    namespace
        .until("the end of the shared server, whose runs are deleted", SOON * 2, || async {
            Ok(servers(&namespace).await?.is_empty().then_some(()))
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_cancelled_run_leaves_no_server() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "server-cancel").await?;
    let target = "{server: {engine: Simulator, args: [--preset, tiny]}}";
    namespace.create_run("chat", &against(target, 5.0, 120, NO_STORAGE)).await?;
    namespace.wait_for("chat", "phase Running", SOON, |it| it.phase == Some(Phase::Running)).await?;
    namespace.patch_run("chat", "{cancel: Graceful}").await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!(status.phase, Some(Phase::Cancelled), "{status:?}");
    assert!(status.summary.is_some(), "the partial figures outlive the server: {status:?}");
    assert_gone(&namespace, &status).await
}
