//! Tests of runs that share a target, and of a target behind a Gateway.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Context;
use crds::{BenchmarkRun, Outcome, status::Phase};
use e2e::{Cluster, ModelServer, Namespace, PATIENT, model_server};
use futures::future::{FutureExt as _, select_ok};
use k8s_openapi::api::core::v1::Service;
use kube::{
    Api,
    api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::runs::SOON;

/// Time between two reads of the simulator's number of requests.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The name of the simulator that the runs share: a pod, and a Service with port 80.
const SERVER: &str = "server";

/// Polls the server while a test is running. Records the maximum number of concurrent requests, and the number of polls.
struct Watcher {
    most: Arc<AtomicU64>,
    looks: Arc<AtomicU64>,
    task: tokio::task::JoinHandle<()>,
}

impl Watcher {
    fn start(namespace: &Namespace) -> Self {
        let (most, looks) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let (found, counted) = (Arc::clone(&most), Arc::clone(&looks));
        let (client, name) = (namespace.client.clone(), namespace.name.clone());
        let task = tokio::spawn(async move {
            loop {
                if let Ok(running) = model_server::metric(&client, &name, SERVER, "vllm:num_requests_running").await {
                    found.fetch_max(running as u64, Ordering::Relaxed);
                    counted.fetch_add(1, Ordering::Relaxed);
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        });
        Watcher { most, looks, task }
    }

    /// Stops polling. Returns the maximum number of concurrent requests, and the number of polls.
    fn end(self) -> (u64, u64) {
        self.task.abort();
        (self.most.load(Ordering::Relaxed), self.looks.load(Ordering::Relaxed))
    }
}

/// The spec of a run that always has exactly one request in flight.
fn one_at_a_time(target: &str, requests: u32) -> anyhow::Result<String> {
    let profile = format!(
        "{{load: {{type: concurrent, stages: [{{num_requests: {requests}, concurrency_level: 1}}]}}, \
          api: {{type: completion, streaming: true}}, \
          data: {{type: random, input_distribution: {{min: 20, max: 60, mean: 40, std_dev: 5}}, \
                  output_distribution: {{min: 40, max: 60, mean: 50, std_dev: 2}}}}}}"
    );
    let profile = serde_json::to_string(&profile)?;
    Ok(format!(
        "target: {{{target}, readiness: {{probe: Models}}}}\nprofile: {{inline: {profile}}}\nstorage: {{none: {{}}}}\n{PATIENT}"
    ))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn loads_on_one_server_never_overlap_by_whatever_name_it_is_called() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "targets").await?;
    ModelServer::start(&namespace, SERVER, &[]).await?;
    let watcher = Watcher::start(&namespace);
    let names = [
        "serviceRef: {name: server}".to_owned(),
        "url: 'http://server'".to_owned(),
        format!("url: 'http://server.{}'", namespace.name),
        format!("url: 'http://SERVER.{}.svc:80/'", namespace.name),
        format!("url: 'http://server.{}.svc.cluster.local'", namespace.name),
    ];
    for (number, target) in names.iter().enumerate() {
        namespace.create_run(&format!("run-{number}"), &one_at_a_time(target, 10)?).await?;
    }
    let waits = |it: &crds::BenchmarkRunStatus| it.phase == Some(Phase::Pending) && it.reason == "TargetBusy";
    // Runs that were created in the same second have no order, so each of them may be the first.
    let line = (0..names.len()).map(|number| {
        let name = format!("run-{number}");
        let namespace = &namespace;
        async move { namespace.wait_for(&name, "its place in the line", SOON, waits).await }.boxed()
    });
    let (status, _) = select_ok(line).await?;
    let ready = status.conditions.into_iter().find(|it| it.kind == "Ready").context("a run has the condition Ready")?;
    println!("{}", ready.message);
    // The message names the target in the same way as the waiting run's spec.
    assert!(ready.message.to_lowercase().contains(" in line for http://server"), "{}", ready.message);
    let mut times = Vec::new();
    for number in 0..names.len() {
        let status = namespace.wait_finished(&format!("run-{number}"), SOON * 3).await?;
        assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
        let begun = status.load_start_time.context("a run that passed has a start")?;
        times.push((begun, status.completion_time.context("a finished run has an end")?));
    }
    let (most, looks) = watcher.end();
    println!("the server had at most {most} requests at the same time, in {looks} looks");
    assert!(most == 1 && looks > 50, "{most} requests at the same time in {looks} looks");
    // Runs that were created in the same second have no order, and the times in a status are whole seconds.
    times.sort();
    let overlap = times.windows(2).any(|it| it[1].0.as_second() + 1 < it[0].1.as_second());
    assert!(!overlap, "two loads at the same time: {times:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_run_that_is_made_again_waits_for_the_launcher_of_its_namesake() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "recreated").await?;
    ModelServer::start(&namespace, SERVER, &[]).await?;
    let watcher = Watcher::start(&namespace);
    let spec = one_at_a_time("serviceRef: {name: server}", 2_000)?;
    for _ in 0..3 {
        namespace.create_run("chat", &spec).await?;
        namespace.wait_for("chat", "phase Running", SOON, |it| it.phase == Some(Phase::Running)).await?;
        // Like Argo's BeforeHookCreation: the run is gone immediately, while its launcher is still draining.
        namespace.api::<BenchmarkRun>().delete("chat", &DeleteParams::background()).await?;
    }
    namespace.create_run("chat", &one_at_a_time("serviceRef: {name: server}", 10)?).await?;
    let status = namespace.wait_finished("chat", SOON * 2).await?;
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    let (most, looks) = watcher.end();
    println!("the server had at most {most} requests at the same time, in {looks} looks");
    assert!(most == 1 && looks > 50, "{most} requests at the same time in {looks} looks");
    Ok(())
}

pub fn of_gateway_api(namespace: &Namespace, kind: &str, plural: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("gateway.networking.k8s.io", "v1", kind);
    Api::namespaced_with(namespace.client.clone(), &namespace.name, &ApiResource::from_gvk_with_plural(&kind, plural))
}

/// Writes the status of an object in place of a Gateway's controller, because the test cluster has no such controller.
pub async fn set_status(api: &Api<DynamicObject>, name: &str, status: Value) -> anyhow::Result<()> {
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(json!({"status": status}))).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_gateway_is_read_and_its_route_leads_to_the_model_servers() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "gateway").await?;
    crate::runs::llm_d::start(&namespace).await?;
    namespace.create_run("chat", &one_at_a_time("gatewayRef: {name: gateway}", 20)?).await?;
    let waits = |it: &crds::BenchmarkRunStatus| it.phase == Some(Phase::Pending) && it.reason == "TargetNotFound";
    namespace.wait_for("chat", "that it waits for the Gateway", SOON, waits).await?;

    let (gateways, routes) =
        (of_gateway_api(&namespace, "Gateway", "gateways"), of_gateway_api(&namespace, "HTTPRoute", "httproutes"));
    let create = |kind: &str, name: &str, spec: Value| -> anyhow::Result<DynamicObject> {
        let api_version = "gateway.networking.k8s.io/v1";
        Ok(serde_json::from_value(
            json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}),
        )?)
    };
    let listener = json!({"name": "http", "port": 80, "protocol": "HTTP"});
    let gateway = create("Gateway", "gateway", json!({"gatewayClassName": "none", "listeners": [listener]}))?;
    gateways.create(&PostParams::default(), &gateway).await?;
    let pools = GroupVersionKind::gvk("inference.networking.k8s.io", "v1", "InferencePool");
    let pools: Api<DynamicObject> = Api::namespaced_with(
        namespace.client.clone(),
        &namespace.name,
        &ApiResource::from_gvk_with_plural(&pools, "inferencepools"),
    );
    let pool = pools.list(&ListParams::default()).await?.items.into_iter().find_map(|it| it.metadata.name);
    let backend = json!({"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": pool});
    let route = json!({"parentRefs": [{"name": "gateway"}], "rules": [{"backendRefs": [backend]}]});
    routes.create(&PostParams::default(), &create("HTTPRoute", "llm", route)?).await?;

    let service = namespace.api::<Service>().get("llm-d-gateway").await?;
    let address = service.spec.and_then(|it| it.cluster_ip).context("the gateway's Service has an address")?;
    set_status(&gateways, "gateway", json!({"addresses": [{"type": "IPAddress", "value": address}]})).await?;
    let accepted = json!({"type": "Accepted", "status": "True", "reason": "Accepted", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"});
    let parent =
        json!({"parentRef": {"name": "gateway"}, "controllerName": "benchwright.dev/test", "conditions": [accepted]});
    set_status(&routes, "llm", json!({"parents": [parent]})).await?;

    let status = namespace.wait_finished("chat", SOON * 2).await?;
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    let resolved = status.resolved.context("a run that measured has a target")?;
    assert_eq!((resolved.endpoint, resolved.model.as_str()), (format!("http://{address}:80"), "llm-d/sim"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_gateway_is_read_in_another_namespace_only_with_a_grant() -> anyhow::Result<()> {
    let cluster = Cluster::with_operator().await?;
    let (owner, other) = (Namespace::new(&cluster, "gateways").await?, Namespace::new(&cluster, "guest").await?);
    let target = format!("gatewayRef: {{name: gateway, namespace: {}}}", owner.name);
    other.create_run("chat", &one_at_a_time(&target, 5)?).await?;
    let says = |status: &crds::BenchmarkRunStatus, part: &str| {
        let ready = status.conditions.iter().find(|it| it.kind == "Ready");
        status.reason == "TargetNotFound" && ready.is_some_and(|it| it.message.contains(part))
    };
    other.wait_for("chat", "that it asks for a grant", SOON, |it| says(it, "no ReferenceGrant there lets")).await?;
    let grant = serde_json::from_value(json!({
        "apiVersion": "gateway.networking.k8s.io/v1beta1", "kind": "ReferenceGrant", "metadata": {"name": "guests"},
        "spec": {
            "from": [{"group": "benchwright.dev", "kind": "BenchmarkRun", "namespace": other.name}],
            "to": [{"group": "gateway.networking.k8s.io", "kind": "Gateway"}],
        },
    }))?;
    let kind = GroupVersionKind::gvk("gateway.networking.k8s.io", "v1beta1", "ReferenceGrant");
    let kind = ApiResource::from_gvk_with_plural(&kind, "referencegrants");
    let grants: Api<DynamicObject> = Api::namespaced_with(owner.client.clone(), &owner.name, &kind);
    grants.create(&PostParams::default(), &grant).await?;
    let found = |it: &crds::BenchmarkRunStatus| says(it, "Gateway") && !says(it, "ReferenceGrant");
    other.wait_for("chat", "that the Gateway is missing", SOON, found).await?;
    Ok(())
}
