//! The launcher's input as it is stored in the ConfigMaps of this run. With it all attempts of a run measure the same workload, even if somebody
//! edits the profile's ConfigMap between two attempts.

use crds::ResolvedRun;
use k8s_openapi::api::core::v1::ConfigMap;

use super::baseline::Earlier;
use crate::plan::config_map;

/// The ConfigMaps of this run that the operator created. Their UIDs must equal those in the status. The owner reference is not a proof, because
/// everyone who may create ConfigMaps can set it.
pub(super) struct Kept {
    /// The ConfigMap of the current attempt, which the launcher mounts.
    pub(super) own: Option<ConfigMap>,
    /// The ConfigMap of the previous attempt.
    pub(super) last: Option<ConfigMap>,
}

impl Kept {
    /// The resolved run of this attempt. `None` if it cannot be read, as can happen for a ConfigMap of another release.
    pub(super) fn resolved(&self, attempt: u32) -> Option<ResolvedRun> {
        resolved(self.own.as_ref()?).filter(|it| it.run.attempt == attempt)
    }

    /// The rendered profile. It can be readable even if the resolved run is not.
    pub(super) fn profile(&self) -> Option<String> {
        self.each().find_map(|it| text(it, config_map::PROFILE)).map(str::to_owned)
    }

    /// The report to which `spec.slo.baseline` was resolved.
    pub(super) fn baseline(&self) -> Option<Earlier> {
        let of = |it| {
            let baseline = resolved(it)?.slo?.baseline?;
            Some(Earlier { report: baseline.report?, sha256: baseline.sha256 })
        };
        self.each().find_map(of)
    }

    fn each(&self) -> impl Iterator<Item = &ConfigMap> {
        self.own.iter().chain(&self.last)
    }
}

fn resolved(config_map: &ConfigMap) -> Option<ResolvedRun> {
    serde_saphyr::from_str(text(config_map, config_map::RUN)?).ok()
}

fn text<'a>(config_map: &'a ConfigMap, key: &str) -> Option<&'a str> {
    config_map.data.as_ref()?.get(key).map(String::as_str)
}
