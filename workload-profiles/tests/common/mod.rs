//! The run that test templates are rendered for.

#![allow(clippy::unwrap_used, reason = "in helpers of tests as in tests themselves")]

use crds::{
    ResolvedRun,
    benchmark_run::BenchmarkRunSpec,
    resolve::{RunIdentity, Settings, resolve},
};

/// Returns the run of a spec without a profile.
pub fn run(spec: &str) -> ResolvedRun {
    let spec: BenchmarkRunSpec = serde_saphyr::from_str(spec).unwrap();
    let identity = RunIdentity::first_attempt("chat", "bench", "u");
    resolve(identity, &spec, &Settings::default()).unwrap()
}
