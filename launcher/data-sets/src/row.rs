//! Reads one row of a data set: an object of which only the wanted columns are kept. Pure.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use workload_profiles::workload::{DataSet, OutputLength, PromptForm, RowContent};

use super::{
    conversation::{ConversationSeed, Message},
    json_text::JsonText,
};

/// Maximum length of a prompt, in tokens.
const MAX_TOKENS: usize = 2_000_000;
/// Maximum length of a text, in bytes (eight bytes per token).
const MAX_TEXT: usize = 8 * MAX_TOKENS;
/// Maximum bytes of the names of other columns in a message.
const MAX_NAMES: usize = 200;
/// Maximum bytes of a single name.
const MAX_NAME: usize = 24;

/// The columns that are read: the content, and the length of the answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns<'a> {
    wanted: [Option<(&'a str, Kind)>; 2],
}

/// The kind of content in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Ids,
    Messages,
    Conversation,
    /// The length of the answer as a number.
    Length,
    /// A text. The requested length of the answer is the length of this text.
    Answer,
}

impl<'a> Columns<'a> {
    pub(super) fn new(set: &'a DataSet) -> Columns<'a> {
        let content = match &set.row {
            RowContent::Prompt(column) => {
                let kind = match column.form {
                    PromptForm::Text => Kind::Text,
                    PromptForm::TokenIds => Kind::Ids,
                    PromptForm::Messages => Kind::Messages,
                };
                (column.name.as_str(), kind)
            }
            RowContent::Conversation { column, .. } => (column.as_str(), Kind::Conversation),
        };
        let output = match &set.output {
            OutputLength::Column(name) => Some((name.as_str(), Kind::Length)),
            OutputLength::TextOf(name) => Some((name.as_str(), Kind::Answer)),
            OutputLength::Fixed(_) | OutputLength::Answer | OutputLength::Unbounded => None,
        };
        Columns { wanted: [Some(content), output] }
    }

    /// The names of the columns. A dot in a name separates the keys of nested objects.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.wanted.iter().flatten().map(|it| it.0)
    }

    /// The columns inside the object with this key, and the part of their names after the key. `None` if there are none.
    fn within(&self, key: &str) -> Option<Columns<'a>> {
        let rest = |name: &'a str| name.strip_prefix(key)?.strip_prefix('.');
        let wanted = self.wanted.map(|it| it.and_then(|(name, kind)| Some((rest(name)?, kind))));
        wanted.iter().any(Option::is_some).then_some(Columns { wanted })
    }
}

/// The content of a row. Its memory is reused for the next row.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) text: String,
    pub(super) ids: Vec<u32>,
    pub(super) messages: Vec<Message>,
    /// The length of the answer, in tokens.
    pub(super) output: Option<u32>,
    /// The recorded answer. The requested length of the answer is the length of this text.
    pub(super) answer: String,
    /// Whether each of the two wanted columns was found: the content, and the length of the answer.
    found: [bool; 2],
    /// The names of other columns, for messages.
    names: String,
    /// The problem with the row, and the remedy.
    problem: Option<String>,
}

impl Row {
    /// The problem with the row; `None` if the row is not an object.
    pub(super) fn problem(&self) -> Option<String> {
        self.problem.clone()
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ids.clear();
        self.messages.clear();
        self.output = None;
        self.answer.clear();
        self.found = [false; 2];
        self.names.clear();
        self.problem = None;
    }

    /// Reads the value of a wanted column.
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, kind: Kind, map: &mut A) -> Result<(), A::Error> {
        let (read, wanted) = match kind {
            Kind::Text => (map.next_value().map(|it| self.text = it), "text"),
            Kind::Answer => (map.next_value().map(|it| self.answer = it), "text"),
            Kind::Ids => (map.next_value_seed(IdsSeed { name, row: self }), "list of token ids"),
            Kind::Length => {
                (map.next_value_seed(LengthSeed).map(|it| self.output = Some(it)), "whole number of tokens")
            }
            Kind::Messages => (self.read_messages(name, map), "list of messages"),
            Kind::Conversation => {
                let Row { messages, problem, .. } = self;
                (map.next_value_seed(ConversationSeed { name, messages, problem }), "list of turns")
            }
        };
        if let Err(error) = read {
            let none = || format!("{name} is no {wanted}; name another column, or declare what the column holds");
            self.problem.get_or_insert_with(none);
            return Err(error);
        }
        if self.text.len() > MAX_TEXT {
            return Err(self.fail(format!("{name} is longer than {MAX_TEXT} bytes; cut it")));
        }
        let is_empty = match kind {
            Kind::Text => self.text.is_empty(),
            Kind::Ids => self.ids.is_empty(),
            Kind::Messages => self.messages.is_empty(),
            Kind::Conversation | Kind::Length | Kind::Answer => false,
        };
        if is_empty { Err(self.fail(format!("{name} is empty; leave the row out"))) } else { Ok(()) }
    }

    /// Reads messages. Keeps them unchanged, including fields that only the server understands, and also reads their texts.
    fn read_messages<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        let Row { text, messages, problem, .. } = self;
        map.next_value_seed(JsonText(text))?;
        let seed = ConversationSeed { name, messages, problem };
        seed.deserialize(&mut serde_json::Deserializer::from_str(text)).map_err(A::Error::custom)
    }

    fn fail<E: Error>(&mut self, what: String) -> E {
        self.problem = Some(what);
        E::custom("the row cannot be sent")
    }

    /// Adds a column name for messages.
    pub(super) fn add_name(names: &mut String, name: &str) {
        add_name(names, name);
    }

    /// The names of columns in the form that [`Row::missing`] needs.
    pub(super) fn names<'a>(all: impl IntoIterator<Item = &'a str>) -> String {
        let mut names = String::new();
        all.into_iter().for_each(|it| add_name(&mut names, it));
        names
    }

    /// The problem that a row or a file lacks a wanted column.
    pub(super) fn missing(name: &str, names: &str) -> String {
        let has = if names.is_empty() { String::new() } else { format!("; it has {names}") };
        format!("has no {name}{has}; name the column that holds what is to be sent")
    }
}

