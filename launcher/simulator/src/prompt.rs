//! Reads the prompt of a request, and counts its tokens. Pure.

use serde_json::{Map, Value};

use super::error::ApiError;
use super::images;
use super::text::{self, Prompt, VOCABULARY};
use super::validation::python_text;

/// Ids of tokens without text, as in Llama 3: `<|begin_of_text|>` for an empty prompt, one token before and one after the role of a message, and one
/// after the text of a message.
const NO_TEXT: u32 = 128_000;
const START_HEADER: u32 = 128_006;
const END_HEADER: u32 = 128_007;
const END_OF_TURN: u32 = 128_009;

/// A prompt, and whether the request contained it as text. Of a text, vLLM counts at most one token more than the context length.
pub struct RequestPrompt {
    /// The prompt, with its length and its digests.
    pub prompt: Prompt,
    is_text: bool,
    bad_token: Option<u64>,
}

impl RequestPrompt {
    fn text(prompt: Prompt) -> Self {
        RequestPrompt { prompt, is_text: true, bad_token: None }
    }

    /// Returns the prompt, or an error if it contains a token that does not exist.
    pub fn counted(self) -> Result<Self, ApiError> {
        match self.bad_token {
            Some(id) => Err(ApiError::bad(None, format!("Token id {id} is out of vocabulary"))),
            None => Ok(self),
        }
    }

    /// Replaces an empty prompt with a single token.
    fn not_empty(mut self) -> Self {
        if self.prompt.tokens == 0 {
            self.prompt.add_token(NO_TEXT);
        }
        self
    }

    /// The length of the prompt.
    pub fn length(&self) -> PromptLength {
        PromptLength { tokens: self.prompt.tokens, is_text: self.is_text }
    }
}

/// How long a prompt is.
#[derive(Clone, Copy, Debug)]
pub struct PromptLength {
    /// The length in tokens, at least 1.
    pub tokens: u32,
    /// Whether the request contained it as text.
    pub is_text: bool,
}

/// Reads the prompt of `/v1/chat/completions`: all messages, with the tokens that a chat template adds. Before each message these are two marks and
/// the role, and after it one mark. At the end there is the role of the answer. `prompt` must be empty.
pub fn chat_prompt(body: &Map<String, Value>, mut prompt: Prompt, model: &str) -> Result<RequestPrompt, ApiError> {
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
                for part in parts(content, model)? {
                    match part {
                        Part::Text(text) => prompt.add_text(text),
                        Part::Image(url) => images::add(&mut prompt, url),
                    }
                }
            }
            Some(other) => return Err(wrong(".content", "string_type", "Input should be a valid string", other)),
        }
        if let Some(calls) = message.get("tool_calls").filter(|it| !it.is_null()) {
            prompt.add_text(&calls.to_string());
        }
        prompt.add_token(END_OF_TURN);
    }
    if messages.is_empty() {
        return Err(ApiError::bad(Some("messages"), "messages is an empty list; send at least one message"));
    }
    // A chat template also adds the tools to the prompt.
    if let Some(tools) = body.get("tools").filter(|it| it.is_array()) {
        prompt.add_text(&tools.to_string());
    }
    add_header(&mut prompt, "assistant");
    Ok(RequestPrompt::text(prompt))
}

/// Adds the header of a message. A role is always one token, whatever it is.
fn add_header(prompt: &mut Prompt, role: &str) {
    prompt.add_token(START_HEADER);
    prompt.add_token(text::ids(role).first().copied().unwrap_or(NO_TEXT));
    prompt.add_token(END_HEADER);
}

