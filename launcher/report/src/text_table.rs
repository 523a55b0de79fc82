//! Tables that fit the width of a terminal.

use std::iter;

use crds::wording::one_line;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::paint::{Paint, Style};

/// The default width of a terminal. In a table that needs more, the first column is wrapped.
pub(super) const WIDTH: usize = 80;

/// A text on one line, and its style.
#[derive(Default)]
pub(super) struct Cell {
    text: String,
    style: Option<Style>,
}

/// Words in the first column, and figures in the others.
#[derive(Default)]
pub(super) struct Table {
    /// Empty: the table has no header. A title may have several lines.
    header: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Default)]
struct Row {
    /// Before the first column, such as a verdict on the row; left-aligned.
    mark: Cell,
    cells: Vec<Cell>,
}

impl From<String> for Cell {
    /// A report from disk may contain any text: it becomes one line.
    fn from(text: String) -> Cell {
        Cell { text: one_line(&text), style: None }
    }
}

impl Cell {
    pub(super) fn styled(text: String, style: Style) -> Cell {
        Cell { style: Some(style), ..Cell::from(text) }
    }

    fn painted(&self, text: &str, paint: Paint) -> String {
        self.style.map_or_else(|| text.to_owned(), |it| paint.apply(it, text))
    }
}

/// A table without rows. A line separates its header from them.
pub(super) fn new_table(header: &[&str]) -> Table {
    Table { header: header.iter().map(|it| (*it).to_owned()).collect(), rows: Vec::new() }
}

pub(super) fn add_row<C: Into<Cell>>(table: &mut Table, name: impl Into<Cell>, cells: impl IntoIterator<Item = C>) {
    add_marked_row(table, Cell::default(), name, cells);
}

/// Adds a row with a mark before its first column.
pub(super) fn add_marked_row<C: Into<Cell>>(
    table: &mut Table,
    mark: Cell,
    name: impl Into<Cell>,
    cells: impl IntoIterator<Item = C>,
) {
    let cells = iter::once(name.into()).chain(cells.into_iter().map(Into::into)).collect();
    table.rows.push(Row { mark, cells });
}

/// The text of a table in the width of a terminal: two blanks between columns, or one if the first column needs the room. Only the first column,
/// which contains words, may be wrapped.
pub(super) fn fitted(table: Table) -> String {
    fitted_beside(table, 0)
}

/// Like [`fitted`], but the first column keeps at least `first` characters if it has them. The table may then be wider than a terminal.
pub(super) fn fitted_beside(table: Table, first: usize) -> String {
    table.text(WIDTH, first, Paint::OFF)
}

impl Table {
    /// The text in at most `width` columns, unless the figures alone need more.
    pub(super) fn painted(self, width: usize, paint: Paint) -> String {
        self.text(width, 1, paint)
    }

    fn text(&self, width: usize, first: usize, paint: Paint) -> String {
        let mut layout = self.layout(width);
        let Some(of_first) = layout.widths.first().copied() else { return String::new() };
        let least = first.clamp(1, of_first.max(1));
        let others = layout.line_width() - of_first;
        layout.widths[0] = of_first.min(width.saturating_sub(others)).max(least);
        let mut lines = self.header_lines(&layout);
        lines.extend(self.rows.iter().flat_map(|row| layout.lines(row, paint)));
        lines.join("\n")
    }

    fn layout(&self, width: usize) -> Layout {
        let mark = self.rows.iter().map(|it| it.mark.text.width()).max().unwrap_or_default();
        let wide = Layout { mark, widths: self.widths(), gap: 2 };
        if wide.line_width() > width { Layout { gap: 1, ..wide } } else { wide }
    }

    /// The width of the widest text of each column.
    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(|it| it.cells.len()).chain([self.header.len()]).max().unwrap_or_default();
        let title = |column: usize| self.header.get(column).into_iter().flat_map(|it| it.lines()).map(str::width);
        let cells = |column: usize| self.rows.iter().filter_map(move |row| Some(row.cells.get(column)?.text.width()));
        (0..columns).map(|it| title(it).chain(cells(it)).max().unwrap_or_default()).collect()
    }

    fn header_lines(&self, layout: &Layout) -> Vec<String> {
        let height = self.header.iter().map(|it| it.lines().count()).max().unwrap_or_default();
        let part = |it: &String, line: usize| Cell::from(it.lines().nth(line).unwrap_or_default().to_owned());
        let titles =
            |line: usize| Row { cells: self.header.iter().map(|it| part(it, line)).collect(), ..Row::default() };
        let mut lines: Vec<String> = (0..height).flat_map(|it| layout.lines(&titles(it), Paint::OFF)).collect();
        if height > 0 {
            lines.push("\u{2500}".repeat(layout.line_width()));
        }
        lines
    }
}

/// The columns of a table.
struct Layout {
    /// The width of the marks; 0: there are none.
    mark: usize,
    widths: Vec<usize>,
    /// Blanks between two columns.
    gap: usize,
}

impl Layout {
    fn line_width(&self) -> usize {
        let marks = if self.mark > 0 { self.mark + self.gap } else { 0 };
        marks + self.widths.iter().map(|it| it + self.gap).sum::<usize>()
    }

