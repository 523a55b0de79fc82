//! Submissions to MLPerf Inference. Builds, from finished LoadGen tests, the file tree that MLPerf's checker requires. Checks trees more strictly
//! than that checker.
//!
//! Only the text of the logs is read, so logs of MLCommons' own LoadGen are as suitable as Benchwright's. Some facts cannot come from a run: accuracy
//! scores, and facts about system and weights. They are read from files and never invented. Deliberately absent: the endpoints layout, benchmarks
//! other than language models, and power figures.

pub mod build;
pub mod check;
mod detail_log;
mod findings;
#[cfg(test)]
mod fixture;
mod layout;
mod limits;
mod rules;
mod table;
pub mod test06;
mod tree;
mod truncation;
mod user_conf;

pub use findings::{Finding, Report, Row};
pub use layout::Division;
pub use rules::Rule;
pub use table::render;
