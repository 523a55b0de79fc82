//! One event of a stream, or a whole answer: reads from its JSON what the measurement needs. Pure.
//!
//! It borrows from the bytes, keeps no text, and allocates nothing for an event of the usual shape. Unknown keys and
//! types are ignored: servers differ, and only output, finish, usage and errors matter here. Invalid UTF-8 and half of
//! a surrogate pair count as text, because a token may be a part of a character.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::lenient_json::parse;

/// Visits values of all types that are not expected, with this result.
macro_rules! pass_over {
    ($as:expr) => {
        pass_over!($as, numbers);
        pass_over!($as, but_numbers);
    };
    ($as:expr, but_numbers) => {
        pass_over!($as, lists);
        pass_over!($as, the_rest);
    };
    ($as:expr, but_lists) => {
        pass_over!($as, numbers);
        pass_over!($as, the_rest);
    };
    ($as:expr, numbers) => {
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($as)
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($as)
        }
    };
    ($as:expr, lists) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok($as)
        }
    };
    ($as:expr, the_rest) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($as)
        }

        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($as)
        }

        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($as)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($as)
        }
    };
}

mod all_choices;
mod cached;
mod first_choice;
mod logprobs;
mod typed;

pub(super) use all_choices::{WholeChoice, whole_choices};
pub(super) use first_choice::FirstChoice;

/// The content of an event, or of a whole answer.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Chunk {
    /// All choices together.
    pub choices: Choices,
    /// Token counts; `None` for null.
    pub usage: Option<Usage>,
    error: Filled,
    object: ObjectKind,
    /// The type that the events of the Responses and the Messages API name.
    #[serde(rename = "type")]
    event_type: Filled,
}

impl Chunk {
    /// A byte order mark at the start is ignored.
    ///
    /// # Errors
    /// It is not a JSON object.
    pub fn parse(bytes: &[u8]) -> Result<Chunk, serde_json::Error> {
        let chunk: Chunk = parse(bytes)?;
        if !chunk.is_typed() {
            return Ok(chunk);
        }
        Ok(typed::read(bytes)?.map_or(chunk, |it| it.chunk))
    }

    /// Whether it may be an event or an answer of the Responses or the Messages API.
    fn is_typed(&self) -> bool {
        self.event_type.0 || self.object == ObjectKind::Response
    }

    /// Whether it is an error in place of an answer. [`ApiError`](super::api_error::ApiError) reads the error.
    pub fn is_error(&self) -> bool {
        self.error.0 || self.object == ObjectKind::Error
    }
}

/// The token counts of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens of the prompt.
    #[serde(deserialize_with = "count")]
    pub prompt_tokens: Option<u32>,
    /// Tokens of the answer.
    #[serde(deserialize_with = "count")]
    pub completion_tokens: Option<u32>,
    /// Tokens of the prompt that were in the prefix cache. vLLM omits a 0, and omits the field unless it is configured
    /// to send it.
    #[serde(rename = "prompt_tokens_details", deserialize_with = "cached::count")]
    pub cached_tokens: Option<u32>,
}

/// All choices of an event together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Visible output: text, reasoning, or a part of a tool call.
    pub output: bool,
    /// No output, but an empty text outside of a role chunk, or the end: there may be a token without text.
    pub silent_token: bool,
    /// The reason to finish, if there is one.
    pub finish: Option<Finish>,
    /// The choices in the event.
    pub seen: Indices,
    /// The choices that gave a reason to finish.
    pub finished: Indices,
}

/// Indices of choices: bit `i` for the choice with index `i`, the last bit for all higher indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Indices(u64);

impl Indices {
    fn from_index(index: u32) -> Indices {
        Indices(1 << index.min(63))
    }

    /// The indices of both.
    pub fn and(self, other: Indices) -> Indices {
        Indices(self.0 | other.0)
    }

