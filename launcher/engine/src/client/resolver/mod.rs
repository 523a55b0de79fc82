//! [I/O] Finds the addresses of a host, and refuses addresses that the launcher may not call. Every connection to a user's URL uses an
//! address from here: for the load, the readiness probe, the servers' metrics and downloads.
//!
//! Each answer of a lookup is checked, and the connection uses an address from that answer. So a name with changing answers cannot lead to an
//! unchecked address.

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr},
    path::Path,
    sync::Arc,
};

use crds::resolve::egress::{EgressRules, Refusal};
use futures::future::{BoxFuture, FutureExt as _};
use tokio::net::lookup_host;

/// Finds the addresses of a host and port.
pub type Lookup = Arc<dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// Why a host has no allowed address.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The system's resolver failed.
    #[error(transparent)]
    Lookup(#[from] io::Error),
    /// The name exists but has no address.
    #[error("{host} has no address")]
    None { host: String },
    /// The address is not allowed.
    #[error("{} {refusal}", verb(*.is_name))]
    Refused {
        /// Whether a name resolved to the address.
        is_name: bool,
        refusal: Refusal,
    },
    /// A launcher in a cluster connects to no Unix socket.
    #[error("is the path of a socket")]
    Socket,
}

fn verb(is_name: bool) -> &'static str {
    if is_name { "resolves to" } else { "is" }
}

impl AddressError {
    /// Whether the host is not allowed, so that waiting does not help.
    pub fn is_refusal(&self) -> bool {
        matches!(self, AddressError::Refused { .. } | AddressError::Socket)
    }
}

impl From<AddressError> for io::Error {
    /// Keeps the error number of a system error.
    fn from(error: AddressError) -> io::Error {
        match error {
            AddressError::Lookup(error) => error,
            error => io::Error::other(error),
        }
    }
}

/// Cheap to clone. The default is for use outside a cluster: it refuses only addresses that are always forbidden.
#[derive(Clone)]
pub struct Resolver {
    rules: Arc<EgressRules>,
    in_cluster: bool,
    lookup: Lookup,
}

impl Default for Resolver {
    fn default() -> Self {
        // The lookup runs on the runtime's threads for blocking calls, and cannot be cancelled.
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
    /// Refuses addresses that the rules refuse, names with any such address, and Unix sockets.
    pub fn in_cluster(rules: EgressRules) -> Resolver {
        Resolver { rules: Arc::new(rules), in_cluster: true, ..Resolver::default() }
    }

    /// Uses another resolver instead of the system's.
    pub fn with_lookup(self, lookup: Lookup) -> Resolver {
        Resolver { lookup, ..self }
    }

    /// The allowed addresses of a host; at least one. In a cluster a name is refused if any of its addresses is forbidden. Elsewhere
    /// forbidden addresses are left out, because a machine in a local network also has link-local addresses.
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

    /// Checks an address that a URL contains in place of a name.
    ///
    /// # Errors
    /// The address is not allowed.
    pub fn check(&self, ip: IpAddr) -> Result<(), AddressError> {
        let refused = self.rules.refusal(&ip.to_string(), ip);
        refused.map_or(Ok(()), |refusal| Err(AddressError::Refused { is_name: false, refusal }))
    }

    /// Checks a Unix socket.
    ///
    /// # Errors
    /// Unix sockets are not allowed.
    pub fn check_socket(&self, _path: &Path) -> Result<(), AddressError> {
        if self.in_cluster { Err(AddressError::Socket) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
