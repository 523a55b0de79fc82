//! The bytes of answers: stream chunks and whole bodies with exactly the keys of vLLM 0.32, in its order.
//!
//! A token's chunk is head, word and tail; the head is made once for a stream. Where token ids are asked for (vLLM's
//! `return_token_ids`) the tail tells that of the word, and the first chunk those of the prompt.

use std::borrow::Cow;

use bytes::{Bytes, BytesMut};
use serde_json::json;

use super::engine::Finish;
use super::request::Endpoint;
use super::text;

/// The end of every stream.
pub const DONE: &[u8] = b"data: [DONE]\n\n";

/// As vLLM makes it from its version and a digest of its settings.
const FINGERPRINT: &str = "vllm-0.32.0-5e1f4a7c";

/// What is not there.
const NULL: &str = "null";

/// What came of the prefix cache for one prompt, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheUse {
    /// Taken from it.
    pub cached: u32,
    /// Computed and given to it.
    pub created: u32,
}

impl CacheUse {
    /// For a prompt of so many tokens of which so many were cached. `block_size` is 0 without a prefix cache.
    pub fn of(prompt_tokens: u32, cached: u32, block_size: u32) -> Self {
        let full = prompt_tokens.checked_rem(block_size).map_or(0, |rest| prompt_tokens - rest);
        CacheUse { cached, created: full.saturating_sub(cached) }
    }
}

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
    /// The ids of the prompt where the answer tells token ids; `None`: it tells none.
    pub prompt_ids: Option<Vec<u32>>,
}

/// Makes the chunks of one stream.
#[derive(Debug)]
pub struct Chunks {
    endpoint: Endpoint,
    words: u64,
    prompt_tokens: u32,
    include_usage: bool,
    /// Whether chunks tell token ids.
    token_ids: bool,
    /// Those of the prompt, as JSON, until a chunk has told them.
    prompt_ids: Option<String>,
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
        let (token_ids, prompt_ids) = (identity.prompt_ids.is_some(), identity.prompt_ids.as_deref().map(list));
        let buffer = BytesMut::new();
        Chunks { endpoint, words, prompt_tokens, include_usage, token_ids, prompt_ids, head, common, buffer }
    }

    /// The chunk that opens a chat; other streams have none.
    pub fn role(&mut self) -> Option<Bytes> {
        if self.endpoint == Endpoint::Completions {
            return None;
        }
        let role = concat!(
            r#"[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"#,
            r#""prompt_token_ids":"#,
        );
        let ids = self.prompt_ids.take();
        Some(self.put(self.common, &[role, ids.as_deref().unwrap_or(NULL), concat!(r#","prompt_text":null}"#, "\n\n")]))
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
        let ids = self.token_ids.then(|| list(&text::ids(word)));
        let (close, stop, prompt) = match self.endpoint {
            Endpoint::Chat => {
                let stop = if finish.is_some() { r#","stop_reason":null"# } else { "" };
                (r#""},"logprobs":null,"finish_reason":"#, stop, None)
            }
            // The first chunk tells the ids of the prompt.
            Endpoint::Completions => {
                let prompt = self.prompt_ids.take().map_or(Cow::Borrowed(NULL), Cow::Owned);
                (r#"","logprobs":null,"finish_reason":"#, r#","stop_reason":null,"prompt_token_ids":"#, Some(prompt))
            }
        };
        let (quote, reason) = finish.map_or(("", NULL), |it| ("\"", it.name()));
        let fingerprint = match finish {
            Some(_) if !self.include_usage => format!(r#","system_fingerprint":"{FINGERPRINT}""#),
            _ => String::new(),
        };
        let (prompt, ids) = (prompt.as_deref().unwrap_or_default(), ids.as_deref().unwrap_or(NULL));
        let (own, end) = (r#","token_ids":"#, "}\n\n");
        self.put(whole, &[word, close, quote, reason, quote, stop, prompt, own, ids, "}]", &fingerprint, end])
    }

    /// The chunk with the counts, if it was asked for.
    /// With `details` it tells of the prefix cache.
    pub fn usage(&mut self, completion_tokens: u32, details: Option<CacheUse>) -> Option<Bytes> {
        if !self.include_usage {
            return None;
        }
        let prompt_tokens = self.prompt_tokens;
        let total = prompt_tokens + completion_tokens;
        let details = match (details, self.endpoint) {
            (None, _) => String::new(),
            (Some(CacheUse { cached, created }), Endpoint::Chat) => {
                format!(r#","prompt_tokens_details":{{"cached_tokens":{cached},"created_cache_tokens":{created}}}"#)
            }
            (Some(CacheUse { cached, .. }), Endpoint::Completions) => {
                format!(r#","prompt_tokens_details":{{"cached_tokens":{cached}}}"#)
            }
        };
        let usage = format!(
            r#"[],"usage":{{"prompt_tokens":{prompt_tokens},"total_tokens":{total},"completion_tokens":{completion_tokens}{details}}},"system_fingerprint":"{FINGERPRINT}"}}"#
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

/// Token ids as JSON.
fn list(ids: &[u32]) -> String {
    json!(ids).to_string()
}

/// The body of an answer in one piece.
pub fn whole(identity: &Identity, tokens: u32, finish: Finish, details: Option<CacheUse>) -> String {
    let Identity { endpoint, id, created, model, words, prompt_tokens, prompt_ids } = identity;
    let text = text::answer(*words, tokens);
    let token_ids = prompt_ids.is_some().then(|| text::ids(&text));
    let details = details.map(|CacheUse { cached, created }| match endpoint {
        Endpoint::Chat => json!({"cached_tokens": cached, "created_cache_tokens": created, "multimodal_tokens": null}),
        Endpoint::Completions => {
            json!({"cached_tokens": cached, "created_cache_tokens": null, "multimodal_tokens": null})
        }
    });
    let usage = json!({
        "prompt_tokens": prompt_tokens, "total_tokens": prompt_tokens + tokens, "completion_tokens": tokens,
        "prompt_tokens_details": details, "completion_tokens_details": null,
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
                "logprobs": null, "finish_reason": finish.name(), "stop_reason": null, "token_ids": token_ids,
                "routed_experts": null,
            }],
            "service_tier": null, "system_fingerprint": FINGERPRINT, "usage": usage, "prompt_logprobs": null,
            "prompt_token_ids": prompt_ids, "prompt_text": null, "kv_transfer_params": null, "ec_transfer_params": null,
            "metrics": null,
        }),
        Endpoint::Completions => json!({
            "id": id, "object": "text_completion", "created": created, "model": model,
            "choices": [{
                "index": 0, "text": text, "logprobs": null, "finish_reason": finish.name(), "stop_reason": null,
                "token_ids": token_ids, "prompt_logprobs": null, "prompt_token_ids": prompt_ids, "routed_experts": null,
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
