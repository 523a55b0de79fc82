//! The HTTP client for everything that the launcher calls except the target: files at URLs, and the bucket for the results. It refuses the addresses
//! that targets may not have. Each address is checked after the name lookup. So the client uses no proxy: a proxy would resolve the name itself.

use std::{error::Error, sync::Arc, time::Duration};

use engine::client::{AddressError, Resolver, tls_config};
use reqwest::{
    Client, ClientBuilder,
    dns::{Addrs, Name, Resolve, Resolving},
};

/// Timeout of a connection attempt.
const CONNECT: Duration = Duration::from_secs(30);

/// Returns the builder of a client. The caller sets the redirect policy and the response timeouts.
///
/// # Errors
/// The certificate authorities of the system cannot be read.
pub(crate) fn builder(resolver: &Resolver) -> Result<ClientBuilder, String> {
    let tls = tls_config(None).map_err(|error| error.to_string())?;
    Ok(Client::builder()
        .no_proxy()
        .tls_backend_preconfigured(tls)
        .dns_resolver(Arc::new(AllowedAddresses(resolver.clone())))
        .connect_timeout(CONNECT)
        .user_agent(concat!("benchwright/", env!("CARGO_PKG_VERSION"))))
}

/// How far a request got before it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The name resolves to a blocked address.
    Refused,
    /// The name has no address, or the lookup failed.
    NotFound,
    /// The client tried to call an address.
    Called,
}

/// How far a failed request got.
pub(crate) fn way(error: &reqwest::Error) -> Way {
    let mut cause = error.source();
    while let Some(it) = cause {
        if it.is::<RefusedHost>() {
            return Way::Refused;
        }
        if it.is::<NoAddress>() {
            return Way::NotFound;
        }
        cause = it.source();
    }
    Way::Called
}

/// The error for a name that resolves to a blocked address.
#[derive(Debug, thiserror::Error)]
#[error("its host {0}")]
struct RefusedHost(AddressError);

/// The error for a name without an address.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NoAddress(AddressError);

/// Resolves names, and refuses blocked addresses.
struct AllowedAddresses(Resolver);

impl Resolve for AllowedAddresses {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.0.clone();
        Box::pin(async move {
            let found = resolver.addresses(name.as_str(), 0).await.map_err(in_words)?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

fn in_words(error: AddressError) -> Box<dyn Error + Send + Sync> {
    if error.is_refusal() { RefusedHost(error).into() } else { NoAddress(error).into() }
}
