//! [I/O] The client of the server under test: sends a request to its API, and returns times and outcome.
//!
//! Bytes get their timestamp when they are read from the socket, before any other code processes them (`socket`). Pure modules interpret
//! them: `http1` removes the framing, `sse` splits the body into events, `chunk` parses one event, `api_error` parses one error, and
//! `answer` collects the answer. A [`Client`] belongs to one thread and keeps its own connections. Deliberately absent: redirects, proxies,
//! and retries of a request to which a server responded.

pub mod answer;
mod api_error;
pub mod body;
pub mod chunk;
mod connect_error;
mod connection;
pub mod control;
mod exchange;
mod failure;
mod group;
mod http1;
mod http2;
pub mod identity;
mod lenient_json;
mod outage;
pub mod output;
mod pattern;
pub mod probe;
pub mod profiler;
pub mod request_timeouts;
mod resolver;
mod response;
mod response_seen;
mod session_link;
pub mod sleep_mode;
mod socket;
mod spread;
mod sse;
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
use workload_profiles::workload::Timeouts;

use api_error::first_line;
use clock::Clock;
use connect_error::{connect_failure, no_address};
use connection::Connection;
pub use exchange::Exchange;
pub use failure::Failure;
pub(crate) use group::ClientGroup;
use http1::Http1;
use http2::{Http2Connection, Http2Stream};
use measurement::record::{Cause, Limit};
use outage::Outage;
pub use resolver::{AddressError, Lookup, Resolver};
use response::Broken;
pub(crate) use response_seen::ResponseSeen;
pub use session_link::SessionLink;
pub use spread::Spread;
pub use target::{Target, TargetError, header_fields};
pub use tls::{TlsError, config as tls_config};

/// Maximum number of connections opened concurrently before a stage. It is below the smallest usual backlog of a server.
const CONNECT_AT_ONCE: usize = 32;

/// A connection that has not carried a request.
enum NewConnection {
    Http1(Http1),
    Http2(Http2Connection),
}

/// The connections of one thread to one target. Idle connections are reused. The number of connections never exceeds the largest number of
/// requests in flight so far, plus the spare connections.
pub struct Client {
    target: Target,
    clock: Clock,
    connect_timeout: Duration,
    idle: Mutex<Vec<Http1>>,
    /// HTTP/2 connections, each for several concurrent requests.
    shared: Mutex<Vec<Http2Connection>>,
    addresses: Mutex<Vec<SocketAddr>>,
    next_address: AtomicUsize,
    /// Number of spare connections. When fewer are idle, new ones are opened in advance.
    spare: AtomicUsize,
    filling: AtomicBool,
    response_seen: Arc<ResponseSeen>,
    group: Arc<ClientGroup>,
    outage: Arc<Outage>,
    /// Clients of the target's other servers. Their own `others` is empty.
    others: Vec<Client>,
}

impl Client {
    /// Creates a client without connections, with the default connect timeout.
    pub fn new(target: Target, clock: Clock) -> Client {
        let outage = Arc::<Outage>::default();
        let mut client = Client::of_one(target, clock, Arc::clone(&outage));
        let others = client.target.others().iter();
        client.others = others.map(|it| Client::of_one(it.clone(), clock, Arc::clone(&outage))).collect();
        client
    }

