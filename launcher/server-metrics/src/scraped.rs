//! The results of all scrapes of a run: samples of every address, and statistics about the scrapes. Pure.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use crds::benchmark_run::MetricsKind;

use crate::{identity::Identity, series::Store};

/// Maximum number of addresses over all sources.
pub const MAX_ADDRESSES: usize = 256;

/// The results for one address.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// The URL from which the address was derived.
    pub url: String,
    /// The resolved address; `None` if the URL contains an address instead of a name.
    pub address: Option<SocketAddr>,
    /// The index of the address in the store.
    pub index: usize,
    pub engine: Option<MetricsKind>,
    pub identity: Identity,
    pub scrapes: u64,
    pub failures: u64,
    /// Number of failed scrapes by reason. Only a limited number of different reasons is kept; failures with another reason are counted as `other`.
    pub reasons: BTreeMap<String, u64>,
    /// Mean duration of successful scrapes.
    pub mean_time: Option<Duration>,
    pub max_time: Option<Duration>,
    pub mean_bytes: Option<f64>,
}

/// The results of all scrapes.
#[derive(Clone, Debug)]
pub struct Scraped {
    pub store: Store,
    pub addresses: Vec<Address>,
    /// Sources whose name could not be resolved, each with the reason.
    pub unresolved: Vec<(String, String)>,
    /// Pairs of addresses that lead to the same server: (address that was kept, duplicate whose samples were removed).
    pub twins: Vec<(String, String)>,
    /// Number of addresses that were left out because of [`MAX_ADDRESSES`].
    pub left_out: usize,
    /// The interval between two scrapes of an address at the end of the run.
    pub interval: Duration,
    /// CPU time of the scraping thread.
    pub cpu: Duration,
}
