//! Tests of TLS on loopback. A private certificate authority is trusted only if it is configured.

use std::{net::Ipv4Addr, sync::Arc};

use crds::benchmark_run::Api;
use engine::client::Target;
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use simulator::Simulator;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::common::*;

/// A certificate authority made for these tests, valid for a hundred years. Its private key is deleted.
pub const AUTHORITY: &str = include_str!("../fixtures/tls/ca.crt");
/// An authority that has not signed any certificate of these tests.
const OTHER_AUTHORITY: &str = include_str!("../fixtures/tls/other-ca.crt");
const CERTIFICATE: &[u8] = include_bytes!("../fixtures/tls/server.crt");
const KEY: &[u8] = include_bytes!("../fixtures/tls/server.key");

/// A self-signed certificate from `openssl req -x509`, with CA:TRUE.
const SELF_SIGNED: [&[u8]; 2] =
    [include_bytes!("../fixtures/tls/self-signed.crt"), include_bytes!("../fixtures/tls/self-signed.key")];

/// Starts a simulator behind TLS, and returns its port.
pub async fn serve() -> u16 {
    serve_with([CERTIFICATE, KEY]).await
}

/// The same as [`serve`], with another certificate and key.
async fn serve_with(certificate: [&[u8]; 2]) -> u16 {
    let simulator = Simulator::new(server(millis(2), millis(1)));
    listen_with(certificate, &[], move |stream| {
        let simulator = Arc::clone(&simulator);
        async move { simulator.serve_connection(stream).await }
    })
    .await
}

/// Serves connections over TLS, offering these HTTP versions. Returns the port.
pub async fn listen<F: Future<Output = ()> + Send + 'static>(
    versions: &[&[u8]],
    serve: impl Fn(TlsStream<TcpStream>) -> F + Clone + Send + 'static,
) -> u16 {
    listen_with([CERTIFICATE, KEY], versions, serve).await
}

async fn listen_with<F: Future<Output = ()> + Send + 'static>(
    [certificate, key]: [&[u8]; 2],
    versions: &[&[u8]],
    serve: impl Fn(TlsStream<TcpStream>) -> F + Clone + Send + 'static,
) -> u16 {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(certificate).unwrap()],
            PrivateKeyDer::from_pem_slice(key).unwrap(),
        )
        .unwrap();
    config.alpn_protocols = versions.iter().map(|it| it.to_vec()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (acceptor, serve) = (acceptor.clone(), serve.clone());
            tokio::spawn(async move {
                // The handshake fails if the client does not trust the certificate.
                if let Ok(stream) = acceptor.accept(stream).await {
                    serve(stream).await;
                }
            });
        }
    });
    port
}

#[tokio::test]
async fn a_server_is_trusted_by_its_authority() {
    let (port, self_signed) = (serve().await, serve_with(SELF_SIGNED).await);
    let self_authority = std::str::from_utf8(SELF_SIGNED[0]).unwrap();
    let both = format!("{OTHER_AUTHORITY}{AUTHORITY}");
    for (host, port, authority, expected, remedy) in [
        ("localhost", port, Some(AUTHORITY), "ok", ""),
        ("localhost", port, Some(both.as_str()), "ok", ""),
        ("localhost", port, None, "connect_error", "name the authority in target.tls, or with --ca-file"),
        ("localhost", port, Some(OTHER_AUTHORITY), "connect_error", "name the authority in target.tls"),
        ("127.0.0.1", port, Some(AUTHORITY), "connect_error", "write that name into target.url"),
        ("localhost", self_signed, Some(self_authority), "connect_error", "(CA:TRUE), not for a server"),
    ] {
        let url = format!("https://{host}:{port}");
        let target = Target::new(&url, Api::Completions, None, authority, &Default::default()).unwrap();
        let result = issue(&workload(vec![closed(2, 6)], 3), &target).await;
        assert_eq!(outcomes(&result, 0), [(expected.to_owned(), 6)], "{url}");
        if expected != "ok" {
            let message = result.recorder.stages[0].error_samples.values().next().unwrap();
            assert!(message.contains("certificate") && message.contains(remedy), "{message}");
        }
    }
}
