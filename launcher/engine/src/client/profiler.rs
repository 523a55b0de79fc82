//! [I/O] Starts and stops a server's profiler, with the endpoints that vLLM and SGLang share. The caller must set a time limit: a server can take
//! minutes to write a trace.

use std::time::Duration;

use http::Method;

use super::{
    Target,
    api_error::first_line,
    control::{ControlError, call},
};
use crds::wording::one_line;

/// The path that starts the profiler.
pub const START: &str = "/start_profile";
/// The path that stops the profiler and writes the trace.
pub const STOP: &str = "/stop_profile";
/// Timeout of the check. A ready server answers within milliseconds, but a gateway that does not know a path can hang.
const ASK_TIMEOUT: Duration = Duration::from_secs(5);

/// Checks whether a server has the profiler endpoints, without starting the profiler. It uses a method that no engine accepts: if the path
/// exists, the server rejects only the method. Returns `false` only if the server certainly has no such endpoint.
pub async fn is_offered(target: &Target) -> bool {
    // OPTIONS, because SGLang starts the profiler on GET too.
    let asked = clock::limit(ASK_TIMEOUT, call(target, Method::OPTIONS, START, b"")).await;
    !matches!(asked, Ok(Err(ControlError::NotThere { .. })))
}

/// Starts the profiler. `cuda`: use the CUDA profiler, for which an external profiler waits. SGLang needs this in the request; vLLM gets it
/// on its command line.
///
/// # Errors
/// The server has no such endpoint, refuses, or does not answer.
pub async fn start(target: &Target, cuda: bool) -> Result<(), ControlError> {
    let body: &'static [u8] = if cuda { br#"{"activities":["CUDA_PROFILER"]}"# } else { b"" };
    call(target, Method::POST, START, body).await.map(|_| ())
}

/// Stops the profiler. Returns the server's answer as one line of at most 200 characters. It is empty if the answer has no text.
///
/// # Errors
/// The same as [`start`].
pub async fn stop(target: &Target) -> Result<String, ControlError> {
    call(target, Method::POST, STOP, b"").await.map(|it| words(&it))
}

/// Returns the text of an answer, which is a JSON string or plain text.
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
