//! One event of a stream, or a whole answer: JSON to what the measurement needs of it. Pure.
//!
//! It borrows from the bytes, keeps no text and allocates nothing for an event of the usual shape. Keys and types that are
//! not known are passed over: servers differ, and only output, finish, usage and errors matter here.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// What an event, or a whole answer, says.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Chunk {
    /// All its choices, taken together.
    pub choices: Choices,
    /// Token counts; `null` is absent.
    pub usage: Option<Usage>,
    error: Filled,
    object: ObjectKind,
}

impl Chunk {
    /// Reads one.
    ///
    /// # Errors
    /// It is not a JSON object.
    pub fn parse(bytes: &[u8]) -> Result<Chunk, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// Whether it is an error in place of an answer; [`ApiError`](super::api_error::ApiError) reads which.
    pub fn is_error(&self) -> bool {
        self.error.0 || self.object == ObjectKind::Error
    }
}

/// Token counts by the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Of the prompt.
    #[serde(deserialize_with = "tokens")]
    pub prompt_tokens: Option<u32>,
    /// Of the answer.
    #[serde(deserialize_with = "tokens")]
    pub completion_tokens: Option<u32>,
}

/// What the choices of an event say together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Visible output: text, reasoning, or a piece of a tool call.
    pub output: bool,
    /// No output, but an empty text that is not that of a role chunk, or the end: there may be a token without text.
    pub silent_token: bool,
    /// The reason to finish, if one is given.
    pub finish: Option<Finish>,
}

/// How an answer finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// As asked: stop, length, tool calls and whatever else.
    Complete,
    /// The server ended it: `abort` or `error`.
    Failed,
}

#[derive(Deserialize)]
struct Choice {
    /// Completions.
    #[serde(default)]
    text: Text,
    /// Chat, streamed.
    #[serde(default)]
    delta: Option<Message>,
    /// Chat, whole.
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    finish_reason: Option<Finish>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Message {
    role: Filled,
    content: Text,
    reasoning: Text,
    /// The name of older servers.
    reasoning_content: Text,
    tool_calls: Filled,
}

impl Choices {
    fn add(&mut self, choice: &Choice) {
        let message = choice.delta.or(choice.message).unwrap_or_default();
        let texts = [choice.text, message.content, message.reasoning, message.reasoning_content];
        let output = message.tool_calls.0 || texts.contains(&Text::Filled);
        self.output |= output;
        self.silent_token |=
            !output && !message.role.0 && (choice.finish_reason.is_some() || texts.contains(&Text::Empty));
        // One that failed outweighs one that did not.
        if self.finish != Some(Finish::Failed) {
            self.finish = choice.finish_reason.or(self.finish);
        }
    }
}

impl<'de> Deserialize<'de> for Choices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Choices;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of choices")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Choices, A::Error> {
                let mut choices = Choices::default();
                while let Some(choice) = list.next_element::<Choice>()? {
                    choices.add(&choice);
                }
                Ok(choices)
            }

            fn visit_unit<E>(self) -> Result<Choices, E> {
                Ok(Choices::default())
            }
        }
        deserializer.deserialize_any(List)
    }
}

impl<'de> Deserialize<'de> for Finish {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reason;
        impl Visitor<'_> for Reason {
            type Value = Finish;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a reason to finish")
            }

            fn visit_str<E>(self, reason: &str) -> Result<Finish, E> {
                Ok(if matches!(reason, "abort" | "error") { Finish::Failed } else { Finish::Complete })
            }
        }
        deserializer.deserialize_str(Reason)
    }
}

/// Whether a text is there, and whether it holds anything.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Text {
    #[default]
    Absent,
    Empty,
    Filled,
}

/// Whether a value is there: not null, and no empty text, list or object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Filled(bool);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ObjectKind {
    #[default]
    Other,
    Error,
}

/// Looks at a value of any type without keeping it. `Some(true)`: it holds something; `None`: null.
struct Look;

impl<'de> Visitor<'de> for Look {
    type Value = Option<bool>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(!text.is_empty()))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(value))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Some(true))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Some(true))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Some(true))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut filled = false;
        while list.next_element::<IgnoredAny>()?.is_some() {
            filled = true;
        }
        Ok(Some(filled))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut filled = false;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            filled = true;
        }
        Ok(Some(filled))
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match deserializer.deserialize_any(Look)? {
            None => Text::Absent,
            Some(false) => Text::Empty,
            Some(true) => Text::Filled,
        })
    }
}

impl<'de> Deserialize<'de> for Filled {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Filled(deserializer.deserialize_any(Look)? == Some(true)))
    }
}

