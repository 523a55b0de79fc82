//! Produces the text of an answer token by token. Stop strings end it, text that can begin a stop string is held back, and log probabilities are
//! synthetic. Pure.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::api::Endpoint;
use super::text;

/// What an answer consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The seed from which the words are derived.
    pub words: u64,
    /// How the request's stops affect the text. `None` means that the request has no stops.
    pub stop: Option<Stop>,
    /// The prompt, if the answer should begin with it.
    pub echo: Option<Arc<str>>,
    /// Number of alternatives per token with log probabilities. `None` means that no log probabilities are requested.
    pub logprobs: Option<u32>,
    /// The structure that contains the text.
    pub form: AnswerForm,
}

/// The structure that contains the text of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AnswerForm {
    /// The text is the whole answer.
    #[default]
    Plain,
    /// A JSON object whose only value is the text. Used if a request requires structured output. It does not follow the request's schema.
    Json,
    /// The arguments of a call of this tool, if a request requires a call. They are a JSON object whose only value is the text.
    ToolCall(Arc<str>),
}

/// The text before and after the answer if it is in a JSON object.
const OBJECT: (&str, &str) = ("{\"text\":\"", "\"}");

impl AnswerForm {
    /// Returns the form that a chat or a completion requests. The fields of the body have already been validated.
    pub fn read(body: &Map<String, Value>) -> AnswerForm {
        let named = body.get("tool_choice").and_then(|it| it.get("function")?.get("name")?.as_str());
        let required = || {
            body.get("tool_choice").filter(|it| *it == "required")?;
            body.get("tools")?.get(0)?.get("function")?.get("name")?.as_str()
        };
        if let Some(tool) = named.or_else(required) {
            return AnswerForm::ToolCall(tool.into());
        }
        let kind = body.get("response_format").and_then(|it| it.get("type")?.as_str());
        let structured = body.get("structured_outputs").is_some_and(|it| !it.is_null());
        if structured || kind.is_some_and(|it| it != "text") { AnswerForm::Json } else { AnswerForm::Plain }
    }

    /// The tool that the answer calls, if any.
    pub fn tool(&self) -> Option<&Arc<str>> {
        match self {
            AnswerForm::ToolCall(tool) => Some(tool),
            AnswerForm::Plain | AnswerForm::Json => None,
        }
    }
}

/// How a request's stops affect the text of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stop {
    /// Number of bytes that a stream holds back, because they can be the beginning of a stop string.
    pub held: usize,
    /// Number of bytes of text that are visible at the end. `None` means all.
    pub shown: Option<usize>,
    /// The stop that ended the answer, as JSON. `None` means that no stop ended it.
    pub reason: Option<String>,
}

/// What ends an answer before its maximum length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopRules {
    /// Stop strings.
    pub strings: Vec<String>,
    /// Ids of stop tokens.
    pub token_ids: Vec<u32>,
    /// Whether the stop itself is part of the visible text.
    pub include: bool,
}

impl StopRules {
    /// Whether there are no stops.
    pub fn is_empty(&self) -> bool {
        self.strings.is_empty() && self.token_ids.is_empty()
    }

    /// Applies the rules to an answer of `tokens` tokens. Stops before token `min_tokens` have no effect. Returns the resulting length, and how the
    /// stops affect the text.
    pub fn apply(&self, words: u64, min_tokens: u32, tokens: u32) -> (u32, Stop) {
        let longest = self.strings.iter().map(String::len).max().unwrap_or(0);
        let held = if self.include { 0 } else { longest.saturating_sub(1) };
        let mut text = String::new();
        for position in 0..tokens {
            let before = text.len();
            text.push_str(text::word(words, position));
            if position < min_tokens {
                continue;
            }
            let found = |shown: usize, reason: Value| {
                let shown = Some(shown);
                (position + 1, Stop { held, shown, reason: Some(reason.to_string()) })
            };
            let id = text::word_id(words, position);
            if self.token_ids.contains(&id) {
                return found(if self.include { text.len() } else { before }, json!(id));
            }
            // The stop string that is complete first ends the answer. If two are complete at the same byte, the one that comes first in the request
            // counts.
            for end in before + 1..=text.len() {
                let complete = |stop: &&String| text.as_bytes()[..end].ends_with(stop.as_bytes());
                if let Some(stop) = self.strings.iter().find(complete) {
                    return found(if self.include { end } else { end - stop.len() }, json!(stop));
                }
            }
        }
        (tokens, Stop { held, shown: None, reason: None })
    }
}

