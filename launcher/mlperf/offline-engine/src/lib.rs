//! [I/O] A completions endpoint in front of vLLM's LLM class: the engine without vLLM's API server.
//!
//! A Python process loads the model once. The endpoint passes requests to it through a pipe, in `frames`. Because the endpoint is written in Rust,
//! the cost of HTTP is small and known. The launcher, its records and its report need no change. `request` parses a body, `answer` writes the same
//! JSON as vLLM's API, and `runner` owns the process.

mod answer;
mod frames;
mod request;
mod runner;

use std::{convert::Infallible, ffi::OsString, io, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, Method, Request as HttpRequest, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::{BodyExt, Full, Limited, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tracing::{debug, info, warn};

use answer::{Answer, DONE};
use runner::{Event, Requests, Runner, Running};

/// Maximum size of a request body, in bytes. It allows a whole Offline test in one request.
const MAX_BODY: usize = 256 << 20;
/// How long to wait after a connection could not be accepted.
const RETRY: Duration = Duration::from_millis(100);

/// The settings of an endpoint.
#[derive(Clone, Debug)]
pub struct Options {
    /// The Python executable. vLLM must be installed for it.
    pub python: OsString,
    /// The arguments of `vllm serve`, except address and port.
    pub arguments: Vec<OsString>,
    /// The name under which the model is served.
    pub model: String,
}

/// The reason why an endpoint ended.
#[derive(Debug, thiserror::Error)]
pub enum OfflineEngineError {
    /// Python cannot be started.
    #[error("cannot start {}: {cause}; name the Python that has vLLM in --python or BENCHWRIGHT_PYTHON", program.display())]
    Start {
        /// The program.
        program: OsString,
        /// The cause.
        cause: io::Error,
    },
    /// The runner process ended.
    #[error("the engine's process ended {how}; the lines before this one have its reason")]
    Ended {
        /// Exit code or signal.
        how: String,
    },
    /// The pipe to the runner broke.
    #[error("the pipe to the engine's process broke: {cause}")]
    Pipe {
        /// The cause.
        cause: io::Error,
    },
    /// The runner uses another protocol version than the endpoint.
    #[error("the runner speaks version {0} of the frames, and the endpoint version {VERSION}", VERSION = frames::VERSION)]
    Version(u16),
    /// The runner sent an invalid frame.
    #[error("{0}")]
    Frame(String),
}

impl From<frames::FrameError> for OfflineEngineError {
    fn from(error: frames::FrameError) -> Self {
        OfflineEngineError::Frame(error.to_string())
    }
}

type Answered = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// The state that all connections share.
#[derive(Debug)]
struct Endpoint {
    requests: Requests,
    model: String,
    started: i64,
}

/// Starts the engine and serves it until `shutdown` completes. `/health` returns status 503 until the model is loaded.
///
/// # Errors
/// The engine cannot be started, or has exited.
pub async fn serve(
    options: Options,
    listener: TcpListener,
    shutdown: impl Future<Output = ()>,
) -> Result<(), OfflineEngineError> {
    let mut runner = Runner::start(&options.python, &options.arguments)?;
    let requests = runner.requests.clone();
    let started = clock::now().as_second();
    let endpoint = Arc::new(Endpoint { requests: requests.clone(), model: options.model, started });
    let ended = tokio::select! {
        () = accept(&listener, &endpoint) => None,
        () = shutdown => None,
        error = runner.serve() => Some(error),
    };
    runner.stop().await;
    let delay = requests.delay();
    let (mean, longest) = delay.micros();
    info!(
        pieces = delay.pieces,
        "from the end of a step of the engine until the endpoint had its tokens: {mean:.0} us on average, {longest:.0} us at most"
    );
    ended.map_or(Ok(()), Err)
}

/// Accepts and serves connections. Never returns.
async fn accept(listener: &TcpListener, endpoint: &Arc<Endpoint>) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // The usual cause is too many open files. It ends when connections end.
                warn!(%error, "a connection cannot be accepted; raise the limit of open files (ulimit -n)");
                let _ = clock::limit(RETRY, std::future::pending::<()>()).await;
                continue;
            }
        };
        // Makes the socket send each token immediately. Setting it fails only if the client has disconnected.
        let _ = stream.set_nodelay(true);
        let endpoint = Arc::clone(endpoint);
        tokio::spawn(async move {
            let service = service_fn(|request| async { Ok::<_, Infallible>(endpoint.answer(request).await) });
            if let Err(error) = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await {
                debug!(%error, "a connection ended early");
            }
        });
    }
}

