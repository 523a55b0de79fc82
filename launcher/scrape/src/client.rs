//! [I/O] Requests a text over HTTP, with limits on time and size.

use std::{cell::Cell, error::Error, net::SocketAddr, rc::Rc, sync::Arc, time::Duration};

use crds::units::Span;
use engine::client::{TlsError, tls_config};
use reqwest::{Client, StatusCode, Url, header, redirect::Policy};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use server_metrics::identity::shown;

/// Maximum total size of all responses in flight, in bytes.
const MAX_AT_ONCE: usize = 64 << 20;
/// Prefers Prometheus text, because every server supports it.
const ACCEPT: &str = "text/plain;version=0.0.4, application/openmetrics-text;q=0.5, */*;q=0.1";

/// Counts the bytes of all responses in flight.
#[derive(Clone, Debug, Default)]
pub(super) struct Budget(Rc<Cell<usize>>);

/// A part of the budget that is in use. It is released on drop.
struct Taken {
    budget: Budget,
    bytes: usize,
}

impl Taken {
    fn take(&mut self, bytes: usize) -> bool {
        let left = &self.budget.0;
        left.set(left.get() + bytes);
        self.bytes += bytes;
        left.get() <= MAX_AT_ONCE
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.budget.0.set(self.budget.0.get().saturating_sub(self.bytes));
    }
}

/// Sends requests to one address.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    client: Client,
    token: Option<String>,
    budget: Budget,
}

impl Caller {
    /// `host` is the host in the URL, and the address to which it must resolve. `None` if the URL contains the address itself, or if `socket` is
    /// used.
    pub(super) fn new(
        host: Option<(&str, SocketAddr)>,
        socket: Option<&str>,
        tls: ClientConfig,
        token: Option<String>,
        budget: Budget,
    ) -> Result<Caller, reqwest::Error> {
        let mut builder = Client::builder()
            // No proxy, because it would resolve the name itself and so bypass the address check.
            .no_proxy()
            .tls_backend_preconfigured(tls)
            .redirect(Policy::none())
            .http1_only()
            .pool_max_idle_per_host(1)
            .user_agent(concat!("benchwright/", env!("CARGO_PKG_VERSION")));
        if let Some((name, address)) = host {
            builder = builder.resolve(name, address);
        }
        if let Some(path) = socket {
            builder = builder.unix_socket(path.to_owned());
        }
        Ok(Caller { client: builder.build()?, token, budget })
    }

    /// Returns the body of a response with status 200.
    ///
    /// # Errors
    /// Returns the reason in a few words, without the URL and credentials.
    pub(super) async fn get(self, url: Url, most: usize, limit: Duration) -> Result<Vec<u8>, String> {
        match clock::limit(limit, self.read(url, most)).await {
            Ok(done) => done,
            Err(clock::TimedOut) => Err(format!("no whole answer within {}", Span(limit))),
        }
    }

    async fn read(self, url: Url, most: usize) -> Result<Vec<u8>, String> {
        let mut request = self.client.get(url).header(header::ACCEPT, ACCEPT);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let mut response = request.send().await.map_err(|error| why(error, "no connection"))?;
        match response.status() {
            StatusCode::OK => {}
            status => return Err(format!("status {}", status.as_u16())),
        }
        let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
        if content_type.is_some_and(|it| it.trim_start().to_ascii_lowercase().starts_with("text/html")) {
            return Err("a web page, and no metrics".into());
        }
        let too_long = || format!("more than {} MiB", most >> 20);
        if response.content_length().is_some_and(|it| it > most as u64) {
            return Err(too_long());
        }
        let mut body = Vec::new();
        let mut taken = Taken { budget: self.budget.clone(), bytes: 0 };
        while let Some(chunk) = response.chunk().await.map_err(|error| why(error, "the answer broke off"))? {
            if body.len() + chunk.len() > most {
                return Err(too_long());
            }
            if !taken.take(chunk.len()) {
                return Err(format!("all answers together have more than {} MiB", MAX_AT_ONCE >> 20));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// Returns the innermost cause of an error. Only this cause describes what happened; the outer ones name software layers.
fn why(error: reqwest::Error, what: &str) -> String {
    let error = error.without_url();
    let mut cause: &dyn Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    shown(&format!("{what}: {cause}"))
}

/// Creates the TLS settings, which are the same as for a target. Loads no certificate authorities if no source needs TLS.
///
/// # Errors
/// The authorities are not valid certificates.
pub(super) fn tls(is_needed: bool, authorities: Option<&str>) -> Result<ClientConfig, TlsError> {
    if is_needed {
        return tls_config(authorities);
    }
    Ok(ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring supports the default versions")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth())
}

/// Returns each address once, in an order that does not depend on the DNS server.
pub(super) fn distinct(mut found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    found.sort_unstable();
    found.dedup();
    found
}
