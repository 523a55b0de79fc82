//! [I/O] Starts and stops the profiler of a server, by the endpoints that vLLM and SGLang have in common. The caller bounds the time: a
//! server may take minutes to write a trace.

use std::time::Duration;

use http::Method;

use super::{
    Target,
    api_error::first_line,
    control::{ControlError, call},
};
use crds::wording::one_line;

/// Starts the profiler.
pub const START: &str = "/start_profile";
/// Stops it, and writes the trace.
pub const STOP: &str = "/stop_profile";
/// A server that is ready answers within milliseconds; a gateway that does not know a path may hang.
const ASK_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether a server has these endpoints, as far as can be found out without starting anything: a method that none of the engines takes
/// is refused where the path is known. `false`: it surely has none.
pub async fn is_offered(target: &Target) -> bool {
    // SGLang takes GET for a start, too.
    let asked = clock::limit(ASK_TIMEOUT, call(target, Method::OPTIONS, START, b"")).await;
    !matches!(asked, Ok(Err(ControlError::NotThere { .. })))
}

/// Starts the profiler. `cuda`: the one of CUDA, which an outer profiler waits for; SGLang has to be asked for it, and vLLM's command line
/// says it.
///
/// # Errors
/// The server has no such endpoint, refuses, or does not answer.
pub async fn start(target: &Target, cuda: bool) -> Result<(), ControlError> {
    let body: &'static [u8] = if cuda { br#"{"activities":["CUDA_PROFILER"]}"# } else { b"" };
    call(target, Method::POST, START, body).await.map(|_| ())
}

/// Stops the profiler. Returns what the server answered, on one line of at most 200 characters; empty: nothing.
///
/// # Errors
/// As [`start`].
pub async fn stop(target: &Target) -> Result<String, ControlError> {
    call(target, Method::POST, STOP, b"").await.map(|it| words(&it))
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
