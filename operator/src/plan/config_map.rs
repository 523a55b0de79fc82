//! The ConfigMap of an attempt with the launcher's whole input: `run.yaml`, `spec.yaml` (the spec as the user wrote it) and `profile.yaml`.

use std::collections::BTreeMap;

use crds::{BenchmarkRun, ResolvedRun};
use k8s_openapi::api::core::v1::ConfigMap;

use super::meta;

/// The key with the resolved run.
pub const RUN: &str = "run.yaml";
/// The key with the rendered profile.
pub const PROFILE: &str = "profile.yaml";

/// Whether an existing ConfigMap equals `wanted`, the result of [`build`]. The check is needed because everyone who may create ConfigMaps can use
/// this name and set the run as owner. The ConfigMap must be immutable, because otherwise it could be changed after the check.
pub fn is_as_built(found: &ConfigMap, wanted: &ConfigMap, run: &BenchmarkRun) -> bool {
    meta::is_ours(run, &found.metadata)
        && found.immutable == Some(true)
        && found.data == wanted.data
        && found.binary_data.as_ref().is_none_or(BTreeMap::is_empty)
}

/// Builds the ConfigMap. It is immutable, because the input of an attempt never changes.
pub fn build(run: &BenchmarkRun, resolved: &ResolvedRun, profile: &str) -> ConfigMap {
    let attempt = resolved.run.attempt;
    const SERIALIZES: &str = "text keys and finite numbers always serialize";
    let resolved = serde_saphyr::to_string(resolved).expect(SERIALIZES);
    let spec = serde_saphyr::to_string(&run.spec).expect(SERIALIZES);
    let data = [(RUN, resolved), ("spec.yaml", spec), (PROFILE, profile.to_owned())];
    ConfigMap {
        metadata: meta::owned(run, attempt, meta::attempt_name(run, attempt)),
        data: Some(data.map(|(name, text)| (name.to_owned(), text)).into()),
        immutable: Some(true),
        ..ConfigMap::default()
    }
}
