//! The prompt of a request, counted. Pure.

use serde_json::{Map, Value};

use super::error::ApiError;
use super::text::{self, Prompt, VOCABULARY};
use super::validation::python_text;

/// Ids of what has no text, as in Llama 3: `<|begin_of_text|>`, for an empty prompt; before and after the role of a
/// message; and after its text.
const NO_TEXT: u32 = 128_000;
const START_HEADER: u32 = 128_006;
const END_HEADER: u32 = 128_007;
const END_OF_TURN: u32 = 128_009;

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

    /// One without any token becomes a single one.
    fn not_empty(mut self) -> Self {
        if self.prompt.tokens == 0 {
            self.prompt.add_token(NO_TEXT);
        }
        self
    }

    /// Its length.
    pub fn length(&self) -> PromptLength {
        PromptLength { tokens: self.prompt.tokens, is_text: self.is_text }
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

/// The prompt of `/v1/chat/completions`: all messages, with what a chat template adds: the role and two marks before each
/// message, a mark after it, and the role of the answer at the end. `prompt` is an empty one.
pub fn chat_prompt(body: &Map<String, Value>, mut prompt: Prompt) -> Result<Given, ApiError> {
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
    for (index, message) in messages.iter().enumerate() {
        let wrong = |field: &str, kind, text, value: &Value| {
            ApiError::schema(kind, &format!("body.messages.{index}{field}"), text, &python_text(value))
        };
        let Value::Object(message) = message else {
            return Err(wrong("", "dict_type", "Input should be a valid dictionary", message));
        };
        add_header(&mut prompt, message.get("role").and_then(Value::as_str).unwrap_or_default());
        match message.get("content") {
            None | Some(Value::Null) => {}
            Some(content @ (Value::String(_) | Value::Array(_))) => {
                texts(content).into_iter().for_each(|text| prompt.add_text(text));
            }
            Some(other) => return Err(wrong(".content", "string_type", "Input should be a valid string", other)),
        }
        prompt.add_token(END_OF_TURN);
    }
    add_header(&mut prompt, "assistant");
    Ok(Given::text(prompt))
}

/// A role is one token, whatever it is.
fn add_header(prompt: &mut Prompt, role: &str) {
    prompt.add_token(START_HEADER);
    prompt.add_token(text::ids(role).first().copied().unwrap_or(NO_TEXT));
    prompt.add_token(END_HEADER);
}

/// The texts of a message. Parts without text, such as images, are not simulated.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => content.as_str().into_iter().collect(),
    }
}

/// The prompt of `/v1/completions`: a text or a list of token ids, or a list of one of them. `prompt` is an
/// empty one.
pub fn completion_prompt(body: &Map<String, Value>, prompt: Prompt) -> Result<Given, ApiError> {
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
        Some(Value::String(text)) => Ok(text_prompt(text, prompt)),
        Some(Value::Array(list)) => match list.as_slice() {
            [] => Err(ApiError::bad(None, "You must pass at least one prompt")),
            [Value::Number(_), ..] => token_prompt(list, "body.prompt", prompt),
            [Value::String(text)] => Ok(text_prompt(text, prompt)),
            [Value::Array(tokens)] => token_prompt(tokens, "body.prompt.0", prompt),
            [Value::String(_) | Value::Array(_), ..] => Err(ApiError::parameter(
                "prompt",
                "The simulator takes one prompt in a request; send one request each.",
            )),
            [other, ..] => wrong("body.prompt.0", other),
        },
        Some(other) => wrong("body.prompt", other),
    }
}

fn text_prompt(text: &str, mut prompt: Prompt) -> Given {
    prompt.add_text(text);
    Given::text(prompt).not_empty()
}

fn token_prompt(list: &[Value], loc: &str, prompt: Prompt) -> Result<Given, ApiError> {
    let mut given = Given { prompt, is_text: false, bad_token: None };
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
    Ok(given.not_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ids(body: &Value) -> Vec<u32> {
        let fields = body.as_object().unwrap();
        let empty = Prompt::new(16, 0, true);
        let is_completion = fields.contains_key("prompt");
        let given = if is_completion { completion_prompt(fields, empty) } else { chat_prompt(fields, empty) };
        let given = given.and_then(Given::counted).unwrap();
        let ids = given.prompt.ids.clone().unwrap();
        assert_eq!(ids.len(), given.length().tokens as usize, "{body}");
        ids
    }

    fn check(body: Value, expected: usize) {
        assert_eq!(ids(&body).len(), expected, "{body}");
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
            assert_eq!(ids(&json!({"prompt": prompt})), [5, 0, 128_255]);
        }
        assert_eq!(ids(&json!({"prompt": ["the sea"]})), text::ids("the sea"));
    }

    #[test]
    fn a_chat_that_goes_on_begins_with_the_chat_before_and_its_answer() {
        let user = json!({"role": "user", "content": "Tell me"});
        let before = ids(&json!({"messages": [user]}));
        let answer = json!({"role": "assistant", "content": "the sea"});
        let after = ids(&json!({"messages": [user, answer, user]}));
        assert_eq!(after[..before.len()], before);
        assert_eq!(after[before.len()..][..2], text::ids("the sea"));
        // The role counts.
        assert_ne!(ids(&json!({"messages": [{"role": "system", "content": "Tell me"}]})), before);
    }
}
