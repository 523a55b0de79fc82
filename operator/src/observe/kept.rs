//! The launcher's input that ConfigMaps of this run keep. All attempts of a run measure the same workload, even if somebody edits the
//! profile's ConfigMap between two attempts.

use crds::ResolvedRun;
use k8s_openapi::api::core::v1::ConfigMap;

use super::baseline::Earlier;
use crate::plan::config_map;

/// ConfigMaps that this run owns and the operator created, as their UIDs in the status show. Anyone who may create ConfigMaps can name the
/// run as the owner, so no other ConfigMap is trusted.
pub(super) struct Kept {
    /// The ConfigMap of this attempt, which the launcher gets.
    pub(super) own: Option<ConfigMap>,
    /// The ConfigMap of the previous attempt.
    pub(super) last: Option<ConfigMap>,
}

impl Kept {
    /// The resolved run of this attempt. A ConfigMap from another release may be unreadable, although its profile is readable.
    pub(super) fn resolved(&self, attempt: u32) -> Option<ResolvedRun> {
        resolved(self.own.as_ref()?).filter(|it| it.run.attempt == attempt)
    }

    /// The rendered profile.
    pub(super) fn profile(&self) -> Option<String> {
        self.each().find_map(|it| text(it, config_map::PROFILE)).map(str::to_owned)
    }

    /// The report that `spec.slo.baseline` resolved to.
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
