//! [I/O] The server under test through its OpenAI API: one request in, its times and what became of it out.
//!
//! Bytes get their time when they leave the socket, before anything looks at them (`socket`). What they mean is decided by
//! pure modules: `http1` takes the framing off, `sse` cuts what is left into events, `chunk` reads one event, `api_error` one
//! error, `answer` sums an answer up. A [`Client`] belongs to one thread and keeps its own connections. Deliberately absent:
//! redirects, proxies, retries of what a server answered.

pub mod answer;
mod answering;
mod api_error;
pub mod body;
pub mod chunk;
mod connection;
mod exchange;
mod http1;
mod http2;
mod mend;
pub mod patience;
mod pattern;
pub mod probe;
mod socket;
pub mod sse;
mod target;
mod tls;

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use crds::units::Span;
use futures::future::join_all;
use rustix::io::Errno;
use workload_profiles::workload::Timeouts;

use crate::{
    clock,
    clock::Clock,
    record::{Limit, RequestOutcome},
};
use answer::Failure;
pub use answering::Answering;
use api_error::short;
use connection::{Broken, Connection};
pub use exchange::Exchange;
use http1::Http1;
use http2::Http2;
pub use target::{Target, TargetError};

/// Connections that are made at once before a stage: fewer than the smallest usual backlog of a server.
const CONNECT_AT_ONCE: usize = 32;

/// The connections of one thread to one target. Idle ones wait for the next request; there are never more than requests
/// were under way at once, and some to spare.
pub struct Client {
    target: Target,
    clock: Clock,
    connect_timeout: Duration,
    idle: Mutex<Vec<Connection>>,
    addresses: Mutex<Vec<SocketAddr>>,
    next_address: AtomicUsize,
    /// Idle connections below which another is made before it is needed.
    spare: AtomicUsize,
    filling: AtomicBool,
    answering: Arc<Answering>,
}

impl Client {
    /// A client without connections, which waits for one as long as is usual.
    pub fn new(target: Target, clock: Clock) -> Client {
        Client {
            target,
            clock,
            connect_timeout: Timeouts::default().connect.0,
            idle: Mutex::default(),
            addresses: Mutex::default(),
            next_address: AtomicUsize::new(0),
            spare: AtomicUsize::new(0),
            filling: AtomicBool::new(false),
            answering: Arc::default(),
        }
    }

    /// With another limit for making a connection, name resolution and TLS included.
    pub fn with_connect_timeout(self, connect_timeout: Duration) -> Client {
        Client { connect_timeout, ..self }
    }

    /// With somebody who is told when an answer begins.
    pub fn telling(self, answering: Arc<Answering>) -> Client {
        Client { answering, ..self }
    }

    /// The server that it calls.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Sees to it that `connections` are open now, so that the first requests need not wait for them, and keeps `spare`
    /// to spare from now on, see [`Client::fill`]. It gives up when one cannot be made: the requests will tell.
    pub async fn warm(&self, connections: usize, spare: usize) {
        self.spare.store(spare, Ordering::Relaxed);
        let mut kept = std::mem::take(&mut *lock(&self.idle));
        let mut open = Vec::with_capacity(kept.len());
        for mut connection in kept.drain(..) {
            if connection.is_open().await {
                open.push(connection);
            }
        }
        lock(&self.idle).append(&mut open);
        // How many requests a connection can take at once is known when there is one.
        let mut places = usize::MAX;
        loop {
            let missing = connections.saturating_sub(lock(&self.idle).len());
            let at_once = missing.div_ceil(places).min(CONNECT_AT_ONCE);
            let made = join_all((0..at_once).map(|_| self.connect())).await;
            let failed = made.iter().any(Result::is_err);
            for made in made.into_iter().flatten() {
                places = made.len().max(1);
                lock(&self.idle).extend(made);
            }
            if failed || missing == 0 {
                return;
            }
        }
    }

    /// Whether there are too few connections to spare, and nobody is making them. Who gets `true` calls [`Client::fill`].
    pub fn is_short(&self) -> bool {
        lock(&self.idle).len() < self.spare.load(Ordering::Relaxed) && !self.filling.swap(true, Ordering::Relaxed)
    }

