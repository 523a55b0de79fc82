//! Formats a report for a terminal: a table with one line per benchmark and scenario, and the list of findings. Pure.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use crds::{figure::rate_text, wording::one_line};

use super::findings::Report;

/// A table with a line below the header, and no other lines.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Returns the whole text, with a line end after the last line.
pub fn render(report: &Report) -> String {
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
            let cells = [&row.system, &row.benchmark, &row.scenario].map(|it| Cell::new(one_line(it)));
            let value = Cell::new(value).set_alignment(CellAlignment::Right);
            table.add_row(cells.into_iter().chain([value, Cell::new(row.unit), Cell::new(check)]));
        }
        out = table.trim_fmt() + "\n\n";
    }
    report.findings.iter().for_each(|it| out.push_str(&format!("{}\n", one_line(&it.to_string()))));
    let left_out = report.count - report.findings.len();
    if left_out > 0 {
        out.push_str(&format!("and {left_out} more\n"));
    }
    report.notes.iter().for_each(|it| out.push_str(&format!("note: {}\n", one_line(it))));
    let verdict = match report.count {
        0 => "nothing is wrong with the tree".into(),
        1 => "1 finding".into(),
        many => format!("{many} findings"),
    };
    out + &format!("{}: {verdict}\n", report.round)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        findings::{Findings, Row},
        rules::Rule,
    };

    #[test]
    fn a_finding_is_one_line_whatever_the_tree_holds() {
        let mut findings = Findings::default();
        findings.add(Rule::SutName, "closed/a\u{1b}[2J", "sut_name", "x\ny: 0 findings", "SUT");
        let system = "closed/a\u{1b}[2J".to_owned();
        let row =
            Row { system, benchmark: "b".into(), scenario: "c".into(), value: None, unit: "tokens/s", findings: 1 };
        let notes = vec!["version\r\nof".to_owned()];
        let report = Report { round: "v6.1", rows: vec![row], count: 1, findings: findings.into_all(), notes };
        let text = render(&report);
        assert!(text.contains("found x y: 0 findings") && text.contains("note: version"), "{text}");
        assert!(!text.chars().any(|it| it.is_control() && it != '\n'), "{text:?}");
        // The header and the line below it, the row, a blank line, a finding, a note, and the verdict.
        assert_eq!(text.lines().count(), 7, "{text}");
    }
}
