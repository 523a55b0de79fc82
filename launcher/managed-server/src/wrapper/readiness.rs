//! [I/O] Measures when an engine is first ready. It probes the loopback interface, so the measured time includes neither network latency nor the
//! period of a Kubernetes probe.

use std::{net::Ipv4Addr, sync::OnceLock, time::Duration};

use clock::Clock;
use jiff::Timestamp;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// Interval between probes.
const EVERY: Duration = Duration::from_millis(100);
/// Timeout of one probe.
const LIMIT: Duration = Duration::from_secs(5);
/// Number of bytes that are read of a response: as many as `HTTP/1.1 200` has.
const STATUS_BYTES: usize = 12;

/// The readiness endpoint of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyPath {
    /// The port of the engine on the loopback address.
    pub port: u16,
    /// The path that returns 200 when the engine is ready.
    pub path: String,
}

/// Whether the engine has reported that it is ready.
pub(super) struct Readiness {
    /// The endpoint to probe; `None` if readiness is not probed.
    pub(super) path: Option<ReadyPath>,
    /// The clock, which starts together with the engine; not set before that.
    pub(super) clock: OnceLock<Clock>,
    /// The time of the first response 200, and the time since the engine was started.
    pub(super) seen: OnceLock<(Timestamp, Duration)>,
}

impl Readiness {
    pub(super) fn new(path: Option<ReadyPath>) -> Readiness {
        Readiness { path, clock: OnceLock::new(), seen: OnceLock::new() }
    }

    /// Probes until a response has status 200, however long that takes.
    pub(super) async fn watch(&self) {
        while self.path.is_some() && self.seen.get().is_none() {
            self.ask().await;
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Probes once, unless a response 200 was seen before. A client that already knows that the engine is ready then does not have to wait for the
    /// next probe of `watch`.
    pub(super) async fn look(&self) {
        if self.seen.get().is_none() {
            self.ask().await;
        }
    }

    async fn ask(&self) {
        let (Some(path), Some(clock)) = (&self.path, self.clock.get()) else { return };
        if clock::limit(LIMIT, path.is_ready()).await == Ok(true) {
            let _ = self.seen.set((clock::now(), clock.now()));
        }
    }
}

impl ReadyPath {
    async fn is_ready(&self) -> bool {
        let Ok(mut socket) = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await else { return false };
        let request = format!("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", self.path);
        let mut status = [0; STATUS_BYTES];
        if socket.write_all(request.as_bytes()).await.is_err() || socket.read_exact(&mut status).await.is_err() {
            return false;
        }
        status.starts_with(b"HTTP/1.") && status.ends_with(b" 200")
    }
}
