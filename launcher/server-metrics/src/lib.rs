//! The metrics of a server while a load runs: converts Prometheus text to series of samples, and computes figures of a time window from them.
//!
//! `parse` reads one response, and [`families`] knows the meaning of metric names. [`series`] keeps the samples of all responses in limited memory,
//! and computes increases, means and quantiles. [`scraped`] contains what a run keeps of all scrapes. All of this is pure; the crate `scrape` sends
//! the requests.

pub mod families;
pub mod identity;
pub mod parse;
pub mod scraped;
pub mod series;
