//! The table of the trials of a search.

use document::{ReportDocument, Section};
use report::search::{notes, rows};

use crate::table::Table;

pub(crate) fn search(document: &ReportDocument) -> Option<Table> {
    let found = document.search.as_ref()?;
    let table = Table::of(Section::Search, notes(found).join(" "))
        .texts(["Trial", "Load", "Result", "Objective nearest to its limit"])
        .numbers(["Requests", "Seconds"]);
    table.rows(rows(found)).filled()
}
