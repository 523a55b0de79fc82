//! The ConfigMap of an attempt, with the launcher's whole input: `run.yaml`, `spec.yaml` (the spec as the user wrote it) and
//! `profile.yaml`.

use crds::{BenchmarkRun, ResolvedRun};
use k8s_openapi::api::core::v1::ConfigMap;

use super::meta;

/// Builds the ConfigMap. It is immutable, because the input of an attempt never changes.
pub fn build(run: &BenchmarkRun, resolved: &ResolvedRun, profile: &str) -> ConfigMap {
    let attempt = resolved.run.attempt;
    const SERIALIZES: &str = "text keys and finite numbers always serialize";
    let resolved = serde_saphyr::to_string(resolved).expect(SERIALIZES);
    let spec = serde_saphyr::to_string(&run.spec).expect(SERIALIZES);
    let data = [("run.yaml", resolved), ("spec.yaml", spec), ("profile.yaml", profile.to_owned())];
    ConfigMap {
        metadata: meta::owned(run, attempt, meta::attempt_name(run, attempt)),
        data: Some(data.map(|(name, text)| (name.to_owned(), text)).into()),
        immutable: Some(true),
        ..ConfigMap::default()
    }
}
