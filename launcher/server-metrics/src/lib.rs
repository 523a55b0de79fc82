//! What a server says of itself while a load runs: Prometheus text -> series of samples -> figures of a time window.
//!
//! `parse` reads one answer, [`families`] knows which names mean what, and [`series`] keeps the samples of all answers
//! within a bound on memory and computes increases, means and quantiles. [`scraped`] is what a run keeps of all scrapes. All of
//! this is pure; the crate `scrape` asks the servers.

pub mod families;
pub mod identity;
pub mod parse;
pub mod scraped;
pub mod series;
