//! The body of a generation request -> what is asked, or the error that vLLM 0.32 would answer. Pure.
//!
//! Understood are the model, the prompt, the length of the answer and how it is to be sent. Sampling parameters are
//! checked and change nothing; `stop`, `logprobs`, `echo` and `tools` are ignored. Two things are refused that vLLM
//! allows: more than one choice, and more than one prompt.

use serde_json::{Map, Value};

use super::engine::Work;
use super::error::ApiError;
use super::lengths::Lengths;
use super::options::SimOptions;
use super::prompt::{chat_prompt, completion_prompt};
use super::text::{self, Prompt, mix};
use super::validation::{bad_json, fields, flag, integer, number, object};

/// Which endpoint was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/completions`
    Completions,
}

/// A request that is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// For the engine.
    pub work: Work,
    /// Which words the answer has.
    pub words: u64,
    /// Whether the answer comes token by token.
    pub stream: bool,
    /// Whether a stream ends with a usage chunk.
    pub include_usage: bool,
    /// The ids of the prompt where the answer is to tell token ids; `None`: it is not.
    pub prompt_ids: Option<Vec<u32>>,
}

/// vLLM's default for `--max-logprobs`.
const MAX_LOG_PROBABILITIES: i64 = 20;

/// Reads a request.
pub fn read(endpoint: Endpoint, body: &[u8], options: &SimOptions) -> Result<Asked, ApiError> {
    if body.is_empty() {
        return Err(ApiError::schema("missing", "body", "Field required", "None"));
    }
    let body: Value = serde_json::from_slice(body).map_err(|error| bad_json(body, &error))?;
    let body = fields(&body)?;
    let shape = Shape::read(body)?;
    check_log_probabilities(body)?;
    let empty = empty_prompt(body, &shape, options)?;
    let prompt = match endpoint {
        Endpoint::Chat => chat_prompt(body, empty)?,
        Endpoint::Completions => completion_prompt(body, empty)?,
    };
    if let Some(model) = body.get("model").and_then(Value::as_str)
        && !model.is_empty()
        && model != options.model
    {
        return Err(ApiError::unknown_model(model, &options.model));
    }
    check_sampling(body)?;
    check_log_probability_count(body)?;
    let prompt = prompt.counted()?;
    let lengths = Lengths::read(endpoint, body, prompt.length(), options)?;
    let request_seed = integer(body, "seed")?.unwrap_or(0);
    let prompt = prompt.prompt;
    let words = mix(mix(options.seed.derive("simulator/answers").0, prompt.digest()), request_seed as u64);
    Ok(Asked {
        work: lengths.work(words, prompt.blocks, options),
        words,
        stream: shape.stream,
        include_usage: shape.include_usage,
        prompt_ids: prompt.ids,
    })
}

/// A prompt without tokens yet. Requests with another `cache_salt` share no block of the prefix cache, as in vLLM.
fn empty_prompt(body: &Map<String, Value>, shape: &Shape, options: &SimOptions) -> Result<Prompt, ApiError> {
    let salt = match body.get("cache_salt") {
        None | Some(Value::Null) => 0,
        Some(Value::String(salt)) if !salt.is_empty() => text::digest(salt),
        Some(_) => {
            let text = "Value error, Parameter 'cache_salt' must be a non-empty string if provided.";
            return Err(ApiError::parameter("cache_salt", text));
        }
    };
    Ok(Prompt::new(if options.prefix_caching { options.block_size } else { 0 }, salt, shape.token_ids))
}

/// How the answer is to be sent.
struct Shape {
    stream: bool,
    include_usage: bool,
    token_ids: bool,
}

impl Shape {
    fn read(body: &Map<String, Value>) -> Result<Self, ApiError> {
        let stream = flag(body, "body", "stream")?.unwrap_or(false);
        let options = object(body, "stream_options")?;
        if options.is_some() && !stream {
            return Err(ApiError::parameter(
                "stream_options",
                "Stream options can only be defined when `stream=True`.",
            ));
        }
        let include_usage = match options {
            Some(options) => flag(options, "body.stream_options", "include_usage")?.unwrap_or(false),
            None => false,
        };
        let token_ids = flag(body, "body", "return_token_ids")?.unwrap_or(false);
        Ok(Shape { stream, include_usage, token_ids })
    }
}

/// The sampling parameters that have bounds.
fn check_sampling(body: &Map<String, Value>) -> Result<(), ApiError> {
    match integer(body, "n")? {
        Some(n) if n < 1 => return Err(ApiError::bad(None, format!("n must be at least 1, got {n}."))),
        Some(n) if n > 1 => {
            return Err(ApiError::value("n", n, format!("The simulator gives one choice in an answer, not {n}.")));
        }
        _ => {}
    }
    if let Some(temperature) = number(body, "temperature")?.filter(|it| *it < 0.0) {
        let text = format!("temperature must be non-negative, got {temperature:?}.");
        return Err(ApiError::value("temperature", format!("{temperature:?}"), text));
    }
    if let Some(top_p) = number(body, "top_p")?.filter(|it| !(*it > 0.0 && *it <= 1.0)) {
        let text = format!("top_p must be in (0, 1], got {top_p:?}.");
        return Err(ApiError::value("top_p", format!("{top_p:?}"), text));
    }
    Ok(())
}

