//! The length of the answer to a request. Pure.

use serde_json::{Map, Value};

use super::answer::{Stop, StopRules};
use super::api::Endpoint;
use super::blocks::BlockHashes;
use super::error::ApiError;
use super::options::SimOptions;
use super::prompt::PromptLength;
use super::text::natural_length;
use super::validation::{flag, integer};
use super::work::{Finish, Work};

/// vLLM's default for `max_tokens` of `/v1/completions`.
const DEFAULT_COMPLETION_TOKENS: u32 = 16;

/// The minimum and maximum length of the answer.
pub struct Lengths {
    prompt: u32,
    max_tokens: u32,
    min_tokens: u32,
    ignore_eos: bool,
}

impl Lengths {
    /// Reads the lengths from the request, within the context.
    pub fn read(
        endpoint: Endpoint,
        body: &Map<String, Value>,
        prompt: PromptLength,
        options: &SimOptions,
    ) -> Result<Self, ApiError> {
        let context = options.max_model_len;
        let asked = match endpoint {
            // The newer name takes precedence, as in vLLM.
            Endpoint::Chat => integer(body, "max_completion_tokens")?.or(integer(body, "max_tokens")?),
            Endpoint::Completions => integer(body, "max_tokens")?,
        };
        let unasked = match endpoint {
            Endpoint::Chat => context,
            Endpoint::Completions => DEFAULT_COMPLETION_TOKENS,
        };
        let max_tokens = match asked {
            None => None,
            Some(asked) if asked < 1 => {
                let text = format!("max_tokens must be at least 1, got {asked}.");
                return Err(ApiError::value("max_tokens", asked, text));
            }
            Some(asked) => match u32::try_from(asked) {
                Ok(asked) if asked <= context => Some(asked),
                _ => {
                    let text = format!(
                        "max_tokens={asked} cannot be greater than max_model_len={context}. Please request fewer output \
                         tokens."
                    );
                    return Err(ApiError::value("max_tokens", asked, text));
                }
            },
        };
        let max_tokens = room(&prompt, max_tokens, unasked, context)?;
        let min_tokens = integer(body, "min_tokens")?.unwrap_or(0);
        if min_tokens < 0 {
            let text = format!("min_tokens must be greater than or equal to 0, got {min_tokens}.");
            return Err(ApiError::bad(None, text));
        }
        let min_tokens = match u32::try_from(min_tokens) {
            Ok(min_tokens) if min_tokens <= max_tokens => min_tokens,
            _ => {
                let text =
                    format!("min_tokens must be less than or equal to max_tokens={max_tokens}, got {min_tokens}.");
                return Err(ApiError::bad(None, text));
            }
        };
        let ignore_eos = flag(body, "body", "ignore_eos")?.unwrap_or(false);
        Ok(Lengths { prompt: prompt.tokens, max_tokens, min_tokens, ignore_eos })
    }

    /// Returns the work for the engine, with the length of the answer, and how the stops affect its text. Nothing ends the answer before
    /// `min_tokens`.
    pub fn work(
        &self,
        words: u64,
        blocks: BlockHashes,
        stops: &StopRules,
        options: &SimOptions,
    ) -> (Work, Option<Stop>) {
        let natural = self.min_tokens.saturating_add(natural_length(words, options.mean_output_tokens));
        let (mut output_tokens, mut finish) = if self.ignore_eos || natural > self.max_tokens {
            (self.max_tokens, Finish::Length)
        } else {
            (natural, Finish::Stop)
        };
        let stop = (!stops.is_empty()).then(|| {
            let (tokens, stop) = stops.apply(words, self.min_tokens, output_tokens);
            if stop.reason.is_some() {
                (output_tokens, finish) = (tokens, Finish::Stop);
            }
            stop
        });
        let (prompt_tokens, max_tokens) = (self.prompt, self.max_tokens);
        (Work { prompt_tokens, output_tokens, max_tokens, finish, words, blocks, siblings: None }, stop)
    }
}

