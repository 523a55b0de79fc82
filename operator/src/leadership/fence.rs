//! [I/O] The fence for all writes: when the lease of a replica has expired by the replica's own clock, it blocks all further writes.

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

/// Until when writes are allowed.
#[derive(Clone, Copy, Debug)]
pub enum Deadline {
    /// There is no leader election, so writes are always allowed.
    None,
    /// Writes are not allowed, because this replica has no lease.
    Closed,
    /// Writes are allowed until the first of two clocks passes this time. Two clocks are needed because the monotonic clock stops while the machine
    /// sleeps, and because the system clock can be set.
    Until {
        /// The time on the monotonic clock.
        at: Instant,
        /// The time on the system clock.
        system: SystemTime,
    },
}

/// The error for a write that was blocked because this replica does not lead.
#[derive(Debug, thiserror::Error)]
#[error("this replica does not lead: its lease has expired, so that it writes nothing")]
pub struct NotLeading;

/// Allows writes until the lease expires.
#[derive(Debug)]
pub struct Fence(Mutex<Deadline>);

impl Fence {
    /// Creates a fence that allows all writes, for an operator without leader election.
    pub fn open() -> Self {
        Fence(Mutex::new(Deadline::None))
    }

    /// Creates a fence that allows no writes until the lease is acquired.
    pub fn closed() -> Self {
        Fence(Mutex::new(Deadline::Closed))
    }

    /// Allows writes for `time`, counted from `sent`, the time at which the renewal was sent.
    pub fn extend(&self, sent: Instant, time: Duration) {
        let passed = sent.elapsed();
        let system = SystemTime::now() + time.saturating_sub(passed);
        *self.lock() = Deadline::Until { at: sent + time, system };
    }

    /// Blocks all further writes.
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

    /// The time at which the lease expires. `None` without a lease.
    pub fn deadline(&self) -> Option<Instant> {
        match *self.lock() {
            Deadline::Until { at, .. } => Some(at),
            Deadline::None | Deadline::Closed => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Deadline> {
        // If another thread has panicked, the lock is poisoned, but it is used nevertheless: every operation leaves the value in a valid state.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a response, but at most until the lease expires.
    async fn while_open<T>(&self, answer: impl Future<Output = Result<T, BoxError>>) -> Result<T, BoxError> {
        let mut answer = std::pin::pin!(answer);
        while self.is_open() {
            let Some(deadline) = self.deadline() else { return answer.await };
            // The deadline has passed, but the lease might have been renewed meanwhile.
            if let Ok(answer) = timeout_at(deadline, &mut answer).await {
                return answer;
            }
        }
        Err(NotLeading.into())
    }
}

/// A client service that sends writes through a [`Fence`]. Reads are always allowed.
pub struct Fenced<S> {
    inner: S,
    fence: Arc<Fence>,
}

impl<S> Fenced<S> {
    /// Wraps a service with a fence.
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
