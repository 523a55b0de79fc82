//! [I/O] What is answered to one HTTP request.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, HeaderMap, HeaderValue, SERVER, VARY};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;

use super::Simulator;
use super::chunks::{self, Chunks, Identity};
use super::engine::Finish;
use super::error::ApiError;
use super::faults::FaultKind;
use super::request::{self, Endpoint};
use super::stream::{Body, Details, EventStream};
use super::text::mix;
use crate::clock;

/// The longest body that is read. A context of a million tokens fits.
const MAX_BODY: usize = 32 << 20;

/// How long a client may take to send a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// The longest `X-Request-Id` that becomes the id of an answer, in bytes.
const MAX_REQUEST_ID: usize = 256;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");
const PROMETHEUS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// What a path leads to.
#[derive(Clone, Copy)]
enum Route {
    Generate(Endpoint),
    Models,
    Health,
    Version,
    Metrics,
}

impl Route {
    fn of(path: &str) -> Option<Self> {
        Some(match path {
            "/v1/chat/completions" => Route::Generate(Endpoint::Chat),
            "/v1/completions" => Route::Generate(Endpoint::Completions),
            "/v1/models" => Route::Models,
            "/health" => Route::Health,
            "/version" => Route::Version,
            "/metrics" => Route::Metrics,
            _ => return None,
        })
    }

    fn method(self) -> Method {
        match self {
            Route::Generate(_) => Method::POST,
            _ => Method::GET,
        }
    }
}

impl Simulator {
    /// Answers a request.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let fault = self.options.fault.filter(|fault| fault.hits(self.options.seed, number)).map(|fault| fault.kind);
        if fault == Some(FaultKind::Hang) {
            self.stopped().await;
            return refusal(&ApiError::fault(StatusCode::SERVICE_UNAVAILABLE));
        }
        let Some(route) = Route::of(request.uri().path()) else {
            return response(StatusCode::NOT_FOUND, JSON, Body::whole(r#"{"detail":"Not Found"}"#));
        };
        if route.method() != *request.method() {
            let body = Body::whole(r#"{"detail":"Method Not Allowed"}"#);
            let mut response = response(StatusCode::METHOD_NOT_ALLOWED, JSON, body);
            let allowed = if route.method() == Method::POST { "POST" } else { "GET" };
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
            return response;
        }
        match route {
            Route::Generate(endpoint) => match self.generate(endpoint, request, number, fault).await {
                Ok(response) => response,
                Err(error) => refusal(&error),
            },
            Route::Models => {
                let permission = format!("modelperm-{}", self.made_up_id(u64::MAX));
                let started = self.started.as_second();
                let models = chunks::models(&self.options.model, self.options.max_model_len, started, &permission);
                response(StatusCode::OK, JSON, Body::whole(models))
            }
            Route::Health => {
                let mut response = response(StatusCode::OK, JSON, Body::whole(""));
                response.headers_mut().remove(CONTENT_TYPE);
                response
            }
            Route::Version => response(StatusCode::OK, JSON, Body::whole(r#"{"version":"0.32.0"}"#)),
            Route::Metrics => response(StatusCode::OK, PROMETHEUS, Body::whole(self.engine.metrics().render())),
        }
    }

    async fn generate(
        &self,
        endpoint: Endpoint,
        request: Request<Incoming>,
        number: u64,
        fault: Option<FaultKind>,
    ) -> Result<Response<Body>, ApiError> {
        let (head, body) = request.into_parts();
        if !is_json(&head.headers) {
            return Err(ApiError::validation("Unsupported Media Type: Only 'application/json' is allowed"));
        }
        let body = read_body(body).await?;
        let asked = request::read(endpoint, &body, &self.options)?;
        drop(body);
        if let Some(FaultKind::Status(status)) = fault {
            return Err(ApiError::fault(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)));
        }
        let prefix = match endpoint {
            Endpoint::Chat => "chatcmpl",
            Endpoint::Completions => "cmpl",
        };
        let id = request_id(&head.headers).unwrap_or_else(|| self.made_up_id(number));
        let identity = Identity {
            endpoint,
            id: format!("{prefix}-{id}"),
            created: clock::now().as_second(),
            model: self.options.model.clone(),
            words: asked.words,
            prompt_tokens: asked.work.prompt_tokens,
            prompt_ids: asked.prompt_ids,
        };
        let details = self.options.prompt_tokens_details.then_some(Details {
            prompt_tokens: asked.work.prompt_tokens,
            block_size: if self.options.prefix_caching { self.options.block_size } else { 0 },
        });
        let generation = self.engine.submit(asked.work);
        if asked.stream {
            let stream = EventStream::new(generation, Chunks::new(&identity, asked.include_usage), fault, details);
            return Ok(response(StatusCode::OK, EVENTS, Body::Stream(Box::new(stream))));
        }
        let progress = generation.finished().await;
        if let Some(FaultKind::StallAfter(_)) = fault {
            self.stopped().await;
        }
        let finish = progress.finish.unwrap_or(Finish::Abort);
        let details = details.map(|it| it.of(&generation));
        Ok(response(StatusCode::OK, JSON, Body::whole(chunks::whole(&identity, progress.tokens, finish, details))))
    }

    /// 16 hexadecimal digits, another value for each request.
    fn made_up_id(&self, number: u64) -> String {
        format!("{:016x}", mix(self.options.seed.derive("simulator/ids").0, number))
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

async fn read_body(body: Incoming) -> Result<Bytes, ApiError> {
    let status = |status, message: String| ApiError { status, ..ApiError::bad(None, message) };
    match clock::limit(BODY_TIMEOUT, Limited::new(body, MAX_BODY).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(status(StatusCode::PAYLOAD_TOO_LARGE, format!("The body is longer than {MAX_BODY} bytes.")))
        }
        Ok(Err(error)) => Err(status(StatusCode::BAD_REQUEST, format!("The body could not be read: {error}"))),
        Err(_) => Err(status(StatusCode::REQUEST_TIMEOUT, "The body did not come in time.".into())),
    }
}

/// The client's own id, where it is one that can be shown.
fn request_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("x-request-id")?.to_str().ok()?;
    (!id.is_empty() && id.len() <= MAX_REQUEST_ID).then(|| id.to_owned())
}

fn refusal(error: &ApiError) -> Response<Body> {
    response(error.status, JSON, Body::whole(error.body()))
}

fn response(status: StatusCode, kind: HeaderValue, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(SERVER, HeaderValue::from_static("uvicorn"));
    headers.insert(CONTENT_TYPE, kind);
    headers.insert(VARY, HeaderValue::from_static("Origin"));
    response
}
