//! [I/O] When an engine first answers that it is ready. Asked beside it, so that neither a network nor the period of a probe is in the time.

use std::{net::Ipv4Addr, sync::OnceLock, time::Duration};

use clock::Clock;
use jiff::Timestamp;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// How often it is asked.
const EVERY: Duration = Duration::from_millis(100);
/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(5);
/// What an answer begins with: `HTTP/1.1 200`.
const STATUS_BYTES: usize = 12;

/// Where an engine is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyPath {
    /// The port of the engine on the loopback address.
    pub port: u16,
    /// The path that it answers with 200 when it is ready.
    pub path: String,
}

/// Whether the engine has answered that it is ready.
pub(super) struct Readiness {
    /// Where it is asked; `None`: it is not asked.
    pub(super) path: Option<ReadyPath>,
    /// Runs since the engine was started; unset: it is not started yet.
    pub(super) clock: OnceLock<Clock>,
    /// The time of its first 200, and the time since its start.
    pub(super) seen: OnceLock<(Timestamp, Duration)>,
}

impl Readiness {
    pub(super) fn new(path: Option<ReadyPath>) -> Readiness {
        Readiness { path, clock: OnceLock::new(), seen: OnceLock::new() }
    }

    /// Asks until it answers with 200, however long that takes.
    pub(super) async fn watch(&self) {
        while self.path.is_some() && self.seen.get().is_none() {
            self.ask().await;
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Asks now, when no 200 has been seen yet: for a reader that has found the engine ready itself, the next turn of
    /// `watch` may be too late.
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
