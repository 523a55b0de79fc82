//! The prompt of a request, counted. Pure.

use serde_json::{Map, Value};

use super::error::ApiError;
use super::request::Endpoint;
use super::text::{self, Prompt, VOCABULARY};
use super::validation::python_text;

/// What the chat template adds to each message, and to the whole, in tokens.
const TOKENS_PER_MESSAGE: u32 = 4;
const TOKENS_PER_CHAT: u32 = 3;

/// The id of what has no text: the tokens of a template, and the one of an empty prompt. Llama 3's `<|begin_of_text|>`.
const NO_TEXT: u32 = 128_000;

/// A prompt, and whether it was text. vLLM stops counting text one token past the context.
pub struct Given {
    /// How long it is and which one.
    pub prompt: Prompt,
    is_text: bool,
    bad_token: Option<u64>,
}

impl Given {
    fn text(prompt: Prompt) -> Self {
        Given { prompt, is_text: true, bad_token: None }
    }

    /// Itself unless it holds a token that does not exist.
    pub fn counted(self) -> Result<Self, ApiError> {
        match self.bad_token {
            Some(id) => Err(ApiError::bad(None, format!("Token id {id} is out of vocabulary"))),
            None => Ok(self),
        }
    }

    /// Its length, at least 1.
    pub fn length(&self) -> PromptLength {
        PromptLength { tokens: self.prompt.tokens.max(1), is_text: self.is_text }
    }
}

/// How long a prompt is.
#[derive(Clone, Copy, Debug)]
pub struct PromptLength {
    /// In tokens, at least 1.
    pub tokens: u32,
    /// Whether it came as text.
    pub is_text: bool,
}

/// The prompt of `/v1/chat/completions`: all messages, with what a chat template adds.
pub fn chat_prompt(body: &Map<String, Value>) -> Result<Given, ApiError> {
    let messages = match body.get("messages") {
        None => {
            let input = format!("<dict of {} items>", body.len());
            return Err(ApiError::schema("missing", "body.messages", "Field required", &input));
        }
        Some(Value::Array(messages)) => messages,
        Some(other) => {
            let input = python_text(other);
            return Err(ApiError::schema("list_type", "body.messages", "Input should be a valid list", &input));
        }
    };
    let mut prompt = Prompt::default();
    prompt.add_template(TOKENS_PER_CHAT);
    for (index, message) in messages.iter().enumerate() {
        let wrong = |field: &str, kind, text, value: &Value| {
            ApiError::schema(kind, &format!("body.messages.{index}{field}"), text, &python_text(value))
        };
        let Value::Object(message) = message else {
            return Err(wrong("", "dict_type", "Input should be a valid dictionary", message));
        };
        prompt.add_template(TOKENS_PER_MESSAGE);
        match message.get("content") {
            None | Some(Value::Null) => {}
            Some(content @ (Value::String(_) | Value::Array(_))) => {
                texts(content).into_iter().for_each(|text| prompt.add_text(text));
            }
            Some(other) => return Err(wrong(".content", "string_type", "Input should be a valid string", other)),
        }
    }
    Ok(Given::text(prompt))
}

/// The texts of a message. Parts without text, such as images, are not simulated.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => content.as_str().into_iter().collect(),
    }
}

/// The token ids of the prompt in a body that was accepted, as many as were counted: those that were sent, or made-up ones
/// of a text's words.
pub fn prompt_ids(endpoint: Endpoint, body: &Map<String, Value>) -> Vec<u32> {
    let mut ids = Vec::new();
    match endpoint {
        Endpoint::Chat => {
            ids.extend([NO_TEXT; TOKENS_PER_CHAT as usize]);
            for message in body.get("messages").and_then(Value::as_array).into_iter().flatten() {
                ids.extend([NO_TEXT; TOKENS_PER_MESSAGE as usize]);
                let texts = message.get("content").map(texts).unwrap_or_default();
                ids.extend(texts.into_iter().flat_map(text::ids));
            }
        }
        Endpoint::Completions => {
            let prompt = match body.get("prompt") {
                Some(Value::Array(list)) if !list.first().is_some_and(Value::is_number) => list.first(),
                prompt => prompt,
            };
            match prompt {
                Some(Value::Array(tokens)) => {
                    ids.extend(tokens.iter().filter_map(|it| u32::try_from(it.as_u64()?).ok()));
                }
                Some(Value::String(text)) => ids = text::ids(text),
                _ => {}
            }
        }
    }
    if ids.is_empty() {
        ids.push(NO_TEXT);
    }
    ids
}

