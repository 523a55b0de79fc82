//! The bytes of answers: stream chunks and whole bodies with exactly the keys of vLLM 0.32, in its order.
//!
//! A token's chunk is head, word and tail; the head is made once for a stream, and the tail is constant.

use bytes::{Bytes, BytesMut};
use serde_json::json;

use super::engine::Finish;
use super::request::Endpoint;
use super::text;

/// The end of every stream.
pub const DONE: &[u8] = b"data: [DONE]\n\n";

/// As vLLM makes it from its version and a digest of its settings.
const FINGERPRINT: &str = "vllm-0.32.0-5e1f4a7c";

/// Which answer to which request.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The endpoint that was called.
    pub endpoint: Endpoint,
    /// The id of the answer, with the prefix of the endpoint.
    pub id: String,
    /// The time of the answer, in seconds since 1970.
    pub created: i64,
    /// The name of the model.
    pub model: String,
    /// Which words it has.
    pub words: u64,
    /// Length of the prompt.
    pub prompt_tokens: u32,
}

/// Makes the chunks of one stream.
#[derive(Debug)]
pub struct Chunks {
    endpoint: Endpoint,
    words: u64,
    prompt_tokens: u32,
    include_usage: bool,
    /// From `data: ` to the word of a token.
    head: String,
    /// The length of that part of the head which all chunks have, up to the choices.
    common: usize,
    /// Where chunks are put together; its memory is used again once they are sent.
    buffer: BytesMut,
}

impl Chunks {
    /// For the answer to one request.
    pub fn new(identity: &Identity, include_usage: bool) -> Self {
        let Identity { endpoint, created, words, prompt_tokens, .. } = *identity;
        let (object, choice) = match endpoint {
            Endpoint::Chat => ("chat.completion.chunk", r#"[{"index":0,"delta":{"content":""#),
            Endpoint::Completions => ("text_completion", r#"[{"index":0,"text":""#),
        };
        let (id, model) = (json!(identity.id), json!(identity.model));
        let mut head =
            format!(r#"data: {{"id":{id},"object":"{object}","created":{created},"model":{model},"choices":"#);
        let common = head.len();
        head.push_str(choice);
        Chunks { endpoint, words, prompt_tokens, include_usage, head, common, buffer: BytesMut::new() }
    }

    /// The chunk that opens a chat; other streams have none.
    pub fn role(&mut self) -> Option<Bytes> {
        let role = concat!(
            r#"[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"#,
            r#""prompt_token_ids":null,"prompt_text":null}"#,
            "\n\n"
        );
        (self.endpoint == Endpoint::Chat).then(|| self.put(self.common, &[role]))
    }

    /// The chunk of the token at this place, which is the last one if it has a finish.
    pub fn token(&mut self, place: u32, finish: Option<Finish>) -> Bytes {
        self.choice(text::word(self.words, place), finish)
    }

    /// The chunk that ends a stream without a token.
    pub fn ending(&mut self, finish: Finish) -> Bytes {
        self.choice("", Some(finish))
    }

    fn choice(&mut self, word: &str, finish: Option<Finish>) -> Bytes {
        let whole = self.head.len();
        let Some(finish) = finish else {
            let tail = match self.endpoint {
                Endpoint::Chat => concat!(r#""},"logprobs":null,"finish_reason":null,"token_ids":null}]}"#, "\n\n"),
                Endpoint::Completions => concat!(
                    r#"","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"#,
                    r#""token_ids":null}]}"#,
                    "\n\n"
                ),
            };
            return self.put(whole, &[word, tail]);
        };
        let (before, after) = match self.endpoint {
            Endpoint::Chat => (r#""},"logprobs":null,"finish_reason":""#, r#"","stop_reason":null,"token_ids":null}]"#),
            Endpoint::Completions => (
                r#"","logprobs":null,"finish_reason":""#,
                r#"","stop_reason":null,"prompt_token_ids":null,"token_ids":null}]"#,
            ),
        };
        let fingerprint =
            if self.include_usage { String::new() } else { format!(r#","system_fingerprint":"{FINGERPRINT}""#) };
        self.put(whole, &[word, before, finish.name(), after, &fingerprint, "}\n\n"])
    }

    /// The chunk with the counts, if it was asked for.
    pub fn usage(&mut self, completion_tokens: u32) -> Option<Bytes> {
        if !self.include_usage {
            return None;
        }
        let prompt_tokens = self.prompt_tokens;
        let total = prompt_tokens + completion_tokens;
        let usage = format!(
            r#"[],"usage":{{"prompt_tokens":{prompt_tokens},"total_tokens":{total},"completion_tokens":{completion_tokens}}},"system_fingerprint":"{FINGERPRINT}"}}"#
        );
        Some(self.put(self.common, &[&usage, "\n\n"]))
    }

    fn put(&mut self, head: usize, parts: &[&str]) -> Bytes {
        let length = head + parts.iter().map(|part| part.len()).sum::<usize>();
        // Room for a few chunks, so that most of them need no memory of their own.
        self.buffer.reserve(length);
        self.buffer.extend_from_slice(&self.head.as_bytes()[..head]);
        parts.iter().for_each(|part| self.buffer.extend_from_slice(part.as_bytes()));
        self.buffer.split().freeze()
    }
}

/// The body of an answer in one piece.
pub fn whole(identity: &Identity, tokens: u32, finish: Finish) -> String {
    let Identity { endpoint, id, created, model, words, prompt_tokens } = identity;
    let text = text::answer(*words, tokens);
    let usage = json!({
        "prompt_tokens": prompt_tokens, "total_tokens": prompt_tokens + tokens, "completion_tokens": tokens,
        "prompt_tokens_details": null, "completion_tokens_details": null,
    });
    let body = match endpoint {
        Endpoint::Chat => json!({
            "id": id, "object": "chat.completion", "created": created, "model": model,
            "choices": [{
                "index": 0,
                "message": {
                    "role": "assistant", "content": text, "refusal": null, "annotations": null, "audio": null,
                    "function_call": null, "reasoning": null,
                },
                "logprobs": null, "finish_reason": finish.name(), "stop_reason": null, "token_ids": null,
                "routed_experts": null,
            }],
            "service_tier": null, "system_fingerprint": FINGERPRINT, "usage": usage, "prompt_logprobs": null,
            "prompt_token_ids": null, "prompt_text": null, "kv_transfer_params": null, "ec_transfer_params": null,
            "metrics": null,
        }),
        Endpoint::Completions => json!({
            "id": id, "object": "text_completion", "created": created, "model": model,
            "choices": [{
                "index": 0, "text": text, "logprobs": null, "finish_reason": finish.name(), "stop_reason": null,
                "token_ids": null, "prompt_logprobs": null, "prompt_token_ids": null, "routed_experts": null,
            }],
            "service_tier": null, "system_fingerprint": FINGERPRINT, "usage": usage, "kv_transfer_params": null,
            "ec_transfer_params": null, "metrics": null,
        }),
    };
    body.to_string()
}

/// The body of `/v1/models`.
pub fn models(model: &str, max_model_len: u32, created: i64, permission: &str) -> String {
    json!({
        "object": "list",
        "data": [{
            "id": model, "object": "model", "created": created, "owned_by": "vllm", "root": model, "parent": null,
            "max_model_len": max_model_len,
            "permission": [{
                "id": permission, "object": "model_permission", "created": created, "allow_create_engine": false,
                "allow_sampling": true, "allow_logprobs": true, "allow_search_indices": false, "allow_view": true,
                "allow_fine_tuning": false, "organization": "*", "group": null, "is_blocking": false,
            }],
        }],
    })
    .to_string()
}
