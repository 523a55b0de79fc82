//! [I/O] The status port of a run. `/ready` returns 200 during the load and 503 before and after it. `/metrics` reports the progress of the load. In
//! a pod, readiness shows the operator that the run is measuring, so the launcher needs no API token.

mod live_metrics;
#[cfg(test)]
mod tests;

use std::{
    convert::Infallible,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use workload_profiles::workload::Stage;

use engine::issue::Progress;
use live_metrics::LiveLoad;

/// Pause after a connection that could not be accepted.
const RETRY: Duration = Duration::from_secs(1);

/// The state that the status port reports. All clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunStatus(Arc<State>);

#[derive(Debug, Default)]
struct State {
    commit: &'static str,
    measuring: AtomicBool,
    /// Whether everything is prepared, and the launcher waits for a person instead of issuing a load.
    waiting: AtomicBool,
    /// The load that was issued last. Each trial of a LoadGen test is a load.
    load: Mutex<Option<LiveLoad>>,
}

impl RunStatus {
    /// Returns the state before the load. `commit` is the commit of the binary.
    pub(crate) fn new(commit: &'static str) -> RunStatus {
        RunStatus(Arc::new(State { commit, ..State::default() }))
    }

    pub(crate) fn set_measuring(&self, measuring: bool) {
        self.0.measuring.store(measuring, Ordering::Relaxed);
    }

    /// Notes that everything is prepared and the launcher waits for a person. The operator treats this like a load: the start deadline no longer
    /// applies.
    pub(crate) fn set_waiting(&self) {
        self.0.waiting.store(true, Ordering::Relaxed);
    }

    /// Notes that a load begins, which will update `progress`.
    pub(crate) fn begin_load(&self, progress: Arc<Progress>, stages: &[Stage]) {
        let load = LiveLoad::new(progress, stages.iter().map(|it| it.name.clone()).collect());
        *self.0.load.lock().unwrap_or_else(PoisonError::into_inner) = Some(load);
    }

    fn answer(&self, path: &str) -> Response<Full<Bytes>> {
        let is_measuring = self.0.measuring.load(Ordering::Relaxed);
        let (status, text) = match (path, is_measuring) {
            ("/ready", true) => (StatusCode::OK, "measuring\n".to_owned()),
            ("/ready", false) if self.0.waiting.load(Ordering::Relaxed) => {
                (StatusCode::OK, "prepared; waiting for a load that is sent by hand\n".to_owned())
            }
            ("/ready", false) => (StatusCode::SERVICE_UNAVAILABLE, "not measuring\n".to_owned()),
            ("/metrics", _) => {
                let load = self.0.load.lock().unwrap_or_else(PoisonError::into_inner);
                (StatusCode::OK, live_metrics::text(self.0.commit, is_measuring, load.as_ref()))
            }
            _ => (StatusCode::NOT_FOUND, "the only paths are /ready and /metrics\n".to_owned()),
        };
        let mut response = Response::new(Full::new(Bytes::from(text)));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(live_metrics::CONTENT_TYPE));
        response
    }
}

/// Serves the status on all addresses until the process ends. It has a thread of its own, so that probes and the load do not delay each other.
///
/// # Errors
/// The port cannot be opened.
pub(crate) fn serve(port: u16, run_status: RunStatus) -> std::io::Result<SocketAddr> {
    // An IPv6 socket also accepts IPv4. If the machine supports only one of the two, the other address is tried.
    let listener = std::net::TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
        .or_else(|_| std::net::TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::Builder::new().name("status".into()).spawn(move || {
        runtime.block_on(async {
            match TcpListener::from_std(listener) {
                Ok(listener) => accept(listener, &run_status).await,
                Err(error) => tracing::warn!(%error, "the status port does not answer"),
            }
        });
    })?;
    Ok(address)
}

async fn accept(listener: TcpListener, run_status: &RunStatus) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // The process probably has no free file descriptor. The next probe may succeed.
            tokio::time::sleep(RETRY).await;
            continue;
        };
        let run_status = run_status.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let response = run_status.answer(request.uri().path());
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
