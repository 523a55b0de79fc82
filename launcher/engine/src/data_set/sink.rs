//! What the readers of all formats share: the row that is read, where it goes, and the errors.

use std::io::{self, ErrorKind};

use super::{
    DataSetError,
    row::{Columns, Row},
    rows::Rows,
    selection::{Rules, Selection},
};

/// Where rows go.
pub(super) struct Sink<'a> {
    rules: Rules<'a>,
    pub(super) columns: Columns<'a>,
    /// The current row.
    pub(super) row: Row,
    selection: Selection<'a>,
    /// Why there is no room for the current row.
    no_room: Option<String>,
    /// The most bytes of a row.
    pub(super) longest: usize,
}

impl<'a> Sink<'a> {
    pub(super) fn new(rules: Rules<'a>, longest: usize) -> Sink<'a> {
        let (columns, selection) = (Columns::new(rules.set), Selection::new(rules));
        Sink { rules, columns, row: Row::default(), selection, no_room: None, longest }
    }

    /// Takes the row that was read; `false` if there is no room for it.
    pub(super) fn take(&mut self) -> bool {
        self.no_room = self.selection.offer(&mut self.row).err();
        self.no_room.is_none()
    }

    /// Whether further rows change nothing.
    pub(super) fn is_complete(&self) -> bool {
        self.selection.is_complete()
    }

    /// The rows that were read.
    pub(super) fn offered(&self) -> u64 {
        self.selection.offered()
    }

    /// The rows that were chosen.
    pub(super) fn chosen(&self) -> u64 {
        self.selection.len()
    }

    /// Conversations from which nothing can be sent.
    pub(super) fn without_turns(&self) -> u64 {
        self.selection.without_turns()
    }

    pub(super) fn into_rows(self) -> Rows {
        self.selection.into_rows()
    }

    /// The problem of the current row; `None` if it is no row at all.
    pub(super) fn found_problem(&self) -> Option<String> {
        self.no_room.clone().or_else(|| self.row.problem())
    }

    /// The problem of a row that was read.
    pub(super) fn problem(&self) -> String {
        self.found_problem().unwrap_or_else(|| "cannot be read".to_owned())
    }

    pub(super) fn too_long(&self, at: String) -> DataSetError {
        self.wrong(at, format!("has {} bytes or more; leave out the columns that are not sent", self.longest))
    }

    pub(super) fn wrong(&self, at: String, what: String) -> DataSetError {
        DataSetError::Wrong { path: self.rules.set.file.as_path().to_owned(), at, what }
    }

    pub(super) fn read_error(&self, cause: io::Error) -> DataSetError {
        let path = self.rules.set.file.as_path().to_owned();
        if cause.kind() == ErrorKind::InvalidData {
            DataSetError::Damaged { path, cause }
        } else {
            DataSetError::Read { path, cause }
        }
    }
}

/// The problem of bytes that are no UTF-8; `None` if they are.
pub(super) fn no_utf8(bytes: &[u8]) -> Option<String> {
    let at = std::str::from_utf8(bytes).err()?.valid_up_to();
    Some(format!("is no UTF-8 from its byte {at} on, counted from 0; save the file as UTF-8 text"))
}