impl Endpoint {
    async fn answer(&self, request: HttpRequest<Incoming>) -> Answered {
        let path = request.uri().path().to_owned();
        match (request.method(), path.as_str()) {
            (&Method::GET, "/health") => match self.requests.facts() {
                Some(_) => plain(StatusCode::OK, Bytes::new()),
                None => failure(StatusCode::SERVICE_UNAVAILABLE, "the model is being loaded"),
            },
            (&Method::GET, "/version") => {
                let engine = self.requests.facts().map(|it| it.engine);
                let own = concat!("benchwright ", env!("CARGO_PKG_VERSION"));
                object(&json!({"version": engine, "endpoint": own}))
            }
            (&Method::GET, "/v1/models") => match self.requests.facts() {
                Some(facts) => object(&json!({"object": "list", "data": [{
                    "id": self.model, "object": "model", "created": self.started, "owned_by": "benchwright",
                    "max_model_len": facts.max_model_len,
                }]})),
                None => failure(StatusCode::SERVICE_UNAVAILABLE, "the model is being loaded"),
            },
            (&Method::POST, "/v1/completions") => self.complete(request).await,
            _ => {
                let why = format!(
                    "there is no {path} here: an engine without its API has /v1/completions alone; set the api of the profile to completions"
                );
                failure(StatusCode::NOT_FOUND, &why)
            }
        }
    }

    async fn complete(&self, request: HttpRequest<Incoming>) -> Answered {
        let body = match Limited::new(request.into_body(), MAX_BODY).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => return failure(StatusCode::BAD_REQUEST, &format!("the body cannot be read: {error}")),
        };
        let request = match request::read(&body) {
            Ok(request) => request,
            Err(why) => return failure(StatusCode::BAD_REQUEST, &why),
        };
        if !request.model.is_empty() && request.model != self.model {
            let why = format!("The model `{}` does not exist.", request.model);
            return failure(StatusCode::NOT_FOUND, &why);
        }
        let mut running = self.requests.start(&request);
        let id = format!("cmpl-{}", running.id());
        let mut answer = Answer::new(&request, id, clock::now().as_second());
        if request.streams {
            // If the engine rejects a request, the response is an error instead of a stream.
            return match running.next().await {
                Some(Event::Failed { why, refused }) => failed(&why, refused),
                first => streamed(Streaming { answer, running, first, usage: request.usage, left: Left::Pieces }),
            };
        }
        while let Some(event) = running.next().await {
            match event {
                Event::Piece(index, piece) => answer.keep(index, piece),
                Event::Failed { why, refused } => return failed(&why, refused),
            }
            if answer.is_complete() {
                break;
            }
        }
        let mut response = plain(StatusCode::OK, answer.whole());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}

/// A stream, with what is still to be sent.
struct Streaming {
    answer: Answer,
    running: Running,
    /// The event that arrived before the stream began.
    first: Option<Event>,
    usage: bool,
    left: Left,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Pieces,
    Usage,
    Done,
    Nothing,
}

impl Streaming {
    async fn next(&mut self) -> Option<Bytes> {
        match self.left {
            Left::Pieces => {
                let event = match self.first.take() {
                    Some(event) => Some(event),
                    None => self.running.next().await,
                };
                match event {
                    Some(Event::Piece(index, piece)) => {
                        let chunk = self.answer.chunk(index, &piece);
                        if self.answer.is_complete() {
                            self.left = if self.usage { Left::Usage } else { Left::Done };
                        }
                        Some(chunk)
                    }
                    Some(Event::Failed { why, .. }) => {
                        self.left = Left::Done;
                        Some(answer::error_event(&why))
                    }
                    None => None,
                }
            }
            Left::Usage => {
                self.left = Left::Done;
                Some(self.answer.usage_chunk())
            }
            Left::Done => {
                self.left = Left::Nothing;
                Some(Bytes::from_static(DONE))
            }
            Left::Nothing => None,
        }
    }
}

fn streamed(streaming: Streaming) -> Answered {
    let chunks = stream::unfold(streaming, |mut streaming| async {
        let chunk = streaming.next().await?;
        Some((Ok(Frame::data(chunk)), streaming))
    });
    let mut response = Response::new(BodyExt::boxed_unsync(StreamBody::new(chunks)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    response
}

fn failed(why: &str, refused: bool) -> Answered {
    failure(if refused { StatusCode::BAD_REQUEST } else { StatusCode::INTERNAL_SERVER_ERROR }, why)
}

fn failure(status: StatusCode, why: &str) -> Answered {
    let mut response = object(&answer::error(why, status.as_u16()));
    *response.status_mut() = status;
    response
}

fn object(value: &Value) -> Answered {
    let mut response = plain(StatusCode::OK, value.to_string().into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn plain(status: StatusCode, body: Bytes) -> Answered {
    let mut response = Response::new(Full::new(body).boxed_unsync());
    *response.status_mut() = status;
    response
}
