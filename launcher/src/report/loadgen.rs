//! The files of LoadGen tests: the logs of each in a folder of its own, `config.json` and `summary.json` beside them.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::json;

use super::{Folder, Report, StorageError, TOOL_VERSION};
use crate::loadgen::{
    accuracy_log, detail,
    outcome::TestOutcome,
    summary,
    verdict::{TestVerdict, TrialVerdict},
};

/// The tests of a run and what they came to.
#[derive(Clone, Debug)]
pub struct LoadGenReport {
    /// Each with its verdict, in order.
    pub tests: Vec<(TestOutcome, TestVerdict)>,
    /// The trials before them.
    pub trials: Vec<TrialVerdict>,
}

impl LoadGenReport {
    /// Judges the tests of a run.
    pub fn of(tests: Vec<TestOutcome>, trials: Vec<TrialVerdict>) -> LoadGenReport {
        let judged = |test: TestOutcome| {
            let verdict = TestVerdict::of(&test);
            (test, verdict)
        };
        LoadGenReport { tests: tests.into_iter().map(judged).collect(), trials }
    }

    /// The verdicts, in order.
    pub fn verdicts(&self) -> impl Iterator<Item = &TestVerdict> {
        self.tests.iter().map(|(_, verdict)| verdict)
    }
}

/// Writes the files; none where the run has no such tests.
///
/// # Errors
/// The folder cannot be written.
pub(super) fn write(folder: &mut Folder, report: &Report<'_>) -> Result<(), StorageError> {
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
    let target = report.run.endpoint.name();
    folder.write("config.json", |file| {
        let effective: Vec<_> = tests.tests.iter().map(|(test, _)| &test.log.effective).collect();
        let config = json!({
            "tool": format!("benchwright {TOOL_VERSION}"),
            "target": target,
            "model": report.analysis.model,
            "loadgen": loadgen,
            "effective": effective,
            "requests": report.workload.requests,
            "sampling": report.workload.sampling,
            "timeouts": report.workload.timeouts,
        });
        write_json(&config, file)
    })?;
    folder.write("summary.json", |file| {
        let verdicts: Vec<_> = tests.verdicts().collect();
        let summary = json!({
            "tool": format!("benchwright {TOOL_VERSION}"),
            "target": target,
            "model": report.analysis.model,
            "benchmark": loadgen.benchmark,
            "round": loadgen.round,
            "started": report.analysis.started,
            "outcome": report.analysis.verdict.outcome.name(),
            "trials": tests.trials,
            "tests": verdicts,
        });
        write_json(&summary, file)
    })
}

fn write_json(value: &impl Serialize, mut to: &mut (dyn Write + Send)) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut to, value)?;
    to.write_all(b"\n")
}
