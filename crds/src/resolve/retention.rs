//! Which finished results folders stay on the claim.

use super::Errors;
use crate::benchmark_run::{BenchmarkRunSpec, FolderRetention};

/// Maximum value of each retention field.
const MOST: [(&str, u32); 2] = [("keepRuns", 10_000), ("keepDays", 3_650)];

/// The retention limits of a run. `None` if nothing is deleted, as is always the case outside of a cluster.
pub(super) fn retention(spec: &BenchmarkRunSpec, namespace: &str, errors: &mut Errors) -> Option<FolderRetention> {
    let written = spec.storage.pvc.as_ref()?.retention.as_ref()?;
    for ((field, most), found) in MOST.into_iter().zip([written.keep_runs, written.keep_days]) {
        if let Some(found) = found.filter(|it| !(1..=most).contains(it)) {
            let message = format!("is {found}; write 1 to {most}, or take it out to keep all");
            errors.add(&format!("spec.storage.pvc.retention.{field}"), &message);
        }
    }
    let limits = written.keep_runs.is_some() || written.keep_days.is_some();
    Some(written.clone()).filter(|_| limits && !namespace.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark_run::{Pvc, Storage};

    fn found(namespace: &str, keep_runs: Option<u32>, keep_days: Option<u32>) -> Result<bool, String> {
        let retention = Some(FolderRetention { keep_runs, keep_days });
        let storage = Storage { pvc: Some(Pvc { retention, ..Pvc::default() }), ..Storage::default() };
        let spec = BenchmarkRunSpec { storage, ..BenchmarkRunSpec::default() };
        let mut errors = Errors::default();
        let resolved = super::retention(&spec, namespace, &mut errors).is_some();
        errors.none_or(resolved).map_err(|all| all.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn only_limits_within_their_bounds_delete_anything() {
        assert_eq!(found("bench", Some(1), None), Ok(true));
        assert_eq!(found("bench", None, Some(3_650)), Ok(true));
        assert_eq!(found("bench", None, None), Ok(false));
        assert_eq!(found("", Some(1), Some(1)), Ok(false), "there is no claim outside of a cluster");
        let error = found("bench", Some(0), Some(3_651)).unwrap_err();
        assert!(error.contains("spec.storage.pvc.retention.keepRuns: is 0; write 1 to 10000"), "{error}");
        assert!(error.contains("spec.storage.pvc.retention.keepDays: is 3651; write 1 to 3650"), "{error}");
    }
}
