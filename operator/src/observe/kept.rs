//! What ConfigMaps of this run keep of the launcher's input. All attempts of a run measure the same workload, also if somebody
//! edits the ConfigMap of the profile between two of them.

use crds::ResolvedRun;
use k8s_openapi::api::core::v1::ConfigMap;

use super::baseline::Earlier;
use crate::plan::config_map;

/// ConfigMaps that this run owns and whose UIDs the operator noted in the status when it created them. Anybody who may create
/// ConfigMaps can name the run as the owner, so that no other is believed.
pub(super) struct Kept {
    /// The one of this attempt, which the launcher is given.
    pub(super) own: Option<ConfigMap>,
    /// The one of the attempt before.
    pub(super) last: Option<ConfigMap>,
}

impl Kept {
    /// The resolved run of this attempt. A ConfigMap of another release may not be readable; its profile is.
    pub(super) fn resolved(&self, attempt: u32) -> Option<ResolvedRun> {
        resolved(self.own.as_ref()?).filter(|it| it.run.attempt == attempt)
    }

    /// The rendered profile.
    pub(super) fn profile(&self) -> Option<String> {
        self.each().find_map(|it| text(it, config_map::PROFILE)).map(str::to_owned)
    }

    /// The report that `spec.slo.baseline` was found to mean.
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
