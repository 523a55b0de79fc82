//! Every type that crosses from one Benchwright process to another, and the rules on its fields.
//!
//! The operator takes this crate with the feature `kube`, which derives the custom resource and its
//! schema; the launcher takes it without, and so builds without any Kubernetes crate.

#![cfg_attr(feature = "kube", recursion_limit = "256")]

pub mod any_value;
pub mod benchmark_run;
pub mod envelope;
pub mod figure;
mod hex;
pub mod reason;
pub mod resolve;
pub mod schema;
pub mod status;
pub mod summary;
pub mod units;
pub mod wording;
pub mod yaml;

pub use any_value::AnyValue;
#[cfg(feature = "kube")]
pub use benchmark_run::BenchmarkRun;
pub use benchmark_run::BenchmarkRunSpec;
pub use envelope::{ArtifactRef, Envelope};
pub use figure::{Microseconds, Milli};
pub use hex::hex;
pub use reason::{ExitCode, LauncherReason, Reason, Reported, Word};
pub use resolve::{ResolvedRun, RunIdentity, Settings};
pub use status::BenchmarkRunStatus;
pub use summary::{Outcome, Quantiles, RunSummary, StageSummary};
pub use units::{RequestRate, SampleIndex, Seed, Span};

/// The CustomResourceDefinition as YAML, with the status default that lets GitOps tools see an object whose operator has
/// not written yet as in progress.
///
/// # Errors
/// Never for the types of this release; a schema that YAML cannot express.
#[cfg(feature = "kube")]
pub fn crd_yaml() -> Result<String, Box<dyn std::error::Error>> {
    use kube::CustomResourceExt as _;
    let mut crd = serde_json::to_value(BenchmarkRun::crd())?;
    let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/status";
    let status = crd.pointer_mut(schema).and_then(|it| it.as_object_mut()).ok_or("the schema has no status")?;
    status.insert("default".into(), serde_json::json!({"observedGeneration": -1}));
    forget_unsigned_formats(&mut crd);
    Ok(serde_saphyr::to_string(&crd)?)
}

/// Takes out `format: uint64` and the like, which Kubernetes does not know and warns of at every install; each such field has
/// its bounds.
#[cfg(feature = "kube")]
fn forget_unsigned_formats(schema: &mut serde_json::Value) {
    match schema {
        serde_json::Value::Object(fields) => {
            fields.retain(|key, value| key != "format" || !value.as_str().is_some_and(|it| it.starts_with("uint")));
            fields.values_mut().for_each(forget_unsigned_formats);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(forget_unsigned_formats),
        _ => {}
    }
}