impl<'de> Deserialize<'de> for ObjectKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = ObjectKind;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of an object's kind")
            }

            fn visit_str<E>(self, name: &str) -> Result<ObjectKind, E> {
                Ok(if name == "error" { ObjectKind::Error } else { ObjectKind::Other })
            }

            fn visit_unit<E>(self) -> Result<ObjectKind, E> {
                Ok(ObjectKind::Other)
            }
        }
        deserializer.deserialize_any(Name)
    }
}

/// A count of tokens; null is absent, and so is what no count can be.
fn tokens<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let count = Option::<f64>::deserialize(deserializer).map_err(D::Error::custom)?;
    Ok(count.filter(|it| (0.0..=f64::from(u32::MAX)).contains(it)).map(|it| it as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, output: bool, silent_token: bool, finish: Option<Finish>) {
        let chunk = Chunk::parse(json.as_bytes()).unwrap_or_else(|error| panic!("{json}: {error}"));
        assert_eq!(chunk.choices, Choices { output, silent_token, finish }, "{json}");
        assert!(!chunk.is_error(), "{json}");
    }

    #[test]
    fn visible_output_is_text_reasoning_or_a_tool_call() {
        check(r#"{"choices":[{"index":0,"text":" a","finish_reason":null}]}"#, true, false, None);
        check(r#"{"choices":[{"delta":{"content":"\u00e9\n"}}]}"#, true, false, None);
        check(r#"{"choices":[{"delta":{"reasoning":"so"}}]}"#, true, false, None);
        check(r#"{"choices":[{"delta":{"content":null,"reasoning_content":"so"}}]}"#, true, false, None);
        check(r#"{"choices":[{"delta":{"content":null,"tool_calls":[{"index":0}]}}]}"#, true, false, None);
        check(r#"{"choices":[{"message":{"role":"assistant","content":"whole"}}]}"#, true, false, None);
    }

    #[test]
    fn role_usage_and_finish_chunks_hold_no_output() {
        check(r#"{"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#, false, false, None);
        check(r#"{"choices":[{"delta":{"role":"assistant"}}]}"#, false, false, None);
        check(r#"{"choices":[],"usage":null}"#, false, false, None);
        check(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#, false, true, Some(Finish::Complete));
        check(r#"{"choices":[{"delta":{"content":null,"tool_calls":[]}}]}"#, false, false, None);
        check(r#"{"choices":null}"#, false, false, None);
        check("{}", false, false, None);
    }

    #[test]
    fn an_empty_text_without_a_role_may_be_a_token() {
        check(r#"{"choices":[{"delta":{"content":""}}]}"#, false, true, None);
        check(r#"{"choices":[{"text":"","finish_reason":"length"}]}"#, false, true, Some(Finish::Complete));
    }

    #[test]
    fn one_choice_that_failed_is_enough() {
        let both = r#"{"choices":[{"text":"a","finish_reason":"abort"},{"text":"","finish_reason":"stop"}]}"#;
        check(both, true, true, Some(Finish::Failed));
        check(r#"{"choices":[{"text":"","finish_reason":"error"}]}"#, false, true, Some(Finish::Failed));
    }

    #[test]
    fn keys_and_types_that_are_not_known_are_passed_over() {
        let odd = r#"{"id": 7, "choices": [ {"logprobs": {"content": [1, {"a": [null]}]}, "delta": {"content": [{"type":"text"}]}} ]}"#;
        check(odd, true, false, None);
    }

    #[test]
    fn usage_may_be_missing_null_or_odd() {
        let usage = |json: &str| Chunk::parse(json.as_bytes()).unwrap().usage;
        let counts = |prompt, completion| Some(Usage { prompt_tokens: prompt, completion_tokens: completion });
        assert_eq!(usage("{}"), None);
        assert_eq!(usage(r#"{"usage":null}"#), None);
        assert_eq!(
            usage(r#"{"usage":{"prompt_tokens":4,"total_tokens":9,"completion_tokens":5}}"#),
            counts(Some(4), Some(5))
        );
        assert_eq!(usage(r#"{"usage":{"prompt_tokens":4.0,"completion_tokens":null}}"#), counts(Some(4), None));
        assert_eq!(usage(r#"{"usage":{"completion_tokens":-1}}"#), counts(None, None));
    }

    #[test]
    fn an_error_object_is_an_error_wherever_it_stands() {
        assert!(Chunk::parse(br#"{"object":"error","message":"m"}"#).unwrap().is_error());
        assert!(Chunk::parse(br#"{"error": {"message": "m"}}"#).unwrap().is_error());
        assert!(!Chunk::parse(br#"{"error":null,"object":"chat.completion"}"#).unwrap().is_error());
    }

    #[test]
    fn what_is_no_object_is_no_chunk() {
        for text in ["", "[1]", "{\"choices\":", "hello", "{} {}", r#"{"choices":7}"#] {
            assert!(Chunk::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
