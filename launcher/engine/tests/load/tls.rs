//! TLS on loopback: a private authority is trusted if it is given, and only then.

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

/// Made for these tests, valid for a hundred years. The key of the authority is deleted.
pub const AUTHORITY: &str = include_str!("../fixtures/tls/ca.crt");
/// Another authority, which has signed nothing.
const OTHER_AUTHORITY: &str = include_str!("../fixtures/tls/other-ca.crt");
const CERTIFICATE: &[u8] = include_bytes!("../fixtures/tls/server.crt");
const KEY: &[u8] = include_bytes!("../fixtures/tls/server.key");

/// A simulator behind TLS; returns its port.
pub async fn serve() -> u16 {
    let simulator = Simulator::new(server(millis(2), millis(1)));
    listen(&[], move |stream| {
        let simulator = Arc::clone(&simulator);
        async move { simulator.serve_connection(stream).await }
    })
    .await
}

/// Serves connections behind TLS that offers these versions of HTTP; returns the port.
pub async fn listen<F: Future<Output = ()> + Send + 'static>(
    versions: &[&[u8]],
    serve: impl Fn(TlsStream<TcpStream>) -> F + Clone + Send + 'static,
) -> u16 {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(CERTIFICATE).unwrap()],
            PrivateKeyDer::from_pem_slice(KEY).unwrap(),
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
                // A client that does not trust the certificate ends the handshake.
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
    let port = serve().await;
    let both = format!("{OTHER_AUTHORITY}{AUTHORITY}");
    for (host, authority, expected, remedy) in [
        ("localhost", Some(AUTHORITY), "ok", ""),
        ("localhost", Some(both.as_str()), "ok", ""),
        ("localhost", None, "connect_error", "name the authority that did in target.tls, or with --ca-file"),
        ("localhost", Some(OTHER_AUTHORITY), "connect_error", "name the authority that did in target.tls"),
        ("127.0.0.1", Some(AUTHORITY), "connect_error", "write that name into target.url"),
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
