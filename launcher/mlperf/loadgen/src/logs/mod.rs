//! Logs: what a test came to, in one value, and LoadGen's files of it: summary, detail log, accuracy log.

pub mod accuracy_log;
pub mod detail;
pub mod messages;
pub mod number;
pub mod summary;
pub mod test06;
pub mod test_log;
