//! [I/O] The fence before every write: a replica whose lease has expired by its own clock writes nothing more.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::{Duration, SystemTime},
};

use futures::future::Either;
use http::{Method, Request};
use kube::client::Body;
use tokio::time::{Instant, timeout_at};
use tower::{BoxError, Service};

/// Until when writes are let through.
#[derive(Clone, Copy, Debug)]
pub enum Deadline {
    /// There is no election: always.
    None,
    /// Not any more, or not yet.
    Closed,
    /// Until this time of both clocks. The monotonic one stands still while a machine sleeps, and the other one can be set.
    Until {
        /// By the monotonic clock.
        at: Instant,
        /// By the clock of the system.
        system: SystemTime,
    },
}

/// Why a write was refused.
#[derive(Debug, thiserror::Error)]
#[error("this replica does not lead: its lease has expired, so that it writes nothing")]
pub struct NotLeading;

/// Lets writes through until the lease expires.
#[derive(Debug)]
pub struct Fence(Mutex<Deadline>);

impl Fence {
    /// A fence that lets everything through, for an operator without election.
    pub fn open() -> Self {
        Fence(Mutex::new(Deadline::None))
    }

    /// A fence that lets nothing through before the lease is taken.
    pub fn closed() -> Self {
        Fence(Mutex::new(Deadline::Closed))
    }

    /// Lets writes through for a time after `sent`, which is when the renewal was sent.
    pub fn extend(&self, sent: Instant, time: Duration) {
        let passed = sent.elapsed();
        let system = SystemTime::now() + time.saturating_sub(passed);
        *self.lock() = Deadline::Until { at: sent + time, system };
    }

    /// Lets nothing more through.
    pub fn close(&self) {
        *self.lock() = Deadline::Closed;
    }

    /// Whether writes are let through now.
    pub fn is_open(&self) -> bool {
        match *self.lock() {
            Deadline::None => true,
            Deadline::Closed => false,
            Deadline::Until { at, system } => Instant::now() < at && SystemTime::now() < system,
        }
    }

    /// When the lease expires; `None` without a lease.
    pub fn deadline(&self) -> Option<Instant> {
        match *self.lock() {
            Deadline::Until { at, .. } => Some(at),
            Deadline::None | Deadline::Closed => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Deadline> {
        // Each operation leaves the value valid, so that a panic elsewhere does not invalidate it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for an answer as long as the lease lasts.
    async fn while_open<T>(&self, answer: impl Future<Output = Result<T, BoxError>>) -> Result<T, BoxError> {
        let mut answer = std::pin::pin!(answer);
        while self.is_open() {
            let Some(deadline) = self.deadline() else { return answer.await };
            // The lease may have been renewed meanwhile.
            if let Ok(answer) = timeout_at(deadline, &mut answer).await {
                return answer;
            }
        }
        Err(NotLeading.into())
    }
}

/// A client's service whose writes pass a [`Fence`]. Reads pass always.
pub struct Fenced<S> {
    inner: S,
    fence: Arc<Fence>,
}

impl<S> Fenced<S> {
    /// Puts a fence before a service.
    pub fn new(inner: S, fence: Arc<Fence>) -> Self {
        Fenced { inner, fence }
    }
}

impl<S> Service<Request<Body>> for Fenced<S>
where
    S: Service<Request<Body>>,
    S::Error: Into<BoxError>,
    S::Response: Send,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let writes = request.method() != Method::GET;
        if writes && !self.fence.is_open() {
            return Box::pin(async { Err(NotLeading.into()) });
        }
        let answer = self.inner.call(request);
        let answer = async move { answer.await.map_err(Into::into) };
        let fence = Arc::clone(&self.fence);
        let answer =
            if writes { Either::Left(async move { fence.while_open(answer).await }) } else { Either::Right(answer) };
        Box::pin(answer)
    }
}
