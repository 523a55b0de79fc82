//! `/ready` in the launcher's pod: 200 while the load is on, 503 before and after. This is how the operator learns that a
//! run measures, without an API token in the launcher.

use std::{
    convert::Infallible,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// Between two tries to accept a connection, when the system refuses one.
const RETRY: Duration = Duration::from_secs(1);

/// Whether the launcher measures at present.
#[derive(Clone, Debug, Default)]
pub struct Measuring(Arc<AtomicBool>);

impl Measuring {
    /// Says that it does, or that it no longer does.
    pub fn set(&self, measuring: bool) {
        self.0.store(measuring, Ordering::Relaxed);
    }

    fn answer(&self, path: &str) -> Response<Full<Bytes>> {
        let (status, text) = match (path, self.0.load(Ordering::Relaxed)) {
            ("/ready", true) => (StatusCode::OK, "measuring\n"),
            ("/ready", false) => (StatusCode::SERVICE_UNAVAILABLE, "not measuring\n"),
            _ => (StatusCode::NOT_FOUND, "only /ready is here\n"),
        };
        let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
        *response.status_mut() = status;
        response
    }
}

/// Serves `/ready` on every address until the process ends, on a thread of its own, so that a probe never waits for the
/// load nor the load for a probe.
///
/// # Errors
/// When the port is taken.
pub fn serve(port: u16, measuring: Measuring) -> std::io::Result<SocketAddr> {
    // Both address families where the machine has them: a cluster may know IPv6 only.
    let listener = std::net::TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
        .or_else(|_| std::net::TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::Builder::new().name("status".into()).spawn(move || {
        runtime.block_on(async {
            match TcpListener::from_std(listener) {
                Ok(listener) => accept(listener, &measuring).await,
                Err(error) => tracing::warn!(%error, "the status port does not answer"),
            }
        });
    })?;
    Ok(address)
}

async fn accept(listener: TcpListener, measuring: &Measuring) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, most likely: the next probe may find some again.
            tokio::time::sleep(RETRY).await;
            continue;
        };
        let measuring = measuring.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let response = measuring.answer(request.uri().path());
            async move { Ok::<_, Infallible>(response) }
        });
        tokio::task::spawn(async move {
            let served = http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service).await;
            if let Err(error) = served {
                tracing::debug!(%error, "a probe broke off");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::TcpStream,
    };

    use super::*;

    fn check(address: SocketAddr, path: &str, status: &str) {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, address.port())).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
    }

    #[test]
    fn it_is_ready_only_while_it_measures() {
        let measuring = Measuring::default();
        let address = serve(0, measuring.clone()).unwrap();
        check(address, "/ready", "503");
        measuring.set(true);
        check(address, "/ready", "200");
        check(address, "/other", "404");
        measuring.set(false);
        check(address, "/ready", "503");
    }
}
