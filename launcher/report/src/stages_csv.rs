//! `stages.csv`: a row a stage, for spreadsheets. Each column has the name of its value in `report.json`, and so its unit.
//!
//! A cell without a value is empty. A text that a spreadsheet would take for a formula begins with an apostrophe.

use std::io::{self, Write};

use crds::wording::one_line;
use serde_json::{Value, json};

use crate::json::{ReportDocument, StageDocument};

/// The name of the file in a results folder.
pub(super) const FILE_NAME: &str = "stages.csv";

/// What a spreadsheet or its import takes for the begin of a formula.
const FORMULA: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\n'];

/// A column by its name, and where its value stands in the row.
type Column = (&'static str, &'static str);

/// Those of the run repeat, so that files of several runs can be put together.
const RUN: [Column; 5] = [
    ("run", "/run/name"),
    ("started", "/run/started"),
    ("model", "/run/model"),
    ("outcome", "/run/outcome"),
    ("stage", "/stage/name"),
];

const LOAD: [Column; 7] = [
    ("clock", "/stage/clock"),
    ("notRun", "/stage/notRun"),
    ("endedBy", "/stage/endedBy/rule"),
    ("maxConcurrency", "/maxConcurrency"),
    ("askedRequestsPerSecond", "/stage/askedRequestsPerSecond"),
    ("achievedRequestsPerSecond", "/stage/achievedRequestsPerSecond"),
    ("durationMs", "/stage/figures/durationMs"),
];

const COUNTS: [Column; 7] = [
    ("requests", "/stage/figures/requests"),
    ("succeeded", "/stage/figures/succeeded"),
    ("failed", "/stage/figures/failed"),
    ("cancelled", "/stage/figures/cancelled"),
    ("abandoned", "/stage/figures/abandoned"),
    ("incomplete", "/stage/figures/incomplete"),
    ("retried", "/stage/figures/retried"),
];

const RATES: [Column; 14] = [
    ("requestsPerSecond", "/stage/figures/throughput/requestsPerSecond"),
    ("inputTokensPerSecond", "/stage/figures/throughput/inputTokensPerSecond"),
    ("outputTokensPerSecond", "/stage/figures/throughput/outputTokensPerSecond"),
    ("totalTokensPerSecond", "/stage/figures/throughput/totalTokensPerSecond"),
    ("rateFromMs", "/stage/figures/rateWindow/fromMs"),
    ("rateToMs", "/stage/figures/rateWindow/toMs"),
    ("wholeRequestsPerSecond", "/stage/figures/wholeThroughput/requestsPerSecond"),
    ("wholeOutputTokensPerSecond", "/stage/figures/wholeThroughput/outputTokensPerSecond"),
    ("goodRequestsPerSecond", "/stage/figures/goodput/goodRequestsPerSecond"),
    ("goodShare", "/stage/figures/goodput/goodShare"),
    ("inverseOfTpotP90", "/stage/figures/interactivity/inverseOfTpotP90"),
    ("medianOfInverseTpot", "/stage/figures/interactivity/medianOfInverseTpot"),
    ("inverseOfNtpotP90", "/stage/figures/interactivity/inverseOfNtpotP90"),
    ("cachedShare", "/stage/figures/cachedShare"),
];

/// Each with [`STATISTICS`].
const DISTRIBUTIONS: [&str; 9] =
    ["ttftMs", "tpotMs", "itlMs", "ntpotMs", "latencyMs", "sendLagMs", "queueMs", "islTokens", "oslTokens"];
const STATISTICS: [&str; 8] = ["count", "mean", "stddev", "p50", "p90", "p95", "p99", "max"];

/// Each with the bounds of its interval.
const INTERVALS: [&str; 10] = [
    "ttftMs/p50",
    "ttftMs/p90",
    "ttftMs/p99",
    "tpotMs/p50",
    "tpotMs/p90",
    "latencyMs/p50",
    "latencyMs/p90",
    "latencyMs/p99",
    "requestsPerSecond",
    "outputTokensPerSecond",
];
const BOUNDS: [&str; 2] = ["low", "high"];

const STEADY_STATE: [Column; 4] = [
    ("steadyState.status", "/stage/uncertainty/steadyState/status"),
    ("steadyState.verdict", "/stage/uncertainty/steadyState/verdict"),
    ("steadyState.window.fromMs", "/stage/uncertainty/steadyState/window/fromMs"),
    ("steadyState.window.toMs", "/stage/uncertainty/steadyState/window/toMs"),
];

