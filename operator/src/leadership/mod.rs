//! [I/O] Leader election: of several replicas, one holds a Lease, and only that one starts watches and reconciliations.
//!
//! The holder renews the lease every two seconds. Its [`Fence`] allows writes until ten seconds after it sent the last renewal. Another replica takes
//! the lease if the Lease object has not changed for fifteen seconds. Every replica only measures time differences on its own clock, so the clocks
//! need not agree. The five seconds between the two limits are for a write that is still in transit when the fence closes. If the lease is missing,
//! it may just have been deleted without its holder knowing. So a replica that creates the lease does not hold it yet. It takes the lease after
//! fifteen seconds without a change, like any other lease.

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

/// Time without a change of the Lease object after which another replica can take the lease.
pub const LEASE: Duration = Duration::from_secs(15);
/// Time after the sending of its last renewal for which the holder can write.
pub const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// Time between two renewals by the holder, and between two checks by another replica. A random part of up to a fifth is added, so that replicas do
/// not write simultaneously.
pub const RETRY: Duration = Duration::from_secs(2);
/// Time limit per request. It is short enough for several requests before the renewal deadline.
const REQUEST_LIMIT: Duration = Duration::from_secs(3);

/// The name of the lease, and the identity of a replica that wants to hold it.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease.
    pub lease: String,
    /// The name of the holder. Every process must have a different name.
    pub identity: String,
}

impl Candidate {
    /// Returns a name that no other process has: the host name and a random number.
    pub fn unique_identity(host: &str) -> String {
        format!("{host}_{:016x}", random())
    }
}

/// The reason why a replica lost the lease.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Lost {
    /// Another replica holds the lease.
    #[error("{0:?} holds the lease")]
    Taken(String),
    /// The lease was deleted.
    #[error("the lease was deleted")]
    Deleted,
    /// The API server accepted no renewal before the deadline.
    #[error("the lease could not be renewed for {RENEW_DEADLINE:?}; the last error: {0}")]
    Expired(String),
}

/// A replica that takes part in the election, and does not hold the lease.
pub struct Election {
    api: Api<Lease>,
    candidate: Candidate,
    fence: Arc<Fence>,
    health: Arc<Health>,
    observed: Observed,
    /// Whether this replica sent a write to take the lease and got no response. The API server might have applied it.
    asked: bool,
}

/// The lease while this replica holds it.
pub struct Held {
    election: Election,
    lease: Lease,
}

impl Election {
    /// Creates an election. `client` must not be fenced, because it acquires and renews the lease.
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

    /// Reads the lease, and takes it if it is free. Returns the lease, and the time just before the write was sent.
    async fn try_to_take(&mut self) -> Result<Option<(Lease, Instant)>, kube::Error> {
        let found = limited(self.api.get_opt(&self.candidate.lease)).await?;
        self.health.answered(&self.path());
        let step = self.observed.look(found.as_ref(), Instant::now());
        let sent = Instant::now();
        let Some(found) = found else {
            self.asked = false;
            let lease = record::first(&self.candidate, Timestamp::now());
            return match limited(self.api.create(&PostParams::default(), &lease)).await {
                // A new lease is not held yet, because the holder of the deleted lease can still write.
                Ok(_) => Ok(None),
                Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
                Err(error) => Err(error),
            };
        };
        // The write might have succeeded although its response was lost. The name alone is not a proof, because a lease that this replica created
        // also contains it.
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
            // Another replica took the lease first.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Held {
    /// Renews the lease until it is lost. The fence is closed before this function returns.
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

    /// Renews the lease once. After a conflict it reads the lease again, because the conflict can only be due to a change of its labels.
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
                // The next renewal uses the new version. No other replica can have held the lease in between, because it would have written its own
                // name, and no replica writes the name of another.
                self.lease = found;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Releases the lease, so that another replica need not wait until it expires. This replica must not write anything afterwards.
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

/// Adds a time limit to a request.
async fn limited<T>(request: impl Future<Output = Result<T, kube::Error>>) -> Result<T, kube::Error> {
    let late = || kube::Error::Service(format!("no answer within {REQUEST_LIMIT:?}").into());
    timeout(REQUEST_LIMIT, request).await.unwrap_or_else(|_| Err(late()))
}

fn retry() -> Duration {
    RETRY + RETRY.mul_f64(0.2 * f64::from(u32::try_from(random() >> 32).unwrap_or(0)) / f64::from(u32::MAX))
}

/// A random number. Each hasher state has its own keys from the random number generator of the system.
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
