//! Tables of a page.

use document::Section;
use figures::Figure;
use serde::Serialize;

use crate::text::heading;

/// Maximum number of rows in a table. If there are more, the first rows and a note are shown.
pub(crate) const MAX_ROWS: usize = 200;
/// Maximum length of a cell or a line, in characters. Needed because error texts and names come from outside.
const MAX_TEXT: usize = 400;
/// Maximum number of lines below a table, including quoted lines.
const MAX_LINES: usize = 100;
/// Maximum length of a command, in characters. Commands of engines have many options.
const MAX_CODE: usize = 1_000;

/// A table with a heading and a caption. The first column contains the names of the rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Table {
    pub(crate) id: &'static str,
    pub(crate) title: String,
    pub(crate) caption: String,
    pub(crate) columns: Vec<Column>,
    /// Headings above groups of columns; empty if there are none.
    groups: Vec<Group>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// The index of the row to highlight.
    marked: Option<usize>,
    /// The level of the table's heading.
    level: u8,
    /// Lines below the table.
    lines: Vec<Line>,
    /// Sentences below the lines.
    pub(crate) remarks: Vec<String>,
}

/// A line below a table. Parts that are empty are not shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Line {
    pub(crate) text: String,
    /// Text in a fixed-width font, after `text`.
    pub(crate) code: String,
    /// The relative path of a log to link to. It must not come from outside.
    pub(crate) file: String,
    /// Text in brackets at the end of the line.
    pub(crate) after: String,
    /// Lines of output, shown as a block below the line.
    pub(crate) quote: Vec<String>,
}

/// The content of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Small text below the main text, such as an interval.
    pub(crate) small: String,
    /// `good`, `bad` or `doubt` for a verdict; empty otherwise.
    pub(crate) tone: &'static str,
}

impl Cell {
    fn cut(self) -> Cell {
        Cell { text: cut(&self.text), small: cut(&self.small), ..self }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell { text, ..Cell::default() }
    }
}

/// A heading shared by neighbouring columns.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Group {
    name: String,
    columns: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Column {
    name: String,
    /// Whether the column contains numbers, which are right-aligned.
    numeric: bool,
}

impl Table {
    pub(crate) fn new(id: &'static str, title: &str, caption: impl Into<String>) -> Table {
        Table {
            id,
            title: title.to_owned(),
            caption: caption.into(),
            columns: Vec::new(),
            groups: Vec::new(),
            rows: Vec::new(),
            marked: None,
            level: 3,
            lines: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// A table for a section, with the title of the section.
    pub(crate) fn of(section: Section, caption: impl Into<String>) -> Table {
        Table::new(section.key(), section.title(), caption)
    }

    /// Adds columns of text.
    pub(crate) fn texts<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Table {
        self.columns.extend(names.into_iter().map(|it| Column { name: it.to_owned(), numeric: false }));
        self
    }

    /// Adds columns of numbers.
    pub(crate) fn numbers(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Table {
        self.columns.extend(names.into_iter().map(|it| Column { name: it.into(), numeric: true }));
        self
    }

    /// Adds columns for figures, with their names from the catalogue.
    pub(crate) fn figures(self, figures: impl IntoIterator<Item = Figure>) -> Table {
        self.numbers(figures.into_iter().map(heading))
    }

    /// Adds columns of numbers below a shared heading.
    pub(crate) fn group(mut self, name: &str, names: impl IntoIterator<Item = impl Into<String>>) -> Table {
        let before = self.columns.len();
        let grouped: usize = self.groups.iter().map(|it| it.columns).sum();
        if before > grouped {
            self.groups.push(Group { name: String::new(), columns: before - grouped });
        }
        self = self.numbers(names);
        self.groups.push(Group { name: name.to_owned(), columns: self.columns.len() - before });
        self
    }

    /// Makes the table a section of the page.
    pub(crate) fn section(self) -> Table {
        Table { level: 2, ..self }
    }

    /// Highlights a row.
    pub(crate) fn marked(mut self, row: Option<usize>) -> Table {
        self.marked = row;
        self
    }

    /// Adds rows, up to [`MAX_ROWS`], with one cell per column.
    pub(crate) fn rows<C: Into<Cell>>(mut self, rows: impl IntoIterator<Item = Vec<C>>) -> Table {
        let mut left_out = 0_usize;
        for row in rows {
            if self.rows.len() < MAX_ROWS {
                self.rows.push(row.into_iter().map(|it| it.into().cut()).collect());
            } else {
                left_out += 1;
            }
        }
        if left_out > 0 {
            self.remarks.push(format!("{left_out} more rows are in report.json."));
        }
        self
    }

    /// Adds lines, up to [`MAX_LINES`] including quoted lines.
    pub(crate) fn lines(mut self, lines: impl IntoIterator<Item = Line>) -> Table {
        let (mut room, mut left_out) = (MAX_LINES, 0_usize);
        for Line { text, code, file, after, mut quote } in lines {
            if room == 0 {
                left_out += 1 + quote.len();
                continue;
            }
            room -= 1;
            left_out += quote.len().saturating_sub(room);
            quote.truncate(room);
            room -= quote.len();
            let quote = quote.iter().map(|it| cut(it)).collect();
            self.lines.push(Line { text: cut(&text), code: cut_at(&code, MAX_CODE), file, after: cut(&after), quote });
        }
        if left_out > 0 {
            self.remarks.push(format!("{left_out} more lines are in report.json."));
        }
        self
    }

    pub(crate) fn remarks(mut self, remarks: impl IntoIterator<Item = String>) -> Table {
        self.remarks.extend(lines(remarks));
        self
    }

    /// Returns the table; `None` if it has no rows and no lines.
    pub(crate) fn filled(self) -> Option<Table> {
        (!self.rows.is_empty() || !self.lines.is_empty()).then_some(self)
    }
}

/// Limits lines from outside in length and number.
pub(crate) fn lines(lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut shown: Vec<String> = Vec::new();
    let mut left_out = 0_usize;
    for line in lines {
        if shown.len() < MAX_ROWS { shown.push(cut(&line)) } else { left_out += 1 }
    }
    if left_out > 0 {
        shown.push(format!("{left_out} more are in report.json."));
    }
    shown
}

/// Puts a text from outside on one line, and limits its length.
pub(crate) fn cut(text: &str) -> String {
    cut_at(text, MAX_TEXT)
}

fn cut_at(text: &str, most: usize) -> String {
    let line = crds::wording::one_line(text);
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
