//! The bytes of answers: stream chunks and whole bodies. They have exactly the keys of vLLM 0.32, in the same order.
//!
//! A token's chunk consists of a head, the word and a tail. For most requests, head and tail are the same for all chunks, and are created once per
//! stream. If a request wants token ids, log probabilities, running usage or stops, the tail is created for each chunk.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};

use super::answer::{self, Answer, AnswerForm, AnswerText};
use super::api::{Dialect, Endpoint, StreamUsage};
use super::options::SimOptions;
use super::text;
use super::work::Finish;

/// The last event of every stream.
pub const DONE: &[u8] = b"data: [DONE]\n\n";

/// The fingerprint. vLLM creates it from its version and a digest of its settings.
const FINGERPRINT: &str = "vllm-0.32.0-5e1f4a7c";

/// The JSON value of absent fields.
const NULL: &str = "null";

/// Size of the buffer that a stream reserves for its chunks, in bytes. It has room for several chunks, but uses little memory.
const BUFFER: usize = 1_024;

/// How one prompt used the prefix cache, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheUse {
    /// Tokens that were read from the cache.
    pub cached: u32,
    /// Tokens that were computed and added to the cache.
    pub created: u32,
}

impl CacheUse {
    /// Returns the cache use of a prompt with `prompt_tokens` tokens, of which `cached` came from the cache. `block_size` is 0 without a prefix
    /// cache.
    pub fn new(prompt_tokens: u32, cached: u32, block_size: u32) -> Self {
        let full = prompt_tokens.checked_rem(block_size).map_or(0, |rest| prompt_tokens - rest);
        CacheUse { cached, created: full.saturating_sub(cached) }
    }
}

/// Identifies a request and its answer.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The endpoint that defines the semantics of the answer.
    pub endpoint: Endpoint,
    /// The API that defines the form of the answer.
    pub dialect: Dialect,
    /// The id of the answer, with the prefix of the endpoint.
    pub id: String,
    /// When the answer was created, in seconds since 1970.
    pub created: i64,
    /// The name of the model.
    pub model: String,
}

/// One of the choices of an answer.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// The index of the choice.
    pub index: u32,
    /// The text of the answer.
    pub answer: Answer,
    /// Length of the choice's prompt, in tokens.
    pub prompt_tokens: u32,
    /// The token ids of the prompt. `None` if the answer does not include token ids.
    pub prompt_ids: Option<Arc<[u32]>>,
}

/// Creates the chunks of one choice in a stream.
#[derive(Debug)]
pub struct Chunks {
    endpoint: Endpoint,
    words: u64,
    prompt_tokens: u32,
    usage: StreamUsage,
    logprobs: Option<u32>,
    /// Whether chunks include token ids.
    token_ids: bool,
    /// The prompt's token ids as JSON. `None` after a chunk has included them.
    prompt_ids: Option<String>,
    index: u32,
    /// The tool that is called, if the text is the tool's arguments.
    tool: Option<Arc<str>>,
    text: AnswerText,
    /// Whether a chunk consists only of head, word and tail.
    plain: bool,
    /// The beginning of a chunk: from `data: ` up to the word.
    head: String,
    /// Length of the part of `head` that all chunks share, up to the choices.
    common: usize,
    /// The buffer in which chunks are assembled. Its memory is reused after they are sent.
    buffer: BytesMut,
}

