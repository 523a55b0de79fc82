//! [I/O] The routes: answers one HTTP request.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, HeaderMap, HeaderValue, SERVER, VARY};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;

use super::api::{Dialect, Endpoint};
use super::chunks::{self, Identity};
use super::error::ApiError;
use super::faults::FaultKind;
use super::request::{self, GenerationRequest};
use super::route::{Route, UNCOUNTED};
use super::server::Simulator;
use super::stream::{Body, ChoiceStream, EventStream, Events, PromptBlocks};
use super::text::mix;
use super::tokens;
use super::typed_events::TypedEvents;
use super::work::Finish;

/// Maximum size of a body, in bytes. A context of a million tokens fits.
const MAX_BODY: usize = 32 << 20;

/// How long a client can take to send a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum length of an `X-Request-Id` that becomes the id of an answer, in bytes.
const MAX_REQUEST_ID: usize = 256;

/// The simulated release of vLLM. The second field, which vLLM does not have, marks the simulator.
const VERSION_BODY: &str =
    concat!(r#"{"version":"0.32.0","simulator":"benchwright "#, env!("CARGO_PKG_VERSION"), r#""}"#);

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");
const PROMETHEUS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

impl Simulator {
    /// Answers a request.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let counts = !UNCOUNTED.contains(&request.uri().path());
        let number = if counts { self.requests.fetch_add(1, Ordering::Relaxed) } else { 0 };
        let fault = self.options.fault.filter(|fault| counts && fault.hits(self.options.seed, number));
        let fault = fault.map(|fault| fault.kind);
        if fault == Some(FaultKind::Hang) {
            self.stopped().await;
            return refusal(&ApiError::fault(StatusCode::SERVICE_UNAVAILABLE));
        }
        let Some(route) = Route::from_path(request.uri().path(), &self.options) else {
            return response(StatusCode::NOT_FOUND, JSON, Body::whole(r#"{"detail":"Not Found"}"#));
        };
        let is_ping = request.uri().path() == "/ping" && request.method() == Method::POST;
        if route.method() != *request.method() && !is_ping {
            let body = Body::whole(r#"{"detail":"Method Not Allowed"}"#);
            let mut response = response(StatusCode::METHOD_NOT_ALLOWED, JSON, body);
            let allowed = if route.method() == Method::POST { "POST" } else { "GET" };
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
            return response;
        }
        match route {
            Route::Generate(endpoint, dialect) => {
                match self.generate((endpoint, dialect), request, number, fault).await {
                    Ok(response) => response,
                    Err(error) => refusal(&error),
                }
            }
            Route::Tokenize => {
                answered(read_json(request).await.and_then(|body| tokens::tokenize(&body, &self.options)))
            }
            Route::Detokenize => {
                answered(read_json(request).await.and_then(|body| tokens::detokenize(&body, &self.options)))
            }
            // vLLM counts the load only if a flag is set. Without the flag, it always reports 0.
            Route::Load => response(StatusCode::OK, JSON, Body::whole(r#"{"server_load":0}"#)),
            Route::Models => {
                let permission = format!("modelperm-{}", self.made_up_id(u64::MAX));
                let started = self.started.as_second();
                let models = chunks::models(&self.options, started, &permission);
                response(StatusCode::OK, JSON, Body::whole(models))
            }
            Route::Health => without_type(response(StatusCode::OK, JSON, Body::whole(""))),
            Route::Version => response(StatusCode::OK, JSON, Body::whole(VERSION_BODY)),
            Route::Metrics => response(StatusCode::OK, PROMETHEUS, Body::whole(self.model.metrics().render())),
            Route::Sleep(mode) => answered(self.fall_asleep(mode, request.uri().query().unwrap_or_default()).await),
            Route::WakeUp(mode) => answered(self.wake(mode, request.uri().query().unwrap_or_default()).await),
            Route::IsSleeping => response(StatusCode::OK, JSON, Body::whole(self.is_sleeping())),
            Route::CollectiveRpc(mode) => match read_json(request).await {
                Ok(body) => answered(self.collective_rpc(mode, &body).await),
                Err(error) => refusal(&error),
            },
            Route::StartProfile => {
                self.profiler.start(self.requests.load(Ordering::Relaxed));
                without_type(response(StatusCode::OK, JSON, Body::whole("")))
            }
            Route::StopProfile => {
                let folder = self.options.profiler_dir.as_deref();
                match folder.map(|it| self.profiler.stop(it, self.requests.load(Ordering::Relaxed))) {
                    Some(Err(error)) => {
                        let message = format!("the trace cannot be written: {error}");
                        let status = StatusCode::INTERNAL_SERVER_ERROR;
                        refusal(&ApiError { status, ..ApiError::bad(None, message) })
                    }
                    Some(Ok(())) | None => without_type(response(StatusCode::OK, JSON, Body::whole(""))),
                }
            }
        }
    }

    async fn generate(
        &self,
        (endpoint, dialect): (Endpoint, Dialect),
        request: Request<Incoming>,
        number: u64,
        fault: Option<FaultKind>,
    ) -> Result<Response<Body>, ApiError> {
        let id = request_id(request.headers()).unwrap_or_else(|| self.made_up_id(number));
        let body = read_json(request).await?;
        let asked = request::read(endpoint, dialect, &body, &self.options)?;
        drop(body);
        if let Some(FaultKind::Status(status)) = fault {
            return Err(ApiError::fault(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)));
        }
        let prefix = match (endpoint, dialect) {
            (_, Dialect::Responses) => "resp_",
            (_, Dialect::Messages) => "msg_",
            (Endpoint::Chat, Dialect::OpenAi) => "chatcmpl-",
            (Endpoint::Completions, Dialect::OpenAi) => "cmpl-",
        };
        let identity = Identity {
            endpoint,
            dialect,
            id: format!("{prefix}{id}"),
            created: clock::now().as_second(),
            model: asked.model.unwrap_or_else(|| self.options.model.clone()),
        };
        let GenerationRequest { choices, prompt_tokens, stream, usage, .. } = asked;
        let first_prompt = choices.first().map_or(0, |(choice, _)| choice.prompt_tokens);
        let choices = choices.into_iter().map(|(choice, work)| (choice, self.model.submit(work)));
        if stream {
            let details = self.details(first_prompt);
            let part = |(choice, generation)| ChoiceStream::new(generation, Events::new(&identity, choice, usage));
            let stream = EventStream::new(choices.map(part).collect(), prompt_tokens, fault, details);
            return Ok(response(StatusCode::OK, EVENTS, Body::Stream(Box::new(stream))));
        }
        let choices: Vec<_> = choices.collect();
        let mut ended = Vec::with_capacity(choices.len());
        let mut details = None;
        for (choice, generation) in choices {
            let progress = generation.finished().await;
            // The usage has the details of the last prompt, as in vLLM.
            details = self.details(choice.prompt_tokens).map(|it| it.cache_use(&generation));
            ended.push((choice, progress.tokens, progress.finish.unwrap_or(Finish::Abort)));
        }
        if let Some(FaultKind::StallAfter(_)) = fault {
            self.stopped().await;
        }
        let body = match (dialect, ended.pop()) {
            (Dialect::Responses | Dialect::Messages, Some((choice, tokens, finish))) => {
                TypedEvents::new(&identity, choice).whole(tokens, finish, details)
            }
            (_, last) => {
                ended.extend(last);
                chunks::whole(&identity, ended, prompt_tokens, details)
            }
        };
        Ok(response(StatusCode::OK, JSON, Body::whole(body)))
    }

    /// Returns the data for the part of the usage about the prefix cache, if the usage includes it.
    fn details(&self, prompt_tokens: u32) -> Option<PromptBlocks> {
        let block_size = if self.options.prefix_caching { self.options.block_size } else { 0 };
        self.options.prompt_tokens_details.then_some(PromptBlocks { prompt_tokens, block_size })
    }

    /// Returns an id of 16 hexadecimal digits, which differs for each request.
    fn made_up_id(&self, number: u64) -> String {
        format!("{:016x}", mix(self.options.seed.derive("simulator/ids").0, number))
    }
}

/// Removes the content type from an answer without a body.
fn without_type(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().remove(CONTENT_TYPE);
    response
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// Reads the body of a request, which must have a JSON content type.
async fn read_json(request: Request<Incoming>) -> Result<Bytes, ApiError> {
    if !is_json(request.headers()) {
        return Err(ApiError::validation("Unsupported Media Type: Only 'application/json' is allowed"));
    }
    read_body(request.into_body()).await
}

/// Returns a response with the JSON, or with the error.
fn answered(body: Result<String, ApiError>) -> Response<Body> {
    match body {
        Ok(body) => response(StatusCode::OK, JSON, Body::whole(body)),
        Err(error) => refusal(&error),
    }
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

/// Returns the id that the client sent, if it is printable.
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
