//! Writes `stages.csv`: one row per stage, for spreadsheets. Each column has the name of a key in `report.json`, which includes the unit.
//!
//! Missing values are empty cells. Text that a spreadsheet would interpret as a formula gets an apostrophe in front.

use std::io::{self, Write};

use crds::{benchmark_run::Stat, wording::one_line};
use document::{
    CostDocument, EstimateDocument, FiguresDocument, HardwareDocument, ReportDocument, ServerWindowDocument,
    StageDocument, Statistics, SteadyStateDocument, UncertaintyDocument,
};
use figures::Figure;
use serde_json::Value;

/// The name of the file in a results folder.
pub(super) const FILE_NAME: &str = "stages.csv";

/// Characters that spreadsheets and their imports interpret as the start of a formula.
const FORMULA: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\n'];

/// The data that the cells of a row are read from.
struct Row<'a> {
    document: &'a ReportDocument,
    stage: &'a StageDocument,
    server: Option<&'a ServerWindowDocument>,
    hardware: Option<&'a HardwareDocument>,
    cost: Option<CostDocument>,
}

/// The name of a column, and the function that reads its value.
struct Column(String, Box<dyn Fn(&Row<'_>) -> Value>);

/// A column with a value of the stage or of the whole run.
fn plain<T: Into<Value>>(name: &str, read: impl Fn(&Row<'_>) -> Option<T> + 'static) -> Column {
    Column(name.to_owned(), Box::new(move |row| read(row).map_or(Value::Null, Into::into)))
}

/// A column with one of the stage's figures.
fn figure<T: Into<Value>>(name: &str, read: impl Fn(&FiguresDocument) -> Option<T> + 'static) -> Column {
    plain(name, move |row| read(&row.stage.figures))
}

/// A column for a figure that has a single value.
fn number(of: Figure) -> Column {
    figure(of.row().name, move |it| it.number(of))
}

/// A column with a value of the servers' metrics.
fn server(name: &str, read: impl Fn(&ServerWindowDocument) -> Option<f64> + 'static) -> Column {
    plain(name, move |row| read(row.server?))
}

/// A column with a value of the cost.
fn cost(name: &str, read: impl Fn(CostDocument) -> Option<f64> + 'static) -> Column {
    plain(name, move |row| read(row.cost?))
}

type OfStatistics = fn(&Statistics) -> Value;
type OfEstimate = fn(&EstimateDocument) -> Option<f64>;

/// The figures that have a column for each of [`STATISTICS`].
const DISTRIBUTIONS: [Figure; 9] = [
    Figure::Ttft,
    Figure::Tpot,
    Figure::Itl,
    Figure::Ntpot,
    Figure::Latency,
    Figure::SendLag,
    Figure::PermitWait,
    Figure::Isl,
    Figure::Osl,
];
const STATISTICS: [(&str, OfStatistics); 8] = [
    ("count", |it| it.count.into()),
    ("mean", |it| it.mean.into()),
    ("stddev", |it| it.stddev.into()),
    ("p50", |it| it.p50.into()),
    ("p90", |it| it.p90.into()),
    ("p95", |it| it.p95.into()),
    ("p99", |it| it.p99.into()),
    ("max", |it| it.max.into()),
];

/// The values that have columns for the bounds of their interval.
const INTERVALS: [figures::Value; 10] = [
    figures::Value::stat(Figure::Ttft, Stat::P50),
    figures::Value::stat(Figure::Ttft, Stat::P90),
    figures::Value::stat(Figure::Ttft, Stat::P99),
    figures::Value::stat(Figure::Tpot, Stat::P50),
    figures::Value::stat(Figure::Tpot, Stat::P90),
    figures::Value::stat(Figure::Latency, Stat::P50),
    figures::Value::stat(Figure::Latency, Stat::P90),
    figures::Value::stat(Figure::Latency, Stat::P99),
    figures::Value::plain(Figure::RequestsPerSecond),
    figures::Value::plain(Figure::OutputTokensPerSecond),
];
const BOUNDS: [(&str, OfEstimate); 2] = [("low", |it| it.low), ("high", |it| it.high)];

/// All columns. Values of the run are repeated in each row, so that files of several runs can be concatenated.
fn columns() -> Vec<Column> {
    let mut all = vec![
        plain("run", |it| Some(it.document.run.title())),
        plain("started", |it| Some(it.document.started.to_string())),
        plain("model", |it| Some(it.document.model.clone())),
        plain("outcome", |it| Some(it.document.outcome.name())),
        plain("stage", |it| Some(it.stage.name.clone())),
        plain("clock", |it| Some(it.stage.clock.clone())),
        plain("notRun", |it| it.stage.not_run.clone()),
        plain("endedBy", |it| Some(it.stage.ended_by.as_ref()?.rule.clone())),
        plain("maxConcurrency", |it| it.stage.load.max_concurrency()),
        plain("askedRequestsPerSecond", |it| it.stage.asked_requests_per_second),
        plain("achievedRequestsPerSecond", |it| it.stage.achieved_requests_per_second),
        figure("durationMs", |it| Some(it.duration_ms)),
        figure("requests", |it| Some(it.requests)),
        figure("succeeded", |it| Some(it.succeeded)),
        figure("failed", |it| Some(it.failed)),
        figure("cancelled", |it| Some(it.cancelled)),
        figure("abandoned", |it| Some(it.abandoned)),
        figure("incomplete", |it| Some(it.incomplete)),
        figure("retried", |it| Some(it.retried)),
        number(Figure::RequestsPerSecond),
        number(Figure::InputTokensPerSecond),
        number(Figure::OutputTokensPerSecond),
        number(Figure::TotalTokensPerSecond),
        figure("rateFromMs", |it| Some(it.rate_window?.from_ms)),
        figure("rateToMs", |it| Some(it.rate_window?.to_ms)),
        figure("wholeRequestsPerSecond", |it| Some(it.whole_throughput.as_ref()?.requests_per_second)),
        figure("wholeOutputTokensPerSecond", |it| Some(it.whole_throughput.as_ref()?.output_tokens_per_second)),
        number(Figure::GoodputRequestsPerSecond),
        number(Figure::GoodputShare),
        figure("inverseOfTpotP90", |it| it.interactivity?.inverse_of_tpot_p90),
        figure("medianOfInverseTpot", |it| it.interactivity?.median_of_inverse_tpot),
        figure("inverseOfNtpotP90", |it| it.interactivity?.inverse_of_ntpot_p90),
        number(Figure::CachedShare),
    ];
    all.extend(DISTRIBUTIONS.iter().flat_map(|of| {
        let of = *of;
        STATISTICS.map(|(it, value)| figure(&format!("{}.{it}", of.key()), move |row| row.statistics(of).map(value)))
    }));
    all.extend(INTERVALS.iter().flat_map(|of| {
        let of = *of;
        BOUNDS.map(|(it, bound)| {
            plain(&format!("{}.{it}", of.key()), move |row| bound(estimate(&row.stage.uncertainty, of)?))
        })
    }));
    all.extend([
        plain("steadyState.status", |it| Some(steady(it)?.status.clone())),
        plain("steadyState.verdict", |it| Some(steady(it)?.verdict.clone())),
        plain("steadyState.window.fromMs", |it| Some(steady(it)?.window.as_ref()?.from_ms)),
        plain("steadyState.window.toMs", |it| Some(steady(it)?.window.as_ref()?.to_ms)),
        server("runningRequests.mean", |it| Some(it.running_requests.as_ref()?.mean)),
        server("runningRequests.max", |it| Some(it.running_requests.as_ref()?.max)),
        server("waitingRequests.mean", |it| Some(it.waiting_requests.as_ref()?.mean)),
        server("waitingRequests.max", |it| Some(it.waiting_requests.as_ref()?.max)),
        server("kvCacheUsage.mean", |it| Some(it.kv_cache_usage.as_ref()?.mean)),
        server("kvCacheUsage.max", |it| Some(it.kv_cache_usage.as_ref()?.max)),
        server("prefixCacheHitShare", |it| it.prefix_cache_hit_share),
        server("preemptions", |it| it.preemptions),
        server("gpuUtilization.mean", |it| Some(it.gpu_utilization.as_ref()?.mean)),
        server("gpuPowerWatts.mean", |it| Some(it.gpu_power_watts.as_ref()?.mean)),
        server("gpuMemoryMib.max", |it| Some(it.gpu_memory_mib.as_ref()?.max)),
        plain("accelerators", |it| Some(it.hardware?.accelerators)),
        cost("outputTokensPerSecondPerAccelerator", |it| it.output_tokens_per_second_per_accelerator),
        cost("totalTokensPerSecondPerAccelerator", |it| it.total_tokens_per_second_per_accelerator),
        cost("costPerMillionOutputTokens", |it| it.cost_per_million_output_tokens),
        cost("costPerMillionTotalTokens", |it| it.cost_per_million_total_tokens),
        plain("currency", |it| it.hardware?.currency.clone()),
    ]);
    all
}

/// The steady state of the stage; `None` if it was not determined.
fn steady<'a>(row: &Row<'a>) -> Option<&'a SteadyStateDocument> {
    row.stage.uncertainty.steady_state.as_ref()
}

/// The estimate of a value; `None` if it has no interval.
fn estimate(of: &UncertaintyDocument, value: figures::Value) -> Option<&EstimateDocument> {
    match value.stat {
        Some(stat) => of.latencies(value.figure)?.get(stat),
        None => of.estimate(value.figure),
    }
}

/// Writes the file.
///
/// # Errors
/// An error of the writer.
pub fn write(document: &ReportDocument, to: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let columns = columns();
    let mut writer = csv::Writer::from_writer(to);
    writer.write_record(columns.iter().map(|it| &it.0))?;
    let hardware = document.hardware.as_ref();
    for (index, stage) in document.stages.iter().enumerate() {
        let server = document.server_metrics.as_ref().and_then(|it| it.stages.get(index)?.figures.as_ref());
        let cost = hardware.and_then(|it| it.stages.get(index)).map(|it| it.figures);
        let row = Row { document, stage, server, hardware, cost };
        writer.write_record(columns.iter().map(|Column(_, read)| cell(&read(&row))))?;
    }
    writer.flush()
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => safe(text),
        other => other.to_string(),
    }
}

/// A text on one line that no spreadsheet interprets as a formula.
fn safe(text: &str) -> String {
    let line = one_line(text);
    if text.trim_start_matches(' ').starts_with(FORMULA) { format!("'{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
            assert_eq!(cell(&value), expected);
        }
    }
}
