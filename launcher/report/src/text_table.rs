//! Tables that fit the width of a terminal.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width};
use crds::wording::one_line;

/// A single line, below the header.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));
/// The default width of a terminal. In a table that needs more, the first column is wrapped.
pub(super) const WIDTH: usize = 80;

/// Names and figures without a header.
pub(super) fn without_header() -> Table {
    let mut table = Table::new();
    table.load_style(STYLE);
    table
}

/// A table with words in the first column, and figures in the others.
pub(super) fn new_table(header: &[&str]) -> Table {
    let mut table = without_header();
    let cells = header.iter().enumerate().map(|(column, it)| if column == 0 { Cell::new(it) } else { right(it) });
    table.set_header(cells);
    table
}

/// The text of a table in the width of a terminal: two blanks between columns, or one if the first column needs the room. Only the first column,
/// which contains words, may be wrapped.
pub(super) fn fitted(table: Table) -> String {
    fitted_beside(table, 0)
}

/// Like [`fitted`], but the first column keeps at least `first` characters if it has them. The table may then be wider than a terminal.
pub(super) fn fitted_beside(mut table: Table, first: u16) -> String {
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH as u16);
    let widths: Vec<usize> = table.column_max_content_widths().into_iter().map(usize::from).collect();
    let numbers = widths.iter().skip(1).map(|it| it + 2).sum::<usize>();
    let of_first = widths.first().copied().unwrap_or_default();
    let narrow = of_first + 2 + numbers > WIDTH;
    let first = usize::from(first).min(of_first);
    for (index, column) in table.column_iter_mut().enumerate() {
        if index > 0 {
            column.set_constraint(ColumnConstraint::ContentWidth);
        } else if first > 0 {
            // The width includes the padding of one.
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed((first + 1) as u16)));
        }
        if narrow {
            column.set_padding((1, 0));
        }
    }
    table.trim_fmt()
}

/// Each cell is on one line: a report from disk may contain any text.
pub(super) fn add_row(table: &mut Table, name: String, cells: impl IntoIterator<Item = String>) {
    let cells = cells.into_iter().map(|it| right(&one_line(&it)));
    table.add_row(std::iter::once(Cell::new(one_line(&name))).chain(cells));
}

fn right(text: &str) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}
