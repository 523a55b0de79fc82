//! [I/O] Resolves the addresses of a host, and refuses addresses that the launcher may not call. Every connection to a user's URL uses an
//! address from here: for the load, the readiness probe, the servers' metrics, and downloads.
//!
//! The result of each lookup is checked, and the connection uses an address from that same result. A name whose DNS answers change
//! therefore cannot lead to an unchecked address.

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr},
    path::Path,
    sync::Arc,
};

use crds::resolve::egress::{EgressRules, Refusal};
use futures::future::{BoxFuture, FutureExt as _};
use tokio::net::lookup_host;

/// A function that resolves a host and port to addresses.
pub type Lookup = Arc<dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// The reason why a host has no allowed address.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The system resolver failed.
    #[error(transparent)]
    Lookup(#[from] io::Error),
    /// The name exists but has no address.
    #[error("{host} has no address")]
    None { host: String },
    /// The address is not allowed.
    #[error("{} {refusal}", verb(*.is_name))]
    Refused {
        /// Whether a name resolved to the address. If not, the URL contained the address itself.
        is_name: bool,
        refusal: Refusal,
    },
    /// The URL is a Unix socket, and a launcher in a cluster does not connect to sockets.
    #[error("is the path of a socket")]
    Socket,
}

fn verb(is_name: bool) -> &'static str {
    if is_name { "resolves to" } else { "is" }
}

impl AddressError {
    /// Whether the host is forbidden, so that retrying is useless.
    pub fn is_refusal(&self) -> bool {
        matches!(self, AddressError::Refused { .. } | AddressError::Socket)
    }
}

impl From<AddressError> for io::Error {
    /// Keeps the error number if the error comes from the system.
    fn from(error: AddressError) -> io::Error {
        match error {
            AddressError::Lookup(error) => error,
            error => io::Error::other(error),
        }
    }
}

/// Resolves and checks hosts. Cheap to clone. The default is for use outside a cluster: it refuses only addresses that are always
/// forbidden.
#[derive(Clone)]
pub struct Resolver {
    rules: Arc<EgressRules>,
    in_cluster: bool,
    lookup: Lookup,
}

impl Default for Resolver {
    fn default() -> Self {
        // The lookup runs on the runtime's blocking threads, and cannot be cancelled.
        let lookup: Lookup =
            Arc::new(|host, port| async move { Ok(lookup_host((host, port)).await?.collect()) }.boxed());
        Resolver { rules: Arc::default(), in_cluster: false, lookup }
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Resolver { rules, in_cluster, lookup: _ } = self;
        f.debug_struct("Resolver").field("rules", rules).field("in_cluster", in_cluster).finish_non_exhaustive()
    }
}

impl Resolver {
    /// Creates a resolver for a launcher in a cluster. It refuses forbidden addresses, names with any forbidden address, and Unix sockets.
    pub fn in_cluster(rules: EgressRules) -> Resolver {
        Resolver { rules: Arc::new(rules), in_cluster: true, ..Resolver::default() }
    }

    /// Replaces the system resolver.
    pub fn with_lookup(self, lookup: Lookup) -> Resolver {
        Resolver { lookup, ..self }
    }

    /// Returns the allowed addresses of a host, at least one. In a cluster, a name is refused if any of its addresses is forbidden.
    /// Elsewhere, only the forbidden addresses are removed, because a machine in a local network also has link-local addresses.
    ///
    /// # Errors
    /// The host has no address, or no allowed address.
    pub async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, AddressError> {
        if let Ok(ip) = host.parse::<IpAddr>() {
            self.check(ip)?;
            return Ok(vec![SocketAddr::new(ip, port)]);
        }
        let found = (self.lookup)(host.to_owned(), port).await?;
        let mut allowed = Vec::with_capacity(found.len());
        let mut refused = None;
        for address in found {
            match self.rules.refusal(host, address.ip()) {
                None => allowed.push(address),
                Some(refusal) => refused = refused.or(Some(refusal)),
            }
        }
        match refused {
            Some(refusal) if self.in_cluster || allowed.is_empty() => {
                Err(AddressError::Refused { is_name: true, refusal })
            }
            None if allowed.is_empty() => Err(AddressError::None { host: host.to_owned() }),
            _ => Ok(allowed),
        }
    }

    /// Checks the IP address in a URL without a host name.
    ///
    /// # Errors
    /// The address is not allowed.
    pub fn check(&self, ip: IpAddr) -> Result<(), AddressError> {
        let refused = self.rules.refusal(&ip.to_string(), ip);
        refused.map_or(Ok(()), |refusal| Err(AddressError::Refused { is_name: false, refusal }))
    }

    /// Checks whether Unix sockets are allowed.
    ///
    /// # Errors
    /// Unix sockets are not allowed.
    pub fn check_socket(&self, _path: &Path) -> Result<(), AddressError> {
        if self.in_cluster { Err(AddressError::Socket) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
