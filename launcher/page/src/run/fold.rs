//! Tables and charts that are folded under a heading.

use serde::Serialize;

use crate::table::Table;

/// Tables and charts that few readers need. They are shown after a click on the heading.
#[derive(Default, Serialize)]
pub(super) struct Fold {
    pub(super) id: &'static str,
    pub(super) title: String,
    /// The reader's question that these tables and charts answer; empty if the title is enough.
    pub(super) question: &'static str,
    pub(super) tables: Vec<Table>,
    /// The figures as markup.
    pub(super) figures: Vec<String>,
    pub(super) lines: Vec<String>,
}

impl Fold {
    /// A fold with tables; `None` if all tables are empty.
    pub(super) fn of_tables(id: &'static str, title: &str, tables: impl IntoIterator<Item = Table>) -> Option<Fold> {
        let tables: Vec<Table> = tables.into_iter().filter_map(Table::filled).collect();
        (!tables.is_empty()).then(|| Fold { id, title: title.to_owned(), tables, ..Fold::default() })
    }
}
