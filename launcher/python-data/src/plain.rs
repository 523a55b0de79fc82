//! Converts data other than DataFrames to a table: dicts of lists, lists of dicts, arrays, and lists of values.

use std::{borrow::Cow, collections::HashSet, rc::Rc};

use crate::{
    Cell, Problem,
    cell::{Items, Part},
    column::Column,
    frame::MAX_COLUMNS,
    pickle::{Item, Pickle, Seq},
    table::{Table, TableParts, VALUES},
};

/// A table whose rows have the labels 0, 1, 2 and so on.
pub(crate) fn numbered<'t>(
    columns: Vec<(Cell<'t>, Column<'t>)>,
    budget: Option<&'t Pickle<'t>>,
) -> Result<Table<'t>, Problem> {
    let rows = columns.first().map_or(0, |it| it.1.len());
    let labels = Column::Range(0, 1, rows);
    Table::new(TableParts { columns, labels, index_names: vec![Cell::Null], is_frame: false }, budget)
}

impl<'a> Pickle<'a> {
    /// Returns the table in a pickle. Accepts a DataFrame, a Series, a dict of equally long lists, a list of dicts, an array, and a list of values. A
    /// dict value that is not a list is repeated in each row. Data without column names becomes the column `values`.
    ///
    /// # Errors
    /// The pickle contains no table, or a table in a form that pandas and numpy do not write. Or a cell contains something that is not a value. Or a
    /// value is nested deeper than 100 levels, or contains itself. Or the file refers to its own parts too often.
    pub fn table(&self) -> Result<Table<'_>, Problem> {
        let root = self.root;
        if let Some(table) = self.frame(root)? {
            return Ok(table);
        }
        if let Some(pairs) = self.dict(root) {
            return self.of_dict(pairs);
        }
        if let Some(rows) = self.seq(root) {
            return self.of_list(rows);
        }
        if let Some(array) = self.array(root)?
            && let Some(part) = Part::whole(Rc::new(array))
        {
            return numbered(vec![(Cell::Text(Cow::Borrowed(VALUES)), Column::Array(part))], Some(self));
        }
        Err(Problem::new(format!(
            "holds {}, and no table: no DataFrame, no Series, no dict and no list",
            self.kind(root)
        )))
    }

    /// The whole content as a single value. Use it for pickles that are not tables.
    ///
    /// # Errors
    /// See [`Pickle::table`].
    pub fn value(&self) -> Result<Cell<'_>, Problem> {
        let cell = self.cell(self.root)?;
        crate::cell::check(&cell, 0, &|nodes| self.visit(nodes))?;
        Ok(cell)
    }

    fn of_dict<'t>(&'t self, pairs: &'t [(Item, Item)]) -> Result<Table<'t>, Problem> {
        let mut columns: Vec<(Cell<'t>, Option<Column<'t>>, Item)> = Vec::new();
        if pairs.len() > MAX_COLUMNS {
            return Err(Problem::new(format!("holds a dict of {} keys; at most {MAX_COLUMNS} are read", pairs.len())));
        }
        for (key, value) in pairs {
            let column = match self.seq(*value) {
                Some(items) => Some(Column::Items(Items { items, pickle: self })),
                None => self.array(*value)?.and_then(|it| Part::whole(Rc::new(it))).map(Column::Array),
            };
            columns.push((self.cell(*key)?, column, *value));
        }
        let lengths: Vec<(String, usize)> =
            columns.iter().filter_map(|it| Some((it.0.to_name(), it.1.as_ref()?.len()))).collect();
        let Some((first, rows)) = lengths.first() else {
            return Err(Problem::new("holds a dict without a list, and no table"));
        };
        if let Some((other, length)) = lengths.iter().find(|it| it.1 != *rows) {
            return Err(Problem::new(format!(
                "holds a dict whose lists differ in length: {first} has {rows} values, {other} has {length}"
            )));
        }
        let rows = *rows;
        let columns = columns
            .into_iter()
            .map(|(name, column, value)| (name, column.unwrap_or(Column::Constant(value, rows, self))));
        numbered(columns.collect(), Some(self))
    }

    fn of_list<'t>(&'t self, rows: Seq<'t>) -> Result<Table<'t>, Problem> {
        let dicts = rows.iter().take_while(|it| self.dict(*it).is_some()).count();
        if dicts == 0 || dicts < rows.len() {
            let column = Column::Items(Items { items: rows, pickle: self });
            return numbered(vec![(Cell::Text(Cow::Borrowed(VALUES)), column)], Some(self));
        }
        let mut names: Vec<&str> = Vec::new();
        let mut known = HashSet::new();
        for row in rows.iter() {
            let pairs = self.dict(row).unwrap_or_default();
            self.visit(pairs.len())?;
            for (key, _) in pairs {
                let name = self.text(*key).ok_or_else(|| Problem::new("holds a dict with a key that is no text"))?;
                if known.insert(name) {
                    names.push(name);
                }
            }
            if names.len() > MAX_COLUMNS {
                return Err(Problem::new(format!("holds dicts of more than {MAX_COLUMNS} keys")));
            }
        }
        let column = |name| (Cell::Text(Cow::Borrowed(name)), Column::Field(rows, name, self));
        numbered(names.into_iter().map(column).collect(), Some(self))
    }
}
