//! The ConfigMap of an attempt: `run.yaml` and `profile.yaml`, all that the launcher gets.

use crds::{BenchmarkRun, ResolvedRun};
use k8s_openapi::api::core::v1::ConfigMap;

use super::meta;

/// Builds it. It is immutable: an attempt's input never changes.
pub fn build(run: &BenchmarkRun, resolved: &ResolvedRun, profile: &str) -> ConfigMap {
    let attempt = resolved.run.attempt;
    let resolved = serde_saphyr::to_string(resolved).expect("text keys and finite numbers always serialize");
    let data = [("run.yaml".to_owned(), resolved), ("profile.yaml".to_owned(), profile.to_owned())];
    ConfigMap {
        metadata: meta::owned(run, attempt, meta::attempt_name(run, attempt)),
        data: Some(data.into()),
        immutable: Some(true),
        ..ConfigMap::default()
    }
}
