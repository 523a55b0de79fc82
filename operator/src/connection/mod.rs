//! [I/O] The connection to the API server. The client must detect a connection that died without being closed. Otherwise a watch would silently stop
//! to report changes.
//!
//! For this purpose the API server ends each watch after a few seconds, and the client requests it again. Regular responses then prove that the
//! connection works. In addition, all reads have a time limit, idle connections are closed early, and TCP keep-alive probes the peer. The client
//! itself never retries a request, because a retry within a reconciliation would delay other runs. The watches and the loop retry instead.
//!
//! Responses are trimmed while they arrive ([`trim`]), so that an oversized object needs little memory.

pub mod trim;

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request, Response, header::CONTENT_TYPE};
use http_body_util::{BodyExt as _, combinators::UnsyncBoxBody};
use hyper_timeout::TimeoutConnector;
use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioExecutor};
use kube::{
    Client, Config,
    client::{Body, ClientBuilder, ConfigExt as _},
    runtime::utils::Backoff,
};
use tokio::time::{Instant, interval, timeout};
use tower::{BoxError, Service, ServiceBuilder};
use tracing::{Instrument as _, info, warn};

use self::trim::Trimmer;
use crate::{
    leadership::{Fence, Fenced},
    traces,
};

/// Time limits of the connection. With the defaults a dead connection is detected within 20 seconds.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time limit for opening a connection, and for a write.
    pub connect: Duration,
    /// Time limit for the next bytes of a response, counted from the request or from the previous bytes.
    pub read: Duration,
    /// Time limit for the beginning of a response, for all requests except watches. It is short because a reconciliation makes several requests. If
    /// one gets no response, there must be time left for the others.
    pub request: Duration,
    /// Duration of a watch in seconds. Then the server ends it, and the client requests it again. kube waits five seconds longer before it gives up
    /// the connection.
    pub watch_seconds: u32,
    /// How long an idle connection can be reused.
    pub idle: Duration,
    /// Time without a response after which a watch counts as silent. The operator is then not ready.
    pub silent: Duration,
    /// Time without a request after which a watch counts as stuck. The operator must then be restarted.
    pub stuck: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connect: Duration::from_secs(5),
            read: Duration::from_secs(25),
            request: Duration::from_secs(15),
            watch_seconds: 15,
            idle: Duration::from_secs(10),
            silent: Duration::from_secs(30),
            stuck: Duration::from_secs(180),
        }
    }
}

/// Time without traffic after which TCP probes the peer.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// Time between two probes.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(3);
/// Number of unanswered probes after which TCP closes the connection.
const KEEP_ALIVE_PROBES: u32 = 3;
/// Time after which TCP closes the connection if the peer acknowledges nothing.
const UNACKNOWLEDGED: Duration = Duration::from_secs(20);
/// Time between two checks of the watches in [`Health::report`].
const REPORT_INTERVAL: Duration = Duration::from_secs(5);

