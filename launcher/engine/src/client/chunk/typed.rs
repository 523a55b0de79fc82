//! Parses events and answers in one piece of the Responses API and of Anthropic's Messages API, which have a `type`. They are converted to
//! the same [`Chunk`] as events of the other APIs.

use serde_json::Value;

use super::{Choices, Chunk, Finish, Indices, Usage};
use crate::client::lenient_json::parse;

/// The content of an event with a type.
pub(super) struct TypedChunk {
    pub(super) chunk: Chunk,
    /// Text of the answer, without reasoning, refusals and tool calls.
    pub(super) text: String,
}

/// The output in one event, or in one part of it.
#[derive(Default)]
struct Output {
    /// Whether there is visible output: text, reasoning, or a part of a tool call.
    has_output: bool,
    /// Whether the output is a part without text, which may represent a token.
    is_empty_part: bool,
    text: String,
}

/// Parses an event or an answer in one piece; `None` if its type belongs to neither API.
///
/// # Errors
/// The bytes are not JSON.
pub(super) fn read(bytes: &[u8]) -> Result<Option<TypedChunk>, serde_json::Error> {
    let event: Value = parse(bytes)?;
    let name = event["type"].as_str().or(event["object"].as_str()).unwrap_or_default();
    Ok(match name {
        "message_start" => Some(chunk(Output::default(), None, usage(&event["message"]["usage"]))),
        "content_block_start" => Some(chunk(block(&event["content_block"], true), None, None)),
        "content_block_delta" => Some(chunk(block(&event["delta"], true), None, None)),
        "message_delta" => {
            Some(chunk(Output::default(), stop_reason(&event["delta"]["stop_reason"]), usage(&event["usage"])))
        }
        "content_block_stop" | "message_stop" | "ping" => Some(chunk(Output::default(), None, None)),
        // An answer in one piece in the Messages API.
        "message" => Some(chunk(all(&event["content"]), stop_reason(&event["stop_reason"]), usage(&event["usage"]))),
        "response.output_text.delta" => Some(chunk(part(&event["delta"], true), None, None)),
        "response.reasoning_text.delta"
        | "response.reasoning_summary_text.delta"
        | "response.refusal.delta"
        | "response.function_call_arguments.delta" => Some(chunk(part(&event["delta"], false), None, None)),
        "response.completed" | "response.incomplete" | "response.failed" => {
            let response = &event["response"];
            Some(chunk(Output::default(), status(response), usage(&response["usage"])))
        }
        // An answer in one piece in the Responses API.
        "response" => {
            let items = event["output"].as_array().map(Vec::as_slice).unwrap_or_default();
            let mut output = Output::default();
            for item in items {
                let of_item = match item["type"].as_str() {
                    Some("function_call") => part(&item["arguments"], false),
                    _ => all(&item["content"]),
                };
                output.add(of_item);
            }
            Some(chunk(output, status(&event), usage(&event["usage"])))
        }
        name if name.starts_with("response.") => Some(chunk(Output::default(), None, None)),
        _ => None,
    })
}

impl Output {
    fn add(&mut self, other: Output) {
        self.has_output |= other.has_output;
        self.is_empty_part |= other.is_empty_part;
        self.text.push_str(&other.text);
    }
}

fn chunk(output: Output, finish: Option<Finish>, usage: Option<Usage>) -> TypedChunk {
    let Output { has_output, is_empty_part, text } = output;
    let touched = has_output || is_empty_part || finish.is_some();
    let first = Indices::from_index(0);
    let choices = Choices {
        output: has_output,
        silent_token: !has_output && is_empty_part,
        finish,
        seen: if touched { first } else { Indices::default() },
        finished: if finish.is_some() { first } else { Indices::default() },
    };
    TypedChunk { chunk: Chunk { choices, usage, ..Chunk::default() }, text }
}

/// Converts a text in an event. `is_text` means that the text is part of the answer, and not reasoning or a tool call.
fn part(text: &Value, is_text: bool) -> Output {
    let text = text.as_str().unwrap_or_default();
    let kept = if is_text { text.to_owned() } else { String::new() };
    Output { has_output: !text.is_empty(), is_empty_part: text.is_empty(), text: kept }
}

/// Converts a content block of the Messages API, or a delta to a block. An event that only opens a block is not an output.
fn block(block: &Value, in_stream: bool) -> Output {
    match block["type"].as_str() {
        Some("text") if in_stream && block["text"].as_str().is_none_or(str::is_empty) => Output::default(),
        Some("text" | "text_delta" | "output_text") => part(&block["text"], true),
        Some("thinking") if in_stream && block["thinking"].as_str().is_none_or(str::is_empty) => Output::default(),
        Some("thinking" | "thinking_delta") => part(&block["thinking"], false),
        Some("reasoning_text" | "summary_text") => part(&block["text"], false),
        Some("refusal") => part(&block["refusal"], false),
        Some("input_json_delta") => part(&block["partial_json"], false),
        Some("tool_use") => part(&block["name"], false),
        _ => Output::default(),
    }
}

