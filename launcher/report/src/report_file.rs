//! [I/O] Reads the report of a finished run. The user names the run by its results folder or by its `report.json`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crds::{benchmark_run::MAX_REPEATS, resolve::repeat_name};
use document::{ReadError, ReportDocument};
use files::user_file;

use crate::{
    baseline::MAX_BASELINE_BYTES,
    partial::{MARKER, SUFFIX},
};

/// The name of the report that programs read, in a results folder.
pub const REPORT_FILE_NAME: &str = "report.json";
/// Maximum number of entries that are read to find out what a folder is. Reading more would not make the error message better.
const MOST_ENTRIES: usize = 1_000;

/// Files by which the results of other tools are recognized.
const OTHER_TOOLS: [(&str, &str); 6] = [
    ("profile_export_aiperf.json", "AIPerf"),
    ("benchmarks.json", "GuideLLM"),
    ("summary_lifecycle_metrics.json", "inference-perf"),
    ("mlperf_log_summary.txt", "MLPerf LoadGen"),
    ("benchmark_report.yaml", "llm-d-benchmark"),
    ("profile_export.json", "GenAI-Perf"),
];

/// The reason why no report can be read from a path.
#[derive(Debug, thiserror::Error)]
pub enum ReportFileError {
    #[error("{path}: {cause}; give a results folder, such as results/latest, or its {REPORT_FILE_NAME}", path = path.display())]
    Read { path: PathBuf, cause: io::Error },
    #[error("{path}: is the folder of a run that has not ended, or was killed; wait for its end, or give the folder of a finished run", path = path.display())]
    Unfinished { path: PathBuf },
    #[error("{path}: has no {REPORT_FILE_NAME}, and contains results of {tool}; give a results folder of benchwright, or its {REPORT_FILE_NAME}", path = path.display())]
    OtherTool { path: PathBuf, tool: &'static str },
    #[error("{path}: contains results folders, but no {REPORT_FILE_NAME} of its own; give one of them, such as {example}", path = path.display(), example = example.display())]
    Several { path: PathBuf, example: PathBuf },
    #[error("{path}: is a series of {found} runs, of which {counting} are valid; a series is compared only with two or more valid runs: give one run, such as {example}, or repeat the series", path = path.display(), example = path.join("r1").display())]
    Series { path: PathBuf, found: usize, counting: usize },
    #[error("{path}: has no {REPORT_FILE_NAME}; give the results folder of a finished run, or its {REPORT_FILE_NAME}", path = path.display())]
    NoReport { path: PathBuf },
    #[error("{path}: {cause}", path = path.display())]
    Content { path: PathBuf, cause: ReadError },
}

impl ReportFileError {
    /// Replaces the path in the error with a name that the user knows. Used if the report is read from a copy.
    pub fn named(mut self, name: &str) -> ReportFileError {
        let (ReportFileError::Read { path, .. }
        | ReportFileError::Unfinished { path }
        | ReportFileError::OtherTool { path, .. }
        | ReportFileError::Several { path, .. }
        | ReportFileError::NoReport { path }
        | ReportFileError::Series { path, .. }
        | ReportFileError::Content { path, .. }) = &mut self;
        *path = PathBuf::from(name);
        self
    }
}

/// Reads the report of a run, or the reports of all valid runs of a series. A series must have at least two valid runs.
///
/// # Errors
/// The errors of [`read`], or the series has fewer than two valid runs.
pub fn read_all(path: &Path) -> Result<Vec<ReportDocument>, ReportFileError> {
    let is_series = path.join("repeats.json").is_file() && !path.join(REPORT_FILE_NAME).exists();
    if !is_series {
        return read(path).map(|(_, report)| vec![report]);
    }
    let folders = (1..=MAX_REPEATS).map(|number| path.join(repeat_name(number))).take_while(|it| it.is_dir());
    let all = folders.map(|it| read(&it).map(|it| it.1)).collect::<Result<Vec<_>, _>>()?;
    let found = all.len();
    let series: Vec<ReportDocument> = all.into_iter().filter(|it| it.outcome.has_valid_figures()).collect();
    match series.len() {
        counting @ (0 | 1) => Err(ReportFileError::Series { path: path.to_owned(), found, counting }),
        _ => Ok(series),
    }
}

/// Reads the report at a path, and returns it with the path of its file.
///
/// # Errors
/// There is no report, the run has not ended, or this release cannot read the report.
pub fn read(path: &Path) -> Result<(PathBuf, ReportDocument), ReportFileError> {
    let (file, text) = if path.is_dir() {
        let file = in_folder(path)?;
        let text = user_file::read_regular_text(&file, MAX_BASELINE_BYTES);
        (file, text)
    } else {
        (path.to_owned(), user_file::read_text(path, MAX_BASELINE_BYTES))
    };
    let text = match text {
        Ok(text) => text,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound && unfinished(path).exists() => {
            return Err(ReportFileError::Unfinished { path: unfinished(path) });
        }
        Err(cause) => return Err(ReportFileError::Read { path: file, cause }),
    };
    match ReportDocument::read(&text) {
        Ok(report) => Ok((file, report)),
        Err(cause) => Err(ReportFileError::Content { path: file, cause }),
    }
}

/// The name that a folder has until its run has ended.
fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(SUFFIX);
    PathBuf::from(name)
}

fn in_folder(folder: &Path) -> Result<PathBuf, ReportFileError> {
    let path = folder.to_owned();
    // Resolves `.` and links to get the real name.
    let real = fs::canonicalize(folder).unwrap_or_else(|_| path.clone());
    let has_name = real.file_name().and_then(|it| it.to_str()).is_some_and(|it| it.ends_with(SUFFIX));
    if has_name || folder.join(MARKER).exists() {
        return Err(ReportFileError::Unfinished { path });
    }
    let file = folder.join(REPORT_FILE_NAME);
    if file.exists() {
        return Ok(file);
    }
    if let Some((_, tool)) = OTHER_TOOLS.iter().find(|(name, _)| folder.join(name).exists()) {
        return Err(ReportFileError::OtherTool { path, tool });
    }
    let entries = fs::read_dir(folder).map_err(|cause| ReportFileError::Read { path: path.clone(), cause })?;
    let mut inner: Vec<PathBuf> = entries.take(MOST_ENTRIES).flatten().map(|it| it.path()).collect();
    // `latest`, the newest run, is the best example.
    inner.sort_by_key(|it| !it.ends_with("latest"));
    match inner.into_iter().find(|it| it.join(REPORT_FILE_NAME).is_file()) {
        Some(example) => Err(ReportFileError::Several { path, example }),
        None => Err(ReportFileError::NoReport { path }),
    }
}
