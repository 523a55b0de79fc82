//! The bytes of answers in the Responses and Messages APIs: typed events and complete answers, with the keys of vLLM 0.32.

use std::fmt::Write as _;

use bytes::Bytes;
use serde_json::{Value, json};

use super::answer::AnswerText;
use super::api::Dialect;
use super::chunks::{CacheUse, Choice, Identity};
use super::work::Finish;

/// Creates the events of a stream.
#[derive(Debug)]
pub struct TypedEvents {
    identity: Identity,
    prompt_tokens: u32,
    text: AnswerText,
    tool: Option<std::sync::Arc<str>>,
    /// The text that was sent so far.
    sent: String,
    finish: Finish,
    /// The number of the next event of the Responses API.
    number: u64,
}

impl TypedEvents {
    /// Creates the events of the answer to one request.
    pub fn new(identity: &Identity, choice: Choice) -> Self {
        TypedEvents {
            identity: identity.clone(),
            prompt_tokens: choice.prompt_tokens,
            tool: choice.answer.form.tool().cloned(),
            text: AnswerText::new(choice.answer),
            sent: String::new(),
            finish: Finish::Abort,
            number: 0,
        }
    }

    /// The API of the answer.
    pub fn dialect(&self) -> Dialect {
        self.identity.dialect
    }

    /// Returns the events before the first token.
    pub fn opening(&mut self) -> Bytes {
        match self.identity.dialect {
            Dialect::Messages => {
                let usage = json!({"input_tokens": self.prompt_tokens, "output_tokens": 0});
                let message = json!({
                    "id": self.identity.id, "type": "message", "role": "assistant", "content": [],
                    "model": self.identity.model, "stop_reason": null, "stop_sequence": null, "usage": usage,
                });
                let block = match &self.tool {
                    None => json!({"type": "text", "text": ""}),
                    Some(tool) => json!({"type": "tool_use", "id": self.item("toolu"), "name": &**tool, "input": {}}),
                };
                self.events(&[
                    json!({"type": "message_start", "message": message}),
                    json!({"type": "content_block_start", "index": 0, "content_block": block}),
                ])
            }
            Dialect::OpenAi | Dialect::Responses => {
                let begun = self.response("in_progress", &[], None);
                let item = self.output_item("in_progress", "");
                self.events(&[
                    json!({"type": "response.created", "response": begun}),
                    json!({"type": "response.in_progress", "response": begun}),
                    json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
                ])
            }
        }
    }

