//! A table: named columns, and a label for each row.

use crate::{Cell, Problem, cell::check, column::Column, pickle::Pickle};

/// The name of the column for data without column names.
pub const VALUES: &str = "values";

/// A table that borrows from the file. All its cells were validated, so later reads cannot fail.
#[derive(Clone, Debug)]
pub struct Table<'t> {
    names: Vec<String>,
    parts: TableParts<'t>,
    rows: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct TableParts<'t> {
    pub(crate) columns: Vec<(Cell<'t>, Column<'t>)>,
    pub(crate) labels: Column<'t>,
    pub(crate) index_names: Vec<Cell<'t>>,
    /// Whether the table was read from a DataFrame.
    pub(crate) is_frame: bool,
}

impl<'t> Table<'t> {
    /// Creates a table and validates every cell. `budget` counts the nodes that are visited.
    pub(crate) fn new(parts: TableParts<'t>, budget: Option<&'t Pickle<'t>>) -> Result<Table<'t>, Problem> {
        let Some((_, first)) = parts.columns.first() else { return Err(Problem::new("holds a table without columns")) };
        let rows = first.len();
        let visit = |nodes: usize| budget.map_or(Ok(()), |it| it.visit(nodes));
        let labels = (Cell::Null, parts.labels.clone());
        for (place, (name, column)) in parts.columns.iter().chain([&labels]).enumerate() {
            let name = || {
                if place < parts.columns.len() { format!("the column {}", name.to_name()) } else { "the index".into() }
            };
            if column.len() != rows {
                let found = column.len();
                return Err(Problem::new(format!("has {rows} rows, and {found} values in {}", name())));
            }
            if column.is_checked() || matches!(column, Column::Range(..)) {
                visit(rows.min(1 << 20))?;
                continue;
            }
            for row in 0..rows {
                let looked = visit(column.visits(row)).and_then(|()| check(&column.get(row)?, 0, &visit));
                if let Err(Problem { what, .. }) = looked {
                    return Err(Problem::new(format!("row {row}, counted from 0, {}: {what}", name())));
                }
            }
        }
        let names = parts.columns.iter().map(|it| it.0.to_name()).collect();
        Ok(Table { names, parts, rows })
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The names of the columns as texts.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The names of the columns in their original type. Pandas uses numbers for columns without names.
    pub fn name_cells(&self) -> impl Iterator<Item = &Cell<'t>> {
        self.parts.columns.iter().map(|it| &it.0)
    }

    /// Whether the table was read from a DataFrame.
    pub fn is_frame(&self) -> bool {
        self.parts.is_frame
    }

    /// The index of a column.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|it| it == name)
    }

    /// The value in a row and a column; null outside the table.
    pub fn get(&self, row: usize, column: usize) -> Cell<'t> {
        let column = self.parts.columns.get(column).filter(|_| row < self.rows);
        column.and_then(|it| it.1.get(row).ok()).unwrap_or(Cell::Null)
    }

    /// The label of a row; a list if the index has several levels.
    pub fn label(&self, row: usize) -> Cell<'t> {
        if row < self.rows { self.parts.labels.get(row).unwrap_or(Cell::Null) } else { Cell::Null }
    }

    /// The name of each level of the index.
    pub fn index_names(&self) -> &[Cell<'t>] {
        &self.parts.index_names
    }
}