/// A part of a message.
enum Part<'a> {
    Text(&'a str),
    /// The URL of an image.
    Image(&'a str),
}

/// Returns the parts of a message. Parts other than text and images are refused, as by a model that does not support them.
fn parts<'a>(content: &'a Value, model: &str) -> Result<Vec<Part<'a>>, ApiError> {
    let Value::Array(parts) = content else { return Ok(content.as_str().into_iter().map(Part::Text).collect()) };
    let part = |part: &'a Value| match (part.get("type").and_then(Value::as_str), part.get("text")) {
        (Some("text" | "input_text" | "output_text"), Some(Value::String(text))) => Ok(Part::Text(text)),
        (Some("image_url" | "input_image" | "image"), _) => image_url(part)
            .map(Part::Image)
            .ok_or_else(|| ApiError::parameter("image_url", "Missing 'url' in a part of type 'image_url'.")),
        (Some("tool_result" | "tool_use" | "thinking"), _) => {
            let text = ["content", "thinking"].iter().find_map(|it| part.get(*it)?.as_str());
            Ok(Part::Text(text.unwrap_or_default()))
        }
        (Some("text" | "input_text" | "output_text"), _) => {
            Err(ApiError::parameter("text", "Missing 'text' field in a part of type 'text'."))
        }
        (Some(_), _) => Err(ApiError::bad(None, format!("{model} is not a multimodal model"))),
        (None, _) if part.is_string() => Ok(Part::Text(part.as_str().unwrap_or_default())),
        (None, _) => Err(ApiError::parameter("type", "Missing 'type' field in multimodal part.")),
    };
    parts.iter().map(part).collect()
}

/// Returns the URL or the data of an image, in the form of any of the APIs.
fn image_url(part: &Value) -> Option<&str> {
    let image = &part["image_url"];
    let url = image.as_str().or_else(|| image["url"].as_str());
    url.or_else(|| part["source"]["url"].as_str()).or_else(|| part["source"]["data"].as_str())
}

/// Maximum number of prompts per request, as in vLLM.
const MAX_PROMPTS: usize = 1_024;

/// Reads the prompts of `/v1/completions`: a text or a list of token ids, or a list of these. `prompt` must be empty.
pub fn completion_prompts(body: &Map<String, Value>, prompt: &Prompt) -> Result<Vec<RequestPrompt>, ApiError> {
    if body.get("suffix").is_some_and(|suffix| !suffix.is_null()) {
        return Err(ApiError::bad(Some("suffix"), "suffix is only supported for models with FIM completion rendering"));
    }
    let missing =
        || Err(ApiError::parameter("prompt", "Either prompt or prompt_embeds must be provided and non-empty."));
    let wrong = |loc: &str, value: &Value| {
        let text = "Input should be a valid string or a list of token ids";
        ApiError::schema("string_type", loc, text, &python_text(value))
    };
    match body.get("prompt") {
        None | Some(Value::Null) => missing(),
        Some(Value::String(text)) if text.is_empty() => missing(),
        Some(Value::String(text)) => Ok(vec![text_prompt(text, prompt.clone())]),
        Some(Value::Array(list)) => match list.as_slice() {
            [] => Err(ApiError::bad(None, "You must pass at least one prompt")),
            [Value::Number(_), ..] => Ok(vec![token_prompt(list, "body.prompt", prompt.clone())?]),
            all if all.len() > MAX_PROMPTS => Err(ApiError::parameter(
                "prompt",
                format!("prompt list length {} exceeds the maximum allowed count of {MAX_PROMPTS}.", all.len()),
            )),
            all => {
                let one = |(index, one): (usize, &Value)| match one {
                    Value::String(text) => Ok(text_prompt(text, prompt.clone())),
                    Value::Array(tokens) if tokens.is_empty() => {
                        Err(ApiError::bad(None, "The decoder prompt cannot be empty"))
                    }
                    Value::Array(tokens) => token_prompt(tokens, &format!("body.prompt.{index}"), prompt.clone()),
                    other => Err(wrong(&format!("body.prompt.{index}"), other)),
                };
                all.iter().enumerate().map(one).collect()
            }
        },
        Some(other) => Err(wrong("body.prompt", other)),
    }
}