const SERVER: [Column; 11] = [
    ("runningRequests.mean", "/server/runningRequests/mean"),
    ("runningRequests.max", "/server/runningRequests/max"),
    ("waitingRequests.mean", "/server/waitingRequests/mean"),
    ("waitingRequests.max", "/server/waitingRequests/max"),
    ("kvCacheUsage.mean", "/server/kvCacheUsage/mean"),
    ("kvCacheUsage.max", "/server/kvCacheUsage/max"),
    ("prefixCacheHitShare", "/server/prefixCacheHitShare"),
    ("preemptions", "/server/preemptions"),
    ("gpuUtilization.mean", "/server/gpuUtilization/mean"),
    ("gpuPowerWatts.mean", "/server/gpuPowerWatts/mean"),
    ("gpuMemoryMib.max", "/server/gpuMemoryMib/max"),
];

const COST: [Column; 6] = [
    ("accelerators", "/accelerators"),
    ("outputTokensPerSecondPerAccelerator", "/cost/outputTokensPerSecondPerAccelerator"),
    ("totalTokensPerSecondPerAccelerator", "/cost/totalTokensPerSecondPerAccelerator"),
    ("costPerMillionOutputTokens", "/cost/costPerMillionOutputTokens"),
    ("costPerMillionTotalTokens", "/cost/costPerMillionTotalTokens"),
    ("currency", "/currency"),
];

/// All columns, with where their values stand in a row.
fn columns() -> Vec<(String, String)> {
    let named = |columns: &[Column]| -> Vec<(String, String)> {
        columns.iter().map(|(name, path)| ((*name).to_owned(), (*path).to_owned())).collect()
    };
    let distributions = DISTRIBUTIONS.iter().flat_map(|figure| {
        STATISTICS.map(|it| (format!("{figure}.{it}"), format!("/stage/figures/{figure}/{it}"))).into_iter()
    });
    let intervals = INTERVALS.iter().flat_map(|figure| {
        let name = figure.replace('/', ".");
        BOUNDS.map(|it| (format!("{name}.{it}"), format!("/stage/uncertainty/{figure}/{it}"))).into_iter()
    });
    let mut all = [named(&RUN), named(&LOAD), named(&COUNTS), named(&RATES)].concat();
    all.extend(distributions);
    all.extend(intervals);
    all.extend([named(&STEADY_STATE), named(&SERVER), named(&COST)].concat());
    all
}

/// Writes the file.
///
/// # Errors
/// The writer's.
pub fn write(document: &ReportDocument, to: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let columns = columns();
    let mut writer = csv::Writer::from_writer(to);
    writer.write_record(columns.iter().map(|(name, _)| name))?;
    for (index, stage) in document.stages.iter().enumerate() {
        let row = row(document, stage, index)?;
        writer.write_record(columns.iter().map(|(_, path)| cell(row.pointer(path))))?;
    }
    writer.flush()
}

/// What the paths of the columns point into.
fn row(document: &ReportDocument, stage: &StageDocument, index: usize) -> io::Result<Value> {
    let server =
        document.server_metrics.as_ref().and_then(|it| it.stages.get(index)).and_then(|it| it.figures.as_ref());
    let hardware = document.hardware.as_ref();
    let cost = hardware.and_then(|it| it.stages.get(index)).map(|it| &it.figures);
    Ok(json!({
        "run": {
            "name": document.run.title(),
            "started": document.started,
            "model": document.model,
            "outcome": document.outcome,
        },
        "stage": serde_json::to_value(stage)?,
        "maxConcurrency": stage.load.max_concurrency(),
        "server": server,
        "accelerators": hardware.map(|it| it.accelerators),
        "currency": hardware.and_then(|it| it.currency.as_ref()),
        "cost": cost,
    }))
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => safe(text),
        Some(other) => other.to_string(),
    }
}

/// A text on one line that no spreadsheet takes for a formula.
fn safe(text: &str) -> String {
    let line = one_line(text);
    if text.trim_start_matches(' ').starts_with(FORMULA) { format!("'{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_no_formulas_and_numbers_are_numbers() {
        for (value, expected) in [
            (json!("=HYPERLINK(\"http://a\")"), "'=HYPERLINK(\"http://a\")"),
            (json!("  =1+1"), "'  =1+1"),
            (json!("@SUM(A1)"), "'@SUM(A1)"),
            (json!("\t=1"), "' =1"),
            (json!("-model"), "'-model"),
            (json!("a\nb"), "a b"),
            (json!("org/model-8b"), "org/model-8b"),
            (json!(-1.5), "-1.5"),
            (json!(12), "12"),
            (Value::Null, ""),
        ] {
            assert_eq!(cell(Some(&value)), expected);
        }
        assert_eq!(cell(None), "");
    }
}