/// Returns the maximum length of the answer. A requested length must fit into the context. Without a requested length, it is `unasked`, limited to
/// the remaining context.
fn room(prompt: &PromptLength, max_tokens: Option<u32>, unasked: u32, context: u32) -> Result<u32, ApiError> {
    let PromptLength { tokens, is_text } = *prompt;
    if tokens > context {
        let (counted, at_least) = if is_text { (context + 1, "at least ") } else { (tokens, "") };
        let text = format!(
            "This model's maximum context length is {context} tokens. However, your prompt contains {at_least}{counted} \
             input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the \
             input prompt."
        );
        return Err(ApiError::value("input_tokens", counted, text));
    }
    let output = max_tokens.unwrap_or_else(|| (context - tokens).clamp(1, unasked));
    let total = tokens.saturating_add(output);
    if total > context {
        let text = format!(
            "This model's maximum context length is {context} tokens. However, you requested {output} output tokens and \
             your prompt contains {tokens} input tokens, for a total of {total} tokens. Please reduce the length of the \
             input prompt or the number of requested output tokens."
        );
        return Err(ApiError::value("input_tokens", tokens, text));
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use Endpoint::{Chat, Completions};

    fn check(endpoint: Endpoint, prompt: u32, body: Value) -> Result<(u32, Finish), String> {
        let options = SimOptions { max_model_len: 100, mean_output_tokens: 20, ..SimOptions::default() };
        let prompt = PromptLength { tokens: prompt, is_text: true };
        let lengths = Lengths::read(endpoint, body.as_object().unwrap(), prompt, &options).map_err(|it| it.message)?;
        let work =
            lengths.work(body["seed"].as_u64().unwrap_or(0), BlockHashes::default(), &StopRules::default(), &options).0;
        assert_eq!(work.prompt_tokens, prompt.tokens);
        Ok((work.output_tokens, work.finish))
    }

    #[test]
    fn without_an_end_an_answer_is_as_long_as_it_may_be() {
        let length = |endpoint, body| check(endpoint, 9, body).unwrap();
        assert_eq!(length(Completions, json!({"max_tokens": 50, "ignore_eos": true})), (50, Finish::Length));
        // Defaults: 16 for completions, the remaining context for a chat.
        assert_eq!(length(Completions, json!({"ignore_eos": true})), (16, Finish::Length));
        assert_eq!(check(Completions, 90, json!({"ignore_eos": true})).unwrap(), (10, Finish::Length));
        assert_eq!(length(Chat, json!({"ignore_eos": true})), (91, Finish::Length));
        let both = json!({"ignore_eos": true, "max_tokens": 5, "max_completion_tokens": 7});
        assert_eq!(length(Chat, both.clone()), (7, Finish::Length));
        assert_eq!(length(Completions, both), (5, Finish::Length));
    }

    #[test]
    fn the_model_ends_an_answer_where_it_may() {
        let drawn = |min_tokens| -> Vec<_> {
            let body = |seed| json!({"max_tokens": 60, "min_tokens": min_tokens, "seed": seed});
            (0..200).map(|seed| check(Completions, 2, body(seed)).unwrap()).collect()
        };
        let free = drawn(0);
        assert!(free.iter().any(|it| it.0 < 60 && it.1 == Finish::Stop));
        assert!(free.contains(&(60, Finish::Length)));
        assert!(free.iter().all(|it| (1..=60).contains(&it.0)));
        assert_eq!(free, drawn(0));
        assert!(drawn(50).iter().all(|it| (51..=60).contains(&it.0)));
    }

    #[test]
    fn what_does_not_fit_the_context_is_refused() {
        assert_eq!(
            check(Completions, 150, json!({"max_tokens": 8})).unwrap_err(),
            "This model's maximum context length is 100 tokens. However, your prompt contains at least 101 input tokens, \
             which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. \
             (parameter=input_tokens, value=101)"
        );
        let both = check(Completions, 60, json!({"max_tokens": 50})).unwrap_err();
        assert!(both.contains("requested 50 output tokens") && both.contains("total of 110 tokens"), "{both}");
        assert!(check(Completions, 60, json!({"max_tokens": 40})).is_ok());
        assert!(check(Chat, 99, json!({})).is_ok());
        assert!(check(Chat, 100, json!({})).is_err());
    }
}
