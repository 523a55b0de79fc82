//! Builds the bytes of every answer before they are needed: chunks in vLLM's format, each in an HTTP chunk. Pure.

use std::collections::HashMap;

use bytes::Bytes;

use crds::benchmark_run::SimulatorPreset;
use simulator::{
    Finish, SimOptions,
    answer::Answer,
    api::{Dialect, Endpoint, StreamUsage},
    chunks::{self, Choice, Chunks, DONE, Identity},
};

/// The name of the served model.
pub(super) const MODEL: &str = "bench";

const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
                           transfer-encoding: chunked\r\n\r\n";
/// The end of a chunked body.
const END: &[u8] = b"0\r\n\r\n";
/// The prompt length that the usage reports. No client checks it.
const PROMPT_TOKENS: u32 = 10;
/// Number of different words in answers. They are repeated in turn.
const WORDS: u32 = 64;
/// Maximum number of output lengths for which the bytes are kept. For further lengths, the bytes are built for each answer.
const MAX_KEPT: usize = 4_096;

/// The prepared bytes for one endpoint.
#[derive(Debug)]
pub(super) struct Answers {
    identity: Identity,
    opening: Bytes,
    /// One event per word. The words differ, as in real answers.
    tokens: Vec<Bytes>,
    last: Bytes,
    closing: HashMap<u32, Bytes>,
    whole: HashMap<(u32, bool), Bytes>,
}

impl Answers {
    pub(super) fn new(endpoint: Endpoint) -> Answers {
        let prefix = match endpoint {
            Endpoint::Chat => "chatcmpl",
            Endpoint::Completions => "cmpl",
        };
        let identity = Identity {
            endpoint,
            dialect: Dialect::OpenAi,
            id: format!("{prefix}-0b1f6c52a34e4d7f9a8d3c2e1f405162"),
            created: 1_760_000_000,
            model: MODEL.into(),
        };
        let mut chunks = Chunks::new(&identity, choice(), StreamUsage::AtEnd);
        let mut opening = STREAM_HEAD.as_bytes().to_vec();
        if let Some(role) = chunks.role() {
            chunk(&mut opening, &role);
        }
        let single = |event: Bytes| {
            let mut bytes = Vec::new();
            chunk(&mut bytes, &event);
            Bytes::from(bytes)
        };
        Answers {
            opening: opening.into(),
            tokens: (0..WORDS).map(|place| single(chunks.token(place, None))).collect(),
            last: single(chunks.token(1, Some(Finish::Length))),
            identity,
            closing: HashMap::new(),
            whole: HashMap::new(),
        }
    }

    /// Returns the bytes sent with the first token: the head and, for a chat, the chunk with the role.
    pub(super) fn opening(&self) -> Bytes {
        self.opening.clone()
    }

    /// Returns an event with one token: token number `place`, from 0, of `tokens`.
    pub(super) fn token(&self, place: u32, tokens: u32) -> Bytes {
        if place + 1 == tokens { self.last.clone() } else { self.tokens[place as usize % self.tokens.len()].clone() }
    }

    /// Returns the bytes after the last token: usage, `[DONE]` and the end of the body.
    pub(super) fn closing(&mut self, tokens: u32) -> Bytes {
        if let Some(kept) = self.closing.get(&tokens) {
            return kept.clone();
        }
        let mut bytes = Vec::new();
        if let Some(usage) =
            Chunks::new(&self.identity, choice(), StreamUsage::AtEnd).usage(PROMPT_TOKENS, tokens, None)
        {
            chunk(&mut bytes, &usage);
        }
        chunk(&mut bytes, DONE);
        bytes.extend_from_slice(END);
        let bytes = Bytes::from(bytes);
        if self.closing.len() < MAX_KEPT {
            self.closing.insert(tokens, bytes.clone());
        }
        bytes
    }