/// Returns the texts of the prompts in a body that was accepted. Token ids are converted to text.
pub fn prompt_texts(body: &Map<String, Value>) -> Vec<String> {
    let one = |prompt: &Value| match prompt {
        Value::Array(tokens) => {
            let ids: Vec<u32> = tokens.iter().filter_map(|it| u32::try_from(it.as_u64()?).ok()).collect();
            text::from_ids(&ids).concat()
        }
        text => text.as_str().unwrap_or_default().to_owned(),
    };
    match body.get("prompt") {
        Some(Value::Array(list)) if !list.first().is_some_and(Value::is_number) => list.iter().map(one).collect(),
        prompt => prompt.iter().map(|it| one(it)).collect(),
    }
}

fn text_prompt(text: &str, mut prompt: Prompt) -> RequestPrompt {
    prompt.add_text(text);
    RequestPrompt::text(prompt).not_empty()
}

fn token_prompt(list: &[Value], loc: &str, prompt: Prompt) -> Result<RequestPrompt, ApiError> {
    let mut given = RequestPrompt { prompt, is_text: false, bad_token: None };
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
        let given = if fields.contains_key("prompt") {
            let mut all = completion_prompts(fields, &empty).unwrap();
            assert_eq!(all.len(), 1, "{body}");
            all.remove(0)
        } else {
            chat_prompt(fields, empty, "m").unwrap()
        };
        let given = given.counted().unwrap();
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
        // 3 tokens for the chat, 4 per message, and the words.
        check(json!({"messages": [{"role": "user", "content": "Tell me"}]}), 9);
        let parts = json!([{"type": "text", "text": "Tell"}, {"type": "text", "text": "me"}]);
        check(json!({"messages": [{"role": "user", "content": parts}]}), 9);
        check(json!({"messages": [{"role": "system", "content": null}, {"role": "user"}]}), 11);
    }

    #[test]
    fn several_prompts_are_counted_each_for_itself() {
        for (prompt, lengths, texts) in [
            (json!(["The sea", "is", "wide."]), vec![2, 1, 2], ["The sea", "is", "wide."].as_slice()),
            (json!([[1, 2], [3]]), vec![2, 1], &[" t1 t2", " t3"]),
            (json!([7]), vec![1], &[" t7"]),
            (json!("a b"), vec![2], &["a b"]),
        ] {
            let body = json!({"prompt": prompt});
            let fields = body.as_object().unwrap();
            let all = completion_prompts(fields, &Prompt::default()).unwrap();
            assert_eq!(all.iter().map(|it| it.length().tokens).collect::<Vec<_>>(), lengths, "{body}");
            assert_eq!(prompt_texts(fields), texts, "{body}");
        }
    }

    #[test]
    fn what_is_no_prompt_is_refused() {
        for (body, expected) in [
            (json!({"prompt": [[]]}), "The decoder prompt cannot be empty"),
            (json!({"prompt": [[1], []]}), "The decoder prompt cannot be empty"),
            (json!({"prompt": vec!["a"; 1_025]}), "prompt list length 1025 exceeds"),
            (json!({"messages": []}), "messages is an empty list"),
            (json!({"messages": [{"content": [{"type": "image_url"}]}]}), "Missing 'url'"),
            (json!({"messages": [{"content": [{"type": "input_audio"}]}]}), "m is not a multimodal model"),
            (json!({"messages": [{"content": [{"text": "a"}]}]}), "Missing 'type' field"),
            (json!({"messages": [{"content": [{"type": "text"}]}]}), "Missing 'text' field"),
        ] {
            let fields = body.as_object().unwrap();
            let error = if fields.contains_key("prompt") {
                completion_prompts(fields, &Prompt::default()).err().unwrap()
            } else {
                chat_prompt(fields, Prompt::default(), "m").err().unwrap()
            };
            assert!(error.status == 400 && error.message.contains(expected), "{body}: {}", error.message);
        }
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
        // The role of a message is part of the prompt.
        assert_ne!(ids(&json!({"messages": [{"role": "system", "content": "Tell me"}]})), before);
    }
}
