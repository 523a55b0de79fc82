//! A run through a real llm-d data path: Envoy, the endpoint picker of the Gateway API Inference Extension, an InferencePool, and two simulator pods
//! as model servers.

use anyhow::Context;
use crds::{BenchmarkRunStatus, Outcome, status::Phase};
use e2e::{Cluster, Namespace, PATIENT, model_server, tools};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Pod, Service},
};
use kube::{
    Api,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, ObjectMeta, PostParams},
};
use serde_json::json;

use crate::runs::{
    SOON, profile,
    targets::{of_gateway_api, set_status},
};

/// Starts the data path with two simulator pods, which the InferencePool selects by their label, and waits until everything is ready.
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

/// Whether a run waits for llm-d, with a message that contains `part`.
fn waits_for(status: &BenchmarkRunStatus, part: &str) -> bool {
    let ready = status.conditions.iter().find(|it| it.kind == "Ready");
    status.phase == Some(Phase::Preparing)
        && status.reason == "ServerStarting"
        && ready.is_some_and(|it| it.message.contains(part))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_run_waits_for_llm_d_that_is_installed_after_it_and_measures_it() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "modelservice").await?;
    let profile = serde_json::to_string(&profile(10.0, 4))?;
    let server = "{engine: VLLM, method: ModelService, image: vllm/vllm-openai:v0.11.0, model: llm-d/sim, replicas: 2, \
                  gatewayRef: {name: gateway}}";
    let spec =
        format!("target: {{server: {server}}}\nprofile: {{inline: {profile}}}\nstorage: {{none: {{}}}}\n{PATIENT}");
    namespace.create_run("charts", &spec).await?;
    let wait = |part: &'static str| namespace.wait_for("charts", part, SOON, move |it| waits_for(it, part));
    wait("has no such Gateway; create it").await?;
    let files = namespace.api::<ConfigMap>().get("charts-modelservice").await?.data.context("it has files")?;
    let values = files.get("modelservice.yaml").context("it has the values of the model servers")?;
    assert!(values.contains("uri: hf://llm-d/sim") && values.contains("replicas: 2"), "{values}");

    // Simulates the charts: creates the same data path under other names, and the Gateway, route and pool that lead to it.
    start(&namespace).await?;
    let (gateways, routes) =
        (of_gateway_api(&namespace, "Gateway", "gateways"), of_gateway_api(&namespace, "HTTPRoute", "httproutes"));
    let gateway: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "gateway"},
        "spec": {"gatewayClassName": "none", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]},
    }))?;
    gateways.create(&PostParams::default(), &gateway).await?;
    wait("httpRoute: is \"llm-d-charts\", and there is no such HTTPRoute").await?;
    let route = files.get("httproute.yaml").context("it has the route")?;
    routes.create(&PostParams::default(), &serde_saphyr::from_str(route)?).await?;
    wait("InferencePool \"gaie-charts\", which does not exist").await?;
    let pools = GroupVersionKind::gvk("inference.networking.k8s.io", "v1", "InferencePool");
    let pools: Api<DynamicObject> = Api::namespaced_with(
        namespace.client.clone(),
        &namespace.name,
        &ApiResource::from_gvk_with_plural(&pools, "inferencepools"),
    );
    let pool = pools.get("llm-d").await?;
    let metadata = ObjectMeta { name: Some("gaie-charts".into()), ..ObjectMeta::default() };
    pools.create(&PostParams::default(), &DynamicObject { metadata, ..pool }).await?;
    wait("which its Gateway has not accepted").await?;
    let accepted = json!({"type": "Accepted", "status": "True", "reason": "Accepted", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"});
    let parent =
        json!({"parentRef": {"name": "gateway"}, "controllerName": "benchwright.dev/test", "conditions": [accepted]});
    set_status(&routes, "llm-d-charts", json!({"parents": [parent]})).await?;
    wait("has no address in its status").await?;
    let service = namespace.api::<Service>().get("llm-d-gateway").await?;
    let address = service.spec.and_then(|it| it.cluster_ip).context("the gateway's Service has an address")?;
    set_status(&gateways, "gateway", json!({"addresses": [{"type": "IPAddress", "value": address}]})).await?;

    let status = namespace.wait_finished("charts", SOON * 2).await?;
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    let resolved = status.resolved.context("a run that measured has a target")?;
    assert_eq!((resolved.endpoint, resolved.model.as_str()), (format!("http://{address}:80"), "llm-d/sim"));
    assert!(status.server.is_none(), "the operator started no server");
    let ours = ListParams::default().labels("app.kubernetes.io/component=server");
    let started = namespace.api::<Deployment>().list(&ours).await?.items;
    assert!(started.is_empty(), "the operator started a server: {started:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_run_whose_llm_d_never_comes_ends_in_its_time() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "no-llm-d").await?;
    let server = "{engine: VLLM, method: ModelService, image: i, model: o/m, gatewayRef: {name: gateway}}";
    let spec = format!("target: {{server: {server}, readiness: {{timeoutSeconds: 5}}}}\nstorage: {{none: {{}}}}");
    namespace.create_run("charts", &spec).await?;
    let status = namespace.wait_finished("charts", SOON).await?;
    assert_eq!((status.outcome, status.reason.as_str()), (Some(Outcome::Error), "ServerFailed"), "{status:?}");
    let ready = status.conditions.iter().find(|it| it.kind == "Ready").context("a run has the condition Ready")?;
    assert!(ready.message.contains("llm-d was not ready within 5 seconds"), "{}", ready.message);
    Ok(())
}
