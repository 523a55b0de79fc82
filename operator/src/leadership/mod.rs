//! [I/O] Leader election: of several replicas one holds a Lease, and only that one starts watches and turns.
//!
//! The holder renews the lease every two seconds. Its [`Fence`] lets writes through until ten seconds after the last renewal
//! was sent. Another replica takes the lease when the record has not changed for fifteen seconds of its own clock. Only
//! differences of one machine's clock count, so that clocks need not agree. The five seconds between are for a write that is
//! on its way when the fence closes. A lease that does not exist may have been deleted a moment ago, while its holder does not
//! know yet. Whoever creates it therefore takes it like any other one, when it has not changed for fifteen seconds.

mod fence;
mod record;

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, api::PostParams};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tracing::{debug, info, warn};

use crate::connection::Health;

pub use fence::{Deadline, Fence, Fenced, NotLeading};
pub use record::{Observed, Step};

/// How long a lease counts after another replica has last seen it change.
pub const LEASE: Duration = Duration::from_secs(15);
/// How long the holder writes after the last renewal was sent.
pub const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// How often the holder renews, and others look. Up to a fifth more, so that replicas do not write at the same time.
pub const RETRY: Duration = Duration::from_secs(2);
/// The longest request. Several fit into the time until the deadline.
const REQUEST_LIMIT: Duration = Duration::from_secs(3);

/// Which lease, and who asks for it.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease.
    pub lease: String,
    /// Who holds the Lease, for people. Two processes need different ones.
    pub identity: String,
}

impl Candidate {
    /// A name that no other process has: the host's, and a random number.
    pub fn unique_identity(host: &str) -> String {
        format!("{host}_{:016x}", random())
    }
}

/// Why a replica leads no longer.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Lost {
    /// Another replica holds the lease.
    #[error("{0:?} holds the lease")]
    Taken(String),
    /// The lease was deleted.
    #[error("the lease was deleted")]
    Deleted,
    /// The API server took no renewal in time.
    #[error("the lease could not be renewed for {RENEW_DEADLINE:?}; the last error: {0}")]
    Expired(String),
}

/// A replica's part in the election.
pub struct Election {
    api: Api<Lease>,
    candidate: Candidate,
    fence: Arc<Fence>,
    health: Arc<Health>,
    observed: Observed,
    /// Whether the API server may have done a write that takes the lease without an answer to it.
    asked: bool,
}

/// A lease that this replica holds.
pub struct Held {
    election: Election,
    lease: Lease,
}

impl Election {
    /// The client must not be fenced: it renews the lease.
    pub fn new(client: Client, candidate: Candidate, fence: Arc<Fence>, health: Arc<Health>) -> Self {
        let api = Api::namespaced(client, &candidate.namespace);
        let election = Election { api, candidate, fence, health, observed: Observed::default(), asked: false };
        election.health.expect(&election.path());
        election
    }

    fn path(&self) -> String {
        format!("{}/{}", self.api.resource_url(), self.candidate.lease)
    }

    /// Waits until this replica holds the lease, and opens the fence.
    pub async fn acquire(mut self) -> Held {
        let mut failing = false;
        let path = self.path();
        loop {
            self.health.asked(&path);
            match self.try_to_take().await {
                Ok(Some((lease, sent))) => {
                    self.fence.extend(sent, RENEW_DEADLINE);
                    info!(identity = self.candidate.identity, "leads now");
                    return Held { election: self, lease };
                }
                Ok(None) => failing = false,
                Err(error) if failing => debug!(%error, "the lease can still not be read or written"),
                Err(error) => {
                    failing = true;
                    warn!(%error, lease = self.candidate.lease, namespace = self.candidate.namespace, "the lease cannot be read or written: this replica waits");
                }
            }
            sleep(self.observed.free_in(Instant::now()).map_or(retry(), |it| it.min(retry()))).await;
        }
    }

