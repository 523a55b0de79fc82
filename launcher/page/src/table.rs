//! Tables of a page.

use document::Section;
use figures::Figure;
use serde::Serialize;

use crate::text::heading;

/// Maximum number of rows of a table. A run with more stages shows the first ones, and a note.
pub(crate) const MAX_ROWS: usize = 200;
/// Maximum length of a cell or a line, in characters: error texts and names come from outside.
const MAX_TEXT: usize = 400;
/// Maximum number of lines below a table, including quoted lines.
const MAX_LINES: usize = 100;
/// Maximum length of a command, in characters: commands of engines have many options.
const MAX_CODE: usize = 1_000;

/// A table with a heading and a caption. Its first column names the row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Table {
    pub(crate) id: &'static str,
    pub(crate) title: String,
    pub(crate) caption: String,
    pub(crate) columns: Vec<Column>,
    /// The heads above those of the columns; empty: none.
    groups: Vec<Group>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// The row to find first.
    marked: Option<usize>,
    /// The level of its heading.
    level: u8,
    /// Lines below it.
    lines: Vec<Line>,
    /// Sentences below the lines.
    pub(crate) remarks: Vec<String>,
}

/// A line below a table. Empty parts are not shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Line {
    pub(crate) text: String,
    /// After the text, in a fixed-width font.
    pub(crate) code: String,
    /// A log, as a relative link from the page. It must not come from outside.
    pub(crate) file: String,
    /// At the end, in brackets.
    pub(crate) after: String,
    /// Lines of output, in a block below.
    pub(crate) quote: Vec<String>,
}

/// The text of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Below it, such as an interval.
    pub(crate) small: String,
    /// `good`, `bad` or `doubt` for a verdict, otherwise empty.
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

/// The head of neighbouring columns.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Group {
    name: String,
    columns: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Column {
    name: String,
    /// Numbers are right-aligned.
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

    /// The table of a section, with its title.
    pub(crate) fn of(section: Section, caption: impl Into<String>) -> Table {
        Table::new(section.key(), section.title(), caption)
    }

    /// Columns of text.
    pub(crate) fn texts<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Table {
        self.columns.extend(names.into_iter().map(|it| Column { name: it.to_owned(), numeric: false }));
        self
    }

    /// Columns of numbers.
    pub(crate) fn numbers(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Table {
        self.columns.extend(names.into_iter().map(|it| Column { name: it.into(), numeric: true }));
        self
    }

    /// Columns of figures, with their names in the catalogue.
    pub(crate) fn figures(self, figures: impl IntoIterator<Item = Figure>) -> Table {
        self.numbers(figures.into_iter().map(heading))
    }

    /// Columns of numbers below a common head.
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

    /// The table is a section of the page.
    pub(crate) fn section(self) -> Table {
        Table { level: 2, ..self }
    }

    /// Marks a row.
    pub(crate) fn marked(mut self, row: Option<usize>) -> Table {
        self.marked = row;
        self
    }

    /// The first [`MAX_ROWS`] rows, with one cell per column.
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
            self.remarks.push(format!("{left_out} more rows stand in report.json."));
        }
        self
    }

    /// The first of these lines, up to [`MAX_LINES`] including quoted lines.
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
            self.remarks.push(format!("{left_out} more lines stand in report.json."));
        }
        self
    }

    pub(crate) fn remarks(mut self, remarks: impl IntoIterator<Item = String>) -> Table {
        self.remarks.extend(lines(remarks));
        self
    }

    /// `None` if it has no row and no line.
    pub(crate) fn filled(self) -> Option<Table> {
        (!self.rows.is_empty() || !self.lines.is_empty()).then_some(self)
    }
}

/// Lines from outside, bounded in length and number.
pub(crate) fn lines(lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut shown: Vec<String> = Vec::new();
    let mut left_out = 0_usize;
    for line in lines {
        if shown.len() < MAX_ROWS { shown.push(cut(&line)) } else { left_out += 1 }
    }
    if left_out > 0 {
        shown.push(format!("{left_out} more stand in report.json."));
    }
    shown
}

/// A text from outside on one line, with bounded length.
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
