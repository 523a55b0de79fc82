//! Tests every file and message about several runs of the same load.

use std::{collections::BTreeSet, fs};

use crds::{Envelope, LauncherReason, Met, Outcome, resolve::RunIdentity};
use report::{
    junit,
    repeats::{Ending, Repeat, RepeatsDocument, Series, SeriesFolder, StartTimes, envelope, markdown, table},
};
use serde_json::{Value, json};

use crate::{
    fixture::{Fixture, ms},
    keys, without_version,
};

/// A run with an objective on TTFT. Its requests take `slower` milliseconds longer than usual.
fn repeat(number: u32, slower: u64) -> Repeat {
    let mut fixture = Fixture::of_a_steady_stage();
    for (record, _) in &mut fixture.requests {
        let of_request = (record.number * 7919 + u64::from(number)) % 13;
        for at in [&mut record.first_token, &mut record.last_token] {
            *at = at.map(|it| it + ms(slower + of_request));
        }
        record.ended += ms(slower + of_request);
    }
    let objective = json!({"name": "ttft", "metric": "ttft", "stat": "p50", "bound": {"max": "60ms"}});
    let slo = json!({"enforcement": "Fail", "objectives": [objective]});
    fixture.run.slo = Some(serde_json::from_value(slo).unwrap());
    fixture.run.run.repeat_number = Some(number);
    let analysed = fixture.analyse();
    let cases = junit::suite(&fixture.report(&analysed).document().unwrap());
    let (start, analysis) = (StartTimes::default(), analysed.analysis);
    Repeat { number, prompt_salt: format!("u-a1-r{number}"), stored: None, start, analysis, cases }
}

fn run() -> RunIdentity {
    RunIdentity { name: "chat".into(), namespace: "bench".into(), uid: "u".into(), attempt: 1, repeat_number: None }
}

fn series<'a>(run: &'a RunIdentity, repeats: &'a [Repeat], ended_by: Option<&'a Ending>) -> Series<'a> {
    Series { commit: "0123456789ab", run, asked: 3, measures_start: false, repeats, ended_by }
}

fn json_of(series: &Series<'_>) -> Value {
    let document = RepeatsDocument::new(series);
    let mut text = Vec::new();
    document.write(&mut text).unwrap();
    assert_eq!(serde_json::from_slice::<RepeatsDocument>(&text).unwrap(), document);
    serde_json::from_slice(&text).unwrap()
}

fn figure<'a>(document: &'a Value, name: &str) -> &'a Value {
    let figures = document["stages"][0]["figures"].as_array().unwrap();
    figures.iter().find(|it| it["name"] == name).unwrap()
}

#[test]
fn the_spread_between_runs_stands_beside_that_within_them() {
    let (run, repeats) = (run(), [repeat(1, 0), repeat(2, 5), repeat(3, 40)]);
    let document = json_of(&series(&run, &repeats, None));
    let ttft = figure(&document, "ttftMs.mean");
    let values: Vec<f64> = ttft["values"].as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect();
    assert!((values[1] - values[0] - 5.0).abs() < 0.1 && (values[2] - values[0] - 40.0).abs() < 0.1, "{ttft}");
    let number = |name: &str| ttft[name].as_f64().unwrap();
    assert!((number("mean") - values.iter().sum::<f64>() / 3.0).abs() < 1e-9, "{ttft}");
    assert_eq!((number("min"), number("max")), (values[0], values[2]));
    // The standard deviation of 0, 5 and 40 is sqrt((15^2 + 10^2 + 25^2) / 2) = 21.79.
    assert!((number("stddevBetweenRuns") - 21.79).abs() < 0.1, "{ttft}");
    let half = 4.302_653 * number("stddevBetweenRuns") / 3.0_f64.sqrt();
    assert!((ttft["intervalBetweenRuns"][1].as_f64().unwrap() - number("mean") - half).abs() < 1e-3, "{ttft}");
    // The requests of each run differ by at most 17 ms, so the spread within runs does not show the difference between runs.
    assert!(number("standardErrorWithinRuns") < 1.0 && number("independentStandardErrorWithinRuns") < 1.0, "{ttft}");
    let rate = figure(&document, "requestsPerSecond");
    assert!(rate.get("independentStandardErrorWithinRuns").is_none(), "a rate is no mean of requests: {rate}");
    assert_eq!(document["runs"].as_array().unwrap().len(), 3);
    assert_eq!((&document["summary"]["meanOfRuns"], &document["summary"]["requests"]), (&3.into(), &400.into()));
}

