//! The control plane of `e2e/scale/control-plane`: a real API server, controllers and scheduler, and KWOK instead of kubelets. The operator is a
//! process on this machine, so that a test can kill or stop it and measure its resource use.

pub mod audit;
pub mod operator;
pub mod runs;

use std::path::PathBuf;

use anyhow::Context as _;
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client,
    api::{DeleteParams, PostParams},
};
use serde_json::json;

use crate::Cluster;

/// A running control plane.
#[derive(Clone)]
pub struct ControlPlane {
    /// The folder with the state of the control plane.
    pub folder: PathBuf,
    /// A client with the administrator's rights.
    pub client: Client,
}

impl ControlPlane {
    /// Connects to the control plane that `control-plane run` has started.
    ///
    /// # Errors
    /// There is none, or its API server does not respond.
    pub async fn connect() -> anyhow::Result<ControlPlane> {
        let folder = std::env::var_os("BENCHWRIGHT_CONTROL_PLANE");
        let folder =
            folder.context("BENCHWRIGHT_CONTROL_PLANE is not set; run this with e2e/scale/control-plane run")?;
        Ok(ControlPlane { folder: folder.into(), client: Cluster::connect().await?.client })
    }

    /// Creates a namespace with this name.
    ///
    /// # Errors
    /// The error of the API server.
    pub async fn create_namespace(&self, name: &str) -> anyhow::Result<()> {
        let namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
        let all: Api<Namespace> = Api::all(self.client.clone());
        all.create(&PostParams::default(), &namespace).await?;
        // Pods need the default service account of the namespace, which is created a moment later.
        for _ in 0..300 {
            let accounts: Api<k8s_openapi::api::core::v1::ServiceAccount> = Api::namespaced(self.client.clone(), name);
            if accounts.get_opt("default").await?.is_some() {
                return Ok(());
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        anyhow::bail!("namespace {name} has no default service account after 30 s")
    }

    /// Deletes a namespace, without waiting until it is gone.
    ///
    /// # Errors
    /// The error of the API server.
    pub async fn delete_namespace(&self, name: &str) -> anyhow::Result<()> {
        let all: Api<Namespace> = Api::all(self.client.clone());
        all.delete(name, &DeleteParams::background()).await?;
        Ok(())
    }
}