/// The prompt of `/v1/completions`: a text or a list of token ids, or a list of one of them.
pub fn completion_prompt(body: &Map<String, Value>) -> Result<Given, ApiError> {
    if body.get("suffix").is_some_and(|suffix| !suffix.is_null()) {
        return Err(ApiError::bad(Some("suffix"), "suffix is only supported for models with FIM completion rendering"));
    }
    let missing =
        || Err(ApiError::parameter("prompt", "Either prompt or prompt_embeds must be provided and non-empty."));
    let wrong = |loc: &str, value: &Value| {
        let text = "Input should be a valid string or a list of token ids";
        Err(ApiError::schema("string_type", loc, text, &python_text(value)))
    };
    match body.get("prompt") {
        None | Some(Value::Null) => missing(),
        Some(Value::String(text)) if text.is_empty() => missing(),
        Some(Value::String(text)) => Ok(text_prompt(text)),
        Some(Value::Array(list)) => match list.as_slice() {
            [] => Err(ApiError::bad(None, "You must pass at least one prompt")),
            [Value::Number(_), ..] => token_prompt(list, "body.prompt"),
            [Value::String(text)] => Ok(text_prompt(text)),
            [Value::Array(tokens)] => token_prompt(tokens, "body.prompt.0"),
            [Value::String(_) | Value::Array(_), ..] => Err(ApiError::parameter(
                "prompt",
                "The simulator takes one prompt in a request; send one request each.",
            )),
            [other, ..] => wrong("body.prompt.0", other),
        },
        Some(other) => wrong("body.prompt", other),
    }
}

fn text_prompt(text: &str) -> Given {
    let mut prompt = Prompt::default();
    prompt.add_text(text);
    Given::text(prompt)
}

fn token_prompt(list: &[Value], loc: &str) -> Result<Given, ApiError> {
    let mut given = Given { prompt: Prompt::default(), is_text: false, bad_token: None };
    for (index, token) in list.iter().enumerate() {
        let Some(id) = token.as_u64() else {
            let (loc, text) = (format!("{loc}.{index}"), "Input should be a valid integer");
            return Err(ApiError::schema("int_type", &loc, text, &python_text(token)));
        };
        match u32::try_from(id) {
            Ok(token) if id < VOCABULARY => given.prompt.add_token(token),
            _ => given.bad_token = given.bad_token.or(Some(id)),
        }
    }
    Ok(given)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(body: Value, expected: u32) {
        let fields = body.as_object().unwrap();
        let given = if fields.contains_key("prompt") { completion_prompt(fields) } else { chat_prompt(fields) };
        assert_eq!(given.and_then(Given::counted).unwrap().length().tokens, expected, "{body}");
        let endpoint = if fields.contains_key("prompt") { Endpoint::Completions } else { Endpoint::Chat };
        assert_eq!(prompt_ids(endpoint, fields).len(), expected as usize, "{body}");
    }

    #[test]
    fn every_form_of_a_prompt_is_counted() {
        check(json!({"prompt": "The sea is wide."}), 5);
        check(json!({"prompt": ["The sea is wide."]}), 5);
        check(json!({"prompt": [1, 2, 3]}), 3);
        check(json!({"prompt": [[1, 2, 3, 4]]}), 4);
        check(json!({"prompt": " "}), 1);
        // 3 for the chat, 4 for each message, and the words.
        check(json!({"messages": [{"role": "user", "content": "Tell me"}]}), 9);
        let parts = json!([{"type": "text", "text": "Tell"}, {"type": "image_url"}, {"type": "text", "text": "me"}]);
        check(json!({"messages": [{"role": "user", "content": parts}]}), 9);
        check(json!({"messages": [{"role": "system", "content": null}, {"role": "user"}]}), 11);
    }

    #[test]
    fn ids_that_were_sent_are_those_of_the_prompt() {
        for prompt in [json!([5, 0, 128_255]), json!([[5, 0, 128_255]])] {
            let body = json!({"prompt": prompt});
            assert_eq!(prompt_ids(Endpoint::Completions, body.as_object().unwrap()), [5, 0, 128_255]);
        }
        let body = json!({"prompt": ["the sea"]});
        assert_eq!(prompt_ids(Endpoint::Completions, body.as_object().unwrap()), text::ids("the sea"));
    }
}
