//! The figures of one run, and their printed form.

use analysis::Analysis;
use document::ReportDocument;
use report::{Stored, repeats::StartTimes, startup, terminal};
use tracing::warn;

use super::retention;
use crate::console;

/// The analysis of a run, and the results folder that contains it.
pub(crate) struct Measurement {
    pub(super) analysis: Analysis,
    /// The same analysis in the form of `report.json`.
    pub(super) document: ReportDocument,
    pub(super) stored: Option<Stored>,
    /// How long the servers that were started for the run took to start.
    pub(super) start: StartTimes,
    /// The location to which the folder was uploaded.
    pub(super) uploaded_to: Option<String>,
    /// The folders of earlier runs that were deleted after this folder was written.
    pub(super) deleted_folders: Vec<String>,
}

/// Prints the table below a heading, which can be empty. Call it after all files are written, because printing fails if the reader of stdout has
/// ended.
pub(super) fn print_table(measurement: &Measurement, heading: &str) {
    let document = &measurement.document;
    let mut text = heading.to_owned() + &terminal::table(document, console::stdout_paint());
    if !document.startups.is_empty() {
        text.push_str(&format!("how the server started:\n{}\n", startup::text(&startup::columns(&document.startups))));
    }
    if let Some(uri) = &measurement.uploaded_to {
        text.push_str(&format!("report: {uri}/report.md\n"));
    } else if let Some(stored) = &measurement.stored {
        text.push_str(&format!("report: {}\n", stored.path.join("report.md").display()));
        if stored.artifacts.iter().any(|it| it.name == report::PAGE_FILE_NAME) {
            text.push_str(&format!("page: {}\n", stored.path.join(report::PAGE_FILE_NAME).display()));
        }
    }
    text.push_str(&retention::line(&measurement.deleted_folders));
    if let Err(error) = console::print(text) {
        warn!(%error, "the table was not printed");
    }
}
