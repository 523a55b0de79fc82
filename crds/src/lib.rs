//! All types that one Benchwright process sends to another, and the rules for their fields.
//!
//! The operator uses this crate with the feature `kube`, which derives the custom resources and their schemas. The launcher
//! uses it without the feature, so it builds without any Kubernetes crate.

#![cfg_attr(feature = "kube", recursion_limit = "256")]

pub mod accuracy;
pub mod any_value;
pub mod benchmark_run;
pub mod benchmark_schedule;
pub mod benchmark_sweep;
#[cfg(feature = "kube")]
mod definition;
pub mod envelope;
pub mod exit_code;
pub mod figure;
mod hex;
pub mod json;
pub mod leftovers;
pub mod objective;
pub mod outcome;
pub mod patterns;
mod phase;
#[cfg(feature = "kube")]
pub mod pod;
pub mod reason;
pub mod resolve;
pub mod schema;
pub mod search_status;
pub mod secrets;
pub mod server_engine;
pub mod server_status;
pub mod status;
pub mod summary;
pub mod units;
pub mod wording;
pub mod yaml;

pub use accuracy::{AccuracyFigureStatus, AccuracyStatus, AccuracyVerdict};
pub use any_value::AnyValue;
#[cfg(feature = "kube")]
pub use benchmark_run::BenchmarkRun;
pub use benchmark_run::BenchmarkRunSpec;
#[cfg(feature = "kube")]
pub use benchmark_schedule::BenchmarkSchedule;
#[cfg(feature = "kube")]
pub use benchmark_sweep::BenchmarkSweep;
#[cfg(feature = "kube")]
pub use definition::{crd_yaml, schedule_crd_yaml, sweep_crd_yaml};
pub use envelope::{ArtifactRef, Envelope};
pub use exit_code::ExitCode;
pub use figure::{Microseconds, Milli};
pub use hex::hex;
pub use objective::{FigureValue, Met, ObjectiveCounts, ObjectiveStatus};
pub use outcome::Outcome;
pub use reason::{LauncherReason, Reason, Reported, SearchEnd, Word};
pub use resolve::{EffectiveSpec, ResolvedRun, RunIdentity, Settings};
pub use search_status::{SearchEdge, SearchStatus};
pub use server_status::{HeldEnd, ServerStatus};
pub use status::BenchmarkRunStatus;
pub use summary::{Quantiles, RunSummary, StageSummary};
pub use units::{RequestRate, Seed, Span};
