//! `repeats.json` and `repeats.md`: the headline figures of several runs of the same load, and the spread between them.

use std::{io, time::Duration};

use analysis::{
    Analysis, Distribution, Figures,
    repeats::{Spread, standard_error_within},
};
use crds::resolve::RunIdentity;
use serde::Serialize;

use super::{
    TOOL_VERSION,
    markdown::cell,
    text::{number, optional},
    whole_file::write_whole,
};

/// The version of `repeats.json`.
const FORMAT: &str = "benchwright.dev/repeats/v1";

/// One of the runs.
#[derive(Clone, Debug)]
pub struct Repeat {
    pub run: RunIdentity,
    pub prompt_salt: String,
    /// The name of its results folder; `None` where none was kept.
    pub folder: Option<String>,
    pub analysis: Analysis,
}

/// `repeats.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    format: &'static str,
    tool_version: &'static str,
    model: String,
    runs: Vec<RunRow>,
    stages: Vec<StageRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct RunRow {
    name: String,
    uid: String,
    prompt_salt: String,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct StageRow {
    name: String,
    figures: Vec<FigureRow>,
}

/// One figure of a stage in all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct FigureRow {
    name: &'static str,
    values: Vec<f64>,
    mean: f64,
    stddev_between_runs: f64,
    min: f64,
    max: f64,
    interval95: [f64; 2],
    /// What the requests of single runs suggest for `stddevBetweenRuns`, as if they were independent. Of means alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    standard_error_within_runs: Option<f64>,
}

/// A figure of a stage; with the standard deviation and the number of requests, where it is their mean.
type Figure = fn(&Figures) -> Option<(f64, Option<(f64, u64)>)>;

/// The figures by name; times in milliseconds.
const FIGURES: [(&str, Figure); 13] = [
    ("requestsPerSecond", |it| rate(it, |rates| Some(rates.requests))),
    ("outputTokensPerSecond", |it| rate(it, |rates| Some(rates.output_tokens))),
    ("totalTokensPerSecond", |it| rate(it, |rates| rates.total_tokens)),
    ("ttftMs.mean", |it| mean(it.ttft)),
    ("ttftMs.p50", |it| percentile(it.ttft, |it| it.p50)),
    ("ttftMs.p99", |it| percentile(it.ttft, |it| it.p99)),
    ("tpotMs.mean", |it| mean(it.tpot)),
    ("tpotMs.p50", |it| percentile(it.tpot, |it| it.p50)),
    ("tpotMs.p90", |it| percentile(it.tpot, |it| it.p90)),
    ("itlMs.p99", |it| percentile(it.itl, |it| it.p99)),
    ("latencyMs.mean", |it| mean(it.latency)),
    ("latencyMs.p50", |it| percentile(it.latency, |it| it.p50)),
    ("latencyMs.p99", |it| percentile(it.latency, |it| it.p99)),
];

fn rate(it: &Figures, of: fn(analysis::Throughput) -> Option<f64>) -> Option<(f64, Option<(f64, u64)>)> {
    Some((of(it.throughput?)?, None))
}

fn mean(of: Option<Distribution<Duration>>) -> Option<(f64, Option<(f64, u64)>)> {
    let of = of?;
    Some((millis(of.mean), Some((millis(of.stddev), of.count))))
}

fn percentile(
    of: Option<Distribution<Duration>>,
    value: fn(Distribution<Duration>) -> Duration,
) -> Option<(f64, Option<(f64, u64)>)> {
    Some((millis(value(of?)), None))
}

fn millis(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

impl Document {
    fn new(repeats: &[Repeat]) -> Document {
        let run = |it: &Repeat| RunRow {
            name: it.run.name.clone(),
            uid: it.run.uid.clone(),
            prompt_salt: it.prompt_salt.clone(),
            outcome: it.analysis.verdict.outcome.name(),
            folder: it.folder.clone(),
        };
        let first = repeats.first().map(|it| &it.analysis);
        let stages = first.map_or(&[][..], |it| &it.stages).iter().enumerate().map(|(index, stage)| {
            let of_runs: Vec<&Figures> =
                repeats.iter().filter_map(|it| it.analysis.stages.get(index)).map(|it| &it.figures).collect();
            let figures = FIGURES.iter().filter_map(|(name, of)| FigureRow::new(name, *of, &of_runs)).collect();
            StageRow { name: stage.stage.name.clone(), figures }
        });
        Document {
            format: FORMAT,
            tool_version: TOOL_VERSION,
            model: first.map(|it| it.model.clone()).unwrap_or_default(),
            stages: stages.collect(),
            runs: repeats.iter().map(run).collect(),
        }
    }
}

impl FigureRow {
    /// `None` where a run does not have the figure.
    fn new(name: &'static str, of: Figure, runs: &[&Figures]) -> Option<FigureRow> {
        let found: Vec<_> = runs.iter().map(|it| of(it)).collect::<Option<_>>()?;
        let values: Vec<f64> = found.iter().map(|it| it.0).collect();
        let within: Option<Vec<(f64, u64)>> = found.iter().map(|it| it.1).collect();
        let Spread { mean, stddev, min, max, interval } = Spread::new(&values)?;
        Some(FigureRow {
            name,
            values,
            mean,
            stddev_between_runs: stddev,
            min,
            max,
            interval95: interval,
            standard_error_within_runs: within.and_then(|it| standard_error_within(&it)),
        })
    }
}

/// The text of `repeats.json`.
///
/// # Errors
/// None but those of the writer of JSON.
pub fn json(repeats: &[Repeat]) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(&Document::new(repeats))? + "\n")
}

/// The text of `repeats.md`.
pub fn markdown(repeats: &[Repeat]) -> String {
    let document = Document::new(repeats);
    let mut page = format!("# {} runs of the same load\n\nModel {}. Each run has prompts of its own, by its salt.\n\n", repeats.len(), cell(&document.model));
    page.push_str("| run | outcome | prompt salt |\n| --- | --- | --- |\n");
    for run in &document.runs {
        let name = cell(&run.name);
        let link = run.folder.as_ref().map_or(name.clone(), |it| format!("[{name}]({it}/report.md)"));
        page.push_str(&format!("| {link} | {} | {} |\n", run.outcome, cell(&run.prompt_salt)));
    }
    for stage in &document.stages {
        page.push_str(&format!("\n## {}\n\n", cell(&stage.name)));
        page.push_str("| | mean of the runs | 95 % interval of the mean | stddev between runs | smallest | largest | suggested by single runs |\n");
        page.push_str("| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
        for it in &stage.figures {
            let [low, high] = it.interval95;
            let within = optional(it.standard_error_within_runs, number);
            page.push_str(&format!(
                "| {} | {} | {} to {} | {} | {} | {} | {within} |\n",
                it.name,
                number(it.mean),
                number(low),
                number(high),
                number(it.stddev_between_runs),
                number(it.min),
                number(it.max)
            ));
        }
    }
    page.push_str("\nTimes are milliseconds. The last column is the standard error of the mean that the requests of single runs suggest, as if they were \
        independent: where the spread between runs is larger, they are not. The interval takes the runs as independent and normally distributed. Each \
        formula stands in docs/metrics.md of Benchwright.\n");
    page
}
