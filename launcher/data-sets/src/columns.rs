//! [I/O] Reads columns of a data set by name, row by row, from a file in any format.
//!
//! In memory are only the wanted columns of one row, plus what the format needs. Some formats are read as a whole: pickles, `npy` files, and JSON
//! that is not an array of objects.

use files::{file_digest::FileDigest, user_file};
use std::{
    fmt,
    fs::File,
    path::{Path, PathBuf},
};

use serde::{
    Deserialize as _, Deserializer,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::Value;
use workload_profiles::workload::{DataSetFormat, roles::TOKENS};

use super::{
    DataSetError,
    limits::{Limits, MAX_ROW, MAX_ROWS},
    row::Row,
    sink::RowSink,
    source::{self, Source},
};

pub use super::label::Label;

/// A row with the values of its wanted columns.
#[derive(Debug)]
pub struct FoundRow<'a> {
    /// The index of the row, from 0.
    pub number: u64,
    pub label: Label,
    /// For each wanted column: the value, and the index of the column's name among the possible names. `None` if the row has none of these names.
    pub values: &'a mut [Option<(usize, Value)>],
    /// The names of the row's columns, for messages.
    columns: &'a str,
}

impl FoundRow<'_> {
    /// The message that the row lacks a wanted column. It contains the names that were tried, and the existing columns.
    pub fn lacks(&self, names: &[&str]) -> String {
        lacks(names, self.columns)
    }
}

/// The problem with the first row beyond the limit.
pub(super) fn too_many() -> String {
    format!("is one row too many; at most {MAX_ROWS} are read: give a part of the file")
}

fn lacks(names: &[&str], columns: &str) -> String {
    let has = if columns.is_empty() { String::new() } else { format!("; it has {columns}") };
    format!("has no column {}{has}", names.join(" or "))
}

/// Information about a file whose columns were read.
#[derive(Clone, Debug)]
pub struct ReadFile {
    pub rows: u64,
    pub format: DataSetFormat,
    pub file: FileDigest,
    /// Notices that the content has another format than the file name suggests.
    pub notices: Vec<String>,
}

