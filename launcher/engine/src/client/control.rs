//! [I/O] Calls that control a server rather than load it, for its profiler and its sleep mode. The caller must set a time limit.

use bytes::Bytes;
use http::{HeaderValue, Method, header::CONTENT_TYPE};

use super::{Client, Target, api_error::ApiError, exchange::Fetched};
use clock::Clock;

/// Maximum length of an answer, in bytes.
const MAX_ANSWER: usize = 64 << 10;

/// The reason why a control call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// The server has no such endpoint, because it was started without the feature.
    #[error("the server has no {path}")]
    NotThere { path: &'static str },
    /// The server refused the call.
    #[error("{path} was refused: {message}")]
    Refused { path: &'static str, message: String },
    /// The answer is incomplete or missing, or has the wrong format for this endpoint.
    #[error("{path} has no answer: {message}")]
    NoAnswer { path: &'static str, message: String },
}

/// Calls a control endpoint. `path` can include a query string. `body` is JSON or empty. Returns the body of the answer, at most 64 KiB.
pub(super) async fn call(
    target: &Target,
    method: Method,
    path: &'static str,
    body: &'static [u8],
) -> Result<Vec<u8>, ControlError> {
    let mut request = target.get(path);
    *request.method_mut() = method;
    if !body.is_empty() {
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    *request.body_mut() = Bytes::from_static(body);
    let client = Client::new(target.clone(), Clock::start());
    let Fetched { status, body, .. } = client
        .fetch(&request, MAX_ANSWER)
        .await
        .map_err(|failure| ControlError::NoAnswer { path, message: failure.message })?;
    match status {
        200..300 => Ok(body),
        404 => Err(ControlError::NotThere { path }),
        _ => {
            let text = ApiError::parse(&body).text;
            let message = if text.is_empty() { status.to_string() } else { format!("{status}: {text}") };
            Err(ControlError::Refused { path, message })
        }
    }
}
