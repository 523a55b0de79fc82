//! [I/O] Describes a data set: its columns, their content, and its lengths. `benchwright dataset` prints the description.
//!
//! The file is read once, in the same way as in a run. Each column needs four bytes of memory per row, for the length.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::{
    Deserializer, Serialize,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use workload_profiles::workload::{DataSetFormat, roles};

use super::{
    DataSetError,
    columns::too_many,
    label::Label,
    limits::{Limits, MAX_ROW, MAX_ROWS},
    row::Row,
    sink::RowSink,
    source::{self, Source},
};
use files::file_digest::FileDigest;
use prompts::token_count::TokenCount;

/// Maximum number of columns that are described. Columns with a role, such as prompts, are described first.
const MAX_COLUMNS: usize = 48;

/// The description of a file.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    #[serde(flatten)]
    pub file: FileDigest,
    pub format: DataSetFormat,
    pub rows: u64,
    /// The type of the row labels; `None` if they are 0, 1, 2 and so on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<&'static str>,
    pub columns: Vec<Column>,
    /// Number of columns that are not described.
    pub other_columns: usize,
    pub notices: Vec<String>,
}

/// A column.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    pub name: String,
    /// The purpose of the column, derived from its name and its content.
    pub role: Option<Role>,
    /// Number of rows per kind of value. Kinds that do not occur are left out.
    pub kinds: Vec<(Kind, u64)>,
    /// Number of rows without this column.
    pub missing: u64,
    /// The lengths of texts, lists of token ids and conversations.
    pub lengths: Option<Lengths>,
    /// The number of turns per conversation.
    pub turns: Option<Lengths>,
    /// Minimum and maximum of a column of numbers.
    pub numbers: Option<[f64; 2]>,
}

/// The purpose of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    Tokens,
    Text,
    Expected,
    Chat,
    OutputLength,
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    Null,
    Bool,
    Number,
    Text,
    /// A list of integers below 2^32.
    TokenIds,
    /// A list of messages.
    Conversation,
    List,
    Object,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool => "true or false",
            Kind::Number => "number",
            Kind::Text => "text",
            Kind::TokenIds => "token ids",
            Kind::Conversation => "conversation",
            Kind::List => "list",
            Kind::Object => "object",
        }
    }
}

/// The distribution of the lengths in a column. Percentile p is the smallest length that at least p percent of the lengths do not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lengths {
    pub min: u32,
    pub mean: f64,
    pub p50: u32,
    pub p90: u32,
    pub p99: u32,
    pub max: u32,
}

impl Lengths {
    /// `None` if there are no lengths.
    fn new(mut all: Vec<u32>) -> Option<Lengths> {
        all.sort_unstable();
        let (min, max) = (*all.first()?, *all.last()?);
        let mean = all.iter().map(|it| f64::from(*it)).sum::<f64>() / all.len() as f64;
        let at = |percent: usize| all.get((all.len() * percent).div_ceil(100).max(1) - 1).copied().unwrap_or(max);
        Some(Lengths { min, mean, p50: at(50), p90: at(90), p99: at(99), max })
    }
}

/// Describes a file in any format that a workload supports. `tokens` counts the tokens of texts.
///
/// # Errors
/// The file cannot be read, is damaged, or exceeds the size limit; or it contains an invalid row.
pub fn describe(path: &Path, tokens: &TokenCount) -> Result<Description, DataSetError> {
    let mut sink = Describer::new(path, tokens);
    let Source { file, format, notices } = source::feed(&mut sink, path, Limits::default())?;
    let Describer { rows, labels, columns, others, .. } = sink;
    let mut columns: Vec<Column> = columns.into_iter().map(|it| it.finish(rows)).collect();
    assign_roles(&mut columns);
    Ok(Description { file, format, rows, labels: labels.name(), columns, other_columns: others.len(), notices })
}

