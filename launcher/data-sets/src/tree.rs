//! Reads JSON that is not an array of objects. It can be an object of lists, a layout ("orient") in which pandas writes JSON, `{"data": [...]}`, a
//! single object, or JSON Lines in a file without that extension.
//!
//! The values of a row can be anywhere in such a file, so the whole file is kept in memory, in at most [`MAX_TREE`] bytes. Lists of token ids take
//! four bytes per id, texts are stored unchanged, and every other value takes 32 bytes.

use std::{cell::Cell as Count, fmt, io::BufRead};

use python_data::{Cell, cell::List};
use serde::de::{
    DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor,
    value::{Error, MapDeserializer},
};
use serde_json::error::Category;
use workload_profiles::workload::roles::{CHAT, TOKENS};

use super::{DataSetError, label::Label, sink::RowSink};
use files::lines::Bounded;

/// Maximum bytes of memory for all values of a file.
const MAX_TREE: usize = 2 << 30;

/// A JSON value.
#[derive(Debug)]
enum Tree {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text(String),
    Tokens(Vec<u32>),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

impl Tree {
    fn cell(&self) -> Cell<'_> {
        match self {
            Tree::Null => Cell::Null,
            Tree::Bool(it) => Cell::Bool(*it),
            Tree::Int(it) => Cell::Int(*it),
            Tree::UInt(it) => Cell::UInt(*it),
            Tree::Float(it) => Cell::Float(*it),
            Tree::Text(text) => Cell::from(text.as_str()),
            Tree::Tokens(tokens) => Cell::List(List::Tokens(tokens)),
            Tree::List(list) => Cell::List(List::Cells(list.iter().map(Tree::cell).collect())),
            Tree::Map(pairs) => {
                Cell::from_pairs(pairs.iter().map(|(key, value)| (Cell::from(key.as_str()), value.cell())))
            }
        }
    }

    fn is_list(&self) -> bool {
        matches!(self, Tree::Tokens(_) | Tree::List(_))
    }

    fn is_map(&self) -> bool {
        matches!(self, Tree::Map(_))
    }

    /// The length of a list; 0 for any other value.
    fn len(&self) -> usize {
        match self {
            Tree::Tokens(tokens) => tokens.len(),
            Tree::List(list) => list.len(),
            _ => 0,
        }
    }

    /// An element of a list.
    fn get(&self, place: usize) -> Cell<'_> {
        match self {
            Tree::Tokens(tokens) => tokens.get(place).map_or(Cell::Null, |it| Cell::Int((*it).into())),
            Tree::List(list) => list.get(place).map_or(Cell::Null, Tree::cell),
            _ => Cell::Null,
        }
    }

    fn pairs(&self) -> &[(String, Tree)] {
        if let Tree::Map(pairs) = self { pairs } else { &[] }
    }

    fn field(&self, name: &str) -> Option<&Tree> {
        self.pairs().iter().find(|it| it.0 == name).map(|it| &it.1)
    }
}

/// Reads a value. The field counts the bytes of memory that remain.
struct TreeSeed<'a>(&'a Count<usize>);

impl TreeSeed<'_> {
    fn spend<E: serde::de::Error>(&self, bytes: usize) -> Result<(), E> {
        match self.0.get().checked_sub(bytes) {
            Some(left) => {
                self.0.set(left);
                Ok(())
            }
            None => {
                self.0.set(0);
                Err(E::custom("too large"))
            }
        }
    }

    fn text<E: serde::de::Error>(&self, text: &str) -> Result<String, E> {
        self.spend(size_of::<Tree>() + text.len())?;
        Ok(text.to_owned())
    }
}

impl<'de> DeserializeSeed<'de> for TreeSeed<'_> {
    type Value = Tree;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Tree, D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TreeSeed<'_> {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(i64::try_from(value).map_or(Tree::UInt(value), Tree::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Float(value))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Tree, E> {
        self.text(text).map(Tree::Text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut tokens = Vec::new();
        let first = loop {
            match list.next_element_seed(TreeSeed(self.0))? {
                None => return Ok(Tree::Tokens(tokens)),
                Some(Tree::Int(id)) if u32::try_from(id).is_ok() => {
                    self.spend(size_of::<u32>())?;
                    tokens.push(id as u32);
                }
                Some(other) => break other,
            }
        };
        self.spend((tokens.len() + 1) * size_of::<Tree>())?;
        let mut all: Vec<Tree> = tokens.into_iter().map(|it| Tree::Int(it.into())).collect();
        all.push(first);
        while let Some(value) = list.next_element_seed(TreeSeed(self.0))? {
            self.spend(size_of::<Tree>())?;
            all.push(value);
        }
        Ok(Tree::List(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut pairs = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            self.spend(2 * size_of::<Tree>() + key.len())?;
            pairs.push((key, map.next_value_seed(TreeSeed(self.0))?));
        }
        Ok(Tree::Map(pairs))
    }
}

