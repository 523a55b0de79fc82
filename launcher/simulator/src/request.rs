//! Converts the body of a generation request to the requested work, or to the error that vLLM 0.32 would return. Pure.
//!
//! The simulator reads the model, the prompts, the number and length of the answers, their stops, and how to send them. Sampling parameters are
//! validated but have no effect. Unsupported features are refused.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::answer::{Answer, AnswerForm};

use super::api::{Dialect, Endpoint, StreamUsage};
use super::chunks::Choice;
use super::dialect::chat_body;
use super::error::ApiError;
use super::lengths::Lengths;
use super::options::SimOptions;
use super::prompt::{chat_prompt, completion_prompts, prompt_texts};
use super::refusals;
use super::sampling::{self, Logprobs};
use super::text::{self, Prompt, mix};
use super::validation::{bad_json, fields, flag, integer, number, object};
use super::work::{Siblings, Work};

/// A request that is accepted.
#[derive(Clone, Debug)]
pub struct GenerationRequest {
    /// The choices, at least one, in the order of their index. Each has its work for the engine.
    pub choices: Vec<(Choice, Work)>,
    /// Number of tokens in all prompts. Each prompt is counted once.
    pub prompt_tokens: u32,
    /// Whether the answer is streamed.
    pub stream: bool,
    /// Which usage a stream reports.
    pub usage: StreamUsage,
    /// The model that the request names: the served one, or a LoRA adapter. `None` if it names none.
    pub model: Option<String>,
}

/// vLLM's maximum number of choices per prompt.
const MAX_N: i64 = 16_384;

/// Maximum number of choices for all prompts of a request. Each is a sequence in the engine, with digests of its prompt.
const MAX_CHOICES: i64 = 1_024;

/// Reads a request.
pub fn read(
    endpoint: Endpoint,
    dialect: Dialect,
    body: &[u8],
    options: &SimOptions,
) -> Result<GenerationRequest, ApiError> {
    let body = chat_body(dialect, json(body)?)?;
    let body = fields(&body)?;
    let shape = Shape::read(body)?;
    let logprobs = Logprobs::read(endpoint, body)?;
    refusals::check(endpoint, body)?;
    let empty = empty_prompt(body, shape.token_ids, options)?;
    let prompts = match endpoint {
        Endpoint::Chat => vec![chat_prompt(body, empty, &options.model)?],
        Endpoint::Completions => completion_prompts(body, &empty)?,
    };
    let model = check_model(body, options)?.map(str::to_owned);
    let form = AnswerForm::read(body);
    sampling::check(body)?;
    let logprobs = logprobs.checked()?;
    let stops = sampling::stops(body)?;
    let n = choices_of_each(body, prompts.len())?;
    let echo = endpoint == Endpoint::Completions && flag(body, "body", "echo")?.unwrap_or(false);
    let mut echo = if echo { prompt_texts(body) } else { Vec::new() }.into_iter();
    let request_seed = integer(body, "seed")?.unwrap_or(0);
    let mut asked =
        GenerationRequest { choices: Vec::new(), prompt_tokens: 0, stream: shape.stream, usage: shape.usage, model };
    for prompt in prompts {
        let prompt = prompt.counted()?;
        let lengths = Lengths::read(endpoint, body, prompt.length(), options)?;
        let mut prompt = prompt.prompt;
        let prompt_ids: Option<Arc<[u32]>> = prompt.ids.take().map(Into::into);
        asked.prompt_tokens = asked.prompt_tokens.saturating_add(prompt.tokens);
        let asks_for_letter = prompt.asks_for_letter;
        let words = mix(mix(options.seed.derive("simulator/answers").0, prompt.digest()), request_seed as u64);
        let siblings = (n > 1).then(|| Arc::new(Siblings::new(n)));
        let echo: Option<Arc<str>> = echo.next().map(Into::into);
        for choice in 0..n {
            let words = if choice == 0 { words } else { mix(words, u64::from(choice)) };
            let words = text::answer_seed(words, asks_for_letter);
            let (work, stop) = lengths.work(words, prompt.blocks.clone(), &stops, options);
            let answer = Answer { words, stop, echo: echo.clone(), logprobs, form: form.clone() };
            let index = asked.choices.len() as u32;
            let choice = Choice { index, answer, prompt_tokens: prompt.tokens, prompt_ids: prompt_ids.clone() };
            asked.choices.push((choice, Work { siblings: siblings.clone(), ..work }));
        }
    }
    Ok(asked)
}