fn all(blocks: &Value) -> Output {
    let mut output = Output::default();
    for it in blocks.as_array().map(Vec::as_slice).unwrap_or_default() {
        output.add(block(it, false));
    }
    output
}

fn stop_reason(reason: &Value) -> Option<Finish> {
    match reason.as_str()? {
        "" => None,
        "max_tokens" => Some(Finish::Length),
        "abort" | "error" => Some(Finish::Failed),
        _ => Some(Finish::Complete),
    }
}

fn status(response: &Value) -> Option<Finish> {
    match response["status"].as_str()? {
        "completed" => Some(Finish::Complete),
        "incomplete" if response["incomplete_details"]["reason"] == "max_output_tokens" => Some(Finish::Length),
        "incomplete" => Some(Finish::Complete),
        "failed" | "cancelled" => Some(Finish::Failed),
        _ => None,
    }
}

/// Converts the token counts. In the Messages API, `input_tokens` excludes the tokens that were read from the cache or written to it.
fn usage(usage: &Value) -> Option<Usage> {
    let count = |value: &Value| value.as_u64().and_then(|it| u32::try_from(it).ok());
    let (read, written) = (count(&usage["cache_read_input_tokens"]), count(&usage["cache_creation_input_tokens"]));
    let input = count(&usage["input_tokens"]);
    usage.is_object().then(|| Usage {
        prompt_tokens: input.map(|it| it.saturating_add(read.unwrap_or(0)).saturating_add(written.unwrap_or(0))),
        completion_tokens: count(&usage["output_tokens"]),
        cached_tokens: read.or_else(|| count(&usage["input_tokens_details"]["cached_tokens"])),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::chunk::FirstChoice;

    /// Compares the text, the output flag and the finish reason of an event.
    fn check(event: &Value, text: &str, output: bool, finish: Option<Finish>) -> Chunk {
        let bytes = event.to_string();
        let chunk = Chunk::parse(bytes.as_bytes()).unwrap();
        assert_eq!((chunk.choices.output, chunk.choices.finish), (output, finish), "{event}");
        let kept = FirstChoice::read(bytes.as_bytes(), output).unwrap().unwrap();
        assert_eq!(kept.text, text, "{event}");
        chunk
    }

    #[test]
    fn a_stream_of_the_messages_api_is_read() {
        let start = json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 7,
            "cache_read_input_tokens": 16, "output_tokens": 0}}});
        let usage = check(&start, "", false, None).usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.cached_tokens), (Some(23), Some(16)));
        let open = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
        assert!(!check(&open, "", false, None).choices.silent_token);
        let delta = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
        check(&delta(json!({"type": "text_delta", "text": " a"})), " a", true, None);
        check(&delta(json!({"type": "thinking_delta", "thinking": "so"})), "", true, None);
        check(&delta(json!({"type": "input_json_delta", "partial_json": "{"})), "", true, None);
        assert!(check(&delta(json!({"type": "text_delta", "text": ""})), "", false, None).choices.silent_token);
        check(&json!({"type": "ping"}), "", false, None);
        let end =
            json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 5}});
        let end = check(&end, "", false, Some(Finish::Length));
        assert_eq!(end.usage.unwrap().completion_tokens, Some(5));
        assert!(end.choices.finished.are_all_in(Indices::from_index(0)));
    }

    #[test]
    fn a_stream_of_the_responses_api_is_read() {
        check(&json!({"type": "response.created", "response": {"status": "in_progress"}}), "", false, None);
        check(&json!({"type": "response.output_text.delta", "delta": "b", "sequence_number": 4}), "b", true, None);
        check(&json!({"type": "response.reasoning_text.delta", "delta": "b"}), "", true, None);
        let usage = json!({"input_tokens": 9, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 4}});
        let done = json!({"type": "response.completed", "response": {"status": "completed", "usage": usage}});
        let usage = check(&done, "", false, Some(Finish::Complete)).usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens), (Some(9), Some(3), Some(4)));
        let cut = json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}});
        check(&json!({"type": "response.incomplete", "response": cut}), "", false, Some(Finish::Length));
        let failed = json!({"type": "response.failed", "response": {"status": "failed"}});
        check(&failed, "", false, Some(Finish::Failed));
    }

    #[test]
    fn whole_answers_are_read() {
        let message = json!({"type": "message", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 2}});
        check(&message, "ab", true, Some(Finish::Complete));
        let output = json!([{"type": "reasoning", "content": [{"type": "reasoning_text", "text": "so"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "a"}]}]);
        let response =
            json!({"object": "response", "status": "completed", "output": output, "usage": {"output_tokens": 2}});
        check(&response, "a", true, Some(Finish::Complete));
    }

    #[test]
    fn another_type_is_read_as_before() {
        let chunk = Chunk::parse(br#"{"type":"other","choices":[{"text":"a"}]}"#).unwrap();
        assert!(chunk.choices.output);
        assert!(Chunk::parse(br#"{"type":"error","error":{"message":"m"}}"#).unwrap().is_error());
    }
}
