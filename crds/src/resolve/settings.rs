//! Settings that depend on where a run executes.

use super::{Egress, NetworkPolicySettings, PodSecurity};
use crate::benchmark_run::Resources;

/// Defaults that the cluster or the laptop sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The launcher's image.
    pub launcher_image: String,
    /// CPU and memory of the launcher.
    pub launcher_resources: Resources,
    /// When the image is pulled: Always, IfNotPresent or Never.
    pub launcher_pull_policy: String,
    /// Secrets in the run's namespace for pulling the image.
    pub launcher_pull_secrets: Vec<String>,
    /// Suffix of a Service's DNS name after `<service>.<namespace>`, such as `svc.cluster.local`.
    pub service_domain: String,
    /// How long to wait until a target is ready, in seconds.
    pub readiness_timeout_seconds: u32,
    /// Who chooses the user and the groups of launchers.
    pub pod_security: PodSecurity,
    /// The NetworkPolicy of each run. If absent, runs have none.
    pub network_policy: Option<NetworkPolicySettings>,
    /// The addresses that launchers may not connect to. If absent, only the addresses that are refused everywhere are blocked.
    pub egress: Option<Egress>,
    /// Whether the operator starts the servers that runs describe.
    pub managed_servers: bool,
}

/// Settings for a plain Kubernetes cluster, without an image of the launcher.
impl Default for Settings {
    fn default() -> Self {
        Settings {
            launcher_image: String::new(),
            launcher_resources: Resources::default(),
            launcher_pull_policy: "IfNotPresent".into(),
            launcher_pull_secrets: Vec::new(),
            service_domain: "svc.cluster.local".into(),
            readiness_timeout_seconds: 900,
            pod_security: PodSecurity::default(),
            network_policy: None,
            egress: Some(Egress::cluster_default()),
            managed_servers: false,
        }
    }
}

impl Settings {
    /// Settings for runs outside of a cluster. The readiness timeout is short because a person waits for the command.
    pub fn local() -> Self {
        Settings { readiness_timeout_seconds: 60, egress: None, ..Settings::default() }
    }
}
