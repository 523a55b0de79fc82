//! [I/O] The replicas of a server that the operator started. Their addresses share one name in the cluster's DNS.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use crds::resolve::{ResolvedRun, ServerReplicas};
use futures::future::{BoxFuture, FutureExt as _, join_all};
use tokio::net::TcpStream;
use tracing::{info, warn};

use super::{Failure, egress, ready::Called};
use clock::Clock;
use document::{CalledReplicaDocument, ServerReplicasDocument};
use engine::{
    client::{Lookup, Resolver},
    issue::LoadError,
    stop::{Stop, StopState},
};

/// How long addresses might be missing from the DNS. All replicas were ready before the launcher was created. But the DNS of a cluster caches a
/// response for up to 30 seconds, and may learn of a pod later than the operator does.
const LIMIT: Duration = Duration::from_secs(60);
/// Time between two lookups.
const TRY_EVERY: Duration = Duration::from_secs(1);
/// Timeout of a connection to a replica.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);

/// Returns whether an address accepts connections. The DNS can still contain the address of a deleted pod.
type Listens<'a> = &'a dyn Fn(SocketAddr) -> BoxFuture<'static, bool>;

/// The replicas of a run's server.
pub(super) struct Replicas {
    asked: ServerReplicas,
    /// The addresses of the replicas, sorted and unique. The error is the reason why the Service is called instead.
    addresses: Result<Vec<SocketAddr>, String>,
}

impl Replicas {
    /// Looks up the addresses of all replicas, for a limited time. `None` if the operator did not start a server with several replicas.
    pub(super) fn find(run: &ResolvedRun, resolver: &Resolver, stop: &Stop) -> Result<Option<Replicas>, Failure> {
        let Some(asked) = &run.server_replicas else { return Ok(None) };
        let cannot = |source| Failure::system(&LoadError::System { what: "the lookup of the replicas", source });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
        let found = runtime.block_on(async {
            let mut stopped = stop.watch();
            tokio::select! {
                _ = stopped.wait_for(|state| *state != StopState::Run) => Err(Failure::cancelled()),
                found = Replicas::look_up(asked, resolver, &listens, Clock::start()) => Ok(found),
            }
        })?;
        match &found.addresses {
            Ok(addresses) => info!(?addresses, "requests are spread over the replicas of the server"),
            Err(why) => warn!("{why}"),
        }
        Ok(Some(found))
    }

    async fn look_up(asked: &ServerReplicas, resolver: &Resolver, listens: Listens<'_>, clock: Clock) -> Replicas {
        let addresses = addresses(asked, resolver, listens, clock).await.map_err(|problem| {
            format!(
                "the requests were not spread over the replicas of the server (target.server.distribution): {problem}; the load went to \
                 the Service, which distributes connections; check that every pod of the server is ready, and run again"
            )
        });
        Replicas { asked: asked.clone(), addresses }
    }

    /// Returns each replica with its own address, which is checked like any other address. `None` if the Service is called. The host in every request
    /// is the name of the pods' Service.
    pub(super) fn called(&self, resolver: &Resolver) -> Option<Vec<Called>> {
        let one = |address: &SocketAddr| Called {
            url: self.asked.url.clone(),
            resolver: resolver.clone().with_lookup(always(*address)),
            address: Some(*address),
            log: None,
        };
        self.addresses.as_ref().ok().map(|all| all.iter().map(one).collect())
    }

    /// Whether the Service is called. It may route each call to a different replica.
    pub(super) fn by_service(&self) -> bool {
        self.addresses.is_err()
    }

    /// The address of each replica, in order. `None` if the Service is called.
    pub(super) fn addresses(&self) -> Option<Vec<IpAddr>> {
        self.addresses.as_ref().ok().map(|all| all.iter().map(SocketAddr::ip).collect())
    }

    /// Describes the replicas for the report. `requests` is the number of requests per replica.
    pub(super) fn document(self, requests: &[u64]) -> ServerReplicasDocument {
        let ServerReplicas { count, distribution, .. } = self.asked;
        let (addresses, fallback) = match self.addresses {
            Ok(addresses) => (addresses, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        let called = addresses.iter().zip(requests);
        let called =
            called.map(|(it, requests)| CalledReplicaDocument { url: format!("http://{it}"), requests: *requests });
        ServerReplicasDocument { asked: count, distribution, called: called.collect(), fallback }
    }
}

/// A lookup that always returns this address.
fn always(address: SocketAddr) -> Lookup {
    Arc::new(move |_, _| async move { Ok(vec![address]) }.boxed())
}

fn listens(address: SocketAddr) -> BoxFuture<'static, bool> {
    let connected = clock::limit(CONNECT_LIMIT, TcpStream::connect(address));
    async move { matches!(connected.await, Ok(Ok(_))) }.boxed()
}

/// Returns the addresses of all replicas, when each of them accepts connections. The error describes the addresses that were found instead. The
/// lookup is repeated, because a response can be older than a pod.
async fn addresses(
    asked: &ServerReplicas,
    resolver: &Resolver,
    listens: Listens<'_>,
    clock: Clock,
) -> Result<Vec<SocketAddr>, String> {
    let Some((host, port)) = egress::host_and_port(&asked.url) else { return Err(format!("{} is no URL", asked.url)) };
    let sleeper = clock.sleeper();
    let limit = LIMIT.as_secs();
    let mut last = format!("the DNS lookup of {host} got no answer");
    loop {
        let Ok(found) = clock.within(Some(LIMIT), resolver.addresses(&host, port)).await else {
            return Err(format!("{last}, after {limit} seconds"));
        };
        let problem = match found {
            Ok(mut found) => {
                found.sort_unstable();
                found.dedup();
                let silent = match found.len() >= asked.count as usize {
                    true => first_silent(&found, listens).await,
                    false => None,
                };
                match silent {
                    Some(address) => format!("{host} has the address {address}, at which no server listens"),
                    None if found.len() >= asked.count as usize => return Ok(found),
                    None => format!("{host} resolves to {} of {} expected addresses", found.len(), asked.count),
                }
            }
            Err(error) if error.is_refusal() => return Err(format!("{host} {error}")),
            Err(error) => format!("{host} has no address: {error}"),
        };
        if problem != last {
            info!("{problem}; waiting up to {limit} seconds for this to change");
            last = problem;
        }
        if clock.now() + TRY_EVERY > LIMIT {
            return Err(format!("{last}, after {limit} seconds"));
        }
        sleeper.until(clock.now() + TRY_EVERY).await;
    }
}

/// Returns the first address that accepts no connections.
async fn first_silent(addresses: &[SocketAddr], listens: Listens<'_>) -> Option<SocketAddr> {
    let all = join_all(addresses.iter().map(|it| listens(*it))).await;
    addresses.iter().zip(all).find(|(_, listens)| !listens).map(|(address, _)| *address)
}

#[cfg(test)]
mod tests;
