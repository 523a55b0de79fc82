//! Tables and charts behind a heading.

use serde::Serialize;

use crate::table::Table;

/// Tables and charts that few readers look for: a heading opens them.
#[derive(Default, Serialize)]
pub(super) struct Fold {
    pub(super) id: &'static str,
    pub(super) title: String,
    /// The reader's question that it answers; empty where the title says it.
    pub(super) question: &'static str,
    pub(super) tables: Vec<Table>,
    /// Markup.
    pub(super) figures: Vec<String>,
    pub(super) lines: Vec<String>,
}

impl Fold {
    /// `None` without a table.
    pub(super) fn of_tables(id: &'static str, title: &str, tables: impl IntoIterator<Item = Table>) -> Option<Fold> {
        let tables: Vec<Table> = tables.into_iter().filter_map(Table::filled).collect();
        (!tables.is_empty()).then(|| Fold { id, title: title.to_owned(), tables, ..Fold::default() })
    }
}
