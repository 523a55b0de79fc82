//! Writes the files of a results folder.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use document::{Parts, ReportDocument, redact};
use files::user_file;
use measurement::{kept_run::KeptRun, recorder::Records};
use tracing::warn;

use crate::{
    accuracy::AccuracyFile,
    benchmark_report::{self, Revision},
    benchmark_run::{self, Inputs},
    comment,
    folder::{Folder, StorageError},
    junit, loadgen, markdown, measurement_file,
    report_file::REPORT_FILE_NAME,
    requests_parquet, server, stages_csv, startup,
};

/// The file with the resolved run.
const RUN: &str = "run.yaml";
/// The file with the rendered profile.
const PROFILE: &str = "profile.yaml";
/// Maximum size in bytes of an input file that is read. The largest profile is smaller.
const MAX_INPUT_BYTES: u64 = 64 << 20;
/// The name of the page of a run, in a results folder.
pub const PAGE_FILE_NAME: &str = "report.html";

/// The content of a results folder that does not come from [`Parts`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Attachments<'a> {
    /// The files with scored answers; empty if no answers were scored.
    pub accuracy_files: &'a [AccuracyFile],
    /// The paths of the logs of a managed server's replicas, in their order.
    pub server_logs: &'a [PathBuf],
    /// The records of all requests; `None` if the run does not store them.
    pub records: Option<&'a Records>,
    /// The measurement for a later analysis; `None` if it is not kept.
    pub kept: Option<&'a KeptRun>,
}

/// Writes `run.yaml`, `profile.yaml` and `benchmarkrun.yaml`. Call it before the load, so that the folder shows what was run even if the launcher is
/// killed. Credentials in the profile are blacked out.
///
/// # Errors
/// The folder cannot be written.
pub fn write_inputs(folder: &mut Folder, inputs: &Inputs<'_>) -> Result<(), StorageError> {
    folder.write(RUN, |file| {
        let text = serde_saphyr::to_string(inputs.run).map_err(io::Error::other)?;
        file.write_all(text.as_bytes())
    })?;
    folder.write(PROFILE, |file| file.write_all(redact::profile(inputs.profile_text).as_bytes()))?;
    folder.write(benchmark_run::FILE_NAME, |file| file.write_all(benchmark_run::render(inputs).as_bytes()))
}

/// Copies the files of [`write_inputs`] from the results folder of an earlier run. Missing files are skipped.
///
/// # Errors
/// A file cannot be read, or the folder cannot be written.
pub fn copy_inputs(folder: &mut Folder, from: &Path) -> Result<(), StorageError> {
    for name in [RUN, PROFILE, benchmark_run::FILE_NAME] {
        let path = from.join(name);
        match user_file::read_regular(&path, MAX_INPUT_BYTES) {
            Ok(content) => folder.write(name, |file| file.write_all(&content))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StorageError::new(&path, error)),
        }
    }
    Ok(())
}

/// The path of a replica's log within a results folder.
pub fn server_log(replica: usize) -> String {
    format!("server/{replica}.log")
}

/// Renders the page of a report. The renderer is in a crate that depends on this one, so it is passed in.
pub type PageOf<'a> = &'a dyn Fn(&ReportDocument) -> io::Result<String>;

/// Writes all files of a report: first the files for programs, last the largest ones. `document` is the result of [`Parts::document`]. If the page
/// cannot be rendered, only logs a warning, because the figures are valid nevertheless.
///
/// # Errors
/// The folder cannot be written. Files that were written before are complete.
pub fn write_report(
    folder: &mut Folder,
    report: &Parts<'_>,
    document: &ReportDocument,
    attachments: &Attachments<'_>,
    page: Option<PageOf<'_>>,
) -> Result<(), StorageError> {
    write_document(folder, document, page)?;
    if !report.workload.work.is_load() && !report.startups.is_empty() {
        let text = startup::result_yaml(report.startups);
        folder.write(startup::RESULT_FILE_NAME, |file| file.write_all(text?.as_bytes()))?;
    }
    // These files come late, because there can be many, and a status lists only the first files of a run.
    loadgen::write(folder, report)?;
    for it in attachments.accuracy_files {
        folder.write(&it.name, |file| file.write_all(&it.content))?;
    }
    for (replica, log) in attachments.server_logs.iter().enumerate() {
        let copied = folder.write(&server_log(replica), |file| io::copy(&mut fs::File::open(log)?, file).map(drop));
        if let Err(error) = copied {
            warn!(%error, log = %log.display(), "a log of the server is not in the results folder; it stays where it is");
        }
    }
    for revision in Revision::ALL {
        for (index, _) in report.analysis.stages.iter().enumerate() {
            folder.write(&benchmark_report::file_name(revision, report.analysis, index), |file| {
                file.write_all(benchmark_report::render(revision, report, index)?.as_bytes())
            })?;
        }
    }
    if let Some(server) = &report.analysis.servers {
        folder.write("server_metrics.parquet", |file| server::parquet::write(report, server, file))?;
    }
    if let Some(records) = attachments.records {
        folder.write("requests.parquet", |file| requests_parquet::write(report, records, file))?;
    }
    if let Some(kept) = attachments.kept {
        folder.write(measurement_file::NAME, |file| kept.write(file))?;
    }
    Ok(())
}

/// Writes the files that need only the document.
///
/// # Errors
/// The folder cannot be written. Files that were written before are complete.
pub fn write_document(
    folder: &mut Folder,
    document: &ReportDocument,
    page: Option<PageOf<'_>>,
) -> Result<(), StorageError> {
    folder.write(REPORT_FILE_NAME, |file| document.write(file))?;
    match page.map(|page| page(document)) {
        None => {}
        Some(Ok(text)) => folder.write(PAGE_FILE_NAME, |file| file.write_all(text.as_bytes()))?,
        Some(Err(error)) => warn!(%error, "report.html was not written; the other files of the report were"),
    }
    folder.write("report.md", |file| file.write_all(markdown::render(document).as_bytes()))?;
    folder.write(comment::FILE_NAME, |file| file.write_all(comment::render(document).as_bytes()))?;
    folder.write(junit::FILE_NAME, |file| junit::write(document, file))?;
    folder.write(stages_csv::FILE_NAME, |file| stages_csv::write(document, file))
}
