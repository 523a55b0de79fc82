//! Tests of the operator and the launcher under Pod Security `restricted`, and of the privileges of their processes.

use anyhow::Context;
use crds::{Outcome, status::Phase};
use e2e::{
    Cluster, Namespace,
    cluster::{OPERATOR, SYSTEM_NAMESPACE},
    processes::Process,
};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use kube::{
    Api,
    api::{ListParams, PostParams},
};
use serde_json::{Value, json};

use crate::runs::{SOON, simulated};

const LEVEL: &str = "restricted";

/// The warnings of the API server for an object, from a dry run.
async fn warnings(namespace: &Namespace, resource: &str, object: &Value) -> anyhow::Result<Vec<String>> {
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let path =
        format!("/{resource}").replace("/core/", "/api/").replace("/NAMESPACE/", &format!("/{}/", namespace.name));
    let request = kube::core::Request::new(path).create(&dry_run, serde_json::to_vec(object)?)?;
    let answer = namespace.client.send(request.map(kube::client::Body::from)).await?;
    let status = answer.status();
    let found = answer.headers().get_all("warning").iter().map(|it| it.to_str().map(str::to_owned));
    let found = found.collect::<Result<_, _>>()?;
    let body = answer.into_body().collect_bytes().await?;
    anyhow::ensure!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&body));
    Ok(found)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn operator_and_launcher_are_admitted_without_a_warning() -> anyhow::Result<()> {
    let labels = ["enforce", "warn", "audit"].map(|it| format!("pod-security.kubernetes.io/{it}"));
    let labels: Vec<_> = labels.iter().map(|it| (it.as_str(), LEVEL)).collect();
    let cluster = Cluster::with_operator().await?;
    let namespace = Namespace::labelled(&cluster, LEVEL, &labels).await?;
    let claim = "storage: {pvc: {claimName: results, size: 1Gi}}";
    namespace.create_run("chat", &simulated(10.0, 30, claim)).await?;
    namespace.wait_for("chat", "phase Running", SOON, |it| it.phase == Some(Phase::Running)).await?;
    let launcher = namespace.pods("chat").await?.into_iter().next().context("a run that measures has a pod")?;
    let job = namespace.jobs().await?.into_iter().next().context("a run that measures has a Job")?;
    let operators: Api<Deployment> = Api::namespaced(cluster.client.clone(), SYSTEM_NAMESPACE);
    let operator = operators.get(OPERATOR).await?;

    if std::env::var_os("KUBECONFIG").is_none() {
        assert_powerless(&launcher, true)?;
        let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), SYSTEM_NAMESPACE);
        let running =
            ListParams::default().labels("app.kubernetes.io/component=operator").fields("status.phase=Running");
        for pod in pods.list(&running).await? {
            assert_powerless(&pod, false)?;
        }
    }

    let template = &job.spec.as_ref().context("a Job has a spec")?.template;
    let again = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "again"},
        "spec": {"backoffLimit": 0, "template": {"spec": template.spec}},
    });
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "again"}, "spec": operator.spec,
    });
    let pod = |spec: Value| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "again"}, "spec": spec});
    let operator_pod = json!(operator.spec.context("a Deployment has a spec")?.template.spec);
    // The field is removed, because this namespace does not have the service account of the operator.
    let mut operator_pod = pod(operator_pod);
    for field in ["serviceAccountName", "serviceAccount"] {
        operator_pod["spec"].as_object_mut().context("a pod has a spec")?.remove(field);
    }
    let jobs = "apis/batch/v1/namespaces/NAMESPACE/jobs";
    let deployments = "apis/apps/v1/namespaces/NAMESPACE/deployments";
    let pods = "core/v1/namespaces/NAMESPACE/pods";
    for (what, resource, object) in [
        ("the Job of a run", jobs, &again),
        ("the launcher's pod", pods, &pod(json!(template.spec))),
        ("the operator's Deployment", deployments, &deployment),
        ("the operator's pod", pods, &operator_pod),
    ] {
        let found = warnings(&namespace, resource, object).await.with_context(|| what.to_owned())?;
        println!("figure 19: {what}: {} warnings", found.len());
        assert!(found.is_empty(), "{what}: {found:?}");
    }
    // A privileged pod causes a warning, which shows that the check works.
    let mut privileged = deployment.clone();
    privileged["spec"]["template"]["spec"]["hostNetwork"] = json!(true);
    let found = warnings(&namespace, deployments, &privileged).await?;
    assert!(found.iter().any(|it| it.contains("host namespaces")), "{found:?}");

    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    Ok(())
}

/// Asserts that the process of a pod has no capabilities, is not root, and cannot write to its root file system. A launcher must also have no API
/// token.
fn assert_powerless(pod: &Pod, is_launcher: bool) -> anyhow::Result<()> {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let process = Process::of_pod(pod.metadata.uid.as_deref().context("a stored pod has a UID")?)?;
    let (capabilities, bounding, users) =
        (process.status("CapEff")?, process.status("CapBnd")?, process.status("Uid")?);
    let token = process.sees("/var/run/secrets/kubernetes.io/serviceaccount/token");
    println!("{name}: CapEff {capabilities}, CapBnd {bounding}, Uid {users}, token: {token}");
    assert!([capabilities, bounding].iter().all(|it| u64::from_str_radix(it, 16) == Ok(0)), "{name} has capabilities");
    assert!(users.split_whitespace().all(|it| it != "0"), "{name} runs as root: {users}");
    assert_eq!(process.status("NoNewPrivs")?, "1", "{name} may gain privileges");
    assert!(process.has_read_only_root()?, "{name} can write its root");
    assert_eq!(token, !is_launcher, "{name}");
    assert_eq!(process.sees("/var/run/secrets/kubernetes.io"), !is_launcher, "{name}");
    Ok(())
}
