//! The run that the templates of the tests are rendered for.

#![allow(clippy::unwrap_used, reason = "in helpers of tests as in tests themselves")]

use crds::{
    ResolvedRun,
    benchmark_run::BenchmarkRunSpec,
    resolve::{RunIdentity, Settings, resolve},
};

/// The run of a spec, without its profile.
pub fn run(spec: &str) -> ResolvedRun {
    let spec: BenchmarkRunSpec = serde_saphyr::from_str(spec).unwrap();
    let identity = RunIdentity {
        name: "chat".into(),
        namespace: "bench".into(),
        uid: "u".into(),
        attempt: 1,
        repeat_number: None,
    };
    resolve(identity, &spec, &Settings::default()).unwrap()
}
