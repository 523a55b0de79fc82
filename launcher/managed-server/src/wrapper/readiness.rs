//! [I/O] When an engine first answers that it is ready. Asked beside it, so that neither a network nor the period of a probe is in the time.

use std::{net::Ipv4Addr, time::Duration};

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

impl ReadyPath {
    /// Asks until it answers with 200, however long that takes. The time of that answer.
    pub(super) async fn answered(&self) -> Timestamp {
        loop {
            if clock::limit(LIMIT, self.is_ready()).await == Ok(true) {
                return clock::now();
            }
            tokio::time::sleep(EVERY).await;
        }
    }

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