#[test]
fn every_key_stands_in_the_documentation() {
    let (run, repeats) = (run(), [repeat(1, 0), repeat(2, 5)]);
    let mut document = json_of(&series(&run, &repeats, None));
    let starts = [start(1, [1.0, 2.0], [Some(1.0); 2])];
    let of_nop = json_of(&Series { measures_start: true, ..series(&run, &starts, None) });
    document["starts"] = of_nop["starts"].clone();
    // The summaries are removed, because docs/benchmarkrun.md explains their keys.
    for run in document["runs"].as_array_mut().unwrap() {
        assert!(run.as_object_mut().unwrap().remove("summary").is_some());
    }
    let mut found = BTreeSet::from(["summary".to_owned()]);
    for part in ["runs", "starts", "stages", "objectives"] {
        keys(&document[part], &mut found);
    }
    found.extend(document.as_object().unwrap().keys().cloned());
    let documentation = include_str!("../../../../docs/metrics.md");
    let missing: Vec<&String> = found.iter().filter(|it| !documentation.contains(&format!("`{it}`"))).collect();
    assert!(found.contains("stddevBetweenRuns") && missing.is_empty(), "docs/metrics.md does not explain {missing:?}");
    let of_stage = document["stages"][0]["figures"].as_array().unwrap();
    for figure in of_stage.iter().chain(document["starts"].as_array().unwrap()) {
        let key = figure["name"].as_str().unwrap().split('.').next().unwrap();
        assert!(documentation.contains(&format!("`{key}`")), "docs/metrics.md does not explain {key}");
    }
}

#[test]
fn the_outcome_and_each_objective_are_those_of_the_worst_run() {
    let (run, repeats) = (run(), [repeat(1, 0), repeat(2, 40), repeat(3, 60)]);
    let shown = series(&run, &repeats, None);
    let read = Envelope::parse(&envelope(&shown, None).to_text()).unwrap();
    assert_eq!((read.core.outcome, read.core.reason.as_str()), (Outcome::SLOViolated, "SLOViolated"));
    assert!(read.core.message.starts_with("run r2: ttft: p50 of ttft is "), "{}", read.core.message);
    let row = &read.objectives[0];
    assert_eq!((row.met, row.run.as_str(), row.limit.as_str()), (Met::False, "r3", "60ms"));
    assert_eq!(read.core.objectives.unwrap().missed, 1);
    assert_eq!(read.core.summary.unwrap().mean_of_runs, Some(3));
    assert!(!read.core.partial && read.core.folder.is_none());
    assert_eq!((read.stages.len(), read.stages[0].requests), (1, 400));
}

#[test]
fn a_series_that_ended_early_keeps_what_was_measured() {
    let ending = Ending {
        number: 3,
        outcome: Outcome::Error,
        reason: LauncherReason::TargetUnavailable,
        message: "it does not answer".into(),
        status_message: "it does not answer".into(),
    };
    let (run, repeats) = (run(), [repeat(1, 0), repeat(2, 5)]);
    let shown = series(&run, &repeats, Some(&ending));
    let envelope = envelope(&shown, None);
    assert_eq!(
        (envelope.core.outcome, envelope.core.message.as_str()),
        (Outcome::Error, "run r3 of 3: it does not answer")
    );
    assert!(envelope.core.partial);
    assert_eq!(envelope.core.summary.unwrap().mean_of_runs, Some(2));
    let page = markdown(&shown);
    assert!(page.contains("Runs requested: 3; runs measured: 2.") && page.contains("**TargetUnavailable**"), "{page}");
    let first = Ending { number: 1, ..ending.clone() };
    let message = RepeatsDocument::new(&series(&run, &[], Some(&first))).reasons.remove(0).message;
    assert_eq!(message, "run r1 of 3, which ended the series: it does not answer");
    let nothing = series(&run, &[], Some(&ending));
    let document = json_of(&nothing);
    assert!(document.get("summary").is_none() && document["outcome"] == "Error", "{document}");
}