    /// Returns a whole answer.
    pub(super) fn whole(&mut self, tokens: u32, stream: bool) -> Bytes {
        if let Some(kept) = self.whole.get(&(tokens, stream)) {
            return kept.clone();
        }
        let bytes = if stream {
            let mut bytes = self.opening.to_vec();
            for place in 0..tokens {
                bytes.extend_from_slice(&self.token(place, tokens));
            }
            bytes.extend_from_slice(&self.closing(tokens));
            Bytes::from(bytes)
        } else {
            json(&chunks::whole(&self.identity, vec![(choice(), tokens, Finish::Length)], PROMPT_TOKENS, None))
        };
        if self.whole.len() < MAX_KEPT {
            self.whole.insert((tokens, stream), bytes.clone());
        }
        bytes
    }
}

/// Returns the only choice of each answer.
fn choice() -> Choice {
    let answer = Answer { words: 7, ..Answer::default() };
    Choice { answer, prompt_tokens: PROMPT_TOKENS, ..Choice::default() }
}

/// Returns the list of models. It is also the response to any request that is not for generation.
pub(super) fn models() -> Bytes {
    let options =
        SimOptions { model: MODEL.into(), max_model_len: 1 << 20, ..SimOptions::preset(SimulatorPreset::Instant) };
    json(&chunks::models(&options, 1_760_000_000, "modelperm-bench"))
}

fn json(body: &str) -> Bytes {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into()
}

/// Appends `data` as an HTTP chunk.
fn chunk(bytes: &mut Vec<u8>, data: &[u8]) {
    bytes.extend_from_slice(format!("{:x}\r\n", data.len()).as_bytes());
    bytes.extend_from_slice(data);
    bytes.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the data of all events of a stream, without HTTP framing.
    fn events(bytes: &[u8]) -> Vec<String> {
        let text = std::str::from_utf8(bytes).unwrap();
        let (head, mut body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("chunked"), "{head}");
        let mut events = Vec::new();
        loop {
            let (length, rest) = body.split_once("\r\n").unwrap();
            let length = usize::from_str_radix(length, 16).unwrap();
            if length == 0 {
                assert_eq!(rest, "\r\n");
                return events;
            }
            let event = rest[..length].strip_prefix("data: ").unwrap().strip_suffix("\n\n").unwrap();
            events.push(event.to_owned());
            body = rest[length..].strip_prefix("\r\n").unwrap();
        }
    }

    fn check(endpoint: Endpoint, tokens: u32, roles: usize) {
        let mut answers = Answers::new(endpoint);
        let whole = answers.whole(tokens, true);
        let mut pieces = answers.opening().to_vec();
        (0..tokens).for_each(|place| pieces.extend_from_slice(&answers.token(place, tokens)));
        pieces.extend_from_slice(&answers.closing(tokens));
        assert_eq!(pieces, whole, "at once and in pieces are the same bytes");
        let events = events(&whole);
        assert_eq!(events.len(), roles + tokens as usize + 2);
        let usage: serde_json::Value = serde_json::from_str(&events[events.len() - 2]).unwrap();
        assert_eq!(usage["usage"]["completion_tokens"], tokens);
        assert_eq!(events[events.len() - 1], "[DONE]");
        assert!(tokens < 3 || events[roles] != events[roles + 1], "two tokens are two words");
        assert!(events[events.len() - 3].contains(r#""finish_reason":"length""#));
    }

    #[test]
    fn a_stream_has_a_chunk_for_each_token_and_ends_with_its_usage() {
        for tokens in [1, 2, 9] {
            check(Endpoint::Completions, tokens, 0);
            check(Endpoint::Chat, tokens, 1);
        }
    }

    #[test]
    fn an_answer_in_one_piece_is_as_long_as_its_head_says() {
        let bytes = Answers::new(Endpoint::Chat).whole(5, false);
        let text = std::str::from_utf8(&bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("content-length: {}", body.len())), "{head}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["usage"]["completion_tokens"], 5);
    }
}
