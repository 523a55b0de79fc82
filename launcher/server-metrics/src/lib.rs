//! What a server says of itself while a load runs: Prometheus text -> series of samples -> figures of a time window.
//!
//! `parse` reads one answer, [`families`] knows which names mean what, and [`series`] keeps the samples of all answers
//! within a bound on memory and computes increases, means and quantiles; all of these are pure. `scrape` asks the servers, on
//! a thread of its own: nothing here runs on the threads of the load.

pub mod families;
pub mod identity;
pub mod parse;
pub mod scrape;
pub mod series;
