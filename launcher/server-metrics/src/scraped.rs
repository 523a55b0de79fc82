//! The results of a run's scrapes: the samples of every address, and statistics of the scrapes. Pure.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use crds::benchmark_run::MetricsKind;

use crate::{identity::Identity, series::Store};

/// Maximum number of addresses of all sources together.
pub const MAX_ADDRESSES: usize = 256;

/// The scrape results of one address.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// The URL of its source.
    pub url: String,
    /// The resolved address; `None`: the URL contains an address, not a name.
    pub address: Option<SocketAddr>,
    /// The index of the address in the store.
    pub index: usize,
    pub engine: Option<MetricsKind>,
    pub identity: Identity,
    pub scrapes: u64,
    pub failures: u64,
    /// Why scrapes failed, and how often. Beyond a maximum number of reasons, failures are counted as `other`.
    pub reasons: BTreeMap<String, u64>,
    /// Mean time of the successful scrapes.
    pub mean_time: Option<Duration>,
    pub max_time: Option<Duration>,
    pub mean_bytes: Option<f64>,
}

/// The results of all scrapes.
#[derive(Clone, Debug)]
pub struct Scraped {
    pub store: Store,
    pub addresses: Vec<Address>,
    /// Sources with a name that has no address, and the reason.
    pub unresolved: Vec<(String, String)>,
    /// Pairs of addresses that lead to the same server: the kept address, then its duplicate. The duplicate's samples are removed.
    pub twins: Vec<(String, String)>,
    /// Addresses beyond [`MAX_ADDRESSES`].
    pub left_out: usize,
    /// The time between two scrapes of an address, at the end.
    pub interval: Duration,
    /// CPU time of the scraping thread.
    pub cpu: Duration,
}