/// The reason why reading stopped.
enum Stop {
    Json(serde_json::Error),
    Rows(DataSetError),
    /// The shape of the file is not supported.
    Shape(String),
}

impl From<serde_json::Error> for Stop {
    fn from(error: serde_json::Error) -> Self {
        Stop::Json(error)
    }
}

/// Reads a file that begins with an object.
pub(super) fn read(sink: &mut impl RowSink, bytes: &mut impl BufRead) -> Result<(), DataSetError> {
    // A row's length is not limited here, because the file can be a single value. The limits on memory and on the file still apply.
    let unbounded = Count::new(usize::MAX);
    let memory = Count::new(MAX_TREE);
    let mut json = serde_json::Deserializer::from_reader(Bounded { bytes, left: &unbounded });
    let read = read_values(sink, &mut json, &memory);
    read.map_err(|stop| match stop {
        Stop::Rows(error) => error,
        Stop::Shape(what) => sink.wrong("as JSON".to_owned(), what),
        Stop::Json(_) if memory.get() == 0 => {
            let what = format!("needs more than {MAX_TREE} bytes of memory as one object; write it as an array of objects, or as an object a line");
            sink.wrong("as JSON".to_owned(), what)
        }
        Stop::Json(error) => match error.classify() {
            Category::Io => sink.read_error(error.into()),
            _ => {
                let at = format!("line {}, column {}", error.line(), error.column());
                sink.wrong(at, "is no JSON in UTF-8 from here on".to_owned())
            }
        },
    })
}

fn read_values<'de, R: serde_json::de::Read<'de>>(
    sink: &mut impl RowSink,
    json: &mut serde_json::Deserializer<R>,
    memory: &Count<usize>,
) -> Result<(), Stop> {
    let first = TreeSeed(memory).deserialize(&mut *json)?;
    let Err(end) = json.end() else { return rows(sink, &first) };
    // After the first value, the file continues with another value, or with text that is not JSON.
    if !end.is_syntax() {
        return Err(end.into());
    }
    let mut row = first;
    loop {
        take(sink, Label::None, fields(&row)).map_err(Stop::Rows)?;
        if sink.is_complete() || json.end().is_ok() {
            return Ok(());
        }
        memory.set(MAX_TREE);
        row = TreeSeed(memory).deserialize(&mut *json)?;
        if !row.is_map() {
            return Err(Stop::Rows(sink.wrong(sink.at(false), "is no object".to_owned())));
        }
    }
}

fn fields(row: &Tree) -> Vec<(&str, Cell<'_>)> {
    row.pairs().iter().map(|(name, value)| (name.as_str(), value.cell())).collect()
}

/// Passes a row to the sink.
pub(super) fn take(sink: &mut impl RowSink, label: Label, row: Vec<(&str, Cell<'_>)>) -> Result<(), DataSetError> {
    sink.label(label);
    let is_read = sink.read(MapDeserializer::<_, Error>::new(row.into_iter())).is_ok();
    if is_read && sink.take() { Ok(()) } else { Err(sink.wrong(sink.at(is_read), sink.problem())) }
}

/// Passes rows until the sink needs no more.
fn take_all<'t>(
    sink: &mut impl RowSink,
    rows: impl Iterator<Item = (Label, Vec<(&'t str, Cell<'t>)>)>,
) -> Result<(), Stop> {
    for (label, row) in rows {
        take(sink, label, row).map_err(Stop::Rows)?;
        if sink.is_complete() {
            break;
        }
    }
    Ok(())
}

/// Reads the rows of a file that is a single object, according to its shape.
fn rows(sink: &mut impl RowSink, file: &Tree) -> Result<(), Stop> {
    let pairs = file.pairs();
    let lists = |tree: &Tree| matches!(tree, Tree::List(all) if all.iter().all(Tree::is_list));
    let maps = |tree: &Tree| matches!(tree, Tree::List(all) if all.iter().all(Tree::is_map));
    if let (Some(columns), Some(data)) = (file.field("columns"), file.field("data"))
        && (lists(data) || data.len() == 0)
    {
        return split(sink, columns, data, file.field("index"));
    }
    if let Some(data) = file.field("data").filter(|it| maps(it)) {
        // If there is a schema, it contains the name of the column with the labels.
        let key = file.field("schema").and_then(|it| it.field("primaryKey"));
        let key = key.filter(|it| it.len() == 1).map(|it| it.get(0).to_name());
        let Tree::List(data) = data else { return Ok(()) };
        return take_all(
            sink,
            data.iter().map(|row| {
                let is_label = |name: &str| key.as_deref() == Some(name);
                let label = key.as_deref().and_then(|it| row.field(it)).map(|it| Label::from_cell(&it.cell()));
                let row = fields(row).into_iter().filter(|it| !is_label(it.0)).collect();
                (label.unwrap_or_default(), row)
            }),
        );
    }
    if !pairs.is_empty() && pairs.iter().all(|it| it.1.is_map()) {
        return oriented(sink, pairs);
    }
    let is_prompt = |(name, value): &(String, Tree)| {
        TOKENS.contains(&name.as_str()) && matches!(value, Tree::Tokens(it) if !it.is_empty())
            || CHAT.contains(&name.as_str()) && maps(value)
    };
    if !pairs.is_empty() && pairs.iter().all(|it| it.1.is_list()) && !pairs.iter().any(is_prompt) {
        return of_lists(sink, pairs);
    }
    take(sink, Label::None, fields(file)).map_err(Stop::Rows)
}

