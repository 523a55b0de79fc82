//! What came of the scrapes of a run: the samples of every address, and how the scrapes went. Pure.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use crds::benchmark_run::MetricsKind;

use crate::{identity::Identity, series::Store};

/// Addresses of all sources together.
pub const MAX_ADDRESSES: usize = 256;

/// What came of the scrapes of one address.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// The URL of its source.
    pub url: String,
    /// Where the name led to; `None`: the URL has an address in place of a name.
    pub address: Option<SocketAddr>,
    /// Its index in the store.
    pub index: usize,
    pub engine: Option<MetricsKind>,
    pub identity: Identity,
    pub scrapes: u64,
    pub failures: u64,
    /// Why scrapes failed, and how often. The last reasons of many are counted as `other`.
    pub reasons: BTreeMap<String, u64>,
    /// Of the scrapes that succeeded.
    pub mean_time: Option<Duration>,
    pub max_time: Option<Duration>,
    pub mean_bytes: Option<f64>,
}

/// What came of all scrapes.
#[derive(Clone, Debug)]
pub struct Scraped {
    pub store: Store,
    pub addresses: Vec<Address>,
    /// Sources whose name has no address.
    pub unresolved: Vec<(String, String)>,
    /// Addresses that lead to a server which another address leads to as well, each after that one. Their samples are forgotten.
    pub twins: Vec<(String, String)>,
    /// Addresses beyond [`MAX_ADDRESSES`].
    pub left_out: usize,
    /// Between two scrapes of an address, at the end.
    pub interval: Duration,
    /// CPU time of the thread.
    pub cpu: Duration,
}
