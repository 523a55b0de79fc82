//! [I/O] The row of a run on the index page, read from its `report.json`. If this release cannot read the report, the row contains the reason.

use std::path::Path;

use crds::{LauncherReason, Word as _, wording::one_line};
use document::{FiguresDocument, ReportDocument, StageDocument, TimeSeriesDocument};
use files::user_file;
use serde::{Deserialize, Serialize};

use super::folders::{Found, Kind, REPEATS, Stamp};
use crate::{REPORT_FILE_NAME, objectives};

/// Maximum size of a report that is read, in bytes. A report of 100 stages, each with a time series, has 2 MiB.
const MAX_REPORT: u64 = 64 << 20;
/// Maximum length of a text in a row, in characters.
const MAX_TEXT: usize = 160;
/// Maximum number of names (of stages, tests or reasons) in a cell.
const MAX_NAMES: usize = 5;
/// Maximum number of points in a small curve in a row.
const POINTS: usize = 32;
/// The height of a curve's maximum; all other values are relative to it.
const HEIGHT: f64 = 100.0;

/// A row of the page.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    pub(super) folder: String,
    pub(super) kind: Kind,
    pub(super) stamp: Stamp,
    pub(super) page: Option<String>,
    /// The reason why the report cannot be read; `None` if it was read.
    pub(super) problem: Option<String>,
    pub(super) run: Option<Run>,
}

/// The content of a report.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Run {
    pub(super) name: String,
    pub(super) started: String,
    pub(super) duration_ms: f64,
    pub(super) model: String,
    pub(super) target: String,
    pub(super) profile: String,
    pub(super) stages: String,
    pub(super) outcome: String,
    /// LoadGen's verdicts, objectives and reasons, as text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) remark: String,
    pub(super) requests: u64,
    /// Number of requests that did not succeed.
    pub(super) unanswered: u64,
    /// Minimum and maximum over the stages; equal if there is only one stage.
    pub(super) output_tokens_per_second: Option<[f64; 2]>,
    pub(super) requests_per_second: Option<[f64; 2]>,
    pub(super) ttft_p50_ms: Option<[f64; 2]>,
    pub(super) ttft_p99_ms: Option<[f64; 2]>,
    pub(super) tpot_p50_ms: Option<[f64; 2]>,
    pub(super) itl_p99_ms: Option<[f64; 2]>,
    pub(super) latency_p99_ms: Option<[f64; 2]>,
    /// Output tokens per second over time, as a percentage of the maximum.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) curve: Vec<u8>,
    /// The maximum of the curve, in output tokens per second.
    pub(super) curve_most: Option<f64>,
}

impl Entry {
    /// Reads the report in a folder. If it cannot be read, the entry has the reason.
    pub(super) fn read(root: &Path, found: &Found) -> Entry {
        let folder = root.join(&found.folder);
        let read = match found.kind {
            Kind::Unfinished => Err("its launcher runs, or was killed".to_owned()),
            Kind::Run => run(&folder, found.stamp),
            Kind::Repeats => repeats(&folder, found.stamp),
        };
        let Found { folder, kind, stamp, page } = found.clone();
        match read {
            Ok(run) => Entry { folder, kind, stamp, page, problem: None, run: Some(run) },
            Err(problem) => Entry { folder, kind, stamp, page, problem: Some(text(&problem)), run: None },
        }
    }

    /// Whether the row is still up to date with the folder.
    pub(super) fn is_of(&self, found: &Found) -> bool {
        self.kind == found.kind && self.stamp == found.stamp
    }
}

fn run(folder: &Path, stamp: Stamp) -> Result<Run, String> {
    let content = content(&folder.join(REPORT_FILE_NAME), stamp)?;
    let text = std::str::from_utf8(&content).map_err(|error| format!("{REPORT_FILE_NAME} is no text: {error}"))?;
    let report = ReportDocument::read(text).map_err(|error| format!("{REPORT_FILE_NAME}: {error}"))?;
    Ok(row(&report))
}

