//! [I/O] Starts and stops the profiler of a server, by the endpoints that vLLM and SGLang have in common. The caller bounds the time: a
//! server may take minutes to write a trace.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, header::CONTENT_TYPE};

use super::{
    Client, Target,
    api_error::{ApiError, first_line},
    exchange::Fetched,
};
use clock::Clock;
use crds::wording::one_line;

/// Starts the profiler.
pub const START: &str = "/start_profile";
/// Stops it, and writes the trace.
pub const STOP: &str = "/stop_profile";
/// The longest answer, in bytes.
const MAX_ANSWER: usize = 64 << 10;
/// A server that is ready answers within milliseconds; a gateway that does not know a path may hang.
const ASK_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfilerError {
    /// The server has no such endpoint: it was not started with a profiler.
    #[error("the server has no {path}")]
    NotThere { path: &'static str },
    /// It refused.
    #[error("{path} was refused: {message}")]
    Refused { path: &'static str, message: String },
    /// No complete answer came.
    #[error("{path} has no answer: {message}")]
    NoAnswer { path: &'static str, message: String },
}

/// Whether a server has these endpoints, as far as can be found out without starting anything: a method that none of the engines takes
/// is refused where the path is known. `false`: it surely has none.
pub async fn is_offered(target: &Target) -> bool {
    // SGLang takes GET for a start, too.
    let asked = clock::limit(ASK_TIMEOUT, call(target, Method::OPTIONS, START, Bytes::new())).await;
    !matches!(asked, Ok(Err(ProfilerError::NotThere { .. })))
}

/// Starts the profiler. `cuda`: the one of CUDA, which an outer profiler waits for; SGLang has to be asked for it, and vLLM's command line
/// says it.
///
/// # Errors
/// The server has no such endpoint, refuses, or does not answer.
pub async fn start(target: &Target, cuda: bool) -> Result<(), ProfilerError> {
    let body: &'static [u8] = if cuda { br#"{"activities":["CUDA_PROFILER"]}"# } else { b"" };
    call(target, Method::POST, START, Bytes::from_static(body)).await.map(|_| ())
}

/// Stops the profiler. Returns what the server answered, on one line of at most 200 characters; empty: nothing.
///
/// # Errors
/// As [`start`].
pub async fn stop(target: &Target) -> Result<String, ProfilerError> {
    call(target, Method::POST, STOP, Bytes::new()).await
}

async fn call(target: &Target, method: Method, path: &'static str, body: Bytes) -> Result<String, ProfilerError> {
    let mut request = target.get(path);
    *request.method_mut() = method;
    if !body.is_empty() {
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    *request.body_mut() = body;
    let client = Client::new(target.clone(), Clock::start());
    let Fetched { status, body, .. } = client
        .fetch(&request, MAX_ANSWER)
        .await
        .map_err(|failure| ProfilerError::NoAnswer { path, message: failure.message })?;
    match status {
        200..300 => Ok(words(&body)),
        404 => Err(ProfilerError::NotThere { path }),
        _ => {
            let text = ApiError::parse(&body).text;
            let message = if text.is_empty() { status.to_string() } else { format!("{status}: {text}") };
            Err(ProfilerError::Refused { path, message })
        }
    }
}

/// The text of an answer: a JSON string, or text as it is.
fn words(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let text = serde_json::from_str::<String>(&text).unwrap_or_else(|_| text.into_owned());
    one_line(first_line(text.trim()).as_str()).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_an_answer_are_one_line() {
        assert_eq!(words(b""), "");
        assert_eq!(words(b"Stop profiling. This will take some time.\n"), "Stop profiling. This will take some time.");
        assert_eq!(words(b"\"written to /traces\""), "written to /traces");
        assert_eq!(words(b"a\x1b[31m\nb"), one_line("a\u{1b}[31m"));
        assert!(words("x".repeat(5_000).as_bytes()).len() < 300);
    }
}
