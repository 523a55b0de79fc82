//! One scraped address: when its next scrape is due, and its results so far. Pure.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use server_metrics::{identity::Identity, scraped::Address, series::Store};

use super::client::Caller;

/// Maximum number of different failure reasons to count separately.
const MAX_REASONS: usize = 8;
const OTHER: &str = "other";

/// An address, its client and its results.
#[derive(Debug)]
pub(super) struct Endpoint {
    /// Index of its source.
    pub(super) source: usize,
    pub(super) address: Option<SocketAddr>,
    pub(super) caller: Caller,
    /// Index of the address in the store.
    pub(super) index: usize,
    /// Whether a scrape is in flight.
    pub(super) busy: bool,
    /// Whether the address is no longer scraped. Reasons: its name no longer resolves to it, or one of the following two fields is set.
    pub(super) gone: bool,
    /// Whether the address was only a guess and turned out to have no metrics.
    pub(super) has_none: bool,
    /// Whether its server is scraped at an address of the other IP family instead.
    pub(super) is_other_family: bool,
    /// When the next scrape begins, on the worker's clock.
    pub(super) due: Duration,
    pub(super) counts: Counts,
    /// The version that the server reported.
    pub(super) version: Option<String>,
    pub(super) models: Option<Vec<server_metrics::identity::Model>>,
    /// Whether the version and the models were requested.
    pub(super) asked: bool,
}

/// Counts of scrapes by result.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    ok: u64,
    failed: u64,
    time: Duration,
    max_time: Duration,
    bytes: u64,
    reasons: BTreeMap<String, u64>,
}

impl Counts {
    pub(super) fn succeed(&mut self, took: Duration, bytes: usize) {
        self.ok += 1;
        self.time += took;
        self.max_time = self.max_time.max(took);
        self.bytes += bytes as u64;
    }

    pub(super) fn fail(&mut self, reason: String) {
        self.failed += 1;
        let known = self.reasons.contains_key(&reason) || self.reasons.len() < MAX_REASONS;
        *self.reasons.entry(if known { reason } else { OTHER.into() }).or_default() += 1;
    }

    pub(super) fn has_succeeded(&self) -> bool {
        self.ok > 0
    }
}

impl Endpoint {
    /// Sets the time of the next scrape to the next multiple of the interval that is in the future.
    pub(super) fn schedule(&mut self, now: Duration, interval: Duration) {
        let step = interval.as_nanos().max(1);
        let missed = now.saturating_sub(self.due).as_nanos() / step + 1;
        self.due += interval * u32::try_from(missed).unwrap_or(u32::MAX);
    }

    /// Converts to the results of the address.
    pub(super) fn into_address(self, url: &str, store: &Store) -> Address {
        let Counts { ok, failed, time, max_time, bytes, reasons } = self.counts;
        let known = store.addresses().get(self.index);
        let mut identity = known.map(Identity::from_metrics).unwrap_or_default();
        identity.version = self.version;
        if let Some(models) = self.models.filter(|it| !it.is_empty()) {
            identity.models = models;
        }
        Address {
            url: url.to_owned(),
            address: self.address,
            index: self.index,
            engine: known.and_then(|it| it.engine),
            identity,
            scrapes: ok + failed,
            failures: failed,
            reasons,
            mean_time: (ok > 0).then(|| Duration::from_secs_f64(time.as_secs_f64() / ok as f64)),
            max_time: (ok > 0).then_some(max_time),
            mean_bytes: (ok > 0).then(|| bytes as f64 / ok as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_reasons_are_counted_as_others() {
        let mut counts = Counts::default();
        (0..20).for_each(|it| counts.fail(format!("status {}", 500 + it)));
        counts.fail("status 500".into());
        assert_eq!((counts.reasons.len(), counts.reasons[OTHER], counts.reasons["status 500"]), (9, 12, 2));
        assert_eq!(counts.failed, 21);
    }
}