/// Assigns each role to one column: the first name in the role's list that a column with suitable content has.
fn assign_roles(columns: &mut [Column]) {
    let text = [Kind::Text];
    for (role, names, kinds) in [
        (Role::Tokens, roles::TOKENS, [Kind::TokenIds].as_slice()),
        (Role::Chat, roles::CHAT, &[Kind::Conversation, Kind::List]),
        (Role::Text, roles::TEXT, &text),
        (Role::Expected, roles::EXPECTED, &[Kind::Text, Kind::Number]),
        (Role::OutputLength, roles::OUTPUT_LENGTH, &[Kind::Number]),
    ] {
        let fits = |it: &Column| it.role.is_none() && it.kinds.iter().any(|it| kinds.contains(&it.0));
        let place = names.iter().find_map(|name| columns.iter().position(|it| it.name == *name && fits(it)));
        if let Some(column) = place.and_then(|it| columns.get_mut(it)) {
            column.role = Some(role);
        }
    }
}

/// The type of the labels that were seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Labels {
    #[default]
    Positions,
    Numbers,
    Others,
}

impl Labels {
    fn name(self) -> Option<&'static str> {
        match self {
            Labels::Positions => None,
            Labels::Numbers => Some("numbers"),
            Labels::Others => Some("texts or several values"),
        }
    }
}

struct Describer<'a> {
    path: PathBuf,
    tokens: &'a TokenCount,
    columns: Vec<Tally>,
    /// The names of the columns that are not described.
    others: Vec<String>,
    rows: u64,
    labels: Labels,
    label: Label,
    problem: Option<String>,
}

/// Statistics of a column.
#[derive(Debug, Default)]
struct Tally {
    name: String,
    kinds: Vec<(Kind, u64)>,
    found: u64,
    lengths: Vec<u32>,
    turns: Vec<u32>,
    numbers: Option<[f64; 2]>,
}

impl Tally {
    fn add(&mut self, shape: Shape) {
        self.found += 1;
        match self.kinds.iter_mut().find(|it| it.0 == shape.kind) {
            Some((_, count)) => *count += 1,
            None => self.kinds.push((shape.kind, 1)),
        }
        self.lengths.extend(shape.length);
        self.turns.extend(shape.turns);
        if let Some(number) = shape.number {
            let [low, high] = self.numbers.unwrap_or([number, number]);
            self.numbers = Some([low.min(number), high.max(number)]);
        }
    }

    fn finish(self, rows: u64) -> Column {
        Column {
            name: self.name,
            role: None,
            kinds: self.kinds,
            missing: rows - self.found.min(rows),
            lengths: Lengths::new(self.lengths),
            turns: Lengths::new(self.turns),
            numbers: self.numbers,
        }
    }
}

/// The properties of a value.
#[derive(Clone, Copy, Debug)]
struct Shape {
    kind: Kind,
    length: Option<u32>,
    turns: Option<u32>,
    number: Option<f64>,
}

impl Shape {
    fn plain(kind: Kind) -> Shape {
        Shape { kind, length: None, turns: None, number: None }
    }

    fn number(number: f64) -> Shape {
        Shape { number: Some(number), ..Shape::plain(Kind::Number) }
    }

    fn long(kind: Kind, length: usize) -> Shape {
        Shape { length: Some(u32::try_from(length).unwrap_or(u32::MAX)), ..Shape::plain(kind) }
    }
}

impl<'a> Describer<'a> {
    fn new(path: &Path, tokens: &'a TokenCount) -> Describer<'a> {
        Describer {
            path: path.to_owned(),
            tokens,
            columns: Vec::new(),
            others: Vec::new(),
            rows: 0,
            labels: Labels::default(),
            label: Label::None,
            problem: None,
        }
    }
}

impl RowSink for Describer<'_> {
    fn path(&self) -> &Path {
        &self.path
    }

    fn longest(&self) -> usize {
        MAX_ROW
    }

    fn choose(&mut self, names: &[&str], _shown: bool) -> Result<Vec<usize>, String> {
        let has_role = |name: &str| {
            let lists = [roles::TOKENS, roles::TEXT, roles::EXPECTED, roles::CHAT, roles::OUTPUT_LENGTH];
            lists.iter().any(|it| it.contains(&name))
        };
        let mut places: Vec<usize> = (0..names.len()).collect();
        places.sort_by_key(|it| !has_role(names[*it]));
        for left_out in places.split_off(places.len().min(MAX_COLUMNS)) {
            self.others.push(names[left_out].to_owned());
        }
        places.sort_unstable();
        for name in places.iter().map(|it| names[*it]) {
            // If the data set is a folder, an earlier file can already have this column.
            if self.columns.iter().all(|it| it.name != name) {
                self.columns.push(Tally { name: name.to_owned(), ..Tally::default() });
            }
        }
        Ok(places)
    }