/// The text of an answer, which becomes visible token by token.
#[derive(Debug)]
pub struct AnswerText {
    answer: Answer,
    /// Text of earlier tokens that is not visible yet.
    pending: String,
    /// Number of bytes of words that are already visible.
    shown: usize,
}

impl AnswerText {
    /// The state before the first token.
    pub fn new(answer: Answer) -> Self {
        AnswerText { answer, pending: String::new(), shown: 0 }
    }

    /// Returns the text that becomes visible with the token at this position. `last` states whether it is the last token.
    pub fn next(&mut self, position: u32, last: bool) -> String {
        self.pending.push_str(text::word(self.answer.words, position));
        let visible = match &self.answer.stop {
            None => self.pending.len(),
            Some(Stop { shown, .. }) if last => {
                let visible = shown.map_or(self.pending.len(), |limit| limit.saturating_sub(self.shown));
                visible.min(self.pending.len())
            }
            Some(Stop { held, .. }) => self.pending.len().saturating_sub(*held),
        };
        self.shown += visible;
        let rest = self.pending.split_off(visible);
        let mut text = std::mem::replace(&mut self.pending, rest);
        if let Some(echo) = self.answer.echo.take() {
            text.insert_str(0, &echo);
        }
        if self.answer.form != AnswerForm::Plain {
            if position == 0 {
                text.insert_str(0, OBJECT.0);
            }
            if last {
                text.push_str(OBJECT.1);
            }
        }
        text
    }

    /// The stop that ended the answer, as JSON.
    pub fn stop_reason(&self) -> Option<&str> {
        self.answer.stop.as_ref()?.reason.as_deref()
    }
}

