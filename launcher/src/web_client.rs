//! The HTTP client of all that the launcher calls beside the target: files behind URLs, and the bucket of the results. It calls no
//! address that the launcher may not call for a target either, also behind a name. Therefore it uses no proxy: a proxy would find
//! the address in its place.

use std::{error::Error, sync::Arc, time::Duration};

use engine::client::{AddressError, Resolver, tls_config};
use reqwest::{
    Client, ClientBuilder,
    dns::{Addrs, Name, Resolve, Resolving},
};

/// The longest time for a connection.
const CONNECT: Duration = Duration::from_secs(30);

/// A client without a policy for redirects and without limits on the time of an answer.
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

/// How far a request came on its way to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The name leads to an address that may not be called.
    Refused,
    /// The name has no address, or could not be looked up.
    NotFound,
    /// An address was called.
    Called,
}

/// How far a request came that failed.
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

/// A name that leads to an address which may not be called.
#[derive(Debug, thiserror::Error)]
#[error("its host {0}")]
struct RefusedHost(AddressError);

/// A name without an address.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NoAddress(AddressError);

/// Finds the addresses of a name, without those that may not be called.
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
