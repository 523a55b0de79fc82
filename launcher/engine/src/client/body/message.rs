//! Writes the fields of a request body that hold the prompt, in the format of each API.

use std::sync::Arc;

use crds::benchmark_run::Api;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Content, Prompt, push_quoted, push_text};
use crate::image::Image;

/// The prompt's field name in a completion request, with the comma before it.
pub(super) const PROMPT: &[u8] = b",\"prompt\":";

/// Appends the prompt, preceded by the system message.
pub(super) fn push(api: Api, content: &Content<'_>, body: &mut Vec<u8>) {
    match (api, content.prompt) {
        (Api::Completions, Prompt::TokenIds(ids)) => {
            body.extend_from_slice(PROMPT);
            push_all(body, [ids]);
        }
        (Api::Completions, Prompt::Text(text)) => {
            body.extend_from_slice(PROMPT);
            body.push(b'"');
            push_before(body, content.system);
            push_text(body, text);
            body.push(b'"');
        }
        (Api::Completions, Prompt::Messages(messages)) => {
            body.extend_from_slice(PROMPT);
            body.push(b'"');
            push_before(body, content.system);
            push_text(body, &joined_texts(messages));
            body.push(b'"');
        }
        (Api::Responses, Prompt::Text(text)) if content.system.is_empty() && content.images.is_empty() => {
            body.extend_from_slice(b",\"input\":");
            push_quoted(body, text);
        }
        (Api::Messages, prompt) => push_anthropic(prompt, content, body),
        (Api::Chat, prompt) => push_list(api, ",\"messages\":[", prompt, content, body),
        (Api::Responses, prompt) => push_list(api, ",\"input\":[", prompt, content, body),
    }
}

/// Appends the JSON list of messages. `start` is the text before the list.
fn push_list(api: Api, start: &str, prompt: Prompt<'_>, content: &Content<'_>, body: &mut Vec<u8>) {
    push_all(body, [start]);
    if !content.system.is_empty() {
        body.extend_from_slice(b"{\"role\":\"system\",\"content\":");
        push_quoted(body, content.system);
        body.push(b'}');
    }
    let comma = if content.system.is_empty() { "" } else { "," };
    match prompt {
        Prompt::Messages(messages) => match members(messages) {
            "" => {}
            members => push_all(body, [comma, members]),
        },
        Prompt::Text(text) | Prompt::TokenIds(text) => {
            push_all(body, [comma]);
            push_user(api, text, content, body);
        }
    }
    body.push(b']');
}

/// Anthropic's Messages API has a separate field for the system message.
fn push_anthropic(prompt: Prompt<'_>, content: &Content<'_>, body: &mut Vec<u8>) {
    let split = match prompt {
        Prompt::Messages(messages) => without_system(messages),
        Prompt::Text(_) | Prompt::TokenIds(_) => None,
    };
    let (of_messages, others) = split.unzip();
    let systems: Vec<&str> =
        [content.system, of_messages.as_deref().unwrap_or_default()].into_iter().filter(|it| !it.is_empty()).collect();
    if !systems.is_empty() {
        body.extend_from_slice(b",\"system\":");
        push_quoted(body, &systems.join(" "));
    }
    body.extend_from_slice(b",\"messages\":[");
    match prompt {
        Prompt::Messages(messages) => push_all(body, [members(others.as_deref().unwrap_or(messages))]),
        Prompt::Text(text) | Prompt::TokenIds(text) => push_user(Api::Messages, text, content, body),
    }
    body.push(b']');
}

/// Appends the message of the user. Its content is a text, or a list of parts if there are images.
fn push_user(api: Api, text: &str, content: &Content<'_>, body: &mut Vec<u8>) {
    body.extend_from_slice(b"{\"role\":\"user\",\"content\":");
    if content.images.is_empty() {
        push_quoted(body, text);
    } else {
        body.push(b'[');
        let kind = if api == Api::Responses { "input_text" } else { "text" };
        let push_text_part = |body: &mut Vec<u8>| {
            push_all(body, ["{\"type\":\"", kind, "\",\"text\":"]);
            push_quoted(body, text);
            body.push(b'}');
        };
        if content.images_last {
            push_text_part(body);
            body.push(b',');
            push_images(api, content.images, body);
        } else {
            push_images(api, content.images, body);
            body.push(b',');
            push_text_part(body);
        }
        body.push(b']');
    }
    body.push(b'}');
}

fn push_images(api: Api, images: &[Arc<Image>], body: &mut Vec<u8>) {
    for (place, image) in images.iter().enumerate() {
        if place > 0 {
            body.push(b',');
        }
        let (kind, data) = (image.media_type, image.base64.as_ref());
        match api {
            Api::Messages => push_all(
                body,
                [
                    "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"",
                    kind,
                    "\",\"data\":\"",
                    data,
                    "\"}}",
                ],
            ),
            Api::Responses => {
                push_all(body, ["{\"type\":\"input_image\",\"image_url\":\"data:", kind, ";base64,", data, "\"}"]);
            }
            Api::Chat | Api::Completions => push_all(
                body,
                ["{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:", kind, ";base64,", data, "\"}}"],
            ),
        }
    }
}

/// Appends a text and a space, if the text is not empty. Used for a text that precedes the prompt of a completion.
fn push_before(body: &mut Vec<u8>, text: &str) {
    if !text.is_empty() {
        push_text(body, text);
        body.push(b' ');
    }
}

fn push_all<const N: usize>(body: &mut Vec<u8>, parts: [&str; N]) {
    parts.into_iter().for_each(|it| body.extend_from_slice(it.as_bytes()));
}

/// Returns a JSON list without its brackets.
fn members(list: &str) -> &str {
    let list = list.trim();
    list.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(list).trim()
}

/// The fields of a chat message that the launcher reads.
#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Value,
}

impl Message {
    /// Returns the text parts of the content, joined with spaces.
    fn text(&self) -> String {
        match &self.content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                let texts = parts.iter().filter_map(|it| it.get("text").and_then(Value::as_str));
                texts.collect::<Vec<_>>().join(" ")
            }
            _ => String::new(),
        }
    }
}

/// Returns the texts of all messages, joined with spaces.
fn joined_texts(messages: &str) -> String {
    let messages: Vec<Message> = serde_json::from_str(messages).unwrap_or_default();
    let texts = messages.iter().map(Message::text).filter(|it| !it.is_empty());
    texts.collect::<Vec<_>>().join(" ")
}

/// Separates the system messages from the other messages. Returns the joined system texts and the list of other messages; `None` if there
/// are no system messages.
fn without_system(messages: &str) -> Option<(String, String)> {
    if !messages.contains("\"system\"") {
        return None;
    }
    let all: Vec<Value> = serde_json::from_str(messages).ok()?;
    let (systems, others): (Vec<Value>, Vec<Value>) = all.into_iter().partition(|it| it["role"] == "system");
    let texts = systems.into_iter().map(|mut it| Message { content: it["content"].take() }.text());
    Some((texts.collect::<Vec<_>>().join(" "), json!(others).to_string()))
}
