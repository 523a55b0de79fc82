//! A time limit for each request. It is needed because kube has none, and an API server can accept a request but never respond.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use crds::units::Span;
use http::{Request, Response, header};
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use hyper::body::Bytes;
use kube::client::Body;
use tokio::time::timeout;
use tower::{BoxError, Layer, Service};

/// A layer that adds a time limit to the requests of a client.
#[derive(Clone, Copy)]
pub(crate) struct TimeLimit(pub(crate) Duration);

/// A client service with a time limit.
pub(crate) struct Limited<S> {
    inner: S,
    limit: Duration,
}

/// The error that the time limit has passed.
#[derive(Debug)]
pub(crate) struct NoAnswer(Duration);

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer within --request-timeout {}", Span(self.0))
    }
}

impl std::error::Error for NoAnswer {}

impl<S> Layer<S> for TimeLimit {
    type Service = Limited<S>;

    fn layer(&self, inner: S) -> Limited<S> {
        Limited { inner, limit: self.0 }
    }
}

/// The part of a response that must arrive within the time limit.
#[derive(Clone, Copy)]
enum Covered {
    /// The whole response.
    Whole,
    /// The head. The body arrives as it is produced.
    Head,
    /// Nothing, because the head of a followed log can only arrive with the log's first line.
    Nothing,
}

impl Covered {
    fn from_request(request: &Request<Body>) -> Covered {
        let query = request.uri().query().unwrap_or_default();
        let has = |part: &str| query.split('&').any(|it| it == part);
        let is_log = request.uri().path().ends_with("/log");
        if is_log && has("follow=true") {
            Covered::Nothing
        } else if is_log || has("watch=true") || request.headers().contains_key(header::UPGRADE) {
            Covered::Head
        } else {
            Covered::Whole
        }
    }
}

impl<S, B> Service<Request<Body>> for Limited<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError>,
    S::Future: Send + 'static,
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<UnsyncBoxBody<Bytes, BoxError>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let covered = Covered::from_request(&request);
        let limit = self.limit;
        let answer = self.inner.call(request);
        let answer = async move {
            let (head, body) = answer.await?.into_parts();
            let body = match covered {
                Covered::Whole => {
                    let bytes = body.collect().await.map_err(Into::into)?.to_bytes();
                    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
                }
                Covered::Head | Covered::Nothing => body.map_err(Into::into).boxed_unsync(),
            };
            Ok(Response::from_parts(head, body))
        };
        Box::pin(async move {
            match covered {
                Covered::Nothing => answer.await,
                Covered::Whole | Covered::Head => {
                    timeout(limit, answer).await.unwrap_or_else(|_| Err(BoxError::from(NoAnswer(limit))))
                }
            }
        })
    }
}