    fn most_rows(&self) -> u64 {
        MAX_ROWS
    }

    fn wants_labels(&self) -> bool {
        true
    }

    fn label(&mut self, label: Label) {
        self.label = label;
    }

    fn read<'de, D: Deserializer<'de>>(&mut self, row: D) -> Result<(), D::Error> {
        self.problem = None;
        let Describer { columns, others, tokens, problem, .. } = self;
        row.deserialize_map(RowVisitor { columns, others, tokens, problem })
    }

    fn take(&mut self) -> bool {
        match (std::mem::take(&mut self.label), self.labels) {
            (Label::None, _) | (_, Labels::Others) => {}
            (Label::Number(number), seen) => {
                let is_position = u64::try_from(number) == Ok(self.rows);
                self.labels = if is_position { seen } else { Labels::Numbers };
            }
            (Label::Text(_) | Label::Other, _) => self.labels = Labels::Others,
        }
        self.problem = (self.rows >= MAX_ROWS).then(too_many);
        self.rows += 1;
        self.problem.is_none()
    }

    fn offered(&self) -> u64 {
        self.rows
    }

    fn found_problem(&self) -> Option<String> {
        self.problem.clone()
    }
}

struct RowVisitor<'a, 'b> {
    columns: &'b mut Vec<Tally>,
    others: &'b mut Vec<String>,
    tokens: &'a TokenCount,
    problem: &'b mut Option<String>,
}

impl<'de> Visitor<'de> for RowVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let RowVisitor { columns, others, tokens, problem } = self;
        let mut seen = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if seen.contains(&key) {
                let mut name = String::new();
                Row::add_name(&mut name, &key);
                *problem = Some(format!("has the column {name} more than once; leave one"));
                return Err(A::Error::custom("a column twice"));
            }
            let place = columns.iter().position(|it| it.name == key);
            if place.is_none() && columns.len() >= MAX_COLUMNS {
                map.next_value::<IgnoredAny>()?;
                if others.len() < MAX_COLUMNS && !others.contains(&key) {
                    others.push(key);
                }
                continue;
            }
            let is_ids = roles::TOKENS.contains(&key.as_str());
            let shape = map.next_value_seed(ShapeSeed { tokens, is_ids })?;
            let place = place.unwrap_or_else(|| {
                columns.push(Tally { name: key.clone(), ..Tally::default() });
                columns.len() - 1
            });
            if let Some(column) = columns.get_mut(place) {
                column.add(shape);
            }
            seen.push(key);
        }
        Ok(())
    }
}

/// Determines the properties of a value without storing it.
struct ShapeSeed<'a> {
    tokens: &'a TokenCount,
    /// Whether the column name means token ids, which CSV stores as text.
    is_ids: bool,
}

