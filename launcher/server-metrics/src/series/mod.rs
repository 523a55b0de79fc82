//! The samples of all scrapes, in limited memory. Pure.
//!
//! Times are from the machine's monotonic clock. If a counter falls, it has restarted at zero; increases then include the part before and the part
//! after the restart. If memory is full, every second scrape is removed, and from then on the caller scrapes half as often. Increases over whole
//! loads stay exact, because the scrapes at the start and end of a load are kept; means become less precise.

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
