//! Turns the engine's records of LoadGen tests into logs and one verdict per test.

pub mod answers;
pub mod judged;
pub mod measure;
pub mod outcome;
pub mod verdict;
