//! MLPerf LoadGen's semantics: which samples are issued in which order at which times, what the latencies come to, and what
//! stands in the logs. Compatible with LoadGen 6.0.17 to the bit; official submissions need MLCommons' own build.
//!
//! Pure. The engine issues the queries (`issue`), a run puts them together (`run`).

pub mod accuracy_log;
pub mod answers;
pub mod completion;
pub mod detail;
pub mod early_stopping;
pub mod ending;
pub mod honest;
pub mod measure;
pub mod messages;
pub mod number;
pub mod outcome;
pub mod peak;
pub mod plan;
pub mod predict;
pub mod queries;
pub mod random;
pub mod results;
pub mod samples;
pub mod search;
pub mod stopping;
pub mod summary;
pub mod test06;
pub mod test_log;
pub mod validity;
pub mod verdict;
