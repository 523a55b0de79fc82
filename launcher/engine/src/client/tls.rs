//! [I/O] TLS to the target, with rustls and ring. Trusts the public, the system's and the user's certificate authorities.

use std::{io, sync::Arc};

use rustls::{
    CertificateError, ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

/// Why TLS cannot be set up for a target.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The host is neither a DNS name nor an IP address.
    #[error("{0:?} is no name of a host")]
    Host(String),
    /// The certificate authorities cannot be read.
    #[error("the certificate authorities of the target cannot be used: {0}; give PEM-encoded certificates")]
    Authorities(String),
}

/// TLS settings for one server: trusted authorities, and the name to check.
#[derive(Clone)]
pub(super) struct Tls {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Tls {
    /// Creates the settings. `authorities` is PEM text.
    pub(super) fn new(host: &str, authorities: Option<&str>) -> Result<Tls, TlsError> {
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(bare).map_err(|_| TlsError::Host(host.to_owned()))?;
        Ok(Tls { connector: TlsConnector::from(Arc::new(config(authorities)?)), name })
    }

    /// Sets the HTTP versions to offer in ALPN, the preferred one first.
    pub(super) fn offer(&mut self, versions: &[&[u8]]) {
        let mut config = ClientConfig::clone(self.connector.config());
        config.alpn_protocols = versions.iter().map(|it| it.to_vec()).collect();
        self.connector = TlsConnector::from(Arc::new(config));
    }

    pub(super) async fn connect(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.connector.connect(self.name.clone(), stream).await
    }
}

/// Creates a configuration that trusts the public authorities, the system's authorities, and those in `authorities`, which is PEM text.
///
/// # Errors
/// The text contains no certificates.
pub fn config(authorities: Option<&str>) -> Result<ClientConfig, TlsError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    // A machine without certificates is no error, because the public authorities are built in.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(pem) = authorities {
        add(&mut roots, pem)?;
    }
    Ok(ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring supports the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// Whether TLS failed, rather than the connection below it.
pub(super) fn is_tls_error(error: &io::Error) -> bool {
    // A server without TLS can send other bytes, or close the connection during the handshake.
    error.kind() == io::ErrorKind::UnexpectedEof || error.get_ref().is_some_and(|it| it.is::<rustls::Error>())
}

/// Returns what to do about a rejected certificate; `None` for any other error.
pub(super) fn remedy(error: &io::Error) -> Option<&'static str> {
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    let rustls::Error::InvalidCertificate(error) = error else { return None };
    Some(match error {
        CertificateError::UnknownIssuer => {
            "its certificate is not signed by a trusted authority; name the authority in target.tls, or with --ca-file"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for another name; write that name into target.url"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired; renew it, or set the clock of this machine"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet; set the clock of this machine"
        }
        CertificateError::Other(other) if other.to_string() == "CaUsedAsEndEntity" => {
            "its certificate is for an authority (CA:TRUE), not for a server; issue one with basicConstraints=CA:FALSE, and name its \
             authority in target.tls, or with --ca-file"
        }
        _ => "its certificate is refused; give the server another one",
    })
}

fn add(roots: &mut RootCertStore, pem: &str) -> Result<(), TlsError> {
    let mut count = 0;
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|error| TlsError::Authorities(error.to_string()))?;
        roots.add(certificate).map_err(|error| TlsError::Authorities(error.to_string()))?;
        count += 1;
    }
    if count == 0 {
        return Err(TlsError::Authorities("the file holds no certificate".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_must_be_certificates() {
        for (pem, problem) in [
            ("", "no certificate"),
            ("hello", "no certificate"),
            ("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n", "cannot be used"),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "cannot be used"),
        ] {
            let error = Tls::new("server", Some(pem)).err().expect(pem).to_string();
            assert!(error.contains(problem), "{pem}: {error}");
        }
        assert!(Tls::new("server", None).is_ok());
        assert!(Tls::new("[::1]", None).is_ok());
    }
}
