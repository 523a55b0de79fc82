//! A test cluster with the operator, which is installed from its chart.

use std::{path::Path, time::UNIX_EPOCH};

use anyhow::Context;
use kube::{Client, Config, config::Kubeconfig};
use tokio::sync::OnceCell;

use crate::tools;

/// The Helm release of the operator.
pub const RELEASE: &str = "benchwright-e2e";
/// The namespace of the operator.
pub const SYSTEM_NAMESPACE: &str = "benchwright-e2e";
/// The name of the operator's Deployment and Service.
pub const OPERATOR: &str = "benchwright-e2e-operator";

/// A cluster in which the operator is installed.
#[derive(Clone)]
pub struct Cluster {
    /// A client with the administrator's rights.
    pub client: Client,
}

impl Cluster {
    /// Connects to the cluster, without installing anything.
    ///
    /// # Errors
    /// There is no kubeconfig, or the API server does not respond.
    pub async fn connect() -> anyhow::Result<Cluster> {
        let path = tools::kubeconfig();
        let kubeconfig = Kubeconfig::read_from(&path)
            .with_context(|| format!("no cluster: cannot read {}; run `make cluster` first", path.display()))?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &kube::config::KubeConfigOptions::default()).await?;
        Ok(Cluster { client: Client::try_from(config)? })
    }

    /// Connects to the cluster, and installs the chart, once for all tests of a binary.
    ///
    /// # Errors
    /// The cluster cannot be reached, or the operator does not become ready.
    pub async fn with_operator() -> anyhow::Result<Cluster> {
        static INSTALLED: OnceCell<()> = OnceCell::const_new();
        INSTALLED.get_or_try_init(|| async { install(&[]) }).await?;
        Cluster::connect().await
    }
}

impl Cluster {
    /// Number of writes that the operator has sent to the API server since its start, from the operator's own metric.
    ///
    /// # Errors
    /// The operator does not respond through the API server's proxy.
    pub async fn operator_writes(&self) -> anyhow::Result<u64> {
        let service = format!("/api/v1/namespaces/{SYSTEM_NAMESPACE}/services/{OPERATOR}:metrics");
        let request = http::Request::get(format!("{service}/proxy/metrics")).body(Vec::new())?;
        let text = self.client.request_text(request).await?;
        let lines = text.lines().filter(|it| it.starts_with("benchwright_operator_api_writes_total{"));
        lines.map(|it| Ok(it.rsplit(' ').next().context("a metric line has a value")?.parse::<u64>()?)).sum()
    }
}

/// Repository and tag of the image under test.
pub fn image() -> (String, String) {
    image_of("E2E_IMAGE", "localhost/benchwright:dev")
}

/// Repository and tag of the image in an environment variable.
pub fn image_of(variable: &str, default: &str) -> (String, String) {
    let image = std::env::var(variable).unwrap_or_else(|_| default.into());
    match image.rsplit_once(':') {
        // A colon before the last slash belongs to the port of the registry.
        Some((repository, tag)) if !tag.contains('/') => (repository.to_owned(), tag.to_owned()),
        _ => (image, "latest".into()),
    }
}

/// Installs or upgrades the chart with these `--set` values, and waits until the operator is ready.
///
/// # Errors
/// helm fails; the error contains its output.
pub fn install(values: &[&str]) -> anyhow::Result<()> {
    // The tag of the image stays the same when its content changes. The changed annotation makes the Deployment create a new pod nevertheless.
    let archive = std::fs::metadata(tools::repository().join("target/image/benchwright.tar"));
    let changed = archive.and_then(|it| it.modified()).ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    let built = format!("podAnnotations.built=at-{}", changed.unwrap_or_default().as_secs());
    install_release(
        &tools::repository().join("charts/benchwright"),
        image(),
        // The preset for shared clusters would forbid fields that the tests set. The users in the tests have Kubernetes' own roles.
        &[&[built.as_str(), "managedServers.enabled=true", "policy.preset=trusted", "aggregateRoles=true"], values]
            .concat(),
    )
}

/// Installs or upgrades to the chart in a folder, with this image and these `--set` values.
///
/// # Errors
/// helm fails; the error contains its output.
pub fn install_release(chart: &Path, (repository, tag): (String, String), values: &[&str]) -> anyhow::Result<()> {
    let chart = chart.to_str().context("the path of the chart is no UTF-8")?;
    let repository = format!("image.repository={repository}");
    let tag = format!("image.tag={tag}");
    let mut arguments = vec!["upgrade", "--install", RELEASE, chart, "--namespace", SYSTEM_NAMESPACE];
    arguments.extend(["--create-namespace", "--wait", "--timeout", "120s", "--set", &repository, "--set", &tag]);
    // The request is small because several runs share the few CPUs of a test machine.
    arguments.extend(["--set", "launcher.resources.requests.cpu=100m"]);
    for value in values {
        arguments.extend(["--set", value]);
    }
    tools::helm(&arguments)?;
    Ok(())
}
