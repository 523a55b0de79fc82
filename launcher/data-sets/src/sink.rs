//! The interface between the readers of all formats and the consumers of rows.

use std::{
    io::{self, ErrorKind},
    path::Path,
};

use serde::{Deserializer, de::DeserializeSeed};

use super::{
    DataSetError,
    label::Label,
    row::{Columns, Row, RowSeed},
    selection::{Rules, Selection},
};
use prompts::Rows;

/// Consumes the rows of a file in any format.
pub(super) trait RowSink {
    fn path(&self) -> &Path;

    /// Maximum bytes of a row.
    fn longest(&self) -> usize;

    /// Returns the indices of the columns to read. Called for files that list their column names before the rows.
    ///
    /// # Errors
    /// A column is missing. Returns the problem and the remedy. The text lists the file's column names only if `shown`, because in some files they
    /// can be content.
    fn choose(&mut self, names: &[&str], shown: bool) -> Result<Vec<usize>, String>;

    /// For a file with the single column `_only`: a required column with another name; `None` if there is none.
    fn other_than(&self, _only: &str) -> Option<String> {
        None
    }

    /// Maximum number of rows. A file that announces more rows is refused.
    fn most_rows(&self) -> u64 {
        u64::MAX
    }

    /// Whether row labels that are stored as columns should be read.
    fn wants_labels(&self) -> bool {
        false
    }

    /// Receives the label of the next row. Called only for files with labels.
    fn label(&mut self, _label: Label) {}

    /// Reads a row. After an error, [`RowSink::found_problem`] returns the cause, or `None` if the value is not a row at all.
    fn read<'de, D: Deserializer<'de>>(&mut self, row: D) -> Result<(), D::Error>;

    /// Accepts the row that was read. Returns `false` if there is no room for it.
    fn take(&mut self) -> bool;

    /// Whether further rows have no effect.
    fn is_complete(&self) -> bool {
        false
    }

    /// Number of rows that were accepted.
    fn offered(&self) -> u64;

    /// The problem with the current row; `None` if the value is not a row at all.
    fn found_problem(&self) -> Option<String>;

    /// The problem with the current row, as text for a message.
    fn problem(&self) -> String {
        self.found_problem().unwrap_or_else(|| "cannot be read".to_owned())
    }

    /// The position of the current row in a file without lines. `is_taken` states whether the row was already accepted.
    fn at(&self, is_taken: bool) -> String {
        format!("row {}, counted from 0", self.offered().saturating_sub(u64::from(is_taken)))
    }

    fn too_long(&self, at: String) -> DataSetError {
        self.wrong(at, format!("has {} bytes or more; leave out the columns that are not sent", self.longest()))
    }

    fn wrong(&self, at: String, what: String) -> DataSetError {
        DataSetError::Wrong { path: self.path().to_owned(), at, what }
    }

    fn read_error(&self, cause: io::Error) -> DataSetError {
        let path = self.path().to_owned();
        if cause.kind() == ErrorKind::InvalidData {
            DataSetError::Damaged { path, cause }
        } else {
            DataSetError::Read { path, cause }
        }
    }
}

/// Reads a row that is part of a larger value.
pub(super) struct Seed<'a, S>(pub(super) &'a mut S);

impl<'de, S: RowSink> DeserializeSeed<'de> for Seed<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, row: D) -> Result<(), D::Error> {
        self.0.read(row)
    }
}

/// Selects the rows for a workload.
pub(super) struct Sink<'a> {
    rules: Rules<'a>,
    columns: Columns<'a>,
    /// The current row.
    row: Row,
    selection: Selection<'a>,
    /// The problem if there was no room for the current row.
    no_room: Option<String>,
    /// Maximum bytes of a row.
    longest: usize,
}

impl<'a> Sink<'a> {
    pub(super) fn new(rules: Rules<'a>, longest: usize) -> Sink<'a> {
        let (columns, selection) = (Columns::new(rules.set), Selection::new(rules));
        Sink { rules, columns, row: Row::default(), selection, no_room: None, longest }
    }

    /// Number of rows that were selected.
    pub(super) fn chosen(&self) -> u64 {
        self.selection.len()
    }

    /// Number of conversations that have nothing to send.
    pub(super) fn without_turns(&self) -> u64 {
        self.selection.without_turns()
    }

    pub(super) fn into_rows(self) -> Rows {
        self.selection.into_rows()
    }
}

impl RowSink for Sink<'_> {
    fn path(&self) -> &Path {
        self.rules.set.file.as_path()
    }

    fn longest(&self) -> usize {
        self.longest
    }

    fn choose(&mut self, names: &[&str], shown: bool) -> Result<Vec<usize>, String> {
        // A wanted name can contain a dot and continue inside a column. Then the whole column is read.
        let place = |name: &str| {
            names.iter().position(|it| *it == name || name.strip_prefix(it).is_some_and(|it| it.starts_with('.')))
        };
        let shown = if shown { Row::names(names.iter().copied()) } else { String::new() };
        let mut places = Vec::new();
        for name in self.columns.names() {
            places.push(place(name).ok_or_else(|| Row::missing(name, &shown))?);
        }
        places.sort_unstable();
        places.dedup();
        Ok(places)
    }

    fn other_than(&self, only: &str) -> Option<String> {
        self.columns.names().find(|it| *it != only).map(str::to_owned)
    }

    fn read<'de, D: Deserializer<'de>>(&mut self, row: D) -> Result<(), D::Error> {
        RowSeed { columns: self.columns, row: &mut self.row }.deserialize(row)
    }

    fn take(&mut self) -> bool {
        self.no_room = self.selection.offer(&mut self.row).err();
        self.no_room.is_none()
    }

    fn is_complete(&self) -> bool {
        self.selection.is_complete()
    }

    fn offered(&self) -> u64 {
        self.selection.offered()
    }

    fn found_problem(&self) -> Option<String> {
        self.no_room.clone().or_else(|| self.row.problem())
    }
}

/// The problem that bytes are not UTF-8; `None` if they are.
pub(super) fn no_utf8(bytes: &[u8]) -> Option<String> {
    let at = std::str::from_utf8(bytes).err()?.valid_up_to();
    Some(format!("is no UTF-8 from its byte {at} on, counted from 0; save the file as UTF-8 text"))
}