/// The row of a series of runs. Each run of the series has a row of its own as well.
fn repeats(folder: &Path, stamp: Stamp) -> Result<Run, String> {
    let content = content(&folder.join(REPEATS), stamp)?;
    let repeats: Repeats =
        serde_json::from_slice(&content).map_err(|error| format!("{REPEATS} cannot be read: {error}"))?;
    let first = repeats.runs.first();
    let stages = repeats.stages.into_iter().map(|it| it.name).collect();
    Ok(Run {
        name: text(&repeats.run.name),
        started: first.map_or_else(String::new, |it| text(&it.started)),
        model: text(&repeats.model),
        stages: listed(stages),
        outcome: text(&repeats.outcome),
        remark: format!("{} runs of one load", repeats.runs.len()),
        ..Run::default()
    })
}

fn content(path: &Path, stamp: Stamp) -> Result<Vec<u8>, String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if stamp.bytes > MAX_REPORT {
        return Err(format!("{name} has {} bytes, more than the {MAX_REPORT} that are read", stamp.bytes));
    }
    user_file::read_regular(path, MAX_REPORT).map_err(|error| format!("{name} cannot be read: {error}"))
}

/// A text from outside, on one line and with a maximum length.
fn text(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// The first names and, if some are left out, the number of all names.
fn listed(names: Vec<String>) -> String {
    let count = names.len();
    let first: Vec<String> = names.iter().take(MAX_NAMES).map(|it| text(it)).collect();
    if count > MAX_NAMES { format!("{} ... ({count})", first.join(", ")) } else { first.join(", ") }
}

/// The keys of `repeats.json` that a row needs.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Repeats {
    run: Name,
    model: String,
    outcome: String,
    runs: Vec<Repeat>,
    stages: Vec<Name>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Name {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Repeat {
    started: String,
}

fn row(report: &ReportDocument) -> Run {
    let tests = report.loadgen.iter().flat_map(|it| &it.tests);
    let tests: Vec<String> = tests.map(|it| format!("{} {}", it.scenario.name(), it.result)).collect();
    let reasons = report.reasons.iter().map(|it| it.reason.clone());
    let reasons = reasons.filter(|it| it != LauncherReason::RunSucceeded.name()).collect();
    let overloaded = report.stages.iter().filter(|it| it.overloaded == Some(true));
    let overloaded: Vec<String> = overloaded.map(|it| it.name.clone()).collect();
    let objectives = objectives::counts(report).map(|it| it.to_string());
    let named = |names: Vec<String>, words: &str| (!names.is_empty()).then(|| format!("{words}{}", listed(names)));
    let remarks =
        [named(tests, ""), objectives, named(overloaded, "the server did not keep up in "), named(reasons, "")];
    let range = |of: fn(&FiguresDocument) -> Option<f64>| range(&report.stages, of);
    let (curve, curve_most) = report.time_series.as_ref().and_then(curve).unzip();
    Run {
        name: text(&report.run.name),
        started: report.started.to_string(),
        duration_ms: significant(report.figures.duration_ms),
        model: text(&report.model),
        target: text(report.resolved_run.endpoint.name()),
        profile: text(&report.resolved_run.profile_source),
        stages: listed(report.stages.iter().map(|it| it.name.clone()).collect()),
        outcome: report.outcome.name().to_owned(),
        remark: text(&remarks.into_iter().flatten().collect::<Vec<_>>().join("; ")),
        requests: report.figures.requests,
        unanswered: report.figures.requests.saturating_sub(report.figures.succeeded),
        output_tokens_per_second: range(|it| Some(it.throughput.as_ref()?.output_tokens_per_second)),
        requests_per_second: range(|it| Some(it.throughput.as_ref()?.requests_per_second)),
        ttft_p50_ms: range(|it| Some(it.ttft_ms.as_ref()?.p50)),
        ttft_p99_ms: range(|it| Some(it.ttft_ms.as_ref()?.p99)),
        tpot_p50_ms: range(|it| Some(it.tpot_ms.as_ref()?.p50)),
        itl_p99_ms: range(|it| Some(it.itl_ms.as_ref()?.p99)),
        latency_p99_ms: range(|it| Some(it.latency_ms.as_ref()?.p99)),
        curve: curve.unwrap_or_default(),
        curve_most,
    }
}

/// Minimum and maximum over all stages.
fn range(stages: &[StageDocument], of: impl Fn(&FiguresDocument) -> Option<f64>) -> Option<[f64; 2]> {
    let values = stages.iter().filter_map(|it| of(&it.figures)).filter(|it| it.is_finite()).map(significant);
    values.fold(None, |range, it| Some(range.map_or([it, it], |[least, most]: [f64; 2]| [least.min(it), most.max(it)])))
}

/// The curve of the output token rate: at most [`POINTS`] values, one per equal part of the run, in percent of the maximum. Also returns the maximum
/// in tokens per second. `None` if there are no tokens.
fn curve(series: &TimeSeriesDocument) -> Option<(Vec<u8>, f64)> {
    let bins = &series.output_tokens.0;
    let width = bins.len().div_ceil(POINTS).max(1);
    let rates: Vec<f64> = bins
        .chunks(width)
        .map(|it| it.iter().map(|it| *it as f64).sum::<f64>() / (it.len() as f64 * series.bin_ms / 1e3))
        .collect();
    let most = rates.iter().copied().filter(|it| it.is_finite()).fold(0.0, f64::max);
    // The cast limits values to the range of `u8`, and converts NaN to 0.
    (most > 0.0).then(|| (rates.iter().map(|it| (it / most * HEIGHT).round() as u8).collect(), significant(most)))
}

/// Rounds to four significant digits. More digits would only enlarge a page with thousands of rows.
fn significant(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use document::Column;

    use super::*;

    fn report() -> ReportDocument {
        ReportDocument::read(include_str!("../../../page/fixtures/report.json")).unwrap()
    }

    #[test]
    fn a_curve_has_at_most_so_many_points_and_ends_at_its_most() {
        let empty = r#"{"binMs": 1, "startMs": 0, "firstEventMs": 0, "lastEventMs": 0, "due": [], "sent": [], "ended": {},
            "underWay": [], "outputTokens": []}"#;
        let series: TimeSeriesDocument = serde_json::from_str(empty).unwrap();
        let of = |tokens: &[u64]| {
            let output_tokens = Column(tokens.to_vec());
            curve(&TimeSeriesDocument { bin_ms: 500.0, output_tokens, ..series.clone() })
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[0, 0]), None);
        assert_eq!(of(&[5, 10, 0]), Some((vec![50, 100, 0], 20.0)));
        let long: Vec<u64> = (0..240).collect();
        let (points, most) = of(&long).unwrap();
        assert!(points.len() <= POINTS && points.is_sorted() && points.last() == Some(&100), "{points:?}");
        assert!((most - 471.0).abs() < 1.0, "{most}");
        let no_width = TimeSeriesDocument { bin_ms: 0.0, output_tokens: Column(vec![1]), ..series };
        assert_eq!(curve(&no_width), None);
    }

    #[test]
    fn a_server_that_did_not_keep_up_is_a_remark() {
        let mut report = report();
        assert_eq!(row(&report).remark, "");
        report.stages[0].overloaded = Some(true);
        assert_eq!(row(&report).remark, "the server did not keep up in r10");
    }

    #[test]
    fn numbers_have_four_digits_and_names_a_bound() {
        assert_eq!([0.0, 12.34567, 123_456.0, f64::NAN].map(significant), [0.0, 12.35, 123_500.0, 0.0]);
        assert_eq!(listed((0..7).map(|it| it.to_string()).collect()), "0, 1, 2, 3, 4 ... (7)");
        assert_eq!(text(&"\u{e4}".repeat(200)).chars().count(), MAX_TEXT + 3);
    }
}
