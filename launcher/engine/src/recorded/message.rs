//! A message of a recorded session, in chat format. Pure.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

/// A message that one or more requests contain.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    /// The recorded message, as a JSON object.
    pub(crate) recorded: String,
    /// Index of the request that this message answers, if the server's answer of this run replaces it; `None` means that it is sent as recorded.
    pub(crate) answer_of: Option<u32>,
}

/// The parts of a recorded message that are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// The text of the message; empty if it has none.
    pub(crate) text: String,
    /// The ids of its tool calls, in alphabetical order.
    pub(crate) tool_calls: Vec<String>,
    /// The names of the functions that it calls, in order.
    pub(crate) functions: Vec<String>,
}

impl Message {
    /// Returns the recorded message, with the marker text put before its content.
    pub(crate) fn marked(&self, marker: Option<&str>) -> Cow<'_, str> {
        let parsed =
            marker.and_then(|marker| Some((marker, serde_json::from_str::<Map<String, Value>>(&self.recorded).ok()?)));
        let Some((marker, mut message)) = parsed else { return Cow::Borrowed(&self.recorded) };
        match message.get_mut("content") {
            Some(Value::String(text)) => *text = format!("{marker} {text}"),
            Some(Value::Array(parts)) => parts.insert(0, json!({ "type": "text", "text": marker })),
            _ => {
                message.insert("content".to_owned(), marker.into());
            }
        }
        Cow::Owned(Value::Object(message).to_string())
    }

    pub(super) fn bytes(&self) -> usize {
        self.recorded.len()
    }
}

impl Said {
    /// Extracts the content of a message in chat format.
    pub(super) fn from_message(message: &Map<String, Value>) -> Said {
        let text = match message.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => {
                let texts = parts.iter().filter_map(|it| it.get("text").and_then(Value::as_str));
                texts.collect::<Vec<_>>().join(" ")
            }
            _ => String::new(),
        };
        let calls = message.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let ids = calls.iter().filter_map(|it| it.get("id").and_then(Value::as_str));
        let mut tool_calls: Vec<String> = ids.map(str::to_owned).collect();
        tool_calls.sort_unstable();
        let names = calls.iter().filter_map(|it| it.pointer("/function/name").and_then(Value::as_str));
        Said { text, tool_calls, functions: names.map(str::to_owned).collect() }
    }
}

/// Converts a recorded message to chat format. The recorded content is in `content`, or in the `parts` of OpenTelemetry's conventions. The
/// role `developer` becomes `system`.
///
/// # Errors
/// The value is not a message.
pub(super) fn of_chat(message: &Value) -> Result<Map<String, Value>, String> {
    let wrong = || "a message is no object with a role".to_owned();
    let Value::Object(message) = message else { return Err(wrong()) };
    let role = match message.get("role").and_then(Value::as_str).ok_or_else(wrong)? {
        "developer" => "system",
        role => role,
    };
    let mut chat = Map::new();
    chat.insert("role".into(), role.into());
    if let Some(Value::Array(parts)) = message.get("parts") {
        let (mut texts, mut calls) = (Vec::new(), Vec::new());
        for part in parts {
            let text = |key: &str| part.get(key).and_then(Value::as_str).unwrap_or_default();
            match text("type") {
                "tool_call" => {
                    let arguments = match part.get("arguments") {
                        Some(Value::String(text)) => text.clone(),
                        Some(other) => other.to_string(),
                        None => "{}".to_owned(),
                    };
                    let function = json!({ "name": text("name"), "arguments": arguments });
                    calls.push(json!({ "id": text("id"), "type": "function", "function": function }));
                }
                "tool_call_response" => {
                    let result = part.get("result").or(part.get("response"));
                    texts.push(
                        result.map_or_else(String::new, |it| it.as_str().map_or_else(|| it.to_string(), str::to_owned)),
                    );
                    chat.insert("tool_call_id".into(), text("id").into());
                }
                _ => texts.push(text("content").to_owned()),
            }
        }
        chat.insert("content".into(), texts.join(" ").into());
        if !calls.is_empty() {
            chat.insert("tool_calls".into(), calls.into());
        }
        return Ok(chat);
    }
    let content = message.get("content").cloned().unwrap_or_default();
    chat.insert("content".into(), if content.is_null() { "".into() } else { content });
    for key in ["tool_calls", "tool_call_id", "name"] {
        if let Some(value) = message.get(key).filter(|it| !it.is_null()) {
            chat.insert(key.into(), value.clone());
        }
    }
    Ok(chat)
}