/// Reads the orient `split`: `{"columns": [...], "index": [...], "data": [[...], ...]}`.
fn split(sink: &mut impl RowSink, columns: &Tree, data: &Tree, index: Option<&Tree>) -> Result<(), Stop> {
    let names: Vec<String> = (0..columns.len()).map(|it| columns.get(it).to_name()).collect();
    let places = choose(sink, &names)?;
    let Tree::List(data) = data else { return Ok(()) };
    for (number, row) in data.iter().enumerate() {
        if row.len() != names.len() {
            let (found, wanted) = (row.len(), names.len());
            return Err(Stop::Shape(format!(
                "has {found} values in row {number}, counted from 0, and {wanted} columns"
            )));
        }
        let label = index.map_or(Label::None, |it| Label::from_cell(&it.get(number)));
        let row = places.iter().map(|it| (names[*it].as_str(), row.get(*it))).collect();
        take(sink, label, row).map_err(Stop::Rows)?;
        if sink.is_complete() {
            break;
        }
    }
    Ok(())
}

fn choose(sink: &mut impl RowSink, names: &[String]) -> Result<Vec<usize>, Stop> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    sink.choose(&names, true).map_err(Stop::Shape)
}

/// Reads the orients `columns`, `{"input": {"0": ..., "1": ...}, ...}`, and `index`, `{"0": {"input": ..., ...}, ...}`. Rows are in the order of the
/// file, as in pandas.
fn oriented(sink: &mut impl RowSink, pairs: &[(String, Tree)]) -> Result<(), Stop> {
    let is_number = |it: &(String, Tree)| it.0.parse::<i64>().is_ok();
    let first = pairs.first().map_or(&[][..], |it| it.1.pairs());
    if pairs.iter().all(is_number) || !first.iter().all(is_number) {
        return take_all(sink, pairs.iter().map(|(label, row)| (Label::from_text(label), fields(row))));
    }
    let names: Vec<String> = pairs.iter().map(|it| it.0.clone()).collect();
    let places = choose(sink, &names)?;
    for (place, (label, _)) in first.iter().enumerate() {
        let mut row = Vec::new();
        for column in places.iter().map(|it| &pairs[*it]) {
            // Usually all columns have their values in the same order. If not, the value is searched by its label.
            let values = column.1.pairs();
            let value =
                values.get(place).filter(|it| it.0 == *label).or_else(|| values.iter().find(|it| it.0 == *label));
            let none = || Stop::Shape(format!("has no value of the column {} in each row", Shown(&column.0)));
            row.push((column.0.as_str(), value.ok_or_else(none)?.1.cell()));
        }
        take(sink, Label::from_text(label), row).map_err(Stop::Rows)?;
        if sink.is_complete() {
            break;
        }
    }
    Ok(())
}

/// Reads an object of lists: `{"input": [...], "tok_input": [...], ...}`.
fn of_lists(sink: &mut impl RowSink, pairs: &[(String, Tree)]) -> Result<(), Stop> {
    let rows = pairs.first().map_or(0, |it| it.1.len());
    if let Some((name, list)) = pairs.iter().find(|it| it.1.len() != rows) {
        let (found, first) = (list.len(), Shown(&pairs[0].0));
        let name = Shown(name);
        return Err(Stop::Shape(format!(
            "has lists of different lengths: {first} has {rows} values, {name} has {found}; write a value for each row"
        )));
    }
    let names: Vec<String> = pairs.iter().map(|it| it.0.clone()).collect();
    let places = choose(sink, &names)?;
    take_all(
        sink,
        (0..rows)
            .map(|row| (Label::None, places.iter().map(|it| (pairs[*it].0.as_str(), pairs[*it].1.get(row))).collect())),
    )
}

/// Prints a column name in a message. Replaces a long name by `a column`, because it can be content.
struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.len() > 60 { "a column" } else { self.0 })
    }
}