    /// Makes the connections to spare, so that a request finds one when it is due.
    pub async fn fill(&self) {
        while lock(&self.idle).len() < self.spare.load(Ordering::Relaxed) {
            let Ok(made) = self.connect().await else { break };
            lock(&self.idle).extend(made);
        }
        self.filling.store(false, Ordering::Relaxed);
    }

    /// An idle connection that the server has not closed, as far as is known.
    async fn take_open(&self) -> Option<Connection> {
        loop {
            // The one that was used last: its server is the least likely to have closed it.
            let mut connection = lock(&self.idle).pop()?;
            if connection.is_open().await {
                return Some(connection);
            }
        }
    }

    fn keep(&self, connection: Connection) {
        lock(&self.idle).push(connection);
    }

    /// A new connection for one request; what else it can take waits with the idle ones.
    async fn connect_for_request(&self) -> Result<Connection, Failure> {
        let mut made = self.connect().await?;
        let connection = made.pop().ok_or_else(|| {
            Failure::new(RequestOutcome::ConnectError, "the server allows no request on a new connection")
        })?;
        lock(&self.idle).append(&mut made);
        Ok(connection)
    }

    /// A new connection: one place with HTTP/1.1, several with HTTP/2.
    async fn connect(&self) -> Result<Vec<Connection>, Failure> {
        match clock::limit(self.connect_timeout, self.try_connect()).await {
            Ok(connected) => connected,
            Err(clock::TimedOut) => {
                let (url, limit) = (self.target.base_url(), Span(self.connect_timeout));
                let message = format!("no connection to {url} within the connect timeout, {limit}");
                Err(Failure::timeout(Limit::Connect, short(&message)))
            }
        }
    }

    async fn try_connect(&self) -> Result<Vec<Connection>, Failure> {
        let connector = self.target.connector();
        let failed = |error: io::Error| {
            // The next try asks for the addresses again: the server may have moved.
            lock(&self.addresses).clear();
            connect_failure(self.target.base_url(), &error)
        };
        let mut addresses = lock(&self.addresses).clone();
        if addresses.is_empty() {
            addresses = connector.resolve().await.map_err(failed)?;
            lock(&self.addresses).clone_from(&addresses);
        }
        let first = self.next_address.fetch_add(1, Ordering::Relaxed);
        let socket = connector.connect(&addresses, first).await.map_err(failed)?;
        if connector.speaks_http2(&socket) {
            let refused = |error: Broken| Failure::new(RequestOutcome::ConnectError, short(&error.to_string()));
            let places = Http2::connect(socket, self.clock).await.map_err(refused)?;
            return Ok(places.into_iter().map(Connection::Http2).collect());
        }
        Ok(vec![Connection::Http1(Http1::new(socket, self.clock))])
    }
}

/// The target's fault, or ours.
fn connect_failure(url: &str, error: &io::Error) -> Failure {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::MFILE | Errno::NFILE) => Failure::new(
            RequestOutcome::ClientError,
            "too many open files; raise the limit of the launcher (ulimit -n)",
        ),
        Some(Errno::ADDRNOTAVAIL) => {
            Failure::new(RequestOutcome::ClientError, "no free port is left on this machine for another connection")
        }
        _ => {
            // What to do comes before the long words of the library, which may be cut.
            let why = tls::remedy(error).map_or_else(String::new, |it| format!("{it}: "));
            Failure::new(RequestOutcome::ConnectError, short(&format!("cannot connect to {url}: {why}{error}")))
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // One thread, and nothing that is kept here can be left half-changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_machine_lacks_is_not_the_targets_fault() {
        for (errno, outcome) in [
            (Errno::MFILE, RequestOutcome::ClientError),
            (Errno::ADDRNOTAVAIL, RequestOutcome::ClientError),
            (Errno::CONNREFUSED, RequestOutcome::ConnectError),
            (Errno::HOSTUNREACH, RequestOutcome::ConnectError),
        ] {
            let failure = connect_failure("http://server", &io::Error::from_raw_os_error(errno.raw_os_error()));
            assert_eq!(failure.outcome, outcome, "{failure:?}");
        }
    }
}
