//! The cluster, with the operator installed by its chart.

use std::{path::Path, time::UNIX_EPOCH};

use anyhow::Context;
use kube::{Client, Config, config::Kubeconfig};
use tokio::sync::OnceCell;

use crate::tools;

/// The Helm release of the operator.
pub const RELEASE: &str = "benchwright-e2e";
/// The namespace of the operator.
pub const SYSTEM_NAMESPACE: &str = "benchwright-e2e";
/// The operator's Deployment and Service.
pub const OPERATOR: &str = "benchwright-e2e-operator";

/// A cluster with the operator in it.
#[derive(Clone)]
pub struct Cluster {
    /// A client with the administrator's rights.
    pub client: Client,
}

impl Cluster {
    /// Connects, without installing anything.
    ///
    /// # Errors
    /// When there is no kubeconfig, or its API server does not answer.
    pub async fn connect() -> anyhow::Result<Cluster> {
        let path = tools::kubeconfig();
        let kubeconfig = Kubeconfig::read_from(&path)
            .with_context(|| format!("no cluster: cannot read {}; run `make cluster` first", path.display()))?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &kube::config::KubeConfigOptions::default()).await?;
        Ok(Cluster { client: Client::try_from(config)? })
    }

    /// Connects to the cluster and installs the chart, once for all tests of a binary.
    ///
    /// # Errors
    /// When the cluster cannot be reached or the operator does not become ready.
    pub async fn with_operator() -> anyhow::Result<Cluster> {
        static INSTALLED: OnceCell<()> = OnceCell::const_new();
        INSTALLED.get_or_try_init(|| async { install(&[]) }).await?;
        Cluster::connect().await
    }
}

impl Cluster {
    /// Number of the operator's writes to the API server since its start, by its own metric.
    ///
    /// # Errors
    /// When the operator does not answer through the API server's proxy.
    pub async fn operator_writes(&self) -> anyhow::Result<u64> {
        let service = format!("/api/v1/namespaces/{SYSTEM_NAMESPACE}/services/{OPERATOR}:metrics");
        let request = http::Request::get(format!("{service}/proxy/metrics")).body(Vec::new())?;
        let text = self.client.request_text(request).await?;
        let lines = text.lines().filter(|it| it.starts_with("benchwright_operator_api_writes_total{"));
        lines.map(|it| Ok(it.rsplit(' ').next().context("a metric line has a value")?.parse::<u64>()?)).sum()
    }
}

/// The image under test, split into repository and tag.
pub fn image() -> (String, String) {
    image_of("E2E_IMAGE", "localhost/benchwright:dev")
}

/// The image named by a variable, split into repository and tag.
pub fn image_of(variable: &str, default: &str) -> (String, String) {
    let image = std::env::var(variable).unwrap_or_else(|_| default.into());
    match image.rsplit_once(':') {
        // A colon before a slash belongs to a registry's port.
        Some((repository, tag)) if !tag.contains('/') => (repository.to_owned(), tag.to_owned()),
        _ => (image, "latest".into()),
    }
}

/// Installs or upgrades the chart with further `--set` values and waits until the operator is ready.
///
/// # Errors
/// The output of helm.
pub fn install(values: &[&str]) -> anyhow::Result<()> {
    // The image's tag does not change with its content. A changed annotation makes the Deployment create a new pod.
    let archive = std::fs::metadata(tools::repository().join("target/image/benchwright.tar"));
    let changed = archive.and_then(|it| it.modified()).ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    let built = format!("podAnnotations.built=at-{}", changed.unwrap_or_default().as_secs());
    install_release(
        &tools::repository().join("charts/benchwright"),
        image(),
        // The tests set fields that the preset for shared clusters forbids, and their users have Kubernetes' own roles.
        &[&[built.as_str(), "managedServers.enabled=true", "policy.preset=trusted", "aggregateRoles=true"], values]
            .concat(),
    )
}

/// Installs or upgrades to the chart in a folder, with an image and further `--set` values.
///
/// # Errors
/// The output of helm.
pub fn install_release(chart: &Path, (repository, tag): (String, String), values: &[&str]) -> anyhow::Result<()> {
    let chart = chart.to_str().context("the path of the chart is no UTF-8")?;
    let repository = format!("image.repository={repository}");
    let tag = format!("image.tag={tag}");
    let mut arguments = vec!["upgrade", "--install", RELEASE, chart, "--namespace", SYSTEM_NAMESPACE];
    arguments.extend(["--create-namespace", "--wait", "--timeout", "120s", "--set", &repository, "--set", &tag]);
    // Several runs share the few CPUs of a test machine.
    arguments.extend(["--set", "launcher.resources.requests.cpu=100m"]);
    for value in values {
        arguments.extend(["--set", value]);
    }
    tools::helm(&arguments)?;
    Ok(())
}
