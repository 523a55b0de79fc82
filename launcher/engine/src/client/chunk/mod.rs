//! Parses one event of a stream, or an answer in one piece, as far as the measurement needs it. Pure.
//!
//! Parsing borrows from the bytes, keeps no text, and allocates nothing for an event of the usual shape. Unknown keys and types are ignored, because
//! servers differ and only output, finish reason, usage and errors matter here. Invalid UTF-8 and single surrogates count as text, because a token
//! can be a part of a character.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};

use super::lenient_json::parse;

mod all_choices;
mod cached;
mod first_choice;
mod logprobs;
mod typed;
mod values;

pub(super) use all_choices::{WholeChoice, whole_choices};
pub(super) use first_choice::FirstChoice;
pub use values::Finish;
use values::{Filled, ObjectKind, Reason, Text, count};

/// The relevant content of an event, or of an answer in one piece.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Chunk {
    /// The combined state of all choices.
    pub choices: Choices,
    /// Token counts; `None` if missing or null.
    pub usage: Option<Usage>,
    error: Filled,
    object: ObjectKind,
    /// `type` of an event in the Responses and the Messages API.
    #[serde(rename = "type")]
    event_type: Filled,
}

impl Chunk {
    /// Parses an event. A byte order mark at the start is ignored.
    ///
    /// # Errors
    /// The bytes are not a JSON object.
    pub fn parse(bytes: &[u8]) -> Result<Chunk, serde_json::Error> {
        let chunk: Chunk = parse(bytes)?;
        if !chunk.is_typed() {
            return Ok(chunk);
        }
        Ok(typed::read(bytes)?.map_or(chunk, |it| it.chunk))
    }

    /// Whether this can be an event or an answer of the Responses or the Messages API, which have a `type`.
    fn is_typed(&self) -> bool {
        self.event_type.0 || self.object == ObjectKind::Response
    }

    /// Whether the event is an error instead of an answer. [`ApiError`](super::api_error::ApiError) parses the error.
    pub fn is_error(&self) -> bool {
        self.error.0 || self.object == ObjectKind::Error
    }
}

/// Token counts from the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Number of prompt tokens.
    #[serde(deserialize_with = "count")]
    pub prompt_tokens: Option<u32>,
    /// Number of output tokens.
    #[serde(deserialize_with = "count")]
    pub completion_tokens: Option<u32>,
    /// Number of prompt tokens found in the prefix cache. vLLM omits a 0, and omits the field unless it is configured to send it.
    #[serde(rename = "prompt_tokens_details", deserialize_with = "cached::count")]
    pub cached_tokens: Option<u32>,
}

/// The combined state of all choices in an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Whether there is visible output: text, reasoning, or a part of a tool call.
    pub output: bool,
    /// Whether there is no output but possibly a token without text: an empty text outside a role chunk, or a finish reason.
    pub silent_token: bool,
    /// The finish reason, if there is one.
    pub finish: Option<Finish>,
    /// Indices of the choices in the event.
    pub seen: Indices,
    /// Indices of the choices that have a finish reason.
    pub finished: Indices,
}

/// A set of choice indices. Bit `i` stands for index `i`; the last bit stands for all higher indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Indices(u64);

impl Indices {
    fn from_index(index: u32) -> Indices {
        Indices(1 << index.min(63))
    }

    /// Returns the union of both sets.
    pub fn and(self, other: Indices) -> Indices {
        Indices(self.0 | other.0)
    }

    /// Whether this set is not empty and a subset of `others`.
    pub fn are_all_in(self, others: Indices) -> bool {
        self.0 != 0 && self.0 & !others.0 == 0
    }
}

#[derive(Deserialize)]
struct Choice {
    /// Missing if a server supports only one choice.
    #[serde(default, deserialize_with = "count")]
    index: Option<u32>,
    /// Text in a completion.
    #[serde(default)]
    text: Text,
    /// Message part in a streamed chat.
    #[serde(default)]
    delta: Option<Message>,
    /// Message in a chat answer in one piece.
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
    /// The older name of `reasoning`.
    reasoning_content: Text,
    refusal: Text,
    tool_calls: Filled,
    /// The older form of `tool_calls`.
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

#[cfg(test)]
mod tests;
