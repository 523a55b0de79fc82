//! Reads one row of a data set: an object of which only the prompt is kept. Pure.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use workload_profiles::workload::{PromptColumn, PromptForm};

use super::rows::Rows;

/// The longest prompt, in tokens.
const MAX_TOKENS: usize = 2_000_000;
/// The longest text, in bytes: eight bytes a token.
const MAX_TEXT: usize = 8 * MAX_TOKENS;

/// The prompt of a row, as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Prompt {
    ids: Vec<u32>,
    text: String,
    /// The problem of the row, and the remedy.
    problem: Option<String>,
}

impl Prompt {
    /// The problem of the row; `None` if the row is no object.
    pub(super) fn problem(&self) -> Option<String> {
        self.problem.clone()
    }

    /// Appends the prompt to the rows, which may take `most` bytes together; `false` if there is no room.
    pub(super) fn move_to(&mut self, rows: &mut Rows, form: PromptForm, most: usize) -> bool {
        if rows.bytes() + self.ids.len() * size_of::<u32>() + self.text.len() > most {
            self.problem = Some(format!("with it the prompts take more than {most} bytes; lower the count"));
            return false;
        }
        match form {
            PromptForm::TokenIds => rows.push_ids(self.ids.drain(..)),
            PromptForm::Text | PromptForm::Messages => rows.push_text(&std::mem::take(&mut self.text)),
        }
        true
    }

    /// Reads the value of the prompt's column.
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, form: PromptForm, map: &mut A) -> Result<(), A::Error> {
        self.ids.clear();
        self.text.clear();
        let (read, wanted) = match form {
            PromptForm::Text | PromptForm::Messages => (map.next_value().map(|it| self.text = it), "text"),
            PromptForm::TokenIds => (map.next_value_seed(IdsSeed { name, prompt: self }), "list of token ids"),
        };
        if let Err(error) = read {
            let none = || format!("{name} is no {wanted}; name another column, or say that it holds something else");
            self.problem.get_or_insert_with(none);
            return Err(error);
        }
        if self.text.len() > MAX_TEXT {
            return Err(self.fail(format!("{name} is longer than {MAX_TEXT} bytes; cut it")));
        }
        if self.ids.is_empty() && self.text.is_empty() {
            return Err(self.fail(format!("{name} is empty; leave the row out")));
        }
        Ok(())
    }

    fn fail<E: Error>(&mut self, what: String) -> E {
        self.problem = Some(what);
        E::custom("no prompt")
    }
}

/// Reads a row into the prompt. After an error the prompt has a problem, or the row is no object.
pub(super) struct RowSeed<'a> {
    pub(super) column: &'a PromptColumn,
    pub(super) prompt: &'a mut Prompt,
}

impl<'de> DeserializeSeed<'de> for RowSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RowSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let RowSeed { column: PromptColumn { name, form }, prompt } = self;
        let other = PromptColumn::from_form(match form {
            PromptForm::Text | PromptForm::Messages => PromptForm::TokenIds,
            PromptForm::TokenIds => PromptForm::Text,
        });
        let (mut found, mut has_other) = (0, false);
        while let Some(key) = map.next_key_seed(KeySeed([name, &other.name]))? {
            match key {
                Some(0) => {
                    found += 1;
                    prompt.read(name, *form, &mut map)?;
                }
                key => {
                    has_other |= key.is_some();
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        match found {
            1 => Ok(()),
            0 if has_other => Err(prompt.fail(format!(
                "has no {name}; it has {}, so name that one as the column of the prompts if it is what is to be sent",
                other.name
            ))),
            0 => Err(prompt.fail(format!("has no {name}; name the column that holds the prompts"))),
            _ => Err(prompt.fail(format!("has {name} more than once; leave one"))),
        }
    }
}

/// Tells which of two names a key is.
struct KeySeed<'a>([&'a str; 2]);

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a column")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|it| *it == key))
    }
}

/// Appends a list of token ids to the prompt.
struct IdsSeed<'a> {
    name: &'a str,
    prompt: &'a mut Prompt,
}

impl<'de> DeserializeSeed<'de> for IdsSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for IdsSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of token ids")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let IdsSeed { name, prompt } = self;
        loop {
            let place = prompt.ids.len();
            match list.next_element() {
                Ok(None) => return Ok(()),
                Ok(Some(_)) if place >= MAX_TOKENS => {
                    return Err(prompt.fail(format!("{name} has more than {MAX_TOKENS} tokens; cut it")));
                }
                Ok(Some(id)) => prompt.ids.push(id),
                Err(error) => {
                    let what = format!("{name}[{place}] is no token id; write a whole number below 2^32");
                    prompt.problem = Some(what);
                    return Err(error);
                }
            }
        }
    }
}