    /// Returns the event for the token at this position. With a `finish`, it is the last token.
    pub fn token(&mut self, position: u32, finish: Option<Finish>) -> Bytes {
        let shown = self.text.next(position, finish.is_some());
        self.finish = finish.unwrap_or(self.finish);
        let event = match (self.identity.dialect, &self.tool) {
            (Dialect::Messages, None) => json!({
                "type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": shown},
            }),
            (Dialect::Messages, Some(_)) => json!({
                "type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": shown},
            }),
            (_, None) => json!({
                "type": "response.output_text.delta", "item_id": self.item("msg"), "output_index": 0, "content_index": 0,
                "delta": shown, "logprobs": [],
            }),
            (_, Some(_)) => json!({
                "type": "response.function_call_arguments.delta", "item_id": self.item("fc"), "output_index": 0,
                "delta": shown,
            }),
        };
        self.sent.push_str(&shown);
        self.events(&[event])
    }

    /// Returns the events that end a stream, with its usage.
    pub fn closing(&mut self, prompt_tokens: u32, output_tokens: u32, details: Option<CacheUse>) -> Bytes {
        match self.identity.dialect {
            Dialect::Messages => {
                let usage = messages_usage(prompt_tokens, output_tokens, details);
                let delta = json!({"stop_reason": self.stop_reason(), "stop_sequence": null});
                self.events(&[
                    json!({"type": "content_block_stop", "index": 0}),
                    json!({"type": "message_delta", "delta": delta, "usage": usage}),
                    json!({"type": "message_stop"}),
                ])
            }
            Dialect::OpenAi | Dialect::Responses => {
                let (status, name) = match self.finish {
                    Finish::Stop => ("completed", "response.completed"),
                    Finish::Length => ("incomplete", "response.incomplete"),
                    Finish::Abort => ("failed", "response.failed"),
                };
                let item = self.output_item("completed", &self.sent);
                let usage = responses_usage(prompt_tokens, output_tokens, details);
                let response = self.response(status, std::slice::from_ref(&item), Some(usage));
                self.events(&[
                    json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
                    json!({"type": name, "response": response}),
                ])
            }
        }
    }

    /// Returns the complete answer, with `tokens` tokens.
    pub fn whole(mut self, tokens: u32, finish: Finish, details: Option<CacheUse>) -> String {
        for position in 0..tokens {
            let shown = self.text.next(position, position + 1 == tokens);
            self.sent.push_str(&shown);
        }
        self.finish = finish;
        let body = match self.identity.dialect {
            Dialect::Messages => {
                let block = match &self.tool {
                    None => json!({"type": "text", "text": self.sent}),
                    Some(tool) => {
                        let input: Value = serde_json::from_str(&self.sent).unwrap_or_else(|_| json!({}));
                        json!({"type": "tool_use", "id": self.item("toolu"), "name": &**tool, "input": input})
                    }
                };
                json!({
                    "id": self.identity.id, "type": "message", "role": "assistant", "content": [block],
                    "model": self.identity.model, "stop_reason": self.stop_reason(), "stop_sequence": null,
                    "usage": messages_usage(self.prompt_tokens, tokens, details),
                })
            }
            Dialect::OpenAi | Dialect::Responses => {
                let status = if finish == Finish::Length { "incomplete" } else { "completed" };
                let item = self.output_item("completed", &self.sent);
                self.response(status, &[item], Some(responses_usage(self.prompt_tokens, tokens, details)))
            }
        };
        body.to_string()
    }

    fn stop_reason(&self) -> &'static str {
        match self.finish {
            Finish::Length => "max_tokens",
            Finish::Stop if self.tool.is_some() => "tool_use",
            Finish::Stop => "end_turn",
            Finish::Abort => "abort",
        }
    }

    /// Returns the id of a part of the answer.
    fn item(&self, prefix: &str) -> String {
        let id = self.identity.id.split_once(['-', '_']).map_or("", |it| it.1);
        format!("{prefix}_{id}")
    }

    fn output_item(&self, status: &str, text: &str) -> Value {
        match &self.tool {
            None => json!({
                "id": self.item("msg"), "type": "message", "role": "assistant", "status": status,
                "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": null}],
            }),
            Some(tool) => json!({
                "id": self.item("fc"), "call_id": self.item("call"), "type": "function_call", "status": status,
                "name": &**tool, "arguments": text,
            }),
        }
    }

    fn response(&self, status: &str, output: &[Value], usage: Option<Value>) -> Value {
        let reason = (status == "incomplete").then(|| json!({"reason": "max_output_tokens"}));
        json!({
            "id": self.identity.id, "object": "response", "created_at": self.identity.created, "status": status,
            "model": self.identity.model, "output": output, "incomplete_details": reason, "error": null, "usage": usage,
        })
    }

    /// Returns several events in one piece. Events of the Responses API are numbered.
    fn events(&mut self, events: &[Value]) -> Bytes {
        let mut text = String::new();
        for event in events {
            let mut event = event.clone();
            if self.identity.dialect == Dialect::Responses {
                event["sequence_number"] = json!(self.number);
                self.number += 1;
            }
            let name = event["type"].as_str().unwrap_or_default();
            // `write!` to a String does not fail.
            let _ = write!(text, "event: {name}\ndata: {event}\n\n");
        }
        text.into()
    }
}

/// Returns the usage in the Messages API. As in Anthropic's API, `input_tokens` excludes cached tokens.
fn messages_usage(prompt_tokens: u32, output_tokens: u32, details: Option<CacheUse>) -> Value {
    let cached = details.map(|it| it.cached);
    let input = prompt_tokens.saturating_sub(cached.unwrap_or(0));
    json!({"input_tokens": input, "output_tokens": output_tokens, "cache_read_input_tokens": cached})
}

fn responses_usage(prompt_tokens: u32, output_tokens: u32, details: Option<CacheUse>) -> Value {
    json!({
        "input_tokens": prompt_tokens, "input_tokens_details": {"cached_tokens": details.map_or(0, |it| it.cached)},
        "output_tokens": output_tokens, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt_tokens + output_tokens,
    })
}
