//! `report.json`: the results of a run, and all inputs needed to repeat it. Its key `format` contains its version.
//!
//! A figure is absent if it was not measured. Times are in milliseconds with fractions (`...Ms`), except that the times of a server's start are in
//! seconds (`...Seconds`). `docs/metrics.md` explains every key. The document contains no prompts, outputs, bodies, credentials or token files.
//! Writing and reading use the same types, so a report of this release is written back unchanged.

pub mod answer;
mod by_figure;
mod contamination;
mod counted_again;
mod distributions;
mod figures;
mod hardware;
mod interactivity;
mod judged;
mod judgement;
mod lenient;
mod loadgen;
mod managed_server;
mod objectives;
mod parts;
pub mod redact;
mod report;
mod request_sample;
mod sections;
mod server;
mod server_replicas;
mod server_series;
mod server_start;
mod servers;
mod sessions;
mod source;
mod time_series;
mod token_comparison;
mod uncertainty;
mod validity;
mod values;

use std::io::{self, Write};

use serde::Deserialize;

/// The result of a search, which a report contains as the analysis wrote it.
pub use analysis::search;
pub use contamination::{ContaminationDocument, WarmUpDocument};
pub use distributions::{DistributionDocument, DistributionsDocument};
pub use figures::{CauseDocument, FiguresDocument, GoodputDocument, ThroughputDocument};
pub use hardware::{CostDocument, HardwareDocument};
pub use interactivity::InteractivityDocument;
pub use judgement::JudgementDocument;
pub use loadgen::{LoadGenDocument, LoadGenTestDocument, TrialDocument};
pub use managed_server::{ManagedServerDocument, ReplicaDocument};
pub use objectives::{ObjectiveDocument, StageObjectiveDocument};
pub use parts::Parts;
pub use report::{
    FORMAT, InputsDocument, LabelsDocument, ReasonDocument, ReportDocument, SeedsDocument, StageDocument, TOOL,
    TOOL_VERSION,
};
pub use request_sample::RequestSampleDocument;
pub use sections::{Renderer, Section, Shown};
pub use server::{IdentityDocument, ServerDocument};
pub use server_replicas::{CalledReplicaDocument, ServerReplicasDocument};
pub use server_series::ServerSeriesDocument;
pub use server_start::{PodStart, ServerStart, SleepCycle};
pub use servers::{LevelsDocument, ServerMetricsDocument, ServerWindowDocument};
pub use sessions::{SessionsDocument, TurnDocument};
pub use time_series::{Column, HeatDocument, TimeSeriesDocument, TimesDocument};
pub use uncertainty::{
    EstimateDocument, JudgedDocument, LatenciesDocument, LittlesLawDocument, SteadyStateDocument, UncertaintyDocument,
    WindowDocument,
};
pub use values::Statistics;

impl ReportDocument {
    /// Writes the text of `report.json`.
    ///
    /// # Errors
    /// An error of the writer.
    pub fn write(&self, to: &mut (impl Write + ?Sized)) -> io::Result<()> {
        let mut to = to;
        serde_json::to_writer_pretty(&mut to, self)?;
        to.write_all(b"\n")
    }

    /// Reads the text of a `report.json`. Keys that this release does not know are ignored.
    ///
    /// # Errors
    /// The text is not a report, the report has another format version, or a field has a value that this release cannot read.
    pub fn read(text: &str) -> Result<ReportDocument, ReadError> {
        // The parser's error repeats the refused value, which can be very long.
        let header: Header =
            serde_json::from_str(text).map_err(|error| ReadError::NoReport(shortened(&error.to_string())))?;
        let by = shortened(&header.written_by());
        if header.format != FORMAT {
            return Err(ReadError::Format { found: shortened(&header.format), by });
        }
        lenient::read(text).map_err(|error| ReadError::Field {
            path: shortened(&error.path),
            problem: shortened(&error.problem),
            by,
        })
    }
}

/// Maximum length of a part of a message, in characters. Enough for the names of all fields.
const MOST_LETTERS: usize = 1_000;

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_LETTERS) {
        Some((end, _)) => format!("{} [...]", &text[..end]),
        None => text.to_owned(),
    }
}

/// The keys that every version of the format has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    format: String,
    tool_version: String,
    #[serde(default)]
    tool_commit: String,
}

impl Header {
    /// Describes the program that wrote the report.
    fn written_by(&self) -> String {
        let commit = if self.tool_commit.is_empty() { "unknown" } else { &self.tool_commit };
        format!("{} (commit {commit})", self.tool_version)
    }
}

/// The reason why a text cannot be read as `report.json`. The message already contains the cause, so there is no `source`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("not a report.json: {0}; give the original file")]
    NoReport(String),
    #[error(
        "format is {found}, but this program reads {FORMAT}; use the release that wrote the report, benchwright {by}"
    )]
    Format { found: String, by: String },
    #[error("{path}: {problem}; use the release that wrote the report, benchwright {by}")]
    Field { path: String, problem: String, by: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_a_megabyte_is_in_no_message() {
        let long = "x".repeat(1 << 20);
        for text in [
            format!(r#"{{"format": "{long}", "toolVersion": "1"}}"#),
            format!(r#"{{"format": "{FORMAT}", "toolVersion": "1", "run": "{long}"}}"#),
            format!(r#"{{"format": "{FORMAT}", "toolVersion": "{long}", "run": 5}}"#),
            format!(r#"{{"format": {{"a": "{long}"}}}}"#),
            long.clone(),
        ] {
            let message = ReportDocument::read(&text).unwrap_err().to_string();
            assert!(message.len() < 5_000, "{}", message.len());
        }
    }

    #[test]
    fn another_version_of_the_format_names_it_and_the_remedy() {
        let text = r#"{"format": "benchwright.dev/report/v2", "toolVersion": "7.1.0", "toolCommit": "abc", "figures": {"new": 1}}"#;
        let error = ReportDocument::read(text).unwrap_err().to_string();
        for part in ["benchwright.dev/report/v2", "reads benchwright.dev/report/v1", "benchwright 7.1.0 (commit abc)"] {
            assert!(error.contains(part), "{error}");
        }
        assert!(matches!(ReportDocument::read("{}"), Err(ReadError::NoReport(_))));
    }
}
