//! The BenchmarkSweep: one run template, and the settings that vary between its runs.
//!
//! [`resolve`] turns the spec into cells, one per combination of settings. [`next`] decides which run follows. Both are pure, and the operator and
//! the launcher use both.

mod cells;
mod fields;
pub mod in_cluster;
mod next;
mod resolve;
mod spec;
pub mod status;
#[cfg(test)]
mod tests;

pub use cells::Cell;
pub use next::{Attempt, Attempts, Ended, Next, next};
pub use resolve::{ResolvedSweep, SweepEngagement, SweepFactor, resolve};
#[cfg(feature = "kube")]
pub use spec::BenchmarkSweep;
pub use spec::{
    BenchmarkSweepSpec, Engagement, Factor, KIND, Level, MAX_CELLS, MAX_FACTORS, MAX_LEVELS, MAX_SWEEP_ATTEMPTS,
    MAX_SWEEP_NAME_BYTES, MAX_SWEEP_REPEATS, OnFailure, Selection, SweepOrder,
};
