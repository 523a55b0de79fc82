//! Parses the individual choices of an answer in one piece, for a request with several prompts.
//!
//! Used in addition to [`Chunk`](super::Chunk). Unknown content is ignored here too, but `token_ids` that are not a list of numbers are an error.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::values::{Finish, Reason, count, pass_over, text};
use crate::client::lenient_json::parse;

/// One choice of an answer in one piece.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::client) struct WholeChoice {
    /// The choice's index as sent; if missing, its position in the list.
    pub(in crate::client) index: u32,
    pub(in crate::client) text: String,
    /// The generated token ids; `None` if the server does not send them.
    pub(in crate::client) token_ids: Option<Vec<u32>>,
    /// Number of prompt tokens; `None` if the server does not send their ids.
    pub(in crate::client) prompt_tokens: Option<u32>,
    pub(in crate::client) finish: Option<Finish>,
}

/// Returns the choices of an answer that [`Chunk::parse`](super::Chunk::parse) has accepted.
///
/// # Errors
/// A choice has `token_ids` that are not a list of 32-bit numbers.
pub(in crate::client) fn whole_choices(bytes: &[u8]) -> Result<Vec<WholeChoice>, serde_json::Error> {
    let answer: Answer = parse(bytes)?;
    let choice = |(place, it): (usize, Choice)| WholeChoice {
        index: it.index.unwrap_or(u32::try_from(place).unwrap_or(u32::MAX)),
        text: it.text.unwrap_or_default(),
        token_ids: it.token_ids,
        prompt_tokens: it.prompt_token_ids.0,
        finish: it.finish_reason.0,
    };
    Ok(answer.choices.into_iter().enumerate().map(choice).collect())
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default, deserialize_with = "count")]
    index: Option<u32>,
    #[serde(default, deserialize_with = "text")]
    text: Option<String>,
    #[serde(default)]
    token_ids: Option<Vec<u32>>,
    #[serde(default)]
    prompt_token_ids: Length,
    #[serde(default)]
    finish_reason: Reason,
}

/// The number of entries in a list; `None` for any other value. The entries themselves are discarded.
#[derive(Default)]
struct Length(Option<u32>);

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Length;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Length, A::Error> {
                let mut length = 0_u32;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    length = length.saturating_add(1);
                }
                Ok(Length(Some(length)))
            }

            fn visit_str<E>(self, _: &str) -> Result<Length, E> {
                Ok(Length(None))
            }

            pass_over!(Length(None), but_lists);
        }
        deserializer.deserialize_any(List)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_choice_has_its_own_text_and_tokens() {
        let json = r#"{"choices":[
            {"index":1,"text":"b c","token_ids":[7,8],"prompt_token_ids":[1,2,3],"finish_reason":"length"},
            {"index":0,"text":"","token_ids":[],"finish_reason":"stop"},
            {"text":"é","finish_reason":"abort","prompt_token_ids":null}
        ],"usage":{"prompt_tokens":9}}"#;
        let choice = |index, text: &str, token_ids, prompt_tokens, finish| WholeChoice {
            index,
            text: text.into(),
            token_ids,
            prompt_tokens,
            finish: Some(finish),
        };
        let expected = [
            choice(1, "b c", Some(vec![7, 8]), Some(3), Finish::Length),
            choice(0, "", Some(vec![]), None, Finish::Complete),
            choice(2, "é", None, None, Finish::Failed),
        ];
        assert_eq!(whole_choices(json.as_bytes()).unwrap(), expected);
        assert_eq!(whole_choices(b"{}").unwrap(), []);
        whole_choices(br#"{"choices":[{"token_ids":[-1]}]}"#).unwrap_err();
    }

    #[test]
    fn only_a_list_of_prompt_ids_has_a_length() {
        let length = |ids: &str| {
            let json = format!(r#"{{"choices":[{{"text":"a","prompt_token_ids":{ids}}}]}}"#);
            whole_choices(json.as_bytes()).unwrap()[0].prompt_tokens
        };
        assert_eq!((length("[]"), length(r#"[1,"b",[2],null]"#)), (Some(0), Some(4)));
        for other in [r#"{"a":[1]}"#, "7", "-7", "1.5", "true", r#""1""#, "null"] {
            assert_eq!(length(other), None, "{other}");
        }
    }
}
