//! A simulated vLLM that several runs share: a pod with the image under test, and its Service.

use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::{Client, api::PostParams};
use serde_json::{Value, json};

use crate::{Namespace, cluster::image};

/// A running model server. Its Service has the same name, and the port 80.
pub struct ModelServer<'a> {
    namespace: &'a Namespace,
    /// Name of the pod and of the Service.
    pub name: String,
}

impl ModelServer<'_> {
    /// Starts `benchwright sim` with these additional arguments, and waits until it is ready.
    ///
    /// # Errors
    /// The error of the API server, or the server is not ready within a minute.
    pub async fn start<'a>(
        namespace: &'a Namespace,
        name: &str,
        arguments: &[&str],
    ) -> anyhow::Result<ModelServer<'a>> {
        let metadata = json!({"name": name, "labels": {"app": name}});
        let pod: Pod = serde_json::from_value(json!({"metadata": metadata, "spec": pod_spec(arguments)}))?;
        let service: Service = serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8000}]},
        }))?;
        namespace.api::<Pod>().create(&PostParams::default(), &pod).await?;
        namespace.api::<Service>().create(&PostParams::default(), &service).await?;
        namespace
            .until("a ready model server", Duration::from_secs(60), || async {
                let conditions = namespace.api::<Pod>().get(name).await?.status.and_then(|it| it.conditions);
                let ready = conditions.into_iter().flatten().any(|it| it.type_ == "Ready" && it.status == "True");
                Ok(ready.then_some(()))
            })
            .await?;
        Ok(ModelServer { namespace, name: name.to_owned() })
    }

    /// Number of requests that have received a first token since the start, from the server's own metrics.
    ///
    /// # Errors
    /// The server does not respond through the API server's proxy, or does not have this metric.
    pub async fn requests(&self) -> anyhow::Result<f64> {
        let Namespace { client, name, .. } = self.namespace;
        metric(client, name, &self.name, "vllm:time_to_first_token_seconds_count").await
    }
}

/// The spec of a pod that runs `benchwright sim` on port 8000 with these additional arguments.
pub fn pod_spec(arguments: &[&str]) -> Value {
    let (repository, tag) = image();
    let all = [&["sim", "--host", "0.0.0.0", "--port", "8000"], arguments].concat();
    json!({
        "automountServiceAccountToken": false,
        "terminationGracePeriodSeconds": 0,
        "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{
            "name": "sim", "image": format!("{repository}:{tag}"), "args": all,
            "ports": [{"containerPort": 8000}],
            "readinessProbe": {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 1},
            "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}},
        }],
    })
}

/// The sum of all series of a metric, read from a pod that runs `benchwright sim`.
///
/// # Errors
/// The pod does not respond through the API server's proxy, or does not have this metric.
pub async fn metric(client: &Client, namespace: &str, pod: &str, name: &str) -> anyhow::Result<f64> {
    let path = format!("/api/v1/namespaces/{namespace}/pods/{pod}:8000/proxy/metrics");
    let text = client.request_text(http::Request::get(path).body(Vec::new())?).await?;
    let series: Vec<_> = text.lines().filter(|it| it.starts_with(&format!("{name}{{"))).collect();
    ensure!(!series.is_empty(), "pod {pod} has no metric {name}");
    series.iter().map(|it| Ok(it.rsplit(' ').next().context("a metric line has a value")?.parse::<f64>()?)).sum()
}
