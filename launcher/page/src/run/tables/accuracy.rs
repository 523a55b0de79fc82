//! The table about how good the answers were.

use document::{ReportDocument, Section};
use report::accuracy;

use crate::table::Table;

pub(crate) fn accuracy(document: &ReportDocument) -> Option<Table> {
    let found = document.accuracy.as_ref()?;
    let caption = format!("{}.", accuracy::headline(found));
    Table::of(Section::Accuracy, caption)
        .texts(["Figure"])
        .numbers(["Value"])
        .texts(["Limit", "Result"])
        .rows(accuracy::rows(found))
        .remarks(accuracy::notes(found))
        .filled()
}
