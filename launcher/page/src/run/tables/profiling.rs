//! The table of what a profiler recorded.

use document::{ReportDocument, Section};
use report::profiling as words;

use crate::table::Table;

pub(crate) fn profiling(document: &ReportDocument) -> Option<Table> {
    let found = document.profiling.as_ref()?;
    Table::of(Section::Profiling, words::headline(found))
        .texts(["", "Found"])
        .rows(words::rows(found).into_iter().map(Vec::from))
        .remarks(words::notes(found))
        .filled()
}
