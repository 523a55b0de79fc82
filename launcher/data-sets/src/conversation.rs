//! Reads a recorded conversation: a list of texts, or a list of objects with a speaker and a text. Pure.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// Maximum turns of a conversation.
const MAX_TURNS: usize = 10_000;

/// The speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    System,
    User,
    Assistant,
}

impl Speaker {
    /// Recognizes the names in OpenAI's messages and in ShareGPT. An unknown speaker, such as a tool, is treated like a user.
    fn from_name(name: &str) -> Speaker {
        match name {
            "system" | "developer" => Speaker::System,
            "assistant" | "gpt" | "chatgpt" | "bing" | "bard" | "model" | "bot" => Speaker::Assistant,
            _ => Speaker::User,
        }
    }

    /// The role of a message.
    fn role(self) -> &'static str {
        match self {
            Speaker::System => "system",
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        }
    }
}

/// A message from one speaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) speaker: Speaker,
    pub(super) text: String,
}

/// Reads a conversation. A string is parsed as JSON, because CSV has no lists. After an error, `problem` contains the cause. It stays empty if the
/// value is not a list at all.
pub(super) struct ConversationSeed<'a> {
    /// The name of the column.
    pub(super) name: &'a str,
    pub(super) messages: &'a mut Vec<Message>,
    pub(super) problem: &'a mut Option<String>,
}

impl<'de> DeserializeSeed<'de> for ConversationSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ConversationSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of turns")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let mut json = serde_json::Deserializer::from_str(text);
        json.deserialize_seq(self).and_then(|()| json.end()).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let ConversationSeed { name, messages, problem } = self;
        loop {
            let place = messages.len();
            let message = match list.next_element_seed(MessageSeed { place }) {
                Ok(None) => return Ok(()),
                Ok(Some(_)) if place >= MAX_TURNS => {
                    *problem = Some(format!("{name} has more than {MAX_TURNS} turns; cut it"));
                    return Err(A::Error::custom("too many turns"));
                }
                Ok(Some(message)) => message,
                Err(error) => {
                    let what = "is no turn; write a text, or an object with role or from, and content or value";
                    problem.get_or_insert_with(|| format!("{name}[{place}] {what}"));
                    return Err(error);
                }
            };
            messages.push(message);
        }
    }
}

/// Reads one turn. `place` is its index in the conversation.
struct MessageSeed {
    place: usize,
}

impl<'de> DeserializeSeed<'de> for MessageSeed {
    type Value = Message;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Message, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for MessageSeed {
    type Value = Message;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a turn")
    }

    /// In a list of texts, the turns alternate between user and assistant.
    fn visit_str<E>(self, text: &str) -> Result<Message, E> {
        let speaker = if self.place.is_multiple_of(2) { Speaker::User } else { Speaker::Assistant };
        Ok(Message { speaker, text: text.to_owned() })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Message, A::Error> {
        let (mut speaker, mut text) = (None, String::new());
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "role" | "from" => speaker = Some(Speaker::from_name(&map.next_value::<String>()?)),
                "content" | "value" => map.next_value_seed(ContentSeed(&mut text))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let speaker = speaker.ok_or_else(|| A::Error::custom("no speaker"))?;
        Ok(Message { speaker, text })
    }
}

/// Appends the content of a message: a text, or the texts in a list of parts. Null appends nothing.
struct ContentSeed<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for ContentSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ContentSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or a list of parts")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.push_str(text);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(ContentSeed(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "text" => map.next_value_seed(ContentSeed(self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Writes messages as a JSON list.
pub(super) fn json(messages: &[Message]) -> String {
    let mut text = String::from("[");
    for Message { speaker, text: content } in messages {
        let comma = if text.len() == 1 { "" } else { "," };
        let content = serde_json::Value::from(content.as_str());
        text.push_str(&format!("{comma}{{\"role\":\"{}\",\"content\":{content}}}", speaker.role()));
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, expected: Result<&[(Speaker, &str)], Option<&str>>) {
        let (mut messages, mut problem) = (Vec::new(), None);
        let seed = ConversationSeed { name: "c", messages: &mut messages, problem: &mut problem };
        let read = seed.deserialize(&mut serde_json::Deserializer::from_str(value)).is_ok();
        let found: Vec<_> = messages.iter().map(|it| (it.speaker, it.text.as_str())).collect();
        let found = if read { Ok(found.as_slice()) } else { Err(problem.as_deref()) };
        assert_eq!(found, expected, "{value}");
    }

    #[test]
    fn every_common_form_is_read() {
        use Speaker::{Assistant, System, User};
        check(r#"[{"from":"human","value":"a"},{"from":"gpt","value":"b"}]"#, Ok(&[(User, "a"), (Assistant, "b")]));
        check(
            r#"[{"content":"s","role":"system"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"u"}},{"text":"b"}],"x":[1]}]"#,
            Ok(&[(System, "s"), (User, "ab")]),
        );
        check(r#"["a","b","c"]"#, Ok(&[(User, "a"), (Assistant, "b"), (User, "c")]));
        check(r#""[{\"from\":\"human\",\"value\":\"a\"}]""#, Ok(&[(User, "a")]));
        check(r#"[{"role":"assistant","content":null}]"#, Ok(&[(Assistant, "")]));
        check("[]", Ok(&[]));
    }

    #[test]
    fn what_is_no_turn_is_named() {
        let at = |place| {
            format!("c[{place}] is no turn; write a text, or an object with role or from, and content or value")
        };
        check(r#"["a",5]"#, Err(Some(&at(1))));
        check(r#"[{"content":"a"}]"#, Err(Some(&at(0))));
        check(r#"[{"role":5}]"#, Err(Some(&at(0))));
        check("5", Err(None));
        check(r#""no list""#, Err(None));
    }

    #[test]
    fn messages_are_written_as_json() {
        let message = |speaker, text: &str| Message { speaker, text: text.into() };
        let text = json(&[message(Speaker::User, "a \"b\"\n"), message(Speaker::Assistant, "")]);
        assert_eq!(text, r#"[{"role":"user","content":"a \"b\"\n"},{"role":"assistant","content":""}]"#);
        assert_eq!(json(&[]), "[]");
    }
}
