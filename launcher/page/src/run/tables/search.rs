//! The table of the trials of a search.

use document::{ReportDocument, Section};
use report::search::{columns, notes, rows};

use crate::table::Table;

pub(crate) fn search(document: &ReportDocument) -> Option<Table> {
    let found = document.search.as_ref()?;
    let [_, load, ..] = columns(found);
    let table = Table::of(Section::Search, notes(found).join(" "))
        .texts(["Trial", load, "Result", "Missed most, of allowed"])
        .numbers(["Requests", "Time"]);
    table.rows(rows(found).map(Vec::from)).filled()
}
