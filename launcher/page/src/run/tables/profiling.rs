//! What a profiler recorded.

use document::ReportDocument;
use report::profiling as words;

use crate::table::Table;

pub(crate) fn profiling(document: &ReportDocument) -> Option<Table> {
    let found = document.profiling.as_ref()?;
    Table::new("profiling", "Profiling", words::headline(found))
        .texts(["", "Found"])
        .rows(words::rows(found).into_iter().map(Vec::from))
        .remarks(words::notes(found))
        .filled()
}
