//! Writes the data of a figure as CSV.

use crate::{
    figure::Figure,
    table::{self, Cell},
};

/// Returns a header, then one line per value of each series: the name of the series, and the columns that the figure needs. Numbers have at most
/// eight significant digits, in the unit given in the header. A gap is an empty cell. A heat map has no lines for its empty cells. Text that a
/// spreadsheet would interpret as a formula gets an apostrophe in front.
pub fn write(figure: &Figure) -> String {
    let rows = table::rows(figure);
    let columns = table::columns(figure, &rows);
    let mut out = String::from("series");
    for (_, title) in &columns {
        out.push(',');
        out.push_str(&text(title));
    }
    out.push('\n');
    for series in &rows {
        let name = text(&series.name);
        let cells = columns.iter().map(|(column, _)| series.columns.iter().find(|it| it.0 == *column).map(|it| &it.1));
        let cells: Vec<Option<&Vec<Cell>>> = cells.collect();
        for row in 0..series.len() {
            out.push_str(&name);
            for column in &cells {
                out.push(',');
                match column.and_then(|it| it.get(row)) {
                    Some(Cell::Number(it)) => out.push_str(&table::number(*it)),
                    Some(Cell::Text(it)) => out.push_str(&text(it)),
                    Some(Cell::Empty) | None => {}
                }
            }
            out.push('\n');
        }
    }
    out
}

/// A text as one CSV cell.
fn text(it: &str) -> String {
    let formula = it.starts_with(['=', '+', '-', '@']);
    let it = if formula { format!("'{it}") } else { it.to_owned() };
    if it.contains([',', '"']) { format!("\"{}\"", it.replace('"', "\"\"")) } else { it }
}
