//! The LoadGen tests of a run: from the records of the engine to logs and a verdict per test.

pub mod answers;
pub mod judged;
pub mod measure;
pub mod outcome;
pub mod verdict;
