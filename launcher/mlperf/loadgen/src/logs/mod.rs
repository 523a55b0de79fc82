//! The results of a test in one value, and LoadGen's files written from it: summary, detail log and accuracy log.

pub mod accuracy_log;
pub mod detail;
pub mod messages;
pub mod number;
pub mod summary;
pub mod test06;
pub mod test_log;