    /// Reads the lease, and takes it if it is free. Returns it with the time before the write.
    async fn try_to_take(&mut self) -> Result<Option<(Lease, Instant)>, kube::Error> {
        let found = limited(self.api.get_opt(&self.candidate.lease)).await?;
        self.health.answered(&self.path());
        let step = self.observed.look(found.as_ref(), Instant::now());
        let sent = Instant::now();
        let Some(found) = found else {
            self.asked = false;
            let lease = record::first(&self.candidate, Timestamp::now());
            return match limited(self.api.create(&PostParams::default(), &lease)).await {
                // It is not held yet: the holder of one that was deleted may still write.
                Ok(_) => Ok(None),
                Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
                Err(error) => Err(error),
            };
        };
        // The answer to an earlier write was lost. A lease that this replica created and did not take has its name too.
        let taken = self.asked && record::holder(&found) == Some(self.candidate.identity.as_str());
        let lease = match step {
            _ if taken => record::renewed(found, Timestamp::now()),
            Step::Take => record::taken(found, &self.candidate.identity, Timestamp::now()),
            Step::Create | Step::Wait => return Ok(None),
        };
        self.asked = true;
        let written = limited(self.api.replace(&self.candidate.lease, &PostParams::default(), &lease)).await;
        match written {
            Ok(lease) => Ok(Some((lease, sent))),
            // Another replica was faster.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Held {
    /// Renews the lease until it is lost. The fence is closed when this returns.
    pub async fn hold(&mut self) -> Lost {
        let mut last_error = String::from("none");
        let path = self.election.path();
        let lost = loop {
            let Some(deadline) = self.election.fence.deadline().filter(|it| *it > Instant::now()) else {
                break Lost::Expired(last_error);
            };
            if timeout_at(deadline, sleep(retry())).await.is_err() {
                continue;
            }
            self.election.health.asked(&path);
            match timeout_at(deadline, self.renew()).await {
                Err(_) => {}
                Ok(Ok(None)) => self.election.health.answered(&path),
                Ok(Ok(Some(lost))) => break lost,
                Ok(Err(error)) => {
                    last_error = error.to_string();
                    warn!(%error, "the lease was not renewed");
                }
            }
        };
        self.election.fence.close();
        lost
    }

    /// Renews the lease once. A conflict is resolved by reading it: somebody may have changed its labels.
    async fn renew(&mut self) -> Result<Option<Lost>, kube::Error> {
        let Election { api, candidate, fence, .. } = &self.election;
        let sent = Instant::now();
        let lease = record::renewed(self.lease.clone(), Timestamp::now());
        match limited(api.replace(&candidate.lease, &PostParams::default(), &lease)).await {
            Ok(lease) => {
                self.lease = lease;
                fence.extend(sent, RENEW_DEADLINE);
                Ok(None)
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Some(Lost::Deleted)),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                let Some(found) = limited(api.get_opt(&candidate.lease)).await? else { return Ok(Some(Lost::Deleted)) };
                let holder = record::holder(&found).unwrap_or_default().to_owned();
                if holder != candidate.identity {
                    return Ok(Some(Lost::Taken(holder)));
                }
                // The next renewal is made with the new version. The lease has not been another's between: a replica that
                // takes it writes its own name, and nobody writes this one back.
                self.lease = found;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Gives the lease back, so that another replica need not wait until it expires. Nothing may be written afterwards.
    pub async fn release(self) {
        self.election.fence.close();
        let Election { api, candidate, .. } = &self.election;
        let lease = record::released(self.lease, Timestamp::now());
        match limited(api.replace(&candidate.lease, &PostParams::default(), &lease)).await {
            Ok(_) => info!("the lease is given back"),
            Err(error) => warn!(%error, "the lease was not given back: another replica waits until it expires"),
        }
    }
}

/// A request with a time limit.
async fn limited<T>(request: impl Future<Output = Result<T, kube::Error>>) -> Result<T, kube::Error> {
    let late = || kube::Error::Service(format!("no answer within {REQUEST_LIMIT:?}").into());
    timeout(REQUEST_LIMIT, request).await.unwrap_or_else(|_| Err(late()))
}

fn retry() -> Duration {
    RETRY + RETRY.mul_f64(0.2 * f64::from(u32::try_from(random() >> 32).unwrap_or(0)) / f64::from(u32::MAX))
}

/// Each state of a hasher has keys of its own, from the system's random numbers.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_stops_before_another_may_begin() {
        let longest_retry = RETRY.mul_f64(1.2);
        assert!(RENEW_DEADLINE + REQUEST_LIMIT < LEASE, "a write on its way arrives before");
        assert!(longest_retry + REQUEST_LIMIT < RENEW_DEADLINE, "one lost renewal does not end a leader");
        assert!(LEASE + longest_retry <= Duration::from_secs(20), "the takeover takes at most 20 s");
        for _ in 0..1_000 {
            let wait = retry();
            assert!(RETRY <= wait && wait <= longest_retry, "{wait:?}");
        }
    }

    #[test]
    fn two_processes_on_a_host_have_different_names() {
        let [one, other] = [(); 2].map(|()| Candidate::unique_identity("laptop"));
        assert!(one.starts_with("laptop_") && one != other, "{one} {other}");
    }
}
