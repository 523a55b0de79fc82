//! [I/O] The flags with which administrators limit runs and secure their pods.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::Context as _;
use clap::Args;
use crds::resolve::{NetworkPolicySettings, PodSecurity, Scraper};

use crate::plan::policy::Policy;

/// Maximum size of the policy file, in bytes. A ConfigMap has the same limit.
const MAX_POLICY_BYTES: u64 = 1 << 20;

/// The flags with which administrators limit runs and secure their pods.
#[derive(Debug, Default, Args)]
pub struct PodFlags {
    /// YAML file with the policy, which limits what runs may request; read once, at the start
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Who chooses the user of launchers: Restricted (the operator chooses 65532) or OpenShift (the namespace's range)
    #[arg(long, default_value = "Restricted")]
    pub pod_security: PodSecurity,
    /// Create a NetworkPolicy for each attempt
    #[arg(long)]
    network_policy: bool,
    /// Start the servers that runs describe; needs rights on Deployments and Services
    #[arg(long)]
    pub managed_servers: bool,
    /// Label of pods that may read a launcher's metrics, as key=value; may be given several times
    #[arg(long = "scraper-label", value_name = "KEY=VALUE", value_parser = label, requires = "network_policy")]
    scraper_labels: Vec<(String, String)>,
    /// Label of the namespace of pods that may read a launcher's metrics, as key=value; may be given several times
    #[arg(long = "scraper-namespace-label", value_name = "KEY=VALUE", value_parser = label, requires = "network_policy")]
    scraper_namespace_labels: Vec<(String, String)>,
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("{text:?} is not of the form key=value"))?;
    if key.is_empty() {
        return Err(format!("{text:?} has no key; write key=value"));
    }
    Ok((key.to_owned(), value.to_owned()))
}

impl PodFlags {
    /// Reads the policy. Without the flag, returns the policy that allows everything.
    ///
    /// # Errors
    /// The file cannot be read, or some of its values are invalid.
    pub fn policy(&self) -> anyhow::Result<Policy> {
        let Some(path) = &self.policy else { return Ok(Policy::default()) };
        let shown = path.display();
        let size = fs::metadata(path).with_context(|| format!("--policy: cannot read {shown}"))?.len();
        anyhow::ensure!(
            size <= MAX_POLICY_BYTES,
            "--policy: {shown} has {size} bytes; write at most {MAX_POLICY_BYTES}"
        );
        let text = fs::read_to_string(path).with_context(|| format!("--policy: cannot read {shown}"))?;
        Policy::parse(&text).map_err(|problems| anyhow::anyhow!("--policy: {shown} cannot be used:\n{problems}"))
    }

    /// The settings for the NetworkPolicy of each run. `None` if runs get none.
    pub fn network_policy(&self) -> Option<NetworkPolicySettings> {
        let labels = |pairs: &[(String, String)]| pairs.iter().cloned().collect::<BTreeMap<_, _>>();
        let scraper = Scraper {
            namespace_labels: labels(&self.scraper_namespace_labels),
            pod_labels: labels(&self.scraper_labels),
        };
        let named = !scraper.pod_labels.is_empty() || !scraper.namespace_labels.is_empty();
        self.network_policy.then(|| NetworkPolicySettings { scraper: named.then_some(scraper) })
    }
}
