//! The time and success of one scrape of an address.

use std::time::Duration;

/// When a scrape happened, and whether it succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scrape {
    /// The number of the scrape, among the scrapes of one address.
    pub number: u32,
    /// When the request was sent, on the machine's monotonic clock.
    pub at: Duration,
    /// The time from the request until the last byte, or until the failure.
    pub took: Duration,
    /// Whether the response contained samples.
    pub ok: bool,
    /// It was requested before or after a load.
    pub(super) edge: bool,
}