/// Returns the log probabilities of the tokens in `positions`, in the form of the endpoint. They are synthetic, because there is no real model. The
/// same answer always has the same values, and the chosen token is always the likeliest.
pub fn logprobs(endpoint: Endpoint, words: u64, positions: std::ops::Range<u32>, alternatives: u32) -> Value {
    let tokens = positions.clone().map(|position| {
        let chosen = text::word(words, position);
        let likeliest = -f64::from(text::mix(words, u64::from(!position)) as u32 % 2_000) / 1_000.0;
        let others = text::others(words, position).map(str::to_owned);
        let mut all = vec![(chosen.to_owned(), likeliest)];
        all.extend(others.take(alternatives as usize).zip(1..).map(|(word, rank)| (word, likeliest - f64::from(rank))));
        all
    });
    let bytes = |token: &str| token.bytes().collect::<Vec<u8>>();
    match endpoint {
        Endpoint::Chat => {
            let one =
                |(token, logprob): &(String, f64)| json!({"token": token, "logprob": logprob, "bytes": bytes(token)});
            let content = tokens.map(|all| {
                let mut entry = one(&all[0]);
                // The requested number includes the chosen token.
                entry["top_logprobs"] = all.iter().take(alternatives as usize).map(one).collect();
                entry
            });
            json!({"content": content.collect::<Vec<_>>()})
        }
        Endpoint::Completions => {
            let tokens: Vec<_> = tokens.collect();
            let mut offset: usize = (0..positions.start).map(|position| text::word(words, position).len()).sum();
            let mut offsets = Vec::with_capacity(tokens.len());
            for all in &tokens {
                offsets.push(offset);
                offset += all[0].0.len();
            }
            // Here the chosen token is not included in the requested number of alternatives.
            let top = |all: &Vec<(String, f64)>| all.iter().map(|(it, logprob)| (it.clone(), json!(logprob))).collect();
            json!({
                "text_offset": offsets,
                "token_logprobs": tokens.iter().map(|all| all[0].1).collect::<Vec<_>>(),
                "tokens": tokens.iter().map(|all| all[0].0.as_str()).collect::<Vec<_>>(),
                "top_logprobs": tokens.iter().map(top).collect::<Vec<Map<String, Value>>>(),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rules: &StopRules, min_tokens: u32) -> (u32, String, Option<String>) {
        let (tokens, stop) = rules.apply(7, min_tokens, 40);
        let mut text = AnswerText::new(Answer { words: 7, stop: Some(stop), ..Answer::default() });
        let shown: String = (0..tokens).map(|position| text.next(position, position + 1 == tokens)).collect();
        (tokens, shown, text.stop_reason().map(str::to_owned))
    }

    fn strings(strings: &[&str]) -> StopRules {
        StopRules { strings: strings.iter().map(|it| (*it).to_owned()).collect(), ..StopRules::default() }
    }

    #[test]
    fn a_stop_string_ends_the_text_before_itself() {
        let whole = text::answer(7, 40);
        let (third, fourth) = (text::word(7, 2), text::word(7, 3));
        let across = format!("{}{}", &third[1..], &fourth[..2]);
        let at = whole.find(&across).unwrap();
        let (tokens, shown, reason) = check(&strings(&["never", &across]), 0);
        assert_eq!((tokens, shown.as_str()), (4, &whole[..at]));
        assert_eq!(reason, Some(json!(across).to_string()));
        let (_, shown, _) = check(&StopRules { include: true, ..strings(&[&across]) }, 0);
        assert_eq!(shown, whole[..at + across.len()]);
        // Without a match the whole text is visible. A stop before the minimum number of tokens has no effect.
        assert_eq!(check(&strings(&["never"]), 0), (40, whole.clone(), None));
        assert!(check(&strings(&[&across]), 10).0 > 10);
    }

    #[test]
    fn a_stop_token_ends_the_text_and_is_not_shown() {
        let id = text::word_id(7, 3);
        let rules = StopRules { token_ids: vec![id], ..StopRules::default() };
        let (tokens, shown, reason) = check(&rules, 3);
        assert_eq!((shown, reason), (text::answer(7, tokens - 1), Some(id.to_string())));
        assert_eq!(text::word_id(7, tokens - 1), id);
    }

    #[test]
    fn what_may_begin_a_stop_string_is_held_back() {
        let mut text =
            AnswerText::new(Answer { words: 7, stop: Some(Stop { held: 3, ..Stop::default() }), ..Answer::default() });
        let (first, second) = (text.next(0, false), text.next(1, true));
        assert_eq!(first.len(), text::word(7, 0).len().saturating_sub(3));
        assert_eq!(first + &second, text::answer(7, 2));
    }

    #[test]
    fn log_probabilities_are_as_many_as_were_asked_for() {
        let completions = logprobs(Endpoint::Completions, 7, 1..3, 2);
        assert_eq!(completions["text_offset"][0], text::word(7, 0).len());
        assert_eq!(completions["tokens"], json!([text::word(7, 1), text::word(7, 2)]));
        assert_eq!(completions["top_logprobs"][1].as_object().unwrap().len(), 3);
        let chat = logprobs(Endpoint::Chat, 7, 0..1, 2);
        assert_eq!(chat["content"][0]["top_logprobs"].as_array().unwrap().len(), 2);
        assert_eq!(chat["content"][0]["top_logprobs"][0]["token"], chat["content"][0]["token"]);
        assert!(chat["content"][0]["logprob"].as_f64().unwrap() <= 0.0);
    }
}