/// Creates a client that records the requests and responses of its watches in `health`, and sends its writes through `fence`.
///
/// # Errors
/// The certificates or credentials of the configuration cannot be used.
pub fn client(config: &Config, health: &Arc<Health>, fence: &Arc<Fence>) -> Result<Client, kube::Error> {
    let limits = health.limits;
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_keepalive(Some(KEEP_ALIVE));
    tcp.set_keepalive_interval(Some(KEEP_ALIVE_INTERVAL));
    tcp.set_keepalive_retries(Some(KEEP_ALIVE_PROBES));
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    let mut connector = TimeoutConnector::new(config.rustls_https_connector_with_connector(tcp)?);
    connector.set_connect_timeout(Some(limits.connect));
    connector.set_read_timeout(Some(limits.read));
    connector.set_write_timeout(Some(limits.connect));
    // Without this, the time for which a connection was idle would count toward the time limit of the next response.
    connector.set_reset_reader_on_write(true);
    let http = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
        .pool_idle_timeout(limits.idle)
        .pool_timer(hyper_util::rt::TokioTimer::new())
        .build::<_, Body>(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    let service = Observed { inner: Trimmed { inner: service }, health: Arc::clone(health) };
    let service = Fenced::new(service, Arc::clone(fence));
    Ok(ClientBuilder::new(service, config.default_namespace.clone()).build())
}

/// The times of the last request and the last response, for each watch and for the lease.
#[derive(Debug)]
pub struct Health {
    limits: Limits,
    watches: Mutex<BTreeMap<String, LastTimes>>,
}

#[derive(Clone, Copy, Debug)]
struct LastTimes {
    requested: Instant,
    answered: Instant,
}

impl Health {
    /// Creates an instance without watches.
    pub fn new(limits: Limits) -> Self {
        Health { limits, watches: Mutex::default() }
    }

    /// The time limits.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Adds the path of a watch, or another path. From now on, requests for it are expected.
    pub fn expect(&self, path: &str) {
        let now = Instant::now();
        self.lock().insert(path.to_owned(), LastTimes { requested: now, answered: now });
    }

    /// The silent watches, each with the time since its last response.
    pub fn silent(&self) -> BTreeMap<String, Duration> {
        self.older_than(self.limits.silent, |it| it.answered)
    }

    /// The stuck watches, each with the time since its last request.
    pub fn stuck(&self) -> BTreeMap<String, Duration> {
        self.older_than(self.limits.stuck, |it| it.requested)
    }

    fn older_than(&self, limit: Duration, time: impl Fn(&LastTimes) -> Instant) -> BTreeMap<String, Duration> {
        let ages = self.lock().iter().map(|(path, times)| (path.clone(), time(times).elapsed())).collect::<Vec<_>>();
        ages.into_iter().filter(|(_, age)| *age > limit).collect()
    }

    /// Records the time of a request if its path is expected.
    pub fn asked(&self, path: &str) {
        self.note(path, |times, now| times.requested = now);
    }

    /// Records the time of a response if its path is expected.
    pub fn answered(&self, path: &str) {
        self.note(path, |times, now| times.answered = now);
    }

    fn note(&self, path: &str, note: impl Fn(&mut LastTimes, Instant)) {
        if let Some(times) = self.lock().get_mut(path) {
            note(times, Instant::now());
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, LastTimes>> {
        // If another thread has panicked, the lock is poisoned, but it is used nevertheless: every operation leaves the map in a valid state.
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs when a watch becomes silent and when it is answered again. Never returns.
    pub async fn report(&self) {
        let mut known = BTreeMap::new();
        let mut look = interval(REPORT_INTERVAL.min(self.limits.silent));
        loop {
            look.tick().await;
            let silent = self.silent();
            for (path, age) in silent.iter().filter(|(path, _)| !known.contains_key(*path)) {
                warn!(
                    watch = path,
                    seconds = age.as_secs(),
                    "a watch is silent: changes are not seen until it answers"
                );
            }
            for path in known.keys().filter(|path| !silent.contains_key(*path)) {
                info!(watch = path, "a watch answers again");
            }
            known = silent;
        }
    }
}

/// Backoff after failures of a watch: 1, 2, 4 and then always 5 seconds. It is short because the operator sees no changes meanwhile.
#[derive(Debug, Default)]
pub struct WatchBackoff(u32);

impl Iterator for WatchBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let seconds = 1_u64.checked_shl(self.0).map_or(5, |it| it.clamp(1, 5));
        self.0 = self.0.saturating_add(1);
        Some(Duration::from_secs(seconds))
    }
}

impl Backoff for WatchBackoff {
    fn reset(&mut self) {
        self.0 = 0;
    }
}

/// A backoff without delay, for the loop that merges the watches. Each watch already has its own backoff. A common backoff would also delay the
/// watches that work.
#[derive(Debug)]
pub struct NoBackoff;

impl Iterator for NoBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(Duration::ZERO)
    }
}

impl Backoff for NoBackoff {
    fn reset(&mut self) {}
}

/// A service that records requests and responses of watches in a [`Health`].
struct Observed<S> {
    inner: S,
    health: Arc<Health>,
}

