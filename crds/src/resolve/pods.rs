//! Security settings for launcher pods. The installation sets them; no run can change them.

use std::{collections::BTreeMap, str::FromStr};

/// Who chooses the user and the groups of a launcher pod. Both variants comply with Pod Security `restricted`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PodSecurity {
    /// The operator chooses: user, group and fsGroup are 65532.
    #[default]
    Restricted,
    /// OpenShift chooses: its security context constraints assign a user and an fsGroup from the namespace's range, and refuse any other.
    OpenShift,
}

impl FromStr for PodSecurity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "Restricted" => Ok(PodSecurity::Restricted),
            "OpenShift" => Ok(PodSecurity::OpenShift),
            _ => Err(format!("is {text:?}; write Restricted or OpenShift")),
        }
    }
}

/// Settings for the NetworkPolicy of each run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkPolicySettings {
    /// Who may read the launcher's metrics. If absent, no pod may read them.
    pub scraper: Option<Scraper>,
}

/// The pods that may read the launcher's metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scraper {
    /// Labels of the scraper's namespace; empty: any namespace.
    pub namespace_labels: BTreeMap<String, String>,
    /// Labels of the scraper's pods; empty: any pod.
    pub pod_labels: BTreeMap<String, String>,
}
