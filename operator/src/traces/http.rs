//! [I/O] HTTP requests to the collector. They use rustls with ring, like the requests to the API server.

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
/// Maximum size of a response, in bytes. A response contains at most the number of refused spans, and the reason.
const MAX_ANSWER: usize = 64 << 10;

/// Sends requests. It trusts the public certificate authorities and those of the system, whose location SSL_CERT_FILE can set.
#[derive(Debug)]
pub(super) struct Post(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

impl Post {
    pub(super) fn new() -> Self {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        // It is no error if the system has no certificates, because the public authorities are built in.
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
        // Logged here because the exporter's error would only mention a network failure.
        let answer =
            answer.inspect_err(|error| debug!(error = %format!("{error:#}"), "the collector cannot be reached"))?;
        let (parts, body) = answer.into_parts();
        let body = Limited::new(body, MAX_ANSWER).collect().await?.to_bytes();
        Ok(Response::from_parts(parts, body))
    }
}
