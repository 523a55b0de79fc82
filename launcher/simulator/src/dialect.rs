//! Converts requests of the Responses and Messages APIs into the equivalent chat. Pure.
//!
//! Fields with the same meaning in all APIs, such as `stream` and `ignore_eos`, stay unchanged.

use serde_json::{Map, Value, json};

use super::api::Dialect;
use super::error::ApiError;

/// Returns the body of the equivalent chat.
pub fn chat_body(dialect: Dialect, body: Value) -> Result<Value, ApiError> {
    let Value::Object(body) = body else { return Ok(body) };
    Ok(match dialect {
        Dialect::OpenAi => Value::Object(body),
        Dialect::Responses => responses(body)?,
        Dialect::Messages => messages(body)?,
    })
}

fn missing(field: &str) -> ApiError {
    ApiError::schema("missing", &format!("body.{field}"), "Field required", "None")
}

fn responses(mut body: Map<String, Value>) -> Result<Value, ApiError> {
    let input = body.remove("input").ok_or_else(|| missing("input"))?;
    let mut messages = Vec::new();
    if let Some(system) = body.remove("instructions").filter(|it| !it.is_null()) {
        messages.push(json!({"role": "system", "content": system}));
    }
    match input {
        Value::Array(items) => messages.extend(items.into_iter().map(|item| match item["type"].as_str() {
            Some("function_call_output") => json!({"role": "tool", "content": item["output"]}),
            Some("function_call") => json!({"role": "assistant", "content": item["arguments"]}),
            _ => item,
        })),
        text => messages.push(json!({"role": "user", "content": text})),
    }
    body.insert("messages".into(), Value::Array(messages));
    rename(&mut body, "max_output_tokens", "max_completion_tokens");
    if let Some(text) = body.remove("text") {
        let format = &text["format"];
        if !format.is_null() {
            body.insert("response_format".into(), json!({"type": format["type"], "json_schema": format}));
        }
    }
    if let Some(Value::Array(tools)) = body.get_mut("tools") {
        for tool in tools.iter_mut().filter(|it| it.get("function").is_none()) {
            *tool = json!({"type": "function", "function": tool});
        }
    }
    if let Some(choice) = body.get_mut("tool_choice").filter(|it| it.is_object() && it.get("function").is_none()) {
        *choice = json!({"type": "function", "function": {"name": choice["name"]}});
    }
    Ok(Value::Object(body))
}

fn messages(mut body: Map<String, Value>) -> Result<Value, ApiError> {
    if body.get("max_tokens").is_none_or(Value::is_null) {
        return Err(missing("max_tokens"));
    }
    let given = match body.remove("messages") {
        Some(Value::Array(given)) => given,
        Some(other) => vec![other],
        None => return Err(missing("messages")),
    };
    let system = body.remove("system").filter(|it| !it.is_null());
    let system = system.map(|content| json!({"role": "system", "content": content}));
    body.insert("messages".into(), system.into_iter().chain(given).collect());
    rename(&mut body, "stop_sequences", "stop");
    if let Some(Value::Array(tools)) = body.get_mut("tools") {
        for tool in tools.iter_mut() {
            *tool = json!({"type": "function", "function": tool});
        }
    }
    if let Some(choice) = body.remove("tool_choice") {
        let named = || json!({"type": "function", "function": {"name": choice["name"]}});
        let choice = match choice["type"].as_str() {
            Some("any") => json!("required"),
            Some("tool") => named(),
            Some(other) => json!(other),
            None => choice,
        };
        body.insert("tool_choice".into(), choice);
    }
    Ok(Value::Object(body))
}

fn rename(body: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = body.remove(from) {
        body.insert(to.into(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dialect: Dialect, body: Value, expected: &Value) {
        assert_eq!(chat_body(dialect, body).unwrap(), *expected);
    }

    #[test]
    fn a_response_is_a_chat() {
        let body =
            json!({"model": "m", "input": "hi", "instructions": "be brief", "max_output_tokens": 5, "stream": true});
        let messages = json!([{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}]);
        let chat = json!({"model": "m", "messages": messages, "max_completion_tokens": 5, "stream": true});
        check(Dialect::Responses, body, &chat);
        let items = json!([{"role": "user", "content": [{"type": "input_text", "text": "a"}]}]);
        check(Dialect::Responses, json!({"input": items}), &json!({"messages": items}));
        assert!(chat_body(Dialect::Responses, json!({})).unwrap_err().message.contains("'loc': 'body.input'"));
    }

    #[test]
    fn a_message_is_a_chat() {
        let user = json!({"role": "user", "content": "hi"});
        let body = json!({"messages": [user], "system": "be brief", "max_tokens": 5, "stop_sequences": ["x"],
            "tools": [{"name": "f"}], "tool_choice": {"type": "tool", "name": "f"}});
        let function = json!({"type": "function", "function": {"name": "f"}});
        let messages = json!([{"role": "system", "content": "be brief"}, user]);
        let chat =
            json!({"messages": messages, "max_tokens": 5, "stop": ["x"], "tools": [function], "tool_choice": function});
        check(Dialect::Messages, body, &chat);
        let error = chat_body(Dialect::Messages, json!({"messages": []})).unwrap_err();
        assert!(error.message.contains("'loc': 'body.max_tokens'"));
    }
}
