//! Tables and sentences that fit the width of a terminal. The crate comfy-table computes the layout.
//!
//! comfy-table counts escape sequences as visible characters. Its feature `custom_styling` avoids that, but needs six more crates, and still counts
//! escape sequences when it shrinks a column. So styles are marked by characters without width until the layout is done.

use std::iter;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, TableStyle, Width};
use crds::wording::one_line;

use crate::paint::{Paint, Style};

/// The only line of a table is below its header.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));
/// The default width of a terminal, in characters. If a table needs more, its first column is wrapped.
const WIDTH: u16 = 80;
/// The character that begins a style. It has no width. [`one_line`] removes it from texts that come from outside.
const STYLES: [(Style, char); 6] = [
    (Style::Bold, '\u{202a}'),
    (Style::Dim, '\u{202b}'),
    (Style::Green, '\u{202c}'),
    (Style::Yellow, '\u{202d}'),
    (Style::Red, '\u{202e}'),
    (Style::Cyan, '\u{2066}'),
];
/// The character that ends a style.
const END: char = '\u{2069}';

/// A text on one line, with or without a style.
/// The text of a cell, on one line.
pub struct Cell(String);

/// A table with words in the first column and figures in the others.
pub struct Table {
    table: comfy_table::Table,
    /// Whether a column with marks, such as verdicts, comes before the first column.
    has_marks: bool,
}

impl From<String> for Cell {
    /// Puts the text on one line, because a report from disk can contain any text.
    fn from(text: String) -> Cell {
        Cell(one_line(&text))
    }
}

impl Cell {
    pub(super) fn styled(text: &str, style: Style) -> Cell {
        let letters = STYLES.into_iter().filter(|it| it.0 == style).map(|it| it.1);
        Cell(letters.chain(one_line(text).chars()).chain([END]).collect())
    }
}

/// Creates a table without rows. A line separates the header from the rows. A title may have several lines.
pub fn new_table(header: &[&str]) -> Table {
    let mut table = comfy_table::Table::new();
    table.load_style(STYLE);
    if !header.is_empty() {
        table.set_header(header.iter().map(|it| it.lines().map(one_line).collect::<Vec<_>>().join("\n")));
    }
    Table { table, has_marks: false }
}

/// Adds a row. The first column contains words, and the others contain figures.
pub fn add_row<C: Into<Cell>>(table: &mut Table, name: String, cells: impl IntoIterator<Item = C>) {
    let cells = cells.into_iter().map(|it| it.into().0);
    table.table.add_row(iter::once(one_line(&name)).chain(cells));
}

/// Adds a row with a mark in front of its first column. Either all rows of a table have marks, or none.
pub(super) fn add_marked_row(table: &mut Table, mark: Cell, name: String, cells: Vec<Cell>) {
    table.has_marks = true;
    table.table.add_row([mark, name.into()].into_iter().chain(cells).map(|it| it.0));
}

/// Returns the text of a table that fits a terminal. Columns are separated by two spaces, or by one if that leaves room for the first column. Only
/// the first column may be wrapped, because it contains words.
pub fn fitted(table: Table) -> String {
    fitted_beside(table, 0)
}

/// Like [`fitted`], but the first column is not made narrower than `first` characters. So the table may become wider than a terminal.
pub fn fitted_beside(table: Table, first: u16) -> String {
    table.text(WIDTH, first, Paint::OFF)
}

impl Table {
    /// Returns the text with at most `width` characters per line. It is wider only if the figures alone need more.
    pub fn painted(self, width: u16, paint: Paint) -> String {
        self.text(width, 0, paint)
    }

    fn text(mut self, width: u16, first: u16, paint: Paint) -> String {
        let table = self.table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        let widths = table.column_max_content_widths();
        let is_narrow = widths.iter().map(|it| usize::from(*it) + 2).sum::<usize>() > usize::from(width);
        let words = usize::from(self.has_marks);
        for (index, column) in table.column_iter_mut().enumerate() {
            // The width of the column with words includes the space in front of it.
            column.set_constraint(match index == words {
                true => ColumnConstraint::LowerBoundary(Width::Fixed(first.min(widths[index]).saturating_add(1))),
                false => ColumnConstraint::ContentWidth,
            });
            column.set_cell_alignment(if index > words { CellAlignment::Right } else { CellAlignment::Left });
            if is_narrow {
                column.set_padding((1, 0));
            }
        }
        painted(&table.trim_fmt(), paint)
    }
}

/// Replaces the characters that mark styles by escape sequences.
fn painted(text: &str, paint: Paint) -> String {
    let part = |part: &str| {
        let styled = STYLES.iter().find_map(|(style, letter)| Some((*style, part.split_once(*letter)?)));
        styled.map_or_else(|| part.to_owned(), |(style, (before, it))| before.to_owned() + &paint.apply(style, it))
    };
    text.split(END).map(part).collect()
}

/// Wraps a text to at most `width` characters per line. Breaks between words, and within words that are longer than a line. Returns at least one
/// line.
pub(super) fn wrapped(text: &str, width: u16) -> Vec<String> {
    let mut table = comfy_table::Table::new();
    table.load_style(TableStyle::new()).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    for column in table.add_row([text]).column_iter_mut() {
        column.set_padding((0, 0));
    }
    table.lines().map(|it| it.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(width: u16, paint: Paint, expected: &[&str]) {
        let mut table = new_table(&["stage", "TTFT\np99", "failed"]);
        add_row(&mut table, "a rather long name".to_owned(), ["12.5ms".to_owned(), "0".to_owned()]);
        add_row(&mut table, "c2".to_owned(), [Cell::styled("9ms", Style::Bold), "1".to_owned().into()]);
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
        let mut table = new_table(&["", "objective", "limit"]);
        let mark = |it: &str| Cell::styled(it, Style::Green);
        add_marked_row(&mut table, mark("ok"), "p99 of ttft".to_owned(), vec!["50ms".to_owned().into()]);
        add_marked_row(&mut table, mark("failed"), "p50".to_owned(), vec!["1s".to_owned().into()]);
        let rule = "\u{2500}".repeat(24);
        let expected =
            ["        objective  limit", &rule, " ok     p99 of      50ms", "        ttft", " failed p50           1s"];
        assert_eq!(table.painted(24, Paint::OFF).lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn words_and_letters_of_any_width_are_wrapped() {
        for (text, width, expected) in [
            ("", 5, vec![""]),
            ("  part of it", 8, vec!["part of", "it"]),
            ("one two three", 7, vec!["one two", "three"]),
            ("incomprehensible", 6, vec!["incomp", "rehens", "ible"]),
            ("漢字漢字", 5, vec!["漢字", "漢字"]),
            ("漢字", 1, vec!["漢", "字"]),
        ] {
            assert_eq!(wrapped(text, width), expected, "{text}");
        }
    }
}
