//! Refuses requests for features that vLLM has and the simulator lacks, and requests that vLLM itself refuses. Both get status 400, with vLLM's
//! message if vLLM has one. The simulator never answers 200 to a request that it did not fulfil. Pure.

use serde_json::{Map, Value};

use super::api::Endpoint;
use super::error::ApiError;

/// Returns an error for the first unsupported feature.
pub fn check(endpoint: Endpoint, body: &Map<String, Value>) -> Result<(), ApiError> {
    structured_outputs(body)?;
    prompt_logprobs(body)?;
    let is_set = |name: &str| body.get(name).is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)));
    for (name, what) in [
        ("use_beam_search", "beam search"),
        ("prompt_embeds", "prompts by their embeddings"),
        ("logprob_token_ids", "log probabilities of chosen tokens"),
        ("kv_transfer_params", "KV transfer"),
    ] {
        if is_set(name) {
            return Err(absent(name, what));
        }
    }
    match endpoint {
        Endpoint::Chat => tools(body),
        Endpoint::Completions if is_set("echo") && body.get("logprobs").is_some_and(|it| !it.is_null()) => {
            Err(absent("echo", "log probabilities of a prompt, which `echo` with `logprobs` asks for"))
        }
        Endpoint::Completions => Ok(()),
    }
}

fn absent(param: &str, what: &str) -> ApiError {
    ApiError::parameter(param, format!("The simulator does not have {what}; leave `{param}` out."))
}

fn structured_outputs(body: &Map<String, Value>) -> Result<(), ApiError> {
    let kind = body.get("response_format").and_then(|format| format.get("type")).and_then(Value::as_str);
    match kind {
        Some("json_schema") if body["response_format"].get("json_schema").is_none_or(Value::is_null) => {
            let text = "When response_format type is 'json_schema', the 'json_schema' field must be provided.";
            Err(ApiError::parameter("response_format", text))
        }
        Some(kind) if !["text", "json_object", "json_schema"].contains(&kind) => {
            Err(absent("response_format", &format!("structured outputs (type '{}')", truncated(kind))))
        }
        _ => Ok(()),
    }
}

fn prompt_logprobs(body: &Map<String, Value>) -> Result<(), ApiError> {
    let param = "prompt_logprobs";
    match body.get(param) {
        None | Some(Value::Null) => Ok(()),
        Some(value) => match value.as_i64() {
            None => Err(ApiError::value(param, value, "`prompt_logprobs` must be an integer.")),
            Some(count) if body.get("stream") == Some(&Value::Bool(true)) && (count > 0 || count == -1) => {
                Err(ApiError::parameter(param, "`prompt_logprobs` are not available when `stream=True`."))
            }
            Some(count) if count < -1 => {
                Err(ApiError::value(param, count, "`prompt_logprobs` must be a positive value or -1."))
            }
            Some(_) => Err(absent(param, "log probabilities of a prompt")),
        },
    }
}

/// Checks tools like a vLLM that was started with a parser for tool calls.
fn tools(body: &Map<String, Value>) -> Result<(), ApiError> {
    let tools = body.get("tools").filter(|tools| !tools.is_null());
    if tools.and_then(Value::as_array).is_some_and(Vec::is_empty) {
        let text = "`tools` must not be an empty array. Either provide at least one tool or omit the field entirely.";
        return Err(ApiError::parameter("tools", text));
    }
    match body.get("tool_choice") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(choice)) if choice == "none" => Ok(()),
        Some(_) if tools.is_none() => {
            Err(ApiError::parameter("tool_choice", "When using `tool_choice`, `tools` must be set."))
        }
        Some(Value::String(choice)) if ["auto", "required"].contains(&choice.as_str()) => Ok(()),
        Some(Value::String(other)) => {
            let text = format!(
                "Invalid value for `tool_choice`: {}! Only named tools, \"none\", \"auto\" or \"required\" are supported.",
                truncated(other)
            );
            Err(ApiError::parameter("tool_choice", text))
        }
        Some(named) => {
            let name = named.get("function").and_then(|it| it.get("name")).and_then(Value::as_str).unwrap_or_default();
            let is_named = |tool: &Value| tool["function"]["name"] == name;
            if tools.and_then(Value::as_array).is_some_and(|it| it.iter().any(is_named)) {
                return Ok(());
            }
            let text = format!(
                "The tool specified in `tool_choice` does not match any of the specified `tools`: {}",
                truncated(name)
            );
            Err(ApiError::parameter("tool_choice", text))
        }
    }
}

/// Returns at most the first 64 characters of a text.
fn truncated(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use Endpoint::{Chat, Completions};

    #[test]
    fn what_is_not_done_is_refused() {
        let tools = json!([{"type": "function", "function": {"name": "f"}}]);
        let other = json!({"type": "function", "function": {"name": "g"}});
        for (endpoint, body, expected) in [
            (Chat, json!({"tools": []}), "must not be an empty array"),
            (Chat, json!({"tools": tools, "tool_choice": other}), "does not match any of the specified `tools`: g"),
            (Chat, json!({"tools": tools, "tool_choice": "some"}), "Invalid value for `tool_choice`: some!"),
            (Chat, json!({"tool_choice": "auto"}), "`tools` must be set"),
            (Chat, json!({"response_format": {"type": "json_schema"}}), "'json_schema' field must be provided"),
            (
                Completions,
                json!({"response_format": {"type": "structural_tag"}}),
                "structured outputs (type 'structural_tag')",
            ),
            (Completions, json!({"prompt_logprobs": 1, "stream": true}), "not available when `stream=True`"),
            (Completions, json!({"prompt_logprobs": -2}), "must be a positive value or -1"),
            (Completions, json!({"prompt_logprobs": 0}), "log probabilities of a prompt"),
            (Completions, json!({"echo": true, "logprobs": 1}), "log probabilities of a prompt"),
            (Completions, json!({"use_beam_search": true}), "beam search"),
        ] {
            let error = check(endpoint, body.as_object().unwrap()).unwrap_err();
            assert!(error.status == 400 && error.message.contains(expected), "{body}: {}", error.message);
        }
    }

    #[test]
    fn what_changes_nothing_is_taken() {
        let tools = json!([{"type": "function", "function": {"name": "f"}}]);
        for (endpoint, body) in [
            (Chat, json!({"tools": tools, "tool_choice": "none"})),
            (Chat, json!({"tools": tools})),
            (Chat, json!({"tools": tools, "tool_choice": "required"})),
            (Chat, json!({"response_format": {"type": "json_schema", "json_schema": {"name": "p", "schema": {}}}})),
            (Chat, json!({"tools": null, "tool_choice": null, "response_format": null, "structured_outputs": null})),
            (
                Chat,
                json!({"response_format": {"type": "text"}, "use_beam_search": false, "echo": true, "logprobs": true}),
            ),
            (Completions, json!({"echo": true, "prompt_logprobs": null})),
        ] {
            check(endpoint, body.as_object().unwrap()).unwrap();
        }
    }
}
