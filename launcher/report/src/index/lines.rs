//! [I/O] `index.md`: one line per run. The line is appended when the run has ended.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
};

use crate::{
    folder::Stored,
    markup::cell,
    text::{self, NOTHING, millis, number, percentile},
};
use document::{FiguresDocument, ReportDocument};

/// The file name of the index in Markdown.
pub(super) const FILE_NAME: &str = "index.md";

/// The header of a table. A release with other columns starts a new table.
const COLUMNS: &str = "\
| folder | profile | load | target | model | outcome | requests | failed or cancelled | TTFT p50 | TTFT p99 | ITL p99 | output tokens/s |
| --- | --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
";
/// Number of bytes at the start of an index that are searched for the header. If it is not found there, it is written again.
const MAX_SEARCHED: u64 = 16 << 20;
/// Maximum number of stages that a line names.
const MAX_STAGES: usize = 4;

/// Appends a line to the file, which must be open for appending and locked. If the file does not have these columns yet, the header is written first.
/// If the disk is full, the file is left unchanged.
pub(super) fn append(mut file: &File, row: &str) -> io::Result<()> {
    let before = file.metadata()?.len();
    let mut found = Vec::new();
    file.take(MAX_SEARCHED).read_to_end(&mut found)?;
    let has_columns = found.windows(COLUMNS.len()).any(|it| it == COLUMNS.as_bytes());
    let header = match (found.is_empty(), has_columns) {
        (true, _) => format!("# Runs\n\n`*`: {}.\n\n{COLUMNS}", text::LARGEST_MEANS),
        (false, true) => String::new(),
        (false, false) => format!("\n{COLUMNS}"),
    };
    file.write_all(format!("{header}{row}").as_bytes()).inspect_err(|_| {
        // If this fails too, the first error is the one to report.
        let _ = file.set_len(before);
    })
}

pub(super) fn row(document: &ReportDocument, stored: &Stored) -> String {
    let (run, figures) = (&document.resolved_run, &document.figures);
    let time = |at: f64, permille, count| (at, percentile(millis(at), permille, count));
    let cells = [
        format!("[{name}]({name}/report.md)", name = stored.name),
        cell(&text::profile(run)),
        cell(&load(document)),
        cell(run.endpoint.name()),
        cell(&document.model),
        outcome(document),
        figures.requests.to_string(),
        figures.failed.saturating_add(figures.cancelled).to_string(),
        of_stages(document, |it| it.ttft_ms.as_ref().map(|it| time(it.p50, 500, it.count))),
        of_stages(document, |it| it.ttft_ms.as_ref().map(|it| time(it.p99, 990, it.count))),
        of_stages(document, |it| it.itl_ms.as_ref().map(|it| time(it.p99, 990, it.count))),
        of_stages(document, |it| {
            it.throughput.as_ref().map(|it| (it.output_tokens_per_second, number(it.output_tokens_per_second)))
        }),
    ];
    format!("| {} |\n", cells.join(" | "))
}

/// A figure as text; with several stages, its minimum and maximum.
fn of_stages(document: &ReportDocument, figure: impl Fn(&FiguresDocument) -> Option<(f64, String)>) -> String {
    let mut found: Vec<(f64, String)> = document.stages.iter().filter_map(|it| figure(&it.figures)).collect();
    found.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    match (found.first(), found.last()) {
        (Some((_, least)), Some((_, most))) if least != most => format!("{least} to {most}"),
        (Some((_, one)), _) => one.clone(),
        _ => NOTHING.to_owned(),
    }
}

/// The names of the stages, which usually contain their rate or concurrency: `c1, c2, c4 ... c64 (7 stages)`.
fn load(document: &ReportDocument) -> String {
    let names: Vec<&str> = document.stages.iter().map(|it| it.name.as_str()).collect();
    match names.as_slice() {
        [first @ .., last] if names.len() > MAX_STAGES => {
            format!("{} ... {last} ({} stages)", first[..MAX_STAGES - 1].join(", "), names.len())
        }
        all => all.join(", "),
    }
}

/// The outcome, and LoadGen's verdict on each test.
fn outcome(document: &ReportDocument) -> String {
    let tests = document.loadgen.iter().flat_map(|it| &it.tests);
    let tests: String = tests.map(|it| format!(", {} {}", it.scenario.name(), cell(&it.result))).collect();
    let goals = text::goals(document).map(|it| format!("; {}", it.text)).unwrap_or_default();
    format!("{}{tests}{goals}", document.outcome.name())
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    fn open(path: &Path) -> File {
        File::options().read(true).append(true).create(true).open(path).unwrap()
    }

    #[test]
    fn the_index_gets_one_header_and_a_line_each() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("index.md");
        append(&open(&path), "| a |\n").unwrap();
        append(&open(&path), "| b |\n").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# Runs\n") && text.ends_with(&format!("\n\n{COLUMNS}| a |\n| b |\n")), "{text}");
    }

    #[test]
    fn an_index_of_another_release_gets_a_table_of_its_own() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("index.md");
        fs::write(&path, "# Runs\n\n| folder |\n| --- |\n| a |\n").unwrap();
        append(&open(&path), "| b |\n").unwrap();
        append(&open(&path), "| c |\n").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.ends_with(&format!("| --- |\n| a |\n\n{COLUMNS}| b |\n| c |\n")), "{text}");
    }
}
