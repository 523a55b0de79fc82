//! Implements MLPerf LoadGen: which samples are issued, when, and in which order; the figures computed from their latencies; and the
//! content of the logs. Compatible with LoadGen 6.0.17 to the bit. Official submissions need MLCommons' own build.
//!
//! Pure. The engine issues the [`phases`], and `analysis::loadgen` derives logs and verdicts from its records.

pub mod logs;
pub mod peak;
pub mod phase_end;
mod phase_progress;
pub mod phases;
pub mod plan;
pub mod queries;
pub mod results;
pub mod search;
