//! Writes the files of LoadGen tests: a folder of logs for each test, and next to them `config.json` and `summary.json`.

mod documents;

use std::io::{self, Write};

use serde::Serialize;

use super::{
    folder::{Folder, StorageError},
    text,
};
use document::{LoadGenDocument, Parts};
use loadgen::logs::{accuracy_log, detail, summary};

pub use documents::{LoadGenConfig, LoadGenSummary};

/// Writes the files. Does nothing if the run has no LoadGen tests.
///
/// # Errors
/// The folder cannot be written.
pub(super) fn write(folder: &mut Folder, report: &Parts<'_>) -> Result<(), StorageError> {
    let (Some(loadgen), Some(tests)) = (&report.workload.loadgen, report.loadgen) else { return Ok(()) };
    for (test, _) in &tests.tests {
        let name = |file: &str| format!("{}/mlperf_log_{file}", test.folder);
        folder.write(&name("summary.txt"), |file| summary::write(&test.log, file))?;
        folder.write(&name("detail.txt"), |file| detail::write(&test.log, file))?;
        folder.write(&name("accuracy.json"), |file| {
            let mut log = accuracy_log::Writer::new(file)?;
            test.answers.iter().try_for_each(|it| log.add(it))?;
            log.finish().map(drop)
        })?;
    }
    folder.write("config.json", |file| {
        write_json(&LoadGenConfig::new(report, loadgen, tests).without_secrets()?, file)
    })?;
    folder.write("summary.json", |file| write_json(&LoadGenSummary::new(report, loadgen, tests), file))
}

/// A test as a row of a table.
pub(super) struct TestRow {
    /// The folder of its logs.
    pub(super) name: String,
    /// The cells after the name.
    pub(super) cells: Vec<String>,
}

/// The columns of [`rows`] after the first.
pub(super) const COLUMNS: [&str; 10] =
    ["scenario", "mode", "result", "queries", "target/s", "samples/s", "tokens/s", "TTFT p99", "TPOT p99", "errors"];

/// One row per test. The rate comes from the test's logs. If they have none, it is computed for the time until the latest completion.
pub(super) fn rows(tests: &LoadGenDocument) -> impl Iterator<Item = TestRow> {
    tests.tests.iter().map(|it| {
        let time = |millis: Option<f64>| text::optional(millis.filter(|it| *it >= 0.0), text::millis);
        let mode = it.mode.name();
        let cells = vec![
            it.scenario.name().into(),
            if it.audited { format!("{mode}, audit") } else { mode.into() },
            it.result.clone(),
            text::optional(it.queries, |it| it.to_string()),
            text::optional(it.target_qps, text::number),
            text::optional(it.samples_per_second, text::number),
            text::optional(it.tokens_per_second, text::number),
            time(it.ttft_p99_ms),
            time(it.tpot_p99_ms),
            it.errors.to_string(),
        ];
        TestRow { name: it.folder.clone(), cells }
    })
}

/// Notes on values that the logs lack, or that they have under another name. Each note begins with the folder of its test.
pub(super) fn notes(tests: &LoadGenDocument) -> Vec<String> {
    tests.tests.iter().flat_map(|test| test.notes.iter().map(|note| format!("{}: {note}", test.folder))).collect()
}

fn write_json(value: &impl Serialize, mut to: &mut (dyn Write + Send)) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut to, value)?;
    to.write_all(b"\n")
}
