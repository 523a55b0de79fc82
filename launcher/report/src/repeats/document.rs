//! The types of `repeats.json`. `docs/metrics.md` explains every key.

use std::io::{self, Write};

use crds::{
    objective::ObjectiveStatus,
    outcome::Outcome,
    resolve::{RunIdentity, repeat_name},
    summary::RunSummary,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    FORMAT, Repeat, Series, SeriesVerdict,
    rows::{self, FigureRow, StageRows},
};
use ::document::TOOL_VERSION;
use document::ReasonDocument;

/// The content of `repeats.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RepeatsDocument {
    pub format: String,
    pub tool_version: String,
    pub tool_commit: String,
    pub run: RunIdentity,
    pub model: String,
    pub repeat: u32,
    pub outcome: Outcome,
    pub reasons: Vec<ReasonDocument>,
    pub partial: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<ObjectiveStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<RunSummary>,
    pub runs: Vec<RepeatDocument>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<RepeatedFigureDocument>,
    pub stages: Vec<RepeatedStageDocument>,
}

/// One run of the series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RepeatDocument {
    pub name: String,
    pub started: Timestamp,
    pub outcome: Outcome,
    pub partial: bool,
    pub counted: bool,
    pub prompt_salt: String,
    pub summary: RunSummary,
}

/// A stage over the valid runs of the series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RepeatedStageDocument {
    pub name: String,
    pub figures: Vec<RepeatedFigureDocument>,
}

/// A figure of a stage over the valid runs, or a figure of the server starts.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RepeatedFigureDocument {
    pub name: String,
    pub values: Vec<f64>,
    pub mean: f64,
    pub min: f64,
    pub max: f64,
    pub stddev_between_runs: Option<f64>,
    pub interval_between_runs: Option<[f64; 2]>,
    pub standard_error_within_runs: Option<f64>,
    pub independent_standard_error_within_runs: Option<f64>,
}

impl RepeatsDocument {
    /// Creates the document of a series.
    pub fn new(series: &Series<'_>) -> RepeatsDocument {
        let SeriesVerdict { outcome, reason, message, .. } = series.verdict();
        let counted: Vec<u32> = series.counted().iter().map(|it| it.number).collect();
        let run = |it: &Repeat| RepeatDocument {
            name: repeat_name(it.number),
            started: it.analysis.started,
            outcome: it.analysis.verdict.outcome,
            partial: it.analysis.partial,
            counted: counted.contains(&it.number),
            prompt_salt: it.prompt_salt.clone(),
            summary: it.analysis.summary(),
        };
        RepeatsDocument {
            format: FORMAT.to_owned(),
            tool_version: TOOL_VERSION.to_owned(),
            tool_commit: series.commit.to_owned(),
            run: series.run.clone(),
            model: series.repeats.first().map(|it| it.analysis.model.clone()).unwrap_or_default(),
            repeat: series.asked,
            outcome,
            reasons: vec![ReasonDocument { reason: reason.to_string(), message }],
            partial: series.is_partial(),
            objectives: series.objectives().map(|(_, rows)| rows).unwrap_or_default(),
            summary: series.summary(),
            runs: series.repeats.iter().map(run).collect(),
            starts: rows::starts(series).iter().map(RepeatedFigureDocument::new).collect(),
            stages: rows::stages(series).iter().map(RepeatedStageDocument::new).collect(),
        }
    }

    /// Writes the text of `repeats.json`.
    ///
    /// # Errors
    /// An error of the writer.
    pub fn write(&self, to: &mut (impl Write + ?Sized)) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *to, self)?;
        to.write_all(b"\n")
    }
}

impl RepeatedStageDocument {
    fn new(stage: &StageRows) -> RepeatedStageDocument {
        let figures = stage.rows.iter().map(RepeatedFigureDocument::new).collect();
        RepeatedStageDocument { name: stage.name.clone(), figures }
    }
}

impl RepeatedFigureDocument {
    fn new(it: &FigureRow) -> RepeatedFigureDocument {
        RepeatedFigureDocument {
            name: it.name.clone(),
            values: it.values.clone(),
            mean: it.mean,
            min: it.min,
            max: it.max,
            stddev_between_runs: it.spread.map(|it| it.stddev),
            interval_between_runs: it.spread.map(|it| it.interval),
            standard_error_within_runs: it.standard_error,
            independent_standard_error_within_runs: it.independent_standard_error,
        }
    }
}
