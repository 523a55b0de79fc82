//! Converts a body of `/v1/completions` to requests for the engine. Pure.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The parsed content of a request body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) streams: bool,
    /// Whether a stream ends with a chunk that contains the usage.
    pub(crate) usage: bool,
    /// Whether the response contains token ids.
    pub(crate) token_ids: bool,
    /// The name of the model, which the response repeats.
    pub(crate) model: String,
    /// The sampling parameters, under the names of vLLM's SamplingParams.
    fields: Map<String, Value>,
}

/// A prompt. The response has one choice for each prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Prompt {
    Text(String),
    Ids(Vec<u32>),
}

impl Request {
    /// Returns the sampling parameters of a prompt as JSON. Includes the prompt if it is a text.
    pub(crate) fn fields(&self, prompt: &Prompt) -> String {
        let Prompt::Text(text) = prompt else { return Value::from(self.fields.clone()).to_string() };
        let mut fields = self.fields.clone();
        fields.insert("prompt".into(), text.as_str().into());
        Value::from(fields).to_string()
    }
}

#[derive(Deserialize)]
struct Body {
    prompt: Prompts,
    #[serde(default)]
    model: String,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    return_token_ids: Option<bool>,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Prompts {
    Text(String),
    Ids(Vec<u32>),
    IdLists(Vec<Vec<u32>>),
    Texts(Vec<String>),
}

/// API fields that the LLM class does not support, each with the error text.
const REFUSED: [(&str, &str); 5] = [
    ("echo", "answers have no prompts"),
    ("logprobs", "answers have no log probabilities"),
    ("suffix", "nothing is appended to an answer"),
    ("best_of", "each prompt has one answer"),
    ("n", "each prompt has one answer"),
];

/// Parses a request body.
///
/// # Errors
/// The body is not a JSON object with a prompt, or requests an unsupported feature.
pub(crate) fn read(body: &[u8]) -> Result<Request, String> {
    let Body { prompt, model, stream, stream_options, return_token_ids, mut fields } =
        serde_json::from_slice(body).map_err(|error| format!("the body is no request of completions: {error}"))?;
    for (name, why) in REFUSED {
        let value = fields.remove(name).unwrap_or_default();
        if !(value.is_null() || value == false || (name != "logprobs" && value == 1)) {
            return Err(format!("{name} is {value}, but {why} where the engine runs without its API; take it out"));
        }
    }
    fields.remove("user");
    let prompts = match prompt {
        Prompts::Text(text) => vec![Prompt::Text(text)],
        Prompts::Texts(texts) => texts.into_iter().map(Prompt::Text).collect(),
        Prompts::Ids(ids) => vec![Prompt::Ids(ids)],
        Prompts::IdLists(lists) => lists.into_iter().map(Prompt::Ids).collect(),
    };
    let is_empty = |it: &Prompt| match it {
        Prompt::Text(text) => text.is_empty(),
        Prompt::Ids(ids) => ids.is_empty(),
    };
    if prompts.is_empty() || prompts.iter().any(is_empty) {
        return Err("prompt is empty; send a text or token ids".into());
    }
    Ok(Request {
        prompts,
        streams: stream,
        usage: stream_options.is_some_and(|it| it.include_usage),
        token_ids: return_token_ids == Some(true),
        model,
        fields,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(body: &str) -> Request {
        read(body.as_bytes()).unwrap()
    }

    #[test]
    fn a_prompt_is_a_text_ids_or_several_of_them() {
        let ids = |ids: &[u32]| Prompt::Ids(ids.to_vec());
        let text = |text: &str| Prompt::Text(text.into());
        for (prompt, expected) in [
            ("\"a\"", vec![text("a")]),
            ("[\"a\", \"b\"]", vec![text("a"), text("b")]),
            ("[1, 4294967295]", vec![ids(&[1, u32::MAX])]),
            ("[[1], [2, 3]]", vec![ids(&[1]), ids(&[2, 3])]),
        ] {
            assert_eq!(request(&format!("{{\"prompt\": {prompt}}}")).prompts, expected);
        }
        for prompt in ["\"\"", "[]", "[[1], []]", "5", "[-1]", "null"] {
            assert!(read(format!("{{\"prompt\": {prompt}}}").as_bytes()).is_err(), "{prompt}");
        }
    }

    #[test]
    fn sampling_goes_to_the_engine_and_the_rest_stays_here() {
        let body = r#"{"model": "m", "prompt": [5], "max_tokens": 3, "ignore_eos": true, "stream": true,
                       "stream_options": {"include_usage": true}, "return_token_ids": true, "n": 1, "echo": false, "logprobs": null, "user": "u"}"#;
        let found = request(body);
        assert_eq!((found.streams, found.usage, found.token_ids, found.model.as_str()), (true, true, true, "m"));
        assert_eq!(found.fields(&found.prompts[0]), r#"{"max_tokens":3,"ignore_eos":true}"#);
        let text = request(r#"{"prompt": "a \"b\"", "temperature": 0}"#);
        assert_eq!(text.fields(&text.prompts[0]), r#"{"temperature":0,"prompt":"a \"b\""}"#);
    }

    #[test]
    fn what_the_class_does_not_do_is_refused() {
        for (field, part) in [
            ("\"n\": 2", "n is 2, but each prompt has one answer"),
            ("\"logprobs\": 1", "logprobs is 1, but answers have no log probabilities"),
            ("\"echo\": true", "echo is true"),
        ] {
            let error = read(format!("{{\"prompt\": \"a\", {field}}}").as_bytes()).unwrap_err();
            assert!(error.starts_with(part) && error.ends_with("take it out"), "{error}");
        }
    }
}
