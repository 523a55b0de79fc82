//! [I/O] Requests to the collector, with rustls and ring as for the API server.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use opentelemetry_http::{HttpClient, HttpError};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use tracing::debug;

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Maximum bytes of an answer. It reports at most how many spans were refused, and why.
const MAX_ANSWER: usize = 64 << 10;

/// Sends requests. It trusts the public certificate authorities and the system's authorities, which SSL_CERT_FILE names.
#[derive(Debug)]
pub(super) struct Post(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

impl Post {
    pub(super) fn new() -> Self {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        // A machine without certificates is not an error, because the public authorities are built in.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring supports the default versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(CONNECT_LIMIT));
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(tcp);
        Post(Client::builder(TokioExecutor::new()).build(connector))
    }
}

#[async_trait]
impl HttpClient for Post {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answer = self.0.request(request.map(Full::new)).await.map_err(anyhow::Error::new);
        // The exporter's own error reports only that the network failed.
        let answer =
            answer.inspect_err(|error| debug!(error = %format!("{error:#}"), "the collector cannot be reached"))?;
        let (parts, body) = answer.into_parts();
        let body = Limited::new(body, MAX_ANSWER).collect().await?.to_bytes();
        Ok(Response::from_parts(parts, body))
    }
}