#[test]
fn a_run_whose_figures_do_not_count_is_listed_and_in_no_mean() {
    let mut invalid = repeat(2, 1_000);
    invalid.analysis.verdict.outcome = Outcome::Invalid;
    let (run, repeats) = (run(), [repeat(1, 0), invalid, repeat(3, 2)]);
    let shown = series(&run, &repeats, None);
    let document = json_of(&shown);
    let counted: Vec<&Value> = document["runs"].as_array().unwrap().iter().map(|it| &it["counted"]).collect();
    assert_eq!(counted, [true, false, true]);
    assert_eq!(figure(&document, "ttftMs.p99")["values"].as_array().unwrap().len(), 2);
    assert_eq!((&document["outcome"], &document["summary"]["meanOfRuns"]), (&"Invalid".into(), &2.into()));
    // If no run is valid, the figures cover all measured runs.
    let mut all = repeats;
    all.iter_mut().for_each(|it| it.analysis.verdict.outcome = Outcome::Invalid);
    assert_eq!(json_of(&series(&run, &all, None))["summary"]["meanOfRuns"], 3);
}

/// A run that measures how servers start. Has the times of two replicas in seconds; a time is `None` if the log does not contain it.
fn start(number: u32, observed: [f64; 2], by_log: [Option<f64>; 2]) -> Repeat {
    let replica = json!({"url": "u", "command": [], "pid": 1, "started": "2026-01-02T03:04:05Z"});
    let replicas = observed.map(|seconds| {
        let mut it = replica.clone();
        it["readyMs"] = ((seconds * 1e3) as u64).into();
        it
    });
    let server = json!({"engine": "VLLM", "lifecycle": "PerRun", "reused": false, "distribution": "RoundRobin", "replicas": replicas});
    let starts = by_log.map(|seconds| {
        let mut it = json!({"server": "0", "startup": {"outcome": "ready", "log": {"lines": 9}}});
        if let Some(seconds) = seconds {
            it["startup"]["readySeconds"] = seconds.into();
        }
        serde_json::from_value(it).unwrap()
    });
    let start = StartTimes::new(&serde_json::from_value(server).unwrap(), &starts);
    Repeat { start, ..repeat(number, 0) }
}

#[test]
fn a_series_of_nop_has_the_spread_of_its_starts_first_and_no_rates_of_one_request() {
    let logged = [Some(35.0), Some(36.0)];
    let repeats = [start(1, [40.0, 38.0], logged), start(2, [41.0, 44.0], logged), start(3, [42.0, 10.0], logged)];
    let run = run();
    let shown = Series { measures_start: true, ..series(&run, &repeats, None) };
    let page = markdown(&shown);
    // The values are 40, 44 and 42. The standard deviation is 2, and half the interval is 4.303 x 2 / sqrt(3) = 4.968.
    let rows = "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n\
                | launch to ready | 42s | 37.03s to 46.97s | 2s | - | 40s | 44s |\n\
                | start to ready | 36s | 36s to 36s | 0s | - | 36s | 36s |\n\
                | TTFT mean |";
    assert!(page.contains(rows), "{page}");
    assert!(
        page.contains("| failed or cancelled | launch to ready |") && page.contains("| r2 | Passed | 400 | 0 | 44s |")
    );
    assert!(
        !page.contains("tokens/s") && !page.contains("requests/s") && !page.contains("p99") && !page.contains("TPOT"),
        "{page}"
    );
    let table = table(&shown);
    assert!(table.contains("launch to ready") && table.contains("latency mean"), "{table}");
    assert!(!table.contains("tokens/s") && table.lines().all(|it| it.chars().count() <= 80), "{table}");
    let document = json_of(&shown);
    let [launch, start] = document["starts"].as_array().unwrap().as_slice() else { panic!("{}", document["starts"]) };
    assert_eq!((&launch["name"], &launch["values"]), (&"observedReadySeconds".into(), &json!([40.0, 44.0, 42.0])));
    assert_eq!((&start["name"], &start["mean"]), (&"readySeconds".into(), &json!(36.0)));
    assert!(figure(&document, "requestsPerSecond").is_object(), "the file has what it always had");
}