/// Parses a body as JSON.
pub fn json(body: &[u8]) -> Result<Value, ApiError> {
    if body.is_empty() {
        return Err(ApiError::schema("missing", "body", "Field required", "None"));
    }
    serde_json::from_slice(body).map_err(|error| bad_json(body, &error))
}

/// Returns the model that a request names: the served one, or one of the LoRA adapters. Any other model is an error.
pub fn check_model<'a>(body: &'a Map<String, Value>, options: &SimOptions) -> Result<Option<&'a str>, ApiError> {
    let named = body.get("model").and_then(Value::as_str).filter(|it| !it.is_empty());
    match named {
        Some(model) if model != options.model && !options.lora_modules.iter().any(|it| it == model) => {
            Err(ApiError::unknown_model(model, &options.model))
        }
        named => Ok(named),
    }
}

/// Returns an empty prompt. Requests with different `cache_salt` share no block of the prefix cache, as in vLLM.
fn empty_prompt(body: &Map<String, Value>, with_ids: bool, options: &SimOptions) -> Result<Prompt, ApiError> {
    let salt = match body.get("cache_salt") {
        None | Some(Value::Null) => 0,
        Some(Value::String(salt)) if !salt.is_empty() => text::digest(salt),
        Some(_) => {
            let text = "Parameter 'cache_salt' must be a non-empty string if provided.";
            return Err(ApiError::parameter("cache_salt", text));
        }
    };
    Ok(Prompt::new(if options.prefix_caching { options.block_size } else { 0 }, salt, with_ids))
}

/// How to send the answer.
struct Shape {
    stream: bool,
    usage: StreamUsage,
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
        let told = |name| match options {
            Some(options) => Ok(flag(options, "body.stream_options", name)?.unwrap_or(false)),
            None => Ok(false),
        };
        // `continuous_usage_stats` alone has no effect, as in vLLM.
        let usage = match (told("include_usage")?, told("continuous_usage_stats")?) {
            (false, _) => StreamUsage::Never,
            (true, false) => StreamUsage::AtEnd,
            (true, true) => StreamUsage::EveryChunk,
        };
        let token_ids = flag(body, "body", "return_token_ids")?.unwrap_or(false);
        Ok(Shape { stream, usage, token_ids })
    }
}