    fn of_one(target: Target, clock: Clock, outage: Arc<Outage>) -> Client {
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
            response_seen: Arc::default(),
            group: Arc::default(),
            outage,
            others: Vec::new(),
        }
    }

    /// Sets the connect timeout, which includes name resolution and TLS.
    pub fn with_connect_timeout(self, connect_timeout: Duration) -> Client {
        self.each(|it| it.connect_timeout = connect_timeout)
    }

    /// Applies `change` to this client and to the clients of the other servers.
    fn each(mut self, change: impl Fn(&mut Client)) -> Client {
        change(&mut self);
        self.others.iter_mut().for_each(change);
        self
    }

    /// Returns this client and the clients of the other servers.
    fn all(&self) -> impl Iterator<Item = &Client> {
        std::iter::once(self).chain(&self.others)
    }

    /// Returns the client of the server with this index in the target. Index 0 is this client.
    fn of_server(&self, index: usize) -> &Client {
        index.checked_sub(1).and_then(|it| self.others.get(it)).unwrap_or(self)
    }

    /// Sets the index of the address to connect to first, for a target with several addresses. Each worker starts at a different address.
    pub(crate) fn starting_at(self, address: usize) -> Client {
        self.each(|it| it.next_address = AtomicUsize::new(address))
    }

    /// Sets `response_seen` when a response begins.
    pub(crate) fn with_response_seen(self, response_seen: Arc<ResponseSeen>) -> Client {
        self.each(|it| it.response_seen = Arc::clone(&response_seen))
    }

    pub(crate) fn in_group(self, group: Arc<ClientGroup>) -> Client {
        self.each(|it| it.group = Arc::clone(&group))
    }

    pub(crate) fn outage(&self) -> &Outage {
        &self.outage
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Opens connections until `connections` requests can be sent concurrently, so that the first requests do not wait for a connection.
    /// From then on keeps `spare` connections ready, see [`Client::fill`]. Stops when a connection cannot be opened, because the requests
    /// will report that failure. Several servers share both numbers equally.
    pub async fn warm(&self, connections: usize, spare: usize) {
        let servers = self.others.len() + 1;
        let part = |it: usize| it.div_ceil(servers);
        join_all(self.all().map(|it| it.warm_one(part(connections), part(spare)))).await;
    }

    async fn warm_one(&self, connections: usize, spare: usize) {
        self.spare.store(spare, Ordering::Relaxed);
        let mut kept = std::mem::take(&mut *lock(&self.idle));
        let mut open = Vec::with_capacity(kept.len());
        for mut connection in kept.drain(..) {
            if self.is_usable(&mut connection).await {
                open.push(connection);
            }
        }
        lock(&self.idle).append(&mut open);
        // The first connection shows how many concurrent requests one connection can carry.
        let mut streams = usize::MAX;
        loop {
            let missing = connections.saturating_sub(self.capacity());
            let at_once = missing.div_ceil(streams).min(CONNECT_AT_ONCE);
            let made = join_all((0..at_once).map(|_| self.connect())).await;
            let failed = made.iter().any(Result::is_err);
            for made in made.into_iter().flatten() {
                streams = self.keep_new(made).max(1);
            }
            if failed || missing == 0 {
                return;
            }
        }
    }

    /// Whether spare connections are missing and no task is opening them. After `true` the caller must call [`Client::fill`].
    pub fn needs_spare(&self) -> bool {
        // `any` would stop at the first `true`, but every client must record that its connections are being opened.
        self.all().fold(false, |needs, it| it.one_needs_spare() | needs)
    }

    fn one_needs_spare(&self) -> bool {
        // If the process has run out of file descriptors, spare connections would take descriptors that requests need.
        !self.group.lacks_files()
            && self.capacity() < self.spare.load(Ordering::Relaxed)
            && !self.filling.swap(true, Ordering::Relaxed)
    }

    /// Opens the missing spare connections, so that a request finds one when it is due.
    pub async fn fill(&self) {
        join_all(self.all().filter(|it| it.filling.load(Ordering::Relaxed)).map(Client::fill_one)).await;
    }

    async fn fill_one(&self) {
        while self.capacity() < self.spare.load(Ordering::Relaxed) {
            let Ok(made) = self.connect().await else { break };
            self.keep_new(made);
        }
        self.filling.store(false, Ordering::Relaxed);
    }

    /// Returns how many requests the open connections can carry now.
    fn capacity(&self) -> usize {
        lock(&self.idle).len() + lock(&self.shared).iter().map(Http2Connection::free_streams).sum::<usize>()
    }

    /// Whether a request can be sent on this connection. It must be open; if the server does not keep connections, it must also be new.
    async fn is_usable(&self, connection: &mut Http1) -> bool {
        (self.group.reuses_connections() || !connection.was_used()) && connection.is_open().await
    }

    /// Returns an idle connection that the client has not seen the server close.
    async fn take_open(&self) -> Option<Connection> {
        if let Some(stream) = self.take_shared() {
            return Some(Connection::Http2(stream));
        }
        loop {
            // The most recently used connection is the least likely to have been closed by the server.
            let mut connection = lock(&self.idle).pop()?;
            if self.is_usable(&mut connection).await {
                return Some(Connection::Http1(connection));
            }
        }
    }

    fn take_shared(&self) -> Option<Http2Stream> {
        let mut shared = lock(&self.shared);
        shared.retain(Http2Connection::is_open);
        shared.iter().find_map(Http2Connection::open_stream)
    }

    /// Returns the connection kept for the request's session, else any open connection.
    async fn take_for(&self, session: Option<&SessionLink>) -> Option<Connection> {
        if let Some(Connection::Http1(mut connection)) = session.and_then(SessionLink::take)
            && self.is_usable(&mut connection).await
        {
            return Some(Connection::Http1(connection));
        }
        self.take_open().await
    }

    /// Keeps a connection after the end of an answer if it can carry another request. It is kept for its session if the session reuses its
    /// connection, else for any request. An HTTP/2 stream is released when it is dropped.
    async fn keep(&self, connection: Connection, session: Option<&SessionLink>) {
        if let Connection::Http1(mut connection) = connection
            && self.is_usable(&mut connection).await
        {
            let left = match session {
                Some(session) => session.keep(Connection::Http1(connection)),
                None => Some(Connection::Http1(connection)),
            };
            if let Some(Connection::Http1(connection)) = left {
                lock(&self.idle).push(connection);
            }
        }
    }

    /// Makes the connection of an ended session available to other requests.
    pub fn release(&self, session: &SessionLink) {
        if let Some(Connection::Http1(connection)) = session.take() {
            lock(&self.of_server(session.server().unwrap_or(0)).idle).push(connection);
        }
    }

    /// Keeps a new connection, and returns how many requests it can carry.
    fn keep_new(&self, made: NewConnection) -> usize {
        match made {
            NewConnection::Http1(connection) => {
                lock(&self.idle).push(connection);
                1
            }
            NewConnection::Http2(connection) => {
                let free = connection.free_streams();
                lock(&self.shared).push(connection);
                free
            }
        }
    }

    /// Opens a new connection for one request. If it is HTTP/2, its other streams are kept for later requests.
    async fn connect_for_request(&self) -> Result<Connection, Failure> {
        match self.connect().await? {
            NewConnection::Http1(connection) => Ok(Connection::Http1(connection)),
            NewConnection::Http2(connection) => {
                let none = || Failure::connection(Cause::Http2, "the server allows no request on a new connection");
                let stream = connection.open_stream().ok_or_else(none)?;
                lock(&self.shared).push(connection);
                Ok(Connection::Http2(stream))
            }
        }
    }

    async fn connect(&self) -> Result<NewConnection, Failure> {
        let made = self.connect_in_time().await;
        if made.as_ref().is_err_and(|it| it.cause == Some(Cause::Files)) {
            self.group.note_lack_of_files();
        }
        made
    }

    /// Closes idle connections if the process ran out of file descriptors. Other parts can need them, for example a server in this process or on this
    /// machine.
    pub fn give_files_back(&self) {
        if self.group.lacks_files() {
            self.all().for_each(|it| drop(std::mem::take(&mut *lock(&it.idle))));
        }
    }

    async fn connect_in_time(&self) -> Result<NewConnection, Failure> {
        match clock::limit(self.connect_timeout, self.try_connect()).await {
            Ok(connected) => connected,
            Err(clock::TimedOut) => {
                // Resolves the name again for the next attempt: the server might have moved, and its old address may not respond.
                lock(&self.addresses).clear();
                let (url, limit) = (self.target.base_url(), Span(self.connect_timeout));
                let message = format!("no connection to {url} within the connect timeout, {limit}");
                Err(Failure::timeout(Limit::Connect, first_line(&message)))
            }
        }
    }

    async fn try_connect(&self) -> Result<NewConnection, Failure> {
        let connector = self.target.connector();
        let url = self.target.base_url();
        let mut addresses = lock(&self.addresses).clone();
        if addresses.is_empty() {
            addresses = connector.resolve().await.map_err(|error| no_address(url, &error.into()))?;
            lock(&self.addresses).clone_from(&addresses);
        }
        let failed = |error: io::Error| {
            // Resolves the name again for the next attempt: the server might have moved.
            lock(&self.addresses).clear();
            connect_failure(url, &error)
        };
        let first = self.next_address.fetch_add(1, Ordering::Relaxed);
        let socket = connector.connect(&addresses, first, self.connect_timeout).await.map_err(failed)?;
        if connector.speaks_http2(&socket) {
            let refused = |error: Broken| Failure::connection(error.cause(), &error.to_string());
            let made = Http2Connection::new(socket, self.clock).await.map_err(refused)?;
            return Ok(NewConnection::Http2(made));
        }
        Ok(NewConnection::Http1(Http1::new(socket, self.clock)))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A poisoned lock is safe to use: one thread uses the value, and no code can panic with the value half-changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use crds::benchmark_run::Api;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn idle_connections_give_their_files_back_to_a_request_that_waits() {
        // Accepts these connections but never reads from them.
        let servers = Mutex::new(Vec::new());
        let target = Target::in_process(Api::Completions, move || {
            let (client, server) = tokio::io::duplex(64 << 10);
            lock(&servers).push(server);
            client
        });
        for needs_spare in [false, true] {
            let client = Client::new(target.clone(), Clock::from_runtime());
            if needs_spare {
                client.group.note_lack_of_files();
            }
            client.spare.store(3, Ordering::Relaxed);
            assert_eq!(client.needs_spare(), !needs_spare);
            let idle = async {
                let connection = client.connect_for_request().await.unwrap();
                client.keep(connection, None).await;
                assert_eq!(client.capacity(), 1);
                tokio::time::sleep(Duration::from_millis(1_500)).await;
                assert_eq!(client.capacity(), usize::from(!needs_spare));
            };
            let request = target.get("/v1/models");
            tokio::select! {
                biased;
                fetched = client.fetch(&request, 1) => panic!("{fetched:?}"),
                () = idle => {}
            }
        }
    }
}