impl<S, B> Service<Request<Body>> for Observed<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError>,
    S::Future: Send + 'static,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let path = request.uri().path().to_owned();
        let query = request.uri().query().unwrap_or_default();
        let has = |part: &str| query.split('&').any(|it| it.starts_with(part));
        let is_watch = has("watch=true");
        // A watch begins with a list request that has a page limit. Other reads of the same path have no page limit, and are not recorded.
        if request.method() == Method::GET && (is_watch || has("limit=")) {
            self.health.asked(&path);
        }
        let health = Arc::clone(&self.health);
        let span = traces::request(request.method(), &path);
        let answer = self.inner.call(request);
        Box::pin(async move {
            if is_watch {
                let answer = answer.await?;
                if answer.status().is_success() {
                    health.answered(&path);
                }
                return Ok(answer);
            }
            let limit = health.limits.request;
            let answer = timeout(limit, answer).instrument(span.clone()).await;
            let answer = answer.unwrap_or_else(|_| Err(BoxError::from(format!("no answer within {limit:?}"))));
            traces::answered(&span, answer.as_ref().ok().map(|it| it.status().as_u16()));
            answer
        })
    }
}

/// A service that trims the responses of another service.
struct Trimmed<S> {
    inner: S,
}

impl<S, B> Service<Request<Body>> for Trimmed<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError>,
    S::Future: Send + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<UnsyncBoxBody<Bytes, BoxError>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let mut trimmer = Trimmer::new(request.uri().path());
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await?;
            let kind = answer.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
            let is_json = kind.is_some_and(|it| it.starts_with("application/json"));
            let mut trim = move |bytes: Bytes| if is_json { trimmer.trim(&bytes) } else { bytes };
            Ok(answer
                .map(|body| body.map_frame(move |frame| frame.map_data(&mut trim)).map_err(Into::into).boxed_unsync()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time that kube's watcher waits for a response in addition to `watch_seconds`.
    const KUBE_MARGIN: Duration = Duration::from_secs(5);

    #[test]
    fn a_dead_connection_is_replaced_within_thirty_seconds() {
        let limits = Limits::default();
        let noticed = Duration::from_secs(limits.watch_seconds.into()) + KUBE_MARGIN;
        assert!(noticed < limits.read, "a watch that is only quiet must not be taken for a dead one");
        let longest_wait = WatchBackoff::default().take(10).max().expect("waits never end");
        assert!(noticed + limits.connect + longest_wait <= Duration::from_secs(30));
        assert!(noticed < limits.silent && limits.silent < limits.stuck);
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_requests_of_a_watch_are_its_times_of_life() -> anyhow::Result<()> {
        let path = "/api/v1/namespaces/bench/pods";
        let health = Arc::new(Health::new(Limits::default()));
        health.expect(path);
        let inner = tower::service_fn(async |_: Request<Body>| Ok::<_, BoxError>(Response::new(Body::empty())));
        let mut service = Observed { inner, health: Arc::clone(&health) };
        for (query, is_sign) in [("labelSelector=a", false), ("limit=500&labelSelector=a", true), ("watch=true", true)]
        {
            tokio::time::advance(Duration::from_secs(181)).await;
            let request = Request::get(format!("{path}?&{query}")).body(Body::empty())?;
            service.call(request).await.map_err(|it| anyhow::anyhow!(it))?;
            assert_eq!(health.stuck().is_empty(), is_sign, "{query}");
        }
        Ok(())
    }

    #[test]
    fn waits_of_a_watch_stay_short() {
        let mut backoff = WatchBackoff::default();
        let waits: Vec<u64> = backoff.by_ref().take(5).map(|it| it.as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 5, 5]);
        backoff.reset();
        assert_eq!(backoff.next(), Some(Duration::from_secs(1)));
        assert_eq!(WatchBackoff(200).next(), Some(Duration::from_secs(5)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_is_silent_without_answers_and_stuck_without_requests() {
        let health = Health::new(Limits::default());
        health.expect("/pods");
        tokio::time::advance(Duration::from_secs(31)).await;
        assert_eq!(health.silent().keys().collect::<Vec<_>>(), ["/pods"]);
        assert!(health.stuck().is_empty());
        tokio::time::advance(Duration::from_secs(150)).await;
        assert_eq!(health.stuck().len(), 1);
        health.asked("/pods");
        assert_eq!((health.silent().len(), health.stuck().len()), (1, 0));
        health.answered("/pods");
        assert!(health.silent().is_empty());
        health.answered("/other");
        assert_eq!(health.lock().len(), 1, "only watches are kept");
    }
}
