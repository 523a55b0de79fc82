//! Writes the figures as a table for a terminal. Other formats use the same texts. Pure.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use crds::figure::rate_text;

use super::figures::{Bound, Figure, Figures};

/// Draws one line, below the header.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
/// The column headers. The first column contains text, and all others contain numbers.
pub(super) const HEADER: [&str; 6] = ["", "median", "spread", "floor", "aim", ""];

/// Returns all figures, followed by the notes, with a line break at the end.
pub(super) fn table(figures: &Figures) -> String {
    let mut table = Table::new();
    let right = |text: &str| Cell::new(text).set_alignment(CellAlignment::Right);
    table.load_style(STYLE).set_header(HEADER.map(right));
    for figure in &figures.all {
        let [title, numbers @ .., mark] = row(figure);
        let numbers = numbers.map(|it| right(&it));
        table.add_row([Cell::new(title)].into_iter().chain(numbers).chain([Cell::new(mark)]));
    }
    let mut text = table.trim_fmt() + "\n";
    for note in &figures.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text
}

/// The cells of a figure: title, median, spread, floor, aim, and the limit that it meets.
pub(super) fn row(figure: &Figure) -> [String; 6] {
    let (min, max) = figure.spread();
    let spread = if figure.values.len() > 1 { format!("{} to {}", number(min), number(max)) } else { String::new() };
    let bound = |it: Option<Bound>| it.map_or_else(String::new, |it| bound(it, figure.unit));
    [
        figure.title.clone(),
        with_unit(number(figure.median), figure.unit),
        spread,
        bound(figure.budget.floor),
        bound(figure.budget.aim),
        figure.mark.map_or("", |it| it.text()).to_owned(),
    ]
}

fn bound(bound: Bound, unit: &str) -> String {
    match bound {
        Bound::AtMost(it) => format!("<= {}", with_unit(number(it), unit)),
        Bound::AtLeast(it) => format!(">= {}", with_unit(number(it), unit)),
    }
}

/// A number with four significant digits. Negative numbers are possible, because some figures are differences.
fn number(value: f64) -> String {
    if value < 0.0 { format!("-{}", rate_text(-value)) } else { rate_text(value) }
}

fn with_unit(number: String, unit: &str) -> String {
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Budget;

    fn figures() -> Figures {
        let mut figures = Figures::default();
        for value in [1.31, 1.19, 1.224] {
            figures.add("a", "CPU per token, of a bare client's", "", value, Budget::at_most(2.0, 1.2));
        }
        figures.add("b", "rate kept", "%", 99.95, Budget::at_least(99.0, 99.9));
        figures.add("c", "lag p99", "ms", 12.5, Budget::at_most(2.0, 0.5));
        figures.add("d", "memory", "MiB", -0.25, Budget::NONE);
        figures.note("one core".into());
        figures
    }

    #[test]
    fn a_row_tells_value_spread_budget_and_mark() {
        let rows: Vec<_> = figures().all.iter().map(row).collect();
        assert_eq!(rows[0][1..], ["1.224", "1.19 to 1.31", "<= 2", "<= 1.2", "meets floor"]);
        assert_eq!(rows[1][1..], ["99.95 %", "", ">= 99 %", ">= 99.9 %", "meets aim"]);
        assert_eq!(rows[2][5], "MISSES");
        assert_eq!(rows[3][1..], ["-0.25 MiB", "", "", "", ""]);
    }

    #[test]
    fn a_table_has_a_line_for_each_figure_and_each_note() {
        let text = table(&figures());
        assert_eq!(text.lines().count(), 2 + 4 + 1, "{text}");
        assert!(text.ends_with("note: one core\n"), "{text}");
    }
}
