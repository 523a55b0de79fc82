//! Parses the requests of a trial's clients. Supports only the parts of HTTP/1.1 and of the body that these clients use. Pure.

use memchr::memmem;
use serde::Deserialize;

use simulator::api::Endpoint;

/// Maximum length of a request head, in bytes. The clients' heads have a few hundred.
const MAX_HEAD: usize = 16 << 10;
/// Maximum length of a request body, in bytes.
const MAX_BODY: usize = 64 << 20;

/// A request that this server cannot parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; this server answers only the clients of `benchwright bench`")]
pub(super) struct Malformed(&'static str);

/// A request that was received completely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    /// Total length of head and body, in bytes.
    pub(super) length: usize,
    /// The generation endpoint that is requested; `None` for any other path.
    pub(super) endpoint: Option<Endpoint>,
    /// The request's `x-request-id`.
    pub(super) id: Option<&'a str>,
    pub(super) body: &'a [u8],
}

/// The fields of a generation request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct GenerationRequest {
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    /// Whether to stream the answer.
    pub(super) stream: bool,
}

impl GenerationRequest {
    /// Parses a body. If it is not JSON, no field is set.
    pub(super) fn read(body: &[u8]) -> GenerationRequest {
        serde_json::from_slice(body).unwrap_or_default()
    }

    /// Returns the requested output length, in tokens.
    pub(super) fn tokens(&self) -> Option<u32> {
        self.max_completion_tokens.or(self.max_tokens)
    }
}

/// Parses the request at the start of the bytes. Returns `None` while it is incomplete.
pub(super) fn request(bytes: &[u8]) -> Result<Option<Request<'_>>, Malformed> {
    let Some(end) = memmem::find(&bytes[..bytes.len().min(MAX_HEAD)], b"\r\n\r\n") else {
        return if bytes.len() < MAX_HEAD { Ok(None) } else { Err(Malformed("the head of a request has no end")) };
    };
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| Malformed("the head of a request is no text"))?;
    let mut lines = head.split("\r\n");
    let start = lines.next().unwrap_or_default();
    let (mut body, mut id) = (0, None);
    for line in lines {
        let Some((name, value)) = line.split_once(':') else { return Err(Malformed("a header field has no colon")) };
        if name.eq_ignore_ascii_case("content-length") {
            body = value.trim().parse().map_err(|_| Malformed("a content-length is no number"))?;
        } else if name.eq_ignore_ascii_case("x-request-id") {
            id = Some(value.trim());
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(Malformed("a request has a body of unknown length"));
        }
    }
    if body > MAX_BODY {
        return Err(Malformed("the body of a request is too long"));
    }
    let endpoint = match start.split(' ').take(2).collect::<Vec<_>>()[..] {
        ["POST", path] if path.ends_with("/v1/chat/completions") => Some(Endpoint::Chat),
        ["POST", path] if path.ends_with("/v1/completions") => Some(Endpoint::Completions),
        _ => None,
    };
    let length = end + 4 + body;
    Ok(bytes.get(end + 4..length).map(|body| Request { length, endpoint, id, body }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "POST /v1/completions HTTP/1.1\r\nhost: a\r\nX-Request-Id: bw-1-0-7\r\ncontent-length: 30\r\n\r\n";
    const BODY: &str = r#"{"max_tokens":7,"stream":true}"#;

    #[test]
    fn a_request_is_read_when_its_last_byte_has_come() {
        let whole = format!("{HEAD}{BODY}POST ");
        for cut in 0..HEAD.len() + BODY.len() {
            assert_eq!(request(&whole.as_bytes()[..cut]), Ok(None), "{cut}");
        }
        let found = request(whole.as_bytes()).unwrap().unwrap();
        assert_eq!((found.length, found.id), (HEAD.len() + BODY.len(), Some("bw-1-0-7")));
        assert_eq!((found.endpoint, found.body), (Some(Endpoint::Completions), BODY.as_bytes()));
    }

    #[test]
    fn paths_tell_what_is_asked_for() {
        let check = |start: &str| request(format!("{start} HTTP/1.1\r\n\r\n").as_bytes()).unwrap().unwrap().endpoint;
        assert_eq!(check("POST /llm/v1/chat/completions"), Some(Endpoint::Chat));
        assert_eq!(check("GET /v1/models"), None);
        assert_eq!(check("POST /v1/embeddings"), None);
    }

    #[test]
    fn a_body_tells_length_and_form() {
        let check = |body: &str| {
            let generation = GenerationRequest::read(body.as_bytes());
            (generation.tokens(), generation.stream)
        };
        assert_eq!(check(BODY), (Some(7), true));
        assert_eq!(check(r#"{"prompt":"\"max_tokens\":9","max_completion_tokens":3}"#), (Some(3), false));
        assert_eq!(check("{}"), (None, false));
        assert_eq!(check("no JSON"), (None, false));
    }

    #[test]
    fn what_no_client_of_this_bench_sends_is_refused() {
        let long = "a".repeat(MAX_HEAD);
        for text in [
            long.as_str(),
            "POST / HTTP/1.1\r\nnonsense\r\n\r\n",
            "POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n",
            "POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n",
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n",
        ] {
            assert!(request(text.as_bytes()).is_err(), "{text:.60}");
        }
    }
}
