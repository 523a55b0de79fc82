//! [I/O] TEST06 on a finished run: reads its accuracy log, and returns the text of verify_accuracy.txt.

use std::{
    io::{self, BufReader},
    path::{Path, PathBuf},
};

use workload_profiles::loadgen::Round;

use super::{
    build::{Missing, source_tests},
    layout::ScenarioFolder,
};
use files::user_file;
use loadgen::logs::{
    accuracy_log::ReadError,
    test06::{ElementType, Test06},
};

/// Why TEST06 cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum Test06Error {
    /// The folder contains no finished test.
    #[error("{0}")]
    Folder(Missing),
    /// The folder contains no audit run.
    #[error("{path} holds no run with audit TEST06; run the profile with audit: TEST06", path = .0.display())]
    NoAudit(PathBuf),
    /// The end-of-sequence token of the benchmark is unknown.
    #[error("the end-of-sequence token of {0} is not known; give its id by --eos")]
    NoEnd(&'static str),
    /// The accuracy log cannot be opened.
    #[error("cannot read {path} ({source}); give the folder with all files of the run", path = path.display())]
    Open {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The log is not a valid accuracy log.
    #[error(transparent)]
    Log(#[from] ReadError),
}

/// Runs TEST06 on the audit run in `run`. Returns the folder of its logs, and the results.
///
/// # Errors
/// There is no such run, or its log cannot be read.
pub fn verify_run(
    run: &Path,
    benchmark: Option<&str>,
    end_of_sequence: Option<i64>,
    elements: ElementType,
) -> Result<(PathBuf, Test06), Test06Error> {
    // Any round that has the benchmark will do, because differences between rounds do not matter here.
    let mut rounds = Round::ALL.into_iter().map(|round| source_tests(run, benchmark, round));
    let newest = rounds.next().unwrap_or_else(|| Ok(Vec::new()));
    let tests = newest.or_else(|error| rounds.find_map(Result::ok).ok_or(error)).map_err(Test06Error::Folder)?;
    let test = tests.iter().find(|it| it.is_audit()).ok_or_else(|| Test06Error::NoAudit(run.to_owned()))?;
    Ok((test.logs.clone(), verify(test, end_of_sequence, elements)?))
}

/// Runs TEST06 on the accuracy log of an audit run.
pub(super) fn verify(
    test: &super::build::Test,
    end_of_sequence: Option<i64>,
    elements: ElementType,
) -> Result<Test06, Test06Error> {
    let end = end_of_sequence.or(test.benchmark.end_of_sequence);
    let end = end.ok_or(Test06Error::NoEnd(test.benchmark.folder))?;
    let path = test.logs.join("mlperf_log_accuracy.json");
    let log = user_file::open(&path).map_err(|source| Test06Error::Open { path, source })?;
    Ok(Test06::from_log(BufReader::new(log), test.scenario_folder == ScenarioFolder::Offline, end, elements)?)
}