    /// Whether these are a subset of `others`, and not empty.
    pub fn are_all_in(self, others: Indices) -> bool {
        self.0 != 0 && self.0 & !others.0 == 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// A stop, tool calls, or an unknown reason.
    Complete,
    /// The answer has the most tokens that the request allows.
    Length,
    /// The server gave up: `abort` or `error`.
    Failed,
}

#[derive(Deserialize)]
struct Choice {
    /// Missing if a server supports one choice only.
    #[serde(default, deserialize_with = "count")]
    index: Option<u32>,
    /// In completions.
    #[serde(default)]
    text: Text,
    /// In a streamed chat.
    #[serde(default)]
    delta: Option<Message>,
    /// In a whole chat answer.
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    finish_reason: Reason,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Message {
    role: Filled,
    content: Text,
    reasoning: Text,
    /// The name of `reasoning` in older servers.
    reasoning_content: Text,
    refusal: Text,
    tool_calls: Filled,
    /// The tool call of older servers.
    function_call: Filled,
}

impl Choices {
    fn add(&mut self, choice: &Choice) {
        let message = choice.delta.or(choice.message).unwrap_or_default();
        let texts = [choice.text, message.content, message.reasoning, message.reasoning_content, message.refusal];
        let output = message.tool_calls.0 || message.function_call.0 || texts.contains(&Text::Filled);
        let finish = choice.finish_reason.0;
        self.output |= output;
        self.silent_token |= !output && !message.role.0 && (finish.is_some() || texts.contains(&Text::Empty));
        self.finish = Finish::worse(self.finish, finish);
        let index = Indices::from_index(choice.index.unwrap_or(0));
        self.seen = self.seen.and(index);
        if finish.is_some() {
            self.finished = self.finished.and(index);
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

impl Finish {
    /// Combines two choices, or two events: a failure outweighs everything else.
    pub fn worse(first: Option<Finish>, second: Option<Finish>) -> Option<Finish> {
        if first == Some(Finish::Failed) { first } else { second.or(first) }
    }
}

/// A reason to finish; `None` for null and for an empty string.
#[derive(Clone, Copy, Default)]
struct Reason(Option<Finish>);

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl<'de> Visitor<'de> for Name {
            type Value = Reason;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a reason to finish")
            }

            fn visit_str<E>(self, reason: &str) -> Result<Reason, E> {
                Ok(Reason(match reason {
                    "" => None,
                    "abort" | "error" => Some(Finish::Failed),
                    "length" => Some(Finish::Length),
                    _ => Some(Finish::Complete),
                }))
            }

            pass_over!(Reason(None));
        }
        deserializer.deserialize_any(Name)
    }
}

/// Whether a text is present, and whether it is empty.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Text {
    #[default]
    Absent,
    Empty,
    Filled,
}

/// Whether a value is present: not null, and no empty string, list or object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Filled(bool);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ObjectKind {
    #[default]
    Other,
    Error,
    /// A whole answer of the Responses API.
    Response,
}

/// Visits a value of any type without keeping it. `Some(true)`: it is not empty; `None`: it is null.
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
        impl<'de> Visitor<'de> for Name {
            type Value = ObjectKind;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of an object's kind")
            }

            fn visit_str<E>(self, name: &str) -> Result<ObjectKind, E> {
                Ok(match name {
                    "error" => ObjectKind::Error,
                    "response" => ObjectKind::Response,
                    _ => ObjectKind::Other,
                })
            }

            pass_over!(ObjectKind::Other);
        }
        deserializer.deserialize_any(Name)
    }
}

/// A count of tokens, or an index; `None` for null and for values that are no count.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    struct Number;
    impl<'de> Visitor<'de> for Number {
        type Value = Option<u32>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a count")
        }

        fn visit_u64<E>(self, count: u64) -> Result<Option<u32>, E> {
            Ok(u32::try_from(count).ok())
        }

        fn visit_f64<E>(self, count: f64) -> Result<Option<u32>, E> {
            Ok(Some(count).filter(|it| (0.0..=f64::from(u32::MAX)).contains(it)).map(|it| it as u32))
        }

        fn visit_str<E>(self, _: &str) -> Result<Option<u32>, E> {
            Ok(None)
        }

        pass_over!(None, but_numbers);
    }
    deserializer.deserialize_any(Number)
}

#[cfg(test)]
mod tests;
