//! [I/O] The fence in front of every write: after its lease has expired by its own clock, a replica writes nothing more.

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

/// How long writes are allowed.
#[derive(Clone, Copy, Debug)]
pub enum Deadline {
    /// There is no election: writes are always allowed.
    None,
    /// Writes are not allowed: no lease yet, or no longer.
    Closed,
    /// Writes are allowed until either clock passes this time. The monotonic clock stops while the machine sleeps, and the system clock can
    /// be set.
    Until {
        /// By the monotonic clock.
        at: Instant,
        /// By the system clock.
        system: SystemTime,
    },
}

/// Why a write was refused.
#[derive(Debug, thiserror::Error)]
#[error("this replica does not lead: its lease has expired, so that it writes nothing")]
pub struct NotLeading;

/// Allows writes until the lease expires.
#[derive(Debug)]
pub struct Fence(Mutex<Deadline>);

impl Fence {
    /// A fence that allows all writes, for an operator without election.
    pub fn open() -> Self {
        Fence(Mutex::new(Deadline::None))
    }

    /// A fence that allows no writes before the lease is taken.
    pub fn closed() -> Self {
        Fence(Mutex::new(Deadline::Closed))
    }

    /// Allows writes for `time` after `sent`, the time at which the renewal was sent.
    pub fn extend(&self, sent: Instant, time: Duration) {
        let passed = sent.elapsed();
        let system = SystemTime::now() + time.saturating_sub(passed);
        *self.lock() = Deadline::Until { at: sent + time, system };
    }

    /// Allows no more writes.
    pub fn close(&self) {
        *self.lock() = Deadline::Closed;
    }

    /// Whether writes are allowed now.
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
        // Each operation leaves the value valid, so a panic elsewhere does not invalidate it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for an answer, but no longer than the lease lasts.
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

/// A client's service that passes writes through a [`Fence`]. Reads always pass.
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