impl<'de> DeserializeSeed<'de> for ShapeSeed<'_> {
    type Value = Shape;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Shape, D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ShapeSeed<'_> {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::plain(Kind::Null))
    }

    fn visit_bool<E>(self, _value: bool) -> Result<Shape, E> {
        Ok(Shape::plain(Kind::Bool))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Shape, E> {
        Ok(Shape::number(value as f64))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Shape, E> {
        Ok(Shape::number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Shape, E> {
        Ok(Shape::number(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Shape, E> {
        if self.is_ids && text.trim_start().starts_with('[') {
            let mut json = serde_json::Deserializer::from_str(text);
            if let Ok(shape) = (ShapeSeed { is_ids: false, ..self }).deserialize(&mut json) {
                return Ok(shape);
            }
        }
        Ok(Shape::long(Kind::Text, self.tokens.count(text) as usize))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Shape, A::Error> {
        let (mut count, mut ids, mut messages, mut length) = (0, 0, 0, 0_u32);
        while let Some(element) = list.next_element_seed(ElementSeed(self.tokens))? {
            count += 1;
            match element {
                Element::Id => ids += 1,
                Element::Message(tokens) => {
                    messages += 1;
                    length = length.saturating_add(tokens);
                }
                Element::Other => {}
            }
        }
        Ok(if ids == count {
            Shape::long(Kind::TokenIds, count)
        } else if messages == count {
            let turns = u32::try_from(count).ok();
            Shape { turns, ..Shape::long(Kind::Conversation, length as usize) }
        } else {
            Shape::plain(Kind::List)
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Shape::plain(Kind::Object))
    }
}

/// An element of a list.
enum Element {
    Id,
    /// A message; the field is the number of tokens in its text.
    Message(u32),
    Other,
}

struct ElementSeed<'a>(&'a TokenCount);

impl<'de> DeserializeSeed<'de> for ElementSeed<'_> {
    type Value = Element;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Element, D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ElementSeed<'_> {
    type Value = Element;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Element, E> {
        Ok(Element::Other)
    }

    fn visit_bool<E>(self, _value: bool) -> Result<Element, E> {
        Ok(Element::Other)
    }

    fn visit_u64<E>(self, value: u64) -> Result<Element, E> {
        Ok(if u32::try_from(value).is_ok() { Element::Id } else { Element::Other })
    }

    fn visit_i64<E>(self, value: i64) -> Result<Element, E> {
        Ok(if u32::try_from(value).is_ok() { Element::Id } else { Element::Other })
    }

    fn visit_f64<E>(self, _value: f64) -> Result<Element, E> {
        Ok(Element::Other)
    }

    fn visit_str<E>(self, _text: &str) -> Result<Element, E> {
        Ok(Element::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Element, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Element::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Element, A::Error> {
        let (mut has_speaker, mut tokens) = (false, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "role" | "from" => {
                    map.next_value::<IgnoredAny>()?;
                    has_speaker = true;
                }
                "content" | "value" => {
                    let shape = map.next_value_seed(ShapeSeed { tokens: self.0, is_ids: false })?;
                    tokens = Some(shape.length.unwrap_or_default());
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(tokens.filter(|_| has_speaker).map_or(Element::Other, Element::Message))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn describe_text(name: &str, text: &str) -> Description {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        describe(&path, &TokenCount::Words).unwrap()
    }

    #[test]
    fn columns_have_kinds_lengths_and_roles() {
        let rows = r#"{"tok_input": [1, 2, 3], "input": "a b", "output": "x", "n": 5, "m": [{"role": "user", "content": "a b c"}]}
{"tok_input": [4], "input": "c d e", "output": null, "n": 1.5, "other": {"a": [1]}}"#;
        let found = describe_text("a.jsonl", rows);
        let row = |it: &Column| {
            let kinds: Vec<String> = it.kinds.iter().map(|(kind, count)| format!("{count} {}", kind.name())).collect();
            let lengths = it.lengths.map(|it| format!("{}-{}", it.min, it.max)).unwrap_or_default();
            format!("{} {:?} {} missing {} {lengths}", it.name, it.role, kinds.join(", "), it.missing)
        };
        let rows: Vec<String> = found.columns.iter().map(row).collect();
        assert_eq!(
            rows,
            [
                "tok_input Some(Tokens) 2 token ids missing 0 1-3",
                "input Some(Text) 2 text missing 0 2-3",
                "output Some(Expected) 1 text, 1 null missing 0 1-1",
                "n None 2 number missing 0 ",
                "m None 1 conversation missing 1 3-3",
                "other None 1 object missing 1 ",
            ]
        );
        assert_eq!((found.rows, found.format, found.columns[3].numbers), (2, DataSetFormat::Jsonl, Some([1.5, 5.0])));
    }

    #[test]
    fn lists_in_csv_are_token_ids_and_labels_are_known() {
        let found = describe_text("a.csv", ",input,tok_input,output\n0,a,\"[1, 2]\",x\n2,b,[3],\"[y]\"\n");
        assert_eq!(found.labels, Some("numbers"));
        let kinds: Vec<Kind> = found.columns.iter().map(|it| it.kinds[0].0).collect();
        assert_eq!(kinds, [Kind::Text, Kind::Text, Kind::TokenIds, Kind::Text]);
    }

    #[test]
    fn percentiles_are_lengths_that_there_are() {
        let lengths = Lengths::new((1..=200).rev().collect()).unwrap();
        assert_eq!((lengths.min, lengths.p50, lengths.p90, lengths.p99, lengths.max), (1, 100, 180, 198, 200));
        assert_eq!(lengths.mean, 100.5);
        assert_eq!(Lengths::new(Vec::new()), None);
    }
}