    /// The first cell on as many lines as it needs, the other cells on the first of them.
    fn lines(&self, row: &Row, paint: Paint) -> Vec<String> {
        let Some((name, cells)) = row.cells.split_first() else { return Vec::new() };
        let width = self.widths[0];
        let names = wrapped(&name.text, width);
        let mut lines: Vec<String> =
            names.iter().map(|it| format!(" {}{}", name.painted(it, paint), blanks(it, width))).collect();
        for (cell, width) in cells.iter().zip(&self.widths[1..]) {
            let gap = " ".repeat(self.gap);
            lines[0] += &format!("{gap}{}{}", blanks(&cell.text, *width), cell.painted(&cell.text, paint));
        }
        let marks = iter::once(&row.mark).chain(iter::repeat(&EMPTY));
        let lines = lines.iter().zip(marks).map(|(line, mark)| self.marked(mark, paint) + line);
        lines.map(|it| it.trim_end().to_owned()).collect()
    }

    fn marked(&self, mark: &Cell, paint: Paint) -> String {
        if self.mark == 0 {
            return String::new();
        }
        let gap = " ".repeat(self.gap - 1);
        format!(" {}{}{gap}", mark.painted(&mark.text, paint), blanks(&mark.text, self.mark))
    }
}

static EMPTY: Cell = Cell { text: String::new(), style: None };

/// The blanks that a text needs to fill `width` columns.
fn blanks(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(text.width()))
}

/// The text in lines of at most `width` columns, broken between words, or within a word that is longer. At least one line.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut().filter(|it| it.width() + 1 + word.width() <= width) {
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(word.to_owned()),
        }
        while let Some(rest) = lines.last_mut().and_then(|it| split_off(it, width)) {
            lines.push(rest);
        }
    }
    lines
}

/// Cuts a line to `width` columns, and returns the rest. `None`: the line fits.
fn split_off(line: &mut String, width: usize) -> Option<String> {
    let mut used = 0;
    let is_cut = |(at, letter): (usize, char)| {
        used += letter.width().unwrap_or_default();
        // A line has at least one letter, so that every text ends.
        (used > width && at > 0).then_some(at)
    };
    let at = line.char_indices().find_map(is_cut)?;
    Some(line.split_off(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(width: usize, paint: Paint, expected: &[&str]) {
        let mut table = new_table(&["stage", "TTFT\np99", "failed"]);
        add_row(&mut table, "a rather long name".to_owned(), ["12.5ms".to_owned(), "0".to_owned()]);
        add_row(&mut table, "c2".to_owned(), [Cell::styled("9ms".into(), Style::Bold), "1".to_owned().into()]);
        assert_eq!(table.painted(width, paint).lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn figures_stand_below_each_other() {
        let rule = "\u{2500}".repeat(36);
        check(
            80,
            Paint::OFF,
            &[
                " stage                 TTFT  failed",
                "                        p99",
                &rule,
                " a rather long name  12.5ms       0",
                " c2                     9ms       1",
            ],
        );
    }

    #[test]
    fn a_name_without_room_is_wrapped() {
        let rule = "\u{2500}".repeat(24);
        check(
            24,
            Paint::OFF,
            &[
                " stage       TTFT failed",
                "              p99",
                &rule,
                " a rather  12.5ms      0",
                " long name",
                " c2           9ms      1",
            ],
        );
    }

    #[test]
    fn a_style_does_not_change_the_width_of_a_cell() {
        let rule = "\u{2500}".repeat(36);
        check(
            80,
            Paint::new(true),
            &[
                " stage                 TTFT  failed",
                "                        p99",
                &rule,
                " a rather long name  12.5ms       0",
                " c2                     \u{1b}[1m9ms\u{1b}[0m       1",
            ],
        );
    }

    #[test]
    fn marks_stand_before_the_first_line_of_a_row() {
        let mut table = new_table(&["objective", "limit"]);
        let mark = |it: &str| Cell::styled(it.to_owned(), Style::Green);
        add_marked_row(&mut table, mark("ok"), "p99 of ttft".to_owned(), ["50ms".to_owned()]);
        add_marked_row(&mut table, mark("failed"), "p50".to_owned(), ["1s".to_owned()]);
        let rule = "\u{2500}".repeat(24);
        let expected =
            ["        objective  limit", &rule, " ok     p99 of      50ms", "        ttft", " failed p50           1s"];
        assert_eq!(table.painted(24, Paint::OFF).lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn words_and_letters_of_any_width_are_wrapped() {
        for (text, width, expected) in [
            ("", 5, vec![""]),
            ("  part of it", 8, vec!["  part", "of it"]),
            ("one two three", 7, vec!["one two", "three"]),
            ("incomprehensible", 6, vec!["incomp", "rehens", "ible"]),
            ("漢字漢字", 5, vec!["漢字", "漢字"]),
            ("漢字", 1, vec!["漢", "字"]),
        ] {
            assert_eq!(wrapped(text, width), expected, "{text}");
        }
    }
}
