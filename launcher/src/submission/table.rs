//! A report for a terminal: a table with a line for each benchmark and scenario, and the list of findings. Pure.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use crds::summary::rate_text;

use super::findings::Report;

/// A line below the header, and no other.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// All of it, with a line break at its end.
pub(super) fn render(report: &Report) -> String {
    let mut out = String::new();
    if !report.rows.is_empty() {
        let mut table = Table::new();
        table.load_style(STYLE).set_header(["system", "benchmark", "scenario", "result", "", "check"]);
        for row in &report.rows {
            let value = row.value.map_or_else(|| "-".into(), rate_text);
            let check = match row.findings {
                0 => "passes".into(),
                1 => "1 finding".into(),
                many => format!("{many} findings"),
            };
            let cells = [&row.system, &row.benchmark, &row.scenario].map(Cell::new);
            let value = Cell::new(value).set_alignment(CellAlignment::Right);
            table.add_row(cells.into_iter().chain([value, Cell::new(row.unit), Cell::new(check)]));
        }
        out = table.trim_fmt() + "\n\n";
    }
    report.findings.iter().for_each(|it| out.push_str(&format!("{it}\n")));
    let left_out = report.count - report.findings.len();
    if left_out > 0 {
        out.push_str(&format!("and {left_out} more\n"));
    }
    report.notes.iter().for_each(|it| out.push_str(&format!("note: {it}\n")));
    let verdict = match report.count {
        0 => "nothing is wrong with the tree".into(),
        1 => "1 finding".into(),
        many => format!("{many} findings"),
    };
    out + &format!("{}: {verdict}\n", report.round)
}