#[test]
fn a_time_that_a_run_lacks_is_in_no_mean_and_only_nop_has_starts() {
    let logged = [Some(35.0), Some(36.0)];
    let repeats = [start(1, [40.0, 38.0], logged), start(2, [41.0, 44.0], [Some(1.0), None])];
    let run = run();
    let of_load = series(&run, &repeats, None);
    assert!(json_of(&of_load).get("starts").is_none() && !markdown(&of_load).contains("to ready"));
    let shown = json_of(&Series { measures_start: true, ..of_load });
    let names: Vec<&Value> = shown["starts"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["observedReadySeconds"], "the log of a replica does not say when it was ready");
    let server = json!({"engine": "Custom", "lifecycle": "PerRun", "reused": false, "distribution": "RoundRobin", "replicas": [
        {"url": "u", "command": [], "pid": 1, "started": "2026-01-02T03:04:05Z", "readyMs": 1500}]});
    let unknown = StartTimes::new(&serde_json::from_value(server).unwrap(), &[]);
    assert_eq!(
        unknown,
        StartTimes { launch_to_ready: Some(1.5), start_to_ready: None },
        "of an engine that is not known"
    );
}

#[test]
fn one_run_has_no_spread() {
    let (run, repeats) = (run(), [repeat(1, 0)]);
    let document = json_of(&series(&run, &repeats, None));
    let ttft = figure(&document, "ttftMs.p50");
    assert!(ttft.get("stddevBetweenRuns").is_none() && ttft["standardErrorWithinRuns"].is_number(), "{ttft}");
}

#[test]
fn the_page_and_the_table() {
    let (run, repeats) = (run(), [repeat(1, 0), repeat(2, 5), repeat(3, 40)]);
    let shown = series(&run, &repeats, None);
    insta::assert_snapshot!("repeats_markdown", without_version(&markdown(&shown)));
    let table = table(&shown);
    assert!(table.lines().all(|it| it.chars().count() <= 80), "{table}");
    insta::assert_snapshot!("repeats_table", table);
}

#[test]
fn the_folder_holds_the_runs_and_what_they_come_to() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("chat.partial")).unwrap();
    let folder = SeriesFolder::create(root.path(), "chat").unwrap();
    assert_eq!(folder.name_of(2), "chat-2/r2");
    let other = SeriesFolder::create(root.path(), "chat").unwrap();
    assert_eq!(other.name_of(1), "chat-3/r1");
    let (run, repeats) = (run(), [repeat(1, 0)]);
    let stored = folder.write(&series(&run, &repeats, None)).unwrap();
    let names: Vec<&str> = stored.artifacts.iter().map(|it| it.name.as_str()).collect();
    assert_eq!((stored.name.as_str(), names), ("chat-2", vec!["repeats.json", "repeats.md", "junit.xml"]));
    assert_eq!(fs::metadata(stored.path.join("repeats.json")).unwrap().len(), stored.artifacts[0].bytes);
    other.discard();
    folder.discard();
    assert!(!root.path().join("chat-3").exists() && root.path().join("chat-2/repeats.md").exists());
}
