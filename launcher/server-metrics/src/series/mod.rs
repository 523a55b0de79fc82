//! The samples of all scrapes, within a bound on memory. Pure.
//!
//! Times are from the launcher's monotonic clock. A counter that falls once has restarted at zero; increases include both parts. When memory is full,
//! every second scrape is removed, and the caller scrapes half as often from then on. Increases between the ends of loads stay exact; means lose
//! resolution.

mod figures;
mod finished;
mod histogram;
mod levels;
mod one;
mod over_time;
mod process;
mod scrape;
mod store;
#[cfg(test)]
mod tests;
mod twins;

pub use figures::WindowFigures;
pub use finished::FinishedRequests;
pub use histogram::Latency;
pub use levels::Levels;
pub use one::Series;
pub use over_time::{OverTime, Values};
pub use scrape::Scrape;
pub use store::{Address, Answer, Keep, Limits, Store};
