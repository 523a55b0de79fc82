//! [I/O] Finds the addresses of a host, and refuses those that the launcher may not call. Every connection that the launcher opens for
//! a URL of a user goes to an address from here: those of the load, of the readiness probe, of the servers' metrics, and of downloads.
//!
//! Each answer of a lookup is checked, and the connection goes to an address of that answer. So a name whose answers change cannot lead
//! to an address that was not checked.

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

/// Why a host has no address that may be called.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The system's resolver failed.
    #[error(transparent)]
    Lookup(#[from] io::Error),
    /// The name exists, and has no address.
    #[error("{host} has no address")]
    None { host: String },
    /// The launcher may not call it.
    #[error("{} {refusal}", verb(*.is_name))]
    Refused {
        /// Whether a name led there.
        is_name: bool,
        refusal: Refusal,
    },
    /// A launcher in a cluster calls no Unix socket.
    #[error("is the path of a socket")]
    Socket,
}

fn verb(is_name: bool) -> &'static str {
    if is_name { "resolves to" } else { "is" }
}

impl AddressError {
    /// Whether the launcher may not call the host, so that waiting does not help.
    pub fn is_refusal(&self) -> bool {
        matches!(self, AddressError::Refused { .. } | AddressError::Socket)
    }
}

impl From<AddressError> for io::Error {
    /// An error of the system keeps its number.
    fn from(error: AddressError) -> io::Error {
        match error {
            AddressError::Lookup(error) => error,
            error => io::Error::other(error),
        }
    }
}

/// Cheap to clone. The default refuses only what is never called, as outside of a cluster.
#[derive(Clone)]
pub struct Resolver {
    rules: Arc<EgressRules>,
    in_cluster: bool,
    lookup: Lookup,
}

impl Default for Resolver {
    fn default() -> Self {
        // The lookup works on a thread of the runtime for blocking calls, and cannot be ended early.
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
    /// Refuses what the rules refuse, names with any such address, and Unix sockets.
    pub fn in_cluster(rules: EgressRules) -> Resolver {
        Resolver { rules: Arc::new(rules), in_cluster: true, ..Resolver::default() }
    }

    /// Asks another resolver than the system's.
    pub fn with_lookup(self, lookup: Lookup) -> Resolver {
        Resolver { lookup, ..self }
    }

    /// The addresses of a host that may be called; at least one. In a cluster a name is refused if any of its addresses is. Elsewhere
    /// such addresses are left out, because a machine of a local network has link-local addresses beside its others.
    ///
    /// # Errors
    /// The host has no address, or none that may be called.
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

    /// Checks an address that stands in a URL in place of a name.
    ///
    /// # Errors
    /// It may not be called.
    pub fn check(&self, ip: IpAddr) -> Result<(), AddressError> {
        let refused = self.rules.refusal(&ip.to_string(), ip);
        refused.map_or(Ok(()), |refusal| Err(AddressError::Refused { is_name: false, refusal }))
    }

    /// Checks a Unix socket.
    ///
    /// # Errors
    /// It may not be called.
    pub fn check_socket(&self, _path: &Path) -> Result<(), AddressError> {
        if self.in_cluster { Err(AddressError::Socket) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
