//! The time and the success of one scrape of an address.

use std::time::Duration;

/// When a scrape happened, and whether it succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scrape {
    /// The number of the scrape, counted per address.
    pub number: u32,
    /// When the request was sent, on the machine's monotonic clock.
    pub at: Duration,
    /// The time from sending the request to the last byte, or to the failure.
    pub took: Duration,
    /// Whether the response contained samples.
    pub ok: bool,
    /// Whether it marks the start or the end of a load. Such scrapes are not removed if memory is full.
    pub(super) edge: bool,
}