/// Returns the number of choices per prompt.
fn choices_of_each(body: &Map<String, Value>, prompts: usize) -> Result<u32, ApiError> {
    let n = integer(body, "n")?.unwrap_or(1);
    if n < 1 {
        return Err(ApiError::bad(None, format!("n must be at least 1, got {n}.")));
    }
    if n > MAX_N {
        return Err(ApiError::bad(None, format!("n must be at most {MAX_N}, got {n}.")));
    }
    if n > 1 && number(body, "temperature")?.is_some_and(|temperature| temperature < 1e-5) {
        return Err(ApiError::bad(None, format!("n must be 1 when using greedy sampling, got {n}.")));
    }
    if n.saturating_mul(prompts as i64) > MAX_CHOICES {
        let text = format!(
            "The simulator gives at most {MAX_CHOICES} choices in an answer, not {n} for each prompt of {prompts}."
        );
        return Err(ApiError::value("n", n, text));
    }
    Ok(u32::try_from(n).unwrap_or(1))
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

    fn check(endpoint: Endpoint, body: Value) -> Result<GenerationRequest, (u16, String)> {
        let error = |error: ApiError| (error.status.as_u16(), error.message);
        read(endpoint, Dialect::OpenAi, body.to_string().as_bytes(), &options()).map_err(error)
    }

    #[test]
    fn each_prompt_has_its_choices() {
        let asked = check(Completions, json!({"prompt": ["a b", "c"], "n": 2, "max_tokens": 5, "echo": true})).unwrap();
        let echo = |choice: &Choice| choice.answer.echo.clone().unwrap();
        let choices: Vec<_> = asked.choices.iter().map(|(it, work)| (it.index, echo(it), work.prompt_tokens)).collect();
        let expected = [(0, "a b", 2), (1, "a b", 2), (2, "c", 1), (3, "c", 1)];
        assert_eq!(choices, expected.map(|(index, echo, tokens)| (index, Arc::from(echo), tokens)));
        assert_eq!(asked.prompt_tokens, 3);
        let words: std::collections::HashSet<_> = asked.choices.iter().map(|(it, _)| it.answer.words).collect();
        assert_eq!(words.len(), 4);
        // The first choice equals the answer to a request with one choice.
        let alone = check(Completions, json!({"prompt": "a b", "max_tokens": 5})).unwrap();
        assert_eq!(alone.choices[0].0.answer.words, asked.choices[0].0.answer.words);
    }

    #[test]
    fn wrong_fields_are_named() {
        let messages = json!([{"role": "user", "content": "hi"}]);
        for (endpoint, body, expected) in [
            (Chat, json!({"messages": messages, "stream": "yes"}), "'loc': 'body.stream'"),
            (Chat, json!({"messages": [1]}), "'loc': 'body.messages.0'"),
            (Chat, json!({"messages": [{"content": 5}]}), "'loc': 'body.messages.0.content'"),
            (
                Chat,
                json!({"messages": messages, "n": 2, "temperature": 0}),
                "n must be 1 when using greedy sampling, got 2.",
            ),
            (Chat, json!({"messages": messages, "n": 16_385}), "n must be at most 16384, got 16385."),
            (Chat, json!({"messages": messages, "top_logprobs": 2}), "`logprobs` must be set to true"),
            (Chat, json!({"messages": messages, "logprobs": 2}), "'loc': 'body.logprobs'"),
            (Chat, json!({"messages": messages, "stop": [1]}), "'loc': 'body.stop.0'"),
            (Chat, json!({"messages": messages, "stop": ["a", "b", "c", "d", "e"]}), "at most 4 items"),
            (Chat, json!({"messages": messages, "stop": ""}), "stop cannot contain an empty string."),
            (Completions, json!({"prompt": "a", "logprobs": 21}), "greater than max allowed: 20"),
            (Completions, json!({"prompt": "a", "logprobs": -2}), "must be a positive value or -1"),
            (Completions, json!({"prompt": ["a", "b"], "n": 600}), "at most 1024 choices"),
            (Chat, json!({"messages": messages, "temperature": -1.0}), "must be non-negative, got -1.0. (parameter"),
            (Chat, json!({"messages": messages, "max_tokens": 1.5}), "'loc': 'body.max_tokens'"),
            (Completions, json!({"prompt": ["a", 1]}), "'loc': 'body.prompt.1'"),
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

    /// JSON values that resemble requests.
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
            "stop",
            "echo",
            "tools",
            "tool_choice",
            "response_format",
            "prompt_logprobs",
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
            let Ok(asked) = check(endpoint, body) else { return Ok(()) };
            prop_assert!(!asked.choices.is_empty());
            for (place, (choice, work)) in asked.choices.into_iter().enumerate() {
                prop_assert_eq!(choice.index as usize, place);
                let Work { prompt_tokens, output_tokens, .. } = work;
                prop_assert_eq!(work.blocks.full().len() as u32, prompt_tokens / options().block_size);
                prop_assert!(prompt_tokens >= 1 && output_tokens >= 1 && prompt_tokens + output_tokens <= 100);
                prop_assert!(choice.prompt_ids.is_none_or(|it| it.len() == prompt_tokens as usize));
            }
        }

        #[test]
        fn bytes_that_are_no_request_are_refused(body in prop::collection::vec(any::<u8>(), 0..64)) {
            prop_assert!(read(Chat, Dialect::OpenAi, &body, &options()).is_err());
        }
    }
}
