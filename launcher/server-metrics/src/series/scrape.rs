//! One scrape of an address, as far as its time counts.

use std::time::Duration;

/// When a scrape happened, and whether it came to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scrape {
    /// Its number among those of its address.
    pub number: u32,
    /// When the request was sent, on the machine's monotonic clock.
    pub at: Duration,
    /// From then until the last byte, or until it failed.
    pub took: Duration,
    /// Whether the answer had samples.
    pub ok: bool,
    /// It was asked for next to the begin or the end of a load.
    pub(super) edge: bool,
}
