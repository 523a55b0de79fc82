//! The interface that the readers of all formats share: the current row, its destination, and the errors.

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

/// Receives the rows of a file in any format.
pub(super) trait RowSink {
    fn path(&self) -> &Path;

    /// Maximum bytes of a row.
    fn longest(&self) -> usize;

    /// The places of the columns that are read, of a file that names its columns before its rows.
    ///
    /// # Errors
    /// The problem and the remedy: a column is missing. The message repeats the names only where they are `shown`: in some files they may be
    /// content.
    fn choose(&mut self, names: &[&str], shown: bool) -> Result<Vec<usize>, String>;

    /// A column that is required, if the file has only one column and it is a different one.
    fn other_than(&self, _only: &str) -> Option<String> {
        None
    }

    /// Maximum rows that are taken; a file that states more before its rows is refused.
    fn most_rows(&self) -> u64 {
        u64::MAX
    }

    /// Whether labels are read where they are columns of the file.
    fn wants_labels(&self) -> bool {
        false
    }

    /// The label of the row that follows, in a file that has labels.
    fn label(&mut self, _label: Label) {}

    /// Reads a row. After an error it has a problem, or is no row at all.
    fn read<'de, D: Deserializer<'de>>(&mut self, row: D) -> Result<(), D::Error>;

    /// Takes the row that was read; `false` if there is no room for it.
    fn take(&mut self) -> bool;

    /// Whether further rows have no effect.
    fn is_complete(&self) -> bool {
        false
    }

    /// The rows that were taken.
    fn offered(&self) -> u64;

    /// The problem of the current row; `None` if it is not a row.
    fn found_problem(&self) -> Option<String>;

    /// The problem of a row that was read.
    fn problem(&self) -> String {
        self.found_problem().unwrap_or_else(|| "cannot be read".to_owned())
    }

    /// The place of the current row in a file without lines: before it is taken, or after.
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

/// Reads a row within a larger value.
pub(super) struct Seed<'a, S>(pub(super) &'a mut S);

impl<'de, S: RowSink> DeserializeSeed<'de> for Seed<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, row: D) -> Result<(), D::Error> {
        self.0.read(row)
    }
}

/// Chooses the rows of a workload.
pub(super) struct Sink<'a> {
    rules: Rules<'a>,
    columns: Columns<'a>,
    /// The current row.
    row: Row,
    selection: Selection<'a>,
    /// Why there is no room for the current row.
    no_room: Option<String>,
    /// Maximum bytes of a row.
    longest: usize,
}

impl<'a> Sink<'a> {
    pub(super) fn new(rules: Rules<'a>, longest: usize) -> Sink<'a> {
        let (columns, selection) = (Columns::new(rules.set), Selection::new(rules));
        Sink { rules, columns, row: Row::default(), selection, no_room: None, longest }
    }

    /// The rows that were chosen.
    pub(super) fn chosen(&self) -> u64 {
        self.selection.len()
    }

    /// Conversations without anything to send.
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
        // The whole column is read if a name contains a dot and continues inside the column.
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

/// The problem of bytes that are not UTF-8; `None` if they are.
pub(super) fn no_utf8(bytes: &[u8]) -> Option<String> {
    let at = std::str::from_utf8(bytes).err()?.valid_up_to();
    Some(format!("is no UTF-8 from its byte {at} on, counted from 0; save the file as UTF-8 text"))
}
