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
pub mod output;
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
use http2::{Http2, Http2Connection};
pub use target::{Target, TargetError};

/// Connections that are made at once before a stage: fewer than the smallest usual backlog of a server.
const CONNECT_AT_ONCE: usize = 32;

/// A connection that nobody has used.
enum NewConnection {
    Http1(Http1),
    Http2(Http2Connection),
}

/// The connections of one thread to one target. Idle ones wait for the next request; there are never more than requests
/// were under way at once, and some to spare.
pub struct Client {
    target: Target,
    clock: Clock,
    connect_timeout: Duration,
    idle: Mutex<Vec<Http1>>,
    /// Connections that take several requests at a time.
    shared: Mutex<Vec<Http2Connection>>,
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
            shared: Mutex::default(),
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

    /// With another address to begin with, where the target has several: each lane begins with another one.
    pub fn starting_at(self, place: usize) -> Client {
        Client { next_address: AtomicUsize::new(place), ..self }
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
            let missing = connections.saturating_sub(self.room());
            let at_once = missing.div_ceil(places).min(CONNECT_AT_ONCE);
            let made = join_all((0..at_once).map(|_| self.connect())).await;
            let failed = made.iter().any(Result::is_err);
            for made in made.into_iter().flatten() {
                places = self.keep_new(made).max(1);
            }
            if failed || missing == 0 {
                return;
            }
        }
    }

    /// Whether there are too few connections to spare, and nobody is making them. Who gets `true` calls [`Client::fill`].
    pub fn is_short(&self) -> bool {
        self.room() < self.spare.load(Ordering::Relaxed) && !self.filling.swap(true, Ordering::Relaxed)
    }

    /// Makes the connections to spare, so that a request finds one when it is due.
    pub async fn fill(&self) {
        while self.room() < self.spare.load(Ordering::Relaxed) {
            let Ok(made) = self.connect().await else { break };
            self.keep_new(made);
        }
        self.filling.store(false, Ordering::Relaxed);
    }

    /// How many requests the connections can take that there are.
    fn room(&self) -> usize {
        lock(&self.idle).len() + lock(&self.shared).iter().map(Http2Connection::room).sum::<usize>()
    }

    /// A place on a connection that the server has not closed, as far as is known.
    async fn take_open(&self) -> Option<Connection> {
        if let Some(place) = self.take_shared() {
            return Some(Connection::Http2(place));
        }
        loop {
            // The one that was used last: its server is the least likely to have closed it.
            let mut connection = lock(&self.idle).pop()?;
            if connection.is_open().await {
                return Some(Connection::Http1(connection));
            }
        }
    }

    fn take_shared(&self) -> Option<Http2> {
        let mut shared = lock(&self.shared);
        shared.retain(Http2Connection::is_open);
        shared.iter().find_map(Http2Connection::place)
    }

    /// Keeps a connection whose answer has ended, where it can take another request. A place of a shared one is free when it
    /// is dropped.
    async fn keep(&self, connection: Connection) {
        if let Connection::Http1(mut connection) = connection
            && connection.is_open().await
        {
            lock(&self.idle).push(connection);
        }
    }

    /// Keeps a new connection, and returns how many requests it can take.
    fn keep_new(&self, made: NewConnection) -> usize {
        match made {
            NewConnection::Http1(connection) => {
                lock(&self.idle).push(connection);
                1
            }
            NewConnection::Http2(connection) => {
                let room = connection.room();
                lock(&self.shared).push(connection);
                room
            }
        }
    }

    /// A new connection for one request; what else it can take waits with the others.
    async fn connect_for_request(&self) -> Result<Connection, Failure> {
        match self.connect().await? {
            NewConnection::Http1(connection) => Ok(Connection::Http1(connection)),
            NewConnection::Http2(connection) => {
                let none =
                    || Failure::new(RequestOutcome::ConnectError, "the server allows no request on a new connection");
                let place = connection.place().ok_or_else(none)?;
                lock(&self.shared).push(connection);
                Ok(Connection::Http2(place))
            }
        }
    }

    async fn connect(&self) -> Result<NewConnection, Failure> {
        match clock::limit(self.connect_timeout, self.try_connect()).await {
            Ok(connected) => connected,
            Err(clock::TimedOut) => {
                // The server may have moved, and left an address that swallows what is sent there.
                lock(&self.addresses).clear();
                let (url, limit) = (self.target.base_url(), Span(self.connect_timeout));
                let message = format!("no connection to {url} within the connect timeout, {limit}");
                Err(Failure::timeout(Limit::Connect, short(&message)))
            }
        }
    }

    async fn try_connect(&self) -> Result<NewConnection, Failure> {
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
        let socket = connector.connect(&addresses, first, self.connect_timeout).await.map_err(failed)?;
        if connector.speaks_http2(&socket) {
            let refused = |error: Broken| Failure::new(RequestOutcome::ConnectError, short(&error.to_string()));
            let made = Http2Connection::new(socket, self.clock).await.map_err(refused)?;
            return Ok(NewConnection::Http2(made));
        }
        Ok(NewConnection::Http1(Http1::new(socket, self.clock)))
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
