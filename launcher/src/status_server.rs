//! [I/O] Serves `/ready` in the launcher's pod: 200 during the load, 503 before and after. The readiness of the pod tells the
//! operator that the run measures, so that the launcher needs no API token.

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

/// Time to wait after a connection that could not be accepted.
const RETRY: Duration = Duration::from_secs(1);

/// Whether the launcher measures now. Clones share one state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measuring(Arc<AtomicBool>);

impl Measuring {
    pub(crate) fn set(&self, measuring: bool) {
        self.0.store(measuring, Ordering::Relaxed);
    }

    fn answer(&self, path: &str) -> Response<Full<Bytes>> {
        let (status, text) = match (path, self.0.load(Ordering::Relaxed)) {
            ("/ready", true) => (StatusCode::OK, "measuring\n"),
            ("/ready", false) => (StatusCode::SERVICE_UNAVAILABLE, "not measuring\n"),
            _ => (StatusCode::NOT_FOUND, "the only path is /ready\n"),
        };
        let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
        *response.status_mut() = status;
        response
    }
}

/// Serves `/ready` on every address until the process ends. It has its own thread, so that probe and load do not delay each
/// other.
///
/// # Errors
/// The port cannot be opened.
pub(crate) fn serve(port: u16, measuring: Measuring) -> std::io::Result<SocketAddr> {
    // An IPv6 socket accepts IPv4 too. The machine may have only one of them.
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
            // Most likely the process has no file descriptor left. The next probe may succeed.
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
                tracing::debug!(%error, "a probe closed its connection early");
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