/// They are never given, but wrong wishes are refused as in vLLM.
fn check_log_probabilities(body: &Map<String, Value>) -> Result<(), ApiError> {
    let wanted = body.get("logprobs").is_some_and(|logprobs| *logprobs != Value::Bool(false) && !logprobs.is_null());
    match integer(body, "top_logprobs")? {
        Some(_) if !wanted => {
            let text = "when using `top_logprobs`, `logprobs` must be set to true.";
            Err(ApiError::parameter("top_logprobs", text))
        }
        _ => Ok(()),
    }
}

fn check_log_probability_count(body: &Map<String, Value>) -> Result<(), ApiError> {
    match integer(body, "top_logprobs")? {
        Some(count) if count > MAX_LOG_PROBABILITIES => {
            let text = format!(
                "Requested sample logprobs of {count}, which is greater than max allowed: {MAX_LOG_PROBABILITIES}"
            );
            Err(ApiError::value("logprobs", count, text))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use Endpoint::{Chat, Completions};

    fn options() -> SimOptions {
        SimOptions { model: "m".into(), max_model_len: 100, mean_output_tokens: 20, ..SimOptions::default() }
    }

    fn check(endpoint: Endpoint, body: Value) -> Result<Asked, (u16, String)> {
        let error = |error: ApiError| (error.status.as_u16(), error.message);
        read(endpoint, body.to_string().as_bytes(), &options()).map_err(error)
    }

    #[test]
    fn wrong_fields_are_named() {
        let messages = json!([{"role": "user", "content": "hi"}]);
        for (endpoint, body, expected) in [
            (Chat, json!({"messages": messages, "stream": "yes"}), "'loc': 'body.stream'"),
            (Chat, json!({"messages": [1]}), "'loc': 'body.messages.0'"),
            (Chat, json!({"messages": [{"content": 5}]}), "'loc': 'body.messages.0.content'"),
            (Chat, json!({"messages": messages, "n": 2}), "gives one choice"),
            (Chat, json!({"messages": messages, "temperature": -1.0}), "must be non-negative, got -1.0. (parameter"),
            (Chat, json!({"messages": messages, "max_tokens": 1.5}), "'loc': 'body.max_tokens'"),
            (Completions, json!({"prompt": ["a", "b"]}), "one prompt in a request"),
            (Completions, json!({"prompt": []}), "at least one prompt"),
            (Completions, json!({"prompt": [1, "b"]}), "'loc': 'body.prompt.1'"),
            (Completions, json!({"prompt": {}}), "'loc': 'body.prompt'"),
            (Completions, json!({"prompt": "a", "min_tokens": 17}), "max_tokens=16, got 17."),
            (Completions, json!({"prompt": "a", "min_tokens": -1}), "greater than or equal to 0, got -1."),
            (Completions, json!({"prompt": "a", "return_token_ids": 1}), "'loc': 'body.return_token_ids'"),
            (Completions, json!([]), "'loc': 'body'"),
        ] {
            let (status, message) = check(endpoint, body.clone()).unwrap_err();
            assert_eq!(status, 400);
            assert!(message.contains(expected), "{body}: {message}");
        }
    }

    /// JSON values that look a little like requests.
    fn bodies() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[a-z .]{0,20}".prop_map(Value::from),
        ];
        let names = prop::sample::select(vec![
            "model",
            "messages",
            "content",
            "text",
            "prompt",
            "max_tokens",
            "min_tokens",
            "stream",
            "stream_options",
            "include_usage",
            "return_token_ids",
            "n",
            "seed",
            "ignore_eos",
            "temperature",
            "top_p",
            "logprobs",
            "top_logprobs",
            "suffix",
        ]);
        leaf.prop_recursive(4, 64, 8, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((names.clone(), inner), 0..8)
                    .prop_map(|fields| fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_body_makes_it_panic(body in bodies(), chat: bool) {
            let endpoint = if chat { Chat } else { Completions };
            if let Ok(asked) = check(endpoint, body) {
                let Work { prompt_tokens, output_tokens, .. } = asked.work;
                prop_assert_eq!(asked.work.blocks.full().len() as u32, prompt_tokens / options().block_size);
                prop_assert!(prompt_tokens >= 1 && output_tokens >= 1 && prompt_tokens + output_tokens <= 100);
                prop_assert!(asked.prompt_ids.is_none_or(|it| it.len() == prompt_tokens as usize));
            }
        }

        #[test]
        fn bytes_that_are_no_request_are_refused(body in prop::collection::vec(any::<u8>(), 0..64)) {
            prop_assert!(read(Chat, &body, &options()).is_err());
        }
    }
}
