//! A run through a real llm-d data path: Envoy, the endpoint picker of the Gateway API Inference Extension, an
//! InferencePool, and two simulator pods as its model servers.

use anyhow::Context;
use crds::Outcome;
use e2e::{Cluster, Namespace, PATIENT, model_server, tools};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use kube::api::{ListParams, PostParams};
use serde_json::json;

use crate::{SOON, profile};

/// Starts the data path, with two simulator pods under the label that the InferencePool selects, and waits until all of it is ready.
pub async fn start(namespace: &Namespace) -> anyhow::Result<()> {
    let labels = json!({"app": "llm-d-model-server"});
    let model_servers: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "model-server"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": model_server::pod_spec(&["--model", "llm-d/sim"])},
        },
    }))?;
    namespace.api::<Deployment>().create(&PostParams::default(), &model_servers).await?;
    let manifests = tools::repository().join("e2e/cluster/llm-d");
    let manifests = manifests.to_str().context("the repository's path is no UTF-8")?;
    tools::kubectl(&["apply", "--namespace", &namespace.name, "-f", manifests])?;
    let wait = ["deployment", "--all", "--for=condition=Available", "--timeout=120s"];
    tools::kubectl(&[["wait", "--namespace", namespace.name.as_str()].as_slice(), &wait].concat()).map(drop)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_run_through_the_gateway_reaches_both_model_servers() -> anyhow::Result<()> {
    let cluster = Cluster::with_operator().await?;
    let namespace = Namespace::new(&cluster, "llm-d").await?;
    start(&namespace).await?;

    let profile = serde_json::to_string(&profile(20.0, 6))?;
    let spec = format!(
        "target: {{serviceRef: {{name: llm-d-gateway}}}}\nprofile: {{inline: {profile}}}\nstorage: {{none: {{}}}}\n{PATIENT}"
    );
    namespace.create_run("gateway", &spec).await?;
    let status = namespace.wait_finished("gateway", SOON).await?;
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    assert_eq!(status.resolved.map(|it| it.model).as_deref(), Some("llm-d/sim"), "the model was not discovered");

    let servers = namespace.api::<Pod>().list(&ListParams::default().labels("app=llm-d-model-server")).await?;
    let mut served = Vec::new();
    for pod in servers {
        let name = pod.metadata.name.context("a pod has a name")?;
        let finished = model_server::metric(&namespace.client, &namespace.name, &name, "vllm:request_success_total");
        served.push((finished.await?, name));
    }
    println!("requests finished by each model server: {served:?}");
    assert_eq!(served.len(), 2);
    assert!(served.iter().all(|(count, _)| *count > 0.0), "one model server got nothing: {served:?}");
    let total: f64 = served.iter().map(|(count, _)| count).sum();
    assert!(total >= 120.0, "120 requests were sent, and the servers finished {total}");
    Ok(())
}