impl Chunks {
    /// Creates the chunks for one choice of an answer.
    pub fn new(identity: &Identity, choice: Choice, usage: StreamUsage) -> Self {
        let Identity { endpoint, created, .. } = *identity;
        let Choice { index, answer, prompt_tokens, prompt_ids } = choice;
        let (object, text) = match endpoint {
            Endpoint::Chat if answer.form.tool().is_some() => {
                ("chat.completion.chunk", r#""delta":{"tool_calls":[{"index":0,"function":{"arguments":""#)
            }
            Endpoint::Chat => ("chat.completion.chunk", r#""delta":{"content":""#),
            Endpoint::Completions => ("text_completion", r#""text":""#),
        };
        let (id, model) = (json!(identity.id), json!(identity.model));
        let mut head =
            format!(r#"data: {{"id":{id},"object":"{object}","created":{created},"model":{model},"choices":"#);
        let common = head.len();
        head.push_str(&format!(r#"[{{"index":{index},{text}"#));
        let Answer { words, logprobs, .. } = answer;
        let told =
            answer.stop.is_some() || answer.echo.is_some() || logprobs.is_some() || answer.form != AnswerForm::Plain;
        Chunks {
            endpoint,
            words,
            prompt_tokens,
            usage,
            logprobs,
            token_ids: prompt_ids.is_some(),
            plain: !told && prompt_ids.is_none() && usage != StreamUsage::EveryChunk,
            prompt_ids: prompt_ids.as_deref().map(list),
            index,
            tool: answer.form.tool().cloned(),
            text: AnswerText::new(answer),
            head,
            common,
            buffer: BytesMut::with_capacity(BUFFER),
        }
    }

    /// Returns the first chunk of a chat, which contains only the role. `None` for other streams.
    pub fn role(&mut self) -> Option<Bytes> {
        if self.endpoint == Endpoint::Completions {
            return None;
        }
        let delta = match &self.tool {
            None => r#"{"role":"assistant","content":""}"#.to_owned(),
            Some(tool) => json!({"role": "assistant", "tool_calls": [tool_call(tool, "", self.words)]}).to_string(),
        };
        let role = format!(r#"[{{"index":{},"delta":{delta},"logprobs":null,"finish_reason":null}}]"#, self.index);
        let usage = self.running_usage(0);
        let ids = self.prompt_ids.take();
        let end = concat!(r#","prompt_text":null}"#, "\n\n");
        Some(self.put(self.common, &[&role, &usage, r#","prompt_token_ids":"#, ids.as_deref().unwrap_or(NULL), end]))
    }

    /// Returns the chunk for the token at this position. With a `finish`, it is the last chunk of the choice.
    pub fn token(&mut self, position: u32, finish: Option<Finish>) -> Bytes {
        if self.plain && finish.is_none() {
            let tail = match self.endpoint {
                Endpoint::Chat => concat!(r#""},"logprobs":null,"finish_reason":null,"token_ids":null}]}"#, "\n\n"),
                Endpoint::Completions => concat!(
                    r#"","logprobs":null,"finish_reason":null,"stop_reason":null,"#,
                    r#""prompt_token_ids":null,"token_ids":null}]}"#,
                    "\n\n"
                ),
            };
            return self.put(self.head.len(), &[text::word(self.words, position), tail]);
        }
        let shown = self.text.next(position, finish.is_some());
        self.choice(&shown, Some(position), position + 1, finish)
    }

    /// Returns the chunk that ends a stream without another token, after `tokens` tokens.
    pub fn ending(&mut self, tokens: u32, finish: Finish) -> Bytes {
        self.choice("", None, tokens, Some(finish))
    }

    /// Returns a chunk with a text. `position` is the position of its token, if it has one. `tokens` is the number of tokens up to this chunk.
    fn choice(&mut self, shown: &str, position: Option<u32>, tokens: u32, finish: Option<Finish>) -> Bytes {
        let whole = self.head.len();
        let shown = json!(shown).to_string();
        let ids = self.token_ids.then(|| {
            list(&position.map(|position| text::word_id(self.words, position)).into_iter().collect::<Vec<_>>())
        });
        let logprobs = match (self.logprobs, position) {
            (Some(alternatives), Some(position)) => {
                answer::logprobs(self.endpoint, self.words, position..position + 1, alternatives).to_string()
            }
            _ => NULL.into(),
        };
        let reason = match finish {
            Some(Finish::Stop) => self.text.stop_reason().unwrap_or(NULL),
            _ => NULL,
        };
        let (close, stop, prompt) = match self.endpoint {
            Endpoint::Chat => {
                let stop = if finish.is_some() { format!(r#","stop_reason":{reason}"#) } else { String::new() };
                let close = if self.tool.is_some() { r#"}}]},"logprobs":"# } else { r#"},"logprobs":"# };
                (close, stop, None)
            }
            // The first chunk also contains the ids of the prompt.
            Endpoint::Completions => {
                let prompt = self.prompt_ids.take().map_or(Cow::Borrowed(NULL), Cow::Owned);
                (r#","logprobs":"#, format!(r#","stop_reason":{reason},"prompt_token_ids":"#), Some(prompt))
            }
        };
        let (quote, finished) = finish.map_or(("", NULL), |it| ("\"", finish_name(it, self.tool.is_some())));
        let fingerprint = match finish {
            Some(_) if self.usage == StreamUsage::Never => format!(r#","system_fingerprint":"{FINGERPRINT}""#),
            _ => String::new(),
        };
        let usage = self.running_usage(tokens);
        let (prompt, ids) = (prompt.as_deref().unwrap_or_default(), ids.as_deref().unwrap_or(NULL));
        // Omit the opening quote, which is part of the head.
        let shown = &shown[1..];
        self.put(
            whole,
            &[
                shown,
                close,
                &logprobs,
                r#","finish_reason":"#,
                quote,
                finished,
                quote,
                &stop,
                prompt,
                r#","token_ids":"#,
                ids,
                "}]",
                &usage,
                &fingerprint,
                "}\n\n",
            ],
        )
    }

    /// Returns the usage up to this chunk, if the request wants `continuous_usage_stats`.
    fn running_usage(&self, tokens: u32) -> String {
        if self.usage != StreamUsage::EveryChunk {
            return String::new();
        }
        let prompt_tokens = self.prompt_tokens;
        let total = prompt_tokens + tokens;
        let details = match self.endpoint {
            Endpoint::Chat => r#","completion_tokens_details":null"#,
            Endpoint::Completions => "",
        };
        format!(
            r#","usage":{{"prompt_tokens":{prompt_tokens},"total_tokens":{total},"completion_tokens":{tokens}{details}}}"#
        )
    }

    /// Returns the chunk with the token counts of all choices, if it is requested. `details` adds the use of the prefix cache.
    pub fn usage(&mut self, prompt_tokens: u32, completion_tokens: u32, details: Option<CacheUse>) -> Option<Bytes> {
        if self.usage == StreamUsage::Never {
            return None;
        }
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
        self.buffer.reserve(length);
        self.buffer.extend_from_slice(&self.head.as_bytes()[..head]);
        parts.iter().for_each(|part| self.buffer.extend_from_slice(part.as_bytes()));
        self.buffer.split().freeze()
    }
}

/// The `finish_reason` of an answer.
fn finish_name(finish: Finish, calls_tool: bool) -> &'static str {
    if calls_tool && finish == Finish::Stop { "tool_calls" } else { finish.name() }
}

/// Returns a tool call with these arguments. Its id is derived from the words of the answer.
fn tool_call(tool: &str, arguments: &str, words: u64) -> Value {
    json!({
        "id": format!("chatcmpl-tool-{words:016x}"), "type": "function", "index": 0,
        "function": {"name": tool, "arguments": arguments},
    })
}

/// Token ids as JSON.
fn list(ids: &[u32]) -> String {
    json!(ids).to_string()
}

/// Returns the body of a complete answer. Each choice has its number of tokens and its finish. `prompt_tokens` counts each prompt once.
pub fn whole(
    identity: &Identity,
    choices: Vec<(Choice, u32, Finish)>,
    prompt_tokens: u32,
    details: Option<CacheUse>,
) -> String {
    let Identity { endpoint, id, created, model, .. } = identity;
    let tokens: u32 = choices.iter().map(|(_, tokens, _)| tokens).sum();
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
    let prompt_ids = choices.first().and_then(|(choice, ..)| choice.prompt_ids.as_deref().map(<[u32]>::to_vec));
    let choices: Vec<Value> =
        choices.into_iter().map(|(choice, tokens, finish)| whole_choice(*endpoint, choice, tokens, finish)).collect();
    let body = match endpoint {
        Endpoint::Chat => json!({
            "id": id, "object": "chat.completion", "created": created, "model": model, "choices": choices,
            "service_tier": null, "system_fingerprint": FINGERPRINT, "usage": usage, "prompt_logprobs": null,
            "prompt_token_ids": prompt_ids, "prompt_text": null, "kv_transfer_params": null, "ec_transfer_params": null,
            "metrics": null,
        }),
        Endpoint::Completions => json!({
            "id": id, "object": "text_completion", "created": created, "model": model, "choices": choices,
            "service_tier": null, "system_fingerprint": FINGERPRINT, "usage": usage, "kv_transfer_params": null,
            "ec_transfer_params": null, "metrics": null,
        }),
    };
    body.to_string()
}

fn whole_choice(endpoint: Endpoint, choice: Choice, tokens: u32, finish: Finish) -> Value {
    let Choice { index, answer, prompt_ids, .. } = choice;
    let words = answer.words;
    let tool = answer.form.tool().cloned();
    let logprobs = answer.logprobs.map(|alternatives| answer::logprobs(endpoint, words, 0..tokens, alternatives));
    let token_ids =
        prompt_ids.is_some().then(|| (0..tokens).map(|position| text::word_id(words, position)).collect::<Vec<_>>());
    let mut text = AnswerText::new(answer);
    let shown: String = (0..tokens).map(|position| text.next(position, position + 1 == tokens)).collect();
    let reason = text.stop_reason().filter(|_| finish == Finish::Stop).and_then(|it| serde_json::from_str(it).ok());
    let reason: Option<Value> = reason;
    match endpoint {
        Endpoint::Chat => {
            let mut message = json!({
                "role": "assistant", "content": shown, "refusal": null, "annotations": null, "audio": null,
                "function_call": null,
            });
            if let Some(tool) = &tool {
                message["content"] = Value::Null;
                message["tool_calls"] = json!([tool_call(tool, &shown, words)]);
            }
            message["reasoning"] = Value::Null;
            json!({
                "index": index, "message": message, "logprobs": logprobs,
                "finish_reason": finish_name(finish, tool.is_some()), "stop_reason": reason, "token_ids": token_ids,
                "routed_experts": null,
            })
        }
        Endpoint::Completions => json!({
            "index": index, "text": shown, "logprobs": logprobs, "finish_reason": finish.name(), "stop_reason": reason,
            "token_ids": token_ids, "prompt_logprobs": null, "prompt_token_ids": prompt_ids.as_deref(), "routed_experts": null,
        }),
    }
}

/// Returns the body of `/v1/models`: the model, and a card for each LoRA adapter, which names the model as its parent.
pub fn models(options: &SimOptions, created: i64, permission: &str) -> String {
    let card = |id: &str, parent: Option<&str>| {
        json!({
            "id": id, "object": "model", "created": created, "owned_by": "vllm", "root": id, "parent": parent,
            "max_model_len": parent.is_none().then_some(options.max_model_len),
            "permission": [{
                "id": permission, "object": "model_permission", "created": created, "allow_create_engine": false,
                "allow_sampling": true, "allow_logprobs": true, "allow_search_indices": false, "allow_view": true,
                "allow_fine_tuning": false, "organization": "*", "group": null, "is_blocking": false,
            }],
        })
    };
    let adapters = options.lora_modules.iter().map(|it| card(it, Some(&options.model)));
    let data: Vec<Value> = [card(&options.model, None)].into_iter().chain(adapters).collect();
    json!({"object": "list", "data": data}).to_string()
}