/// Reads columns of a data set in any format that a workload supports. Each wanted column is a list of possible names; the first one that a row has
/// is used. `each` is called for each row in order. An error from `each` is reported as a problem with its row.
///
/// # Errors
/// The file cannot be read, is damaged or is too long; a row is not an object; or `each` returns an error. The message contains the position of the
/// row.
pub fn read_columns(
    path: &Path,
    wanted: &[&[&str]],
    each: impl FnMut(FoundRow<'_>) -> Result<(), String>,
) -> Result<ReadFile, DataSetError> {
    let mut picker = Picker::new(path, wanted, each);
    let Source { file, format, notices } = source::feed(&mut picker, path, Limits::default())?;
    Ok(ReadFile { rows: picker.rows, format, file, notices })
}

/// Returns the column names in the first row of a file. Errors are ignored; the result is empty if the names cannot be read.
pub(super) fn first_names(path: &Path, format: DataSetFormat) -> Vec<String> {
    let mut sink = Names { path: path.to_owned(), names: Vec::new(), rows: 0 };
    let is_marked = |it: &File| source::is_parquet(it, Some(format));
    let read = match user_file::open(path) {
        Ok(file) if is_marked(&file) => super::parquet::read(&mut sink, file),
        Ok(file) => {
            let name = path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
            source::stream(&mut sink, Some(format), &name, file, Limits::default()).map(drop)
        }
        Err(_) => source::folder(&mut sink, path, Limits::default()).map(drop),
    };
    // An error is expected here, because it ends reading as soon as the names are known.
    drop(read);
    sink.names
}

/// Collects the names of the first row.
struct Names {
    path: PathBuf,
    names: Vec<String>,
    rows: u64,
}

impl RowSink for Names {
    fn path(&self) -> &Path {
        &self.path
    }

    fn longest(&self) -> usize {
        MAX_ROW
    }

    fn choose(&mut self, names: &[&str], _shown: bool) -> Result<Vec<usize>, String> {
        self.names = names.iter().map(|it| (*it).to_owned()).collect();
        Err("enough".to_owned())
    }

    fn read<'de, D: Deserializer<'de>>(&mut self, row: D) -> Result<(), D::Error> {
        let row = std::collections::BTreeMap::<String, IgnoredAny>::deserialize(row)?;
        self.names = row.into_keys().collect();
        Ok(())
    }

    fn take(&mut self) -> bool {
        self.rows += 1;
        true
    }

    fn is_complete(&self) -> bool {
        self.rows > 0
    }

    fn offered(&self) -> u64 {
        self.rows
    }

    fn found_problem(&self) -> Option<String> {
        None
    }
}

struct Picker<'a, F> {
    path: PathBuf,
    wanted: &'a [&'a [&'a str]],
    each: F,
    label: Label,
    values: Vec<Option<(usize, Value)>>,
    /// The names of the row's columns, for messages.
    names: String,
    /// Whether the file lists its column names once, before all rows.
    is_named: bool,
    rows: u64,
    problem: Option<String>,
}

impl<'a, F: FnMut(FoundRow<'_>) -> Result<(), String>> Picker<'a, F> {
    fn new(path: &Path, wanted: &'a [&'a [&'a str]], each: F) -> Picker<'a, F> {
        Picker {
            path: path.to_owned(),
            wanted,
            each,
            label: Label::None,
            values: Vec::new(),
            names: String::new(),
            is_named: false,
            rows: 0,
            problem: None,
        }
    }
}

impl<F: FnMut(FoundRow<'_>) -> Result<(), String>> RowSink for Picker<'_, F> {
    fn path(&self) -> &Path {
        &self.path
    }

    fn longest(&self) -> usize {
        MAX_ROW
    }

    fn choose(&mut self, names: &[&str], shown: bool) -> Result<Vec<usize>, String> {
        // Rows contain only the columns that are read. So the names of all columns are kept here.
        self.names = if shown { Row::names(names.iter().copied()) } else { String::new() };
        self.is_named = true;
        let is_wanted = |name: &str| self.wanted.iter().any(|it| it.contains(&name));
        let chosen: Vec<usize> = (0..names.len()).filter(|it| is_wanted(names[*it])).collect();
        match (chosen.is_empty(), self.wanted.first()) {
            (true, Some(first)) => Err(lacks(first, &self.names)),
            _ => Ok(chosen),
        }
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
        self.values.clear();
        self.values.resize(self.wanted.len(), None);
        let Picker { wanted, values, problem, .. } = self;
        let names = row.deserialize_map(PickVisitor { wanted, values, problem })?;
        if !self.is_named {
            self.names = names;
        }
        Ok(())
    }

    fn take(&mut self) -> bool {
        let label = std::mem::take(&mut self.label);
        let row = FoundRow { number: self.rows, label, values: &mut self.values, columns: &self.names };
        self.problem = if self.rows < MAX_ROWS { (self.each)(row).err() } else { Some(too_many()) };
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

struct PickVisitor<'a, 'b> {
    wanted: &'a [&'a [&'a str]],
    values: &'b mut [Option<(usize, Value)>],
    problem: &'b mut Option<String>,
}

impl<'de> Visitor<'de> for PickVisitor<'_, '_> {
    /// The names of the row's columns.
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<String, A::Error> {
        let mut names = String::new();
        while let Some(key) = map.next_key::<String>()? {
            Row::add_name(&mut names, &key);
            let place = |list: &&[&str]| list.iter().position(|it| *it == key);
            let mut found = self.wanted.iter().enumerate().filter_map(|(role, list)| Some((role, place(list)?)));
            let Some((role, place)) = found.next() else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let value = map.next_value::<Value>()?;
            match &mut self.values[role] {
                Some((before, _)) if *before == place => {
                    *self.problem = Some(format!("has {key} more than once; leave one"));
                    return Err(A::Error::custom("a column twice"));
                }
                Some((before, _)) if *before < place => {}
                slot => *slot = Some((place, parsed(&key, value))),
            }
        }
        Ok(names)
    }
}

/// A list of token ids can be written as text, as in CSV.
fn parsed(name: &str, value: Value) -> Value {
    let is_list = |text: &str| TOKENS.contains(&name) && text.trim_start().starts_with('[');
    match &value {
        Value::String(text) if is_list(text) => serde_json::from_str::<Vec<u32>>(text).map_or(value, Value::from),
        _ => value,
    }
}
