//! Writes the result of a sweep as text for the terminal.

use report::text_table::{add_row, fitted_beside, new_table};

use crate::{
    document::SweepDocument,
    rows::{columns, progress, rows},
};

/// Minimum width of the column with the names of the cells, in characters.
const NAMES: u16 = 30;

/// Returns the text: the answers, the table of all cells, and how to read it. It ends with a line break.
pub fn text(sweep: &SweepDocument) -> String {
    let mut text: String = sweep.answers.iter().map(|it| format!("{it}\n")).collect();
    let header = columns(sweep);
    let mut table = new_table(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for row in rows(sweep) {
        let mut cells = row.into_iter();
        add_row(&mut table, cells.next().unwrap_or_default(), cells);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text + &fitted_beside(table, NAMES) + "\n\n" + &legend(sweep) + "\n"
}

/// How the table and the answers were computed.
pub fn legend(sweep: &SweepDocument) -> String {
    let front = sweep.front_titles().map_or_else(String::new, |[across, up]| {
        format!(" * marks the Pareto front: no other row is better in both {across} and {up}.")
    });
    format!(
        "{}. Values are means over the runs of a cell. With a probability of {} %, all intervals of differences are correct together. They \
         include the spread between runs; differences below 1 % do not count.{front}",
        progress(sweep),
        100.0 * (1.0 - sweep.error)
    )
}