/// Adds a column name for messages. Leaves out long or unusual names, because they can be content.
fn add_name(names: &mut String, name: &str) {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '.' | ' ');
    if (1..=MAX_NAME).contains(&name.len()) && names.len() < MAX_NAMES && name.chars().all(is_plain) {
        names.push_str(if names.is_empty() { "" } else { ", " });
        names.push_str(name);
    }
}

/// Reads a row. After an error, [`Row::problem`] has the cause, or the row is not an object.
pub(super) struct RowSeed<'a, 'b> {
    pub(super) columns: Columns<'b>,
    pub(super) row: &'a mut Row,
}

impl<'de> DeserializeSeed<'de> for RowSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let RowSeed { columns, row } = self;
        row.clear();
        deserializer.deserialize_map(ColumnsVisitor { columns, row: &mut *row })?;
        match columns.wanted.iter().zip(row.found).find_map(|(wanted, found)| wanted.filter(|_| !found)) {
            None => Ok(()),
            Some((name, _)) => Err(row.fail(Row::missing(name, &row.names))),
        }
    }
}

/// Reads an object: the row itself, or an object in it.
struct ColumnsVisitor<'a, 'b> {
    columns: Columns<'b>,
    row: &'a mut Row,
}

impl<'de> Visitor<'de> for ColumnsVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let ColumnsVisitor { columns, row } = self;
        while let Some(key) = map.next_key_seed(KeySeed { columns, row: &mut *row })? {
            match key {
                Key::Wanted(place, name, kind) => {
                    if std::mem::replace(&mut row.found[place], true) {
                        return Err(row.fail(format!("has {name} more than once; leave one")));
                    }
                    row.read(name, kind, &mut map)?;
                }
                Key::Within(columns) => {
                    let mut text = String::new();
                    map.next_value_seed(JsonText(&mut text))?;
                    // A text that is not an object has no columns inside it.
                    if text.starts_with('{') {
                        let mut json = serde_json::Deserializer::from_str(&text);
                        json.deserialize_map(ColumnsVisitor { columns, row: &mut *row }).map_err(A::Error::custom)?;
                    }
                }
                Key::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// The meaning of a key.
enum Key<'b> {
    Wanted(usize, &'b str, Kind),
    /// A key whose value is an object with wanted columns.
    Within(Columns<'b>),
    Other,
}

struct KeySeed<'a, 'b> {
    columns: Columns<'b>,
    row: &'a mut Row,
}

impl<'de, 'b> DeserializeSeed<'de> for KeySeed<'_, 'b> {
    type Value = Key<'b>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'b> Visitor<'_> for KeySeed<'_, 'b> {
    type Value = Key<'b>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a column")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        let KeySeed { columns, row } = self;
        let mut wanted = columns.wanted.iter().enumerate();
        let exact = wanted.find_map(|(place, it)| it.filter(|it| it.0 == key).map(|(name, kind)| (place, name, kind)));
        Ok(match exact {
            Some((place, name, kind)) => Key::Wanted(place, name, kind),
            None => {
                add_name(&mut row.names, key);
                columns.within(key).map_or(Key::Other, Key::Within)
            }
        })
    }
}

/// Reads a number of tokens. In CSV it is text. pandas writes a float if some cells of the column are empty.
struct LengthSeed;

impl<'de> DeserializeSeed<'de> for LengthSeed {
    type Value = u32;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u32, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for LengthSeed {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from 0 to {MAX_TOKENS}")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u32, E> {
        let number = u32::try_from(number).ok().filter(|it| *it as usize <= MAX_TOKENS);
        number.ok_or_else(|| E::custom("too large"))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u32, E> {
        u64::try_from(number).map_err(E::custom).and_then(|it| self.visit_u64(it))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<u32, E> {
        if number.fract() == 0.0 && (0.0..=MAX_TOKENS as f64).contains(&number) {
            Ok(number as u32)
        } else {
            Err(E::custom("no whole number"))
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u32, E> {
        text.trim().parse().map_err(E::custom).and_then(|it| self.visit_f64(it))
    }
}

/// Appends a list of token ids to the row. A string is parsed as JSON, because CSV has no lists.
struct IdsSeed<'a> {
    name: &'a str,
    row: &'a mut Row,
}

impl<'de> DeserializeSeed<'de> for IdsSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for IdsSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of token ids")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let mut json = serde_json::Deserializer::from_str(text);
        json.deserialize_seq(self).and_then(|()| json.end()).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let IdsSeed { name, row } = self;
        loop {
            let place = row.ids.len();
            match list.next_element() {
                Ok(None) => return Ok(()),
                Ok(Some(_)) if place >= MAX_TOKENS => {
                    return Err(row.fail(format!("{name} has more than {MAX_TOKENS} tokens; cut it")));
                }
                Ok(Some(id)) => row.ids.push(id),
                Err(error) => {
                    let what = format!("{name}[{place}] is no token id; write a whole number below 2^32");
                    row.problem = Some(what);
                    return Err(error);
                }
            }
        }
    }
}
