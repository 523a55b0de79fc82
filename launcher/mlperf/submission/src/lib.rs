//! Submissions to MLPerf Inference: the tree of files that its checker wants, made of finished LoadGen tests, and a
//! check that is stricter than that checker.
//!
//! Logs are read as their text has it, so that those of MLCommons' own LoadGen are taken as well as ours. What a run
//! cannot know (accuracy scores, facts about system and weights) is taken from files and never made up. Deliberately
//! absent: the endpoints layout, benchmarks that are no language models, figures of power.

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
