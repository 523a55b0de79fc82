//! Parses the text and the token ids of the first choice of an event, or of an answer in one piece.
//!
//! Used in addition to [`Chunk`](super::Chunk), and only if the output is kept. Unknown content is ignored here too, but `token_ids` that are not a
//! list of numbers are an error.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};

use serde_json::Value;

use super::{
    logprobs, typed,
    values::{Filled, count, text},
};
use crate::client::lenient_json::parse;

#[derive(Debug, Default, PartialEq)]
pub(in crate::client) struct FirstChoice {
    /// The text of the answer, without reasoning, refusals and tool calls.
    pub(in crate::client) text: String,
    /// The generated token ids; empty in the chunk that opens a chat, or if the server sends none.
    pub(in crate::client) token_ids: Vec<u32>,
    /// The most probable tokens at the position of the first token, with their log probabilities; empty if the server sends none.
    pub(in crate::client) first_logprobs: Vec<(String, f64)>,
}

impl FirstChoice {
    /// Parses bytes that [`Chunk::parse`](super::Chunk::parse) has accepted. `output` states whether `Chunk` found output in them. Returns `None` if
    /// the bytes do not contain the first choice.
    ///
    /// # Errors
    /// A choice has `token_ids` that are not a list of 32-bit numbers.
    pub(in crate::client) fn read(bytes: &[u8], output: bool) -> Result<Option<FirstChoice>, serde_json::Error> {
        let event: Event = parse(bytes)?;
        if event.choices.0.is_none()
            && event.event_type.0
            && let Some(typed) = typed::read(bytes)?
        {
            return Ok(Some(FirstChoice { text: typed.text, ..FirstChoice::default() }));
        }
        Ok(event.choices.0.map(|choice| {
            // The chunk that opens a chat holds no generated token, even if it has token ids.
            let opens = choice.delta.as_ref().is_some_and(|it| it.role.0) && !output;
            let message = choice.delta.or(choice.message).unwrap_or_default();
            FirstChoice {
                text: choice.text.or(message.content).unwrap_or_default(),
                token_ids: choice.token_ids.filter(|_| !opens).unwrap_or_default(),
                first_logprobs: choice.logprobs.map(|it| logprobs::of_first(&it)).unwrap_or_default(),
            }
        }))
    }
}

#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    choices: First,
    /// `type` of an event, or of an answer in one piece, in the Responses and the Messages API.
    #[serde(default, rename = "type", alias = "object")]
    event_type: Filled,
}

/// The choice with index 0, or without an index.
#[derive(Default)]
struct First(Option<Choice>);

#[derive(Deserialize)]
struct Choice {
    #[serde(default, deserialize_with = "count")]
    index: Option<u32>,
    #[serde(default, deserialize_with = "text")]
    text: Option<String>,
    #[serde(default)]
    delta: Option<Message>,
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    token_ids: Option<Vec<u32>>,
    #[serde(default)]
    logprobs: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    role: Filled,
    #[serde(deserialize_with = "text")]
    content: Option<String>,
}

impl<'de> Deserialize<'de> for First {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = First;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of choices")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<First, A::Error> {
                let mut first = None;
                while let Some(choice) = list.next_element::<Choice>()? {
                    if choice.index.unwrap_or(0) == 0 {
                        first.get_or_insert(choice);
                    }
                }
                Ok(First(first))
            }

            fn visit_unit<E>(self) -> Result<First, E> {
                Ok(First(None))
            }
        }
        deserializer.deserialize_any(List)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::chunk::Chunk;

    fn first_choice(json: &[u8]) -> Result<Option<(String, Vec<u32>)>, String> {
        let output = Chunk::parse(json).unwrap().choices.output;
        let choice = FirstChoice::read(json, output).map_err(|error| error.to_string())?;
        Ok(choice.map(|it| (it.text, it.token_ids)))
    }

    fn check(json: &str, text: &str, ids: &[u32]) {
        assert_eq!(first_choice(json.as_bytes()), Ok(Some((text.to_owned(), ids.to_vec()))), "{json}");
    }

    #[test]
    fn a_choice_says_its_text_and_its_token_ids() {
        check(r#"{"choices":[{"index":0,"text":" a","token_ids":[4294967295]}]}"#, " a", &[u32::MAX]);
        check(r#"{"choices":[{"delta":{"content":"a\n"},"token_ids":[1,2,3]}]}"#, "a\n", &[1, 2, 3]);
        check(r#"{"choices":[{"message":{"role":"assistant","content":"a"},"token_ids":[7]}]}"#, "a", &[7]);
        check(r#"{"choices":[{"message":{"role":"assistant","content":null},"token_ids":[7]}]}"#, "", &[7]);
        check(r#"{"choices":[{"text":"","token_ids":[9],"finish_reason":"length"}]}"#, "", &[9]);
        check(r#"{"choices":[{"delta":{},"token_ids":[9]}]}"#, "", &[9]);
        check(r#"{"choices":[{"delta":{"reasoning":"so"},"token_ids":[9]}]}"#, "", &[9]);
        check(r#"{"choices":[{"text":"a","token_ids":null}]}"#, "a", &[]);
        check(r#"{"choices":[{"text":5,"delta":null}]}"#, "", &[]);
    }

    #[test]
    fn ids_of_the_prompt_and_of_what_opens_a_chat_are_not_of_the_output() {
        check(r#"{"choices":[{"delta":{"role":"assistant","content":""}}],"prompt_token_ids":[1,2]}"#, "", &[]);
        check(r#"{"choices":[{"delta":{"role":"assistant","content":""},"token_ids":[1]}]}"#, "", &[]);
        check(r#"{"choices":[{"text":"a","prompt_token_ids":[1,2],"token_ids":[3]}]}"#, "a", &[3]);
        // Some servers send the role and the whole text in one chunk.
        check(r#"{"choices":[{"delta":{"role":"assistant","content":"a"},"token_ids":[1]}]}"#, "a", &[1]);
    }

    #[test]
    fn only_the_first_choice_is_heard() {
        let both = r#"{"choices":[{"index":1,"text":"b","token_ids":[2]},{"index":0,"text":"a","token_ids":[1]}]}"#;
        check(both, "a", &[1]);
        for none in [r#"{"choices":[{"index":1,"text":"b"}]}"#, r#"{"choices":[]}"#, r#"{"choices":null}"#, "{}"] {
            assert_eq!(first_choice(none.as_bytes()), Ok(None), "{none}");
        }
    }

    #[test]
    fn what_is_no_text_yet_is_mended() {
        let half = [br#"{"choices":[{"text":"a"#.as_slice(), &[0xC3], br#"","token_ids":[5]}]}"#].concat();
        assert_eq!(first_choice(&half), Ok(Some(("a\u{FFFD}".into(), vec![5]))));
        check(r#"{"choices":[{"text":"\ud83d","token_ids":[6]}]}"#, "\u{FFFD}", &[6]);
    }

    #[test]
    fn token_ids_that_are_none_are_an_error() {
        for ids in ["[-1]", "[4294967296]", "[1.5]", "[\"1\"]", "[null]", "[[1]]", "5", "\"5\"", "{}", "true"] {
            let json = format!(r#"{{"choices":[{{"text":"a","token_ids":{ids}}}]}}"#);
            first_choice(json.as_bytes()).expect_err(&json);
        }
    }
}
