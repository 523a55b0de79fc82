//! Recomputes a finished run with other windows.

use std::fs;

use predicates::prelude::*;

use crate::common::{Folder, simulated};

/// Writes a run of 2 s at 20 requests per second, with these margins. `records` is the value of perRequestRecords.
fn write(folder: &Folder, margins: &str, records: &str) {
    let profile = format!(
        "{{streaming: true, requests: {{random: {{input: 20, output: 8}}}}, \
          stages: [{{load: {{open: {{arrivals: constant, rate: 20, duration: 2s}}}}{margins}}}]}}"
    );
    let objective = "{name: e2e, metric: latency, stat: p50, stage: '*', max: 60s}";
    let run = simulated(&profile).replace("spec:\n", "spec:\n  harness: benchwright\n  seed: 7\n");
    let more = format!("  slo: {{objectives: [{objective}]}}\n  storage: {{perRequestRecords: {records}}}\n");
    folder.write("run.yaml", &(run + &more));
}

fn run(folder: &Folder) {
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
}

fn analyse(folder: &Folder, output: &str, arguments: &[&str]) -> assert_cmd::assert::Assert {
    let all = [&["analyse", "results/latest", "--output", output], arguments].concat();
    folder.benchwright(&all).assert()
}

fn text(folder: &Folder, file: &str) -> String {
    fs::read_to_string(folder.path(file)).unwrap()
}

fn report(folder: &Folder, output: &str) -> serde_json::Value {
    serde_json::from_str(&text(folder, &format!("{output}/report.json"))).unwrap()
}

#[test]
fn a_finished_run_is_counted_again_with_another_warm_up() {
    let folder = Folder::new();
    write(&folder, ", warmUp: {duration: 500ms}, coolDown: {count: 3}", "Full");
    run(&folder);
    // With the run's own margins, the result does not change, and its own objectives are judged again.
    analyse(&folder, "again", &["--warm-up", "500ms", "--cool-down", "3", "--gate"]).success();
    assert_eq!(text(&folder, "again/report.json"), text(&folder, "results/latest/report.json"));
    analyse(&folder, "one-second", &["--warm-up", "1s"]).success();
    let (before, after) = (folder.report(), report(&folder, "one-second"));
    let figures = |it: &serde_json::Value| it["stages"][0]["figures"].clone();
    let counted = |it: &serde_json::Value| figures(it)["requests"].as_u64().unwrap();
    assert_eq!((counted(&before), counted(&after)), (27, 17));
    assert_eq!(after["stages"][0]["warmUp"]["duration"], "1s");
    assert_eq!(figures(&after)["latencyMs"]["count"], 17);
    assert_eq!(after["objectives"][0]["met"], "True");
    // The run did not record the times between tokens.
    assert!(figures(&after)["itlMs"].is_null() && !figures(&before)["itlMs"].is_null());
    let remarks = after["selfJudgement"]["remarks"].to_string();
    for part in ["computed the figures of run chat, started at", "warm-up 1s in place of 500ms", "FullWithTokenTimes"] {
        assert!(remarks.contains(part), "{part}: {remarks}");
    }
    // The server figures of a stage are only valid for the run's own window.
    let servers = |it: &serde_json::Value| it["serverMetrics"]["stages"][0]["figures"].clone();
    assert!(servers(&before).is_object() && servers(&after).is_null());
    assert_eq!(after["serverMetrics"]["run"], before["serverMetrics"]["run"]);
    assert!(after["serverMetrics"]["remarks"].to_string().contains("are left out"));
    for file in ["report.html", "report.md", "comment.md", "junit.xml", "stages.csv", "profile.yaml"] {
        assert!(folder.path(&format!("one-second/{file}")).exists(), "{file}");
    }
    // Without margins, all requests are counted. The time series does not depend on windows.
    analyse(&folder, "all", &["--warm-up", "0", "--cool-down", "0s"]).success();
    let all = report(&folder, "all");
    assert_eq!((counted(&all), &all["timeSeries"]), (40, &before["timeSeries"]));
    assert_eq!(all["labels"]["window"], "all");
}

#[test]
fn with_the_times_between_tokens_itl_is_counted_again_as_well() {
    let folder = Folder::new();
    write(&folder, "", "FullWithTokenTimes");
    run(&folder);
    analyse(&folder, "later", &["--warm-up", "20"]).success();
    let figures = |it: &serde_json::Value| it["stages"][0]["figures"].clone();
    let (before, after) = (figures(&folder.report()), figures(&report(&folder, "later")));
    let count = |it: &serde_json::Value| it["itlMs"]["count"].as_u64().unwrap();
    assert_eq!((after["requests"].as_u64(), count(&before), count(&after)), (Some(20), 40 * 7, 20 * 7));
}

#[test]
fn what_cannot_be_counted_again_is_told() {
    let folder = Folder::new();
    write(&folder, "", "None");
    run(&folder);
    let refused = |arguments: &[&str], words: &str| {
        analyse(&folder, "refused", arguments).failure().stderr(predicate::str::contains(words));
    };
    refused(&["--warm-up", "1s"], "measurement.bin does not exist");
    refused(&["--warm-up", "soon"], "a number of requests such as 100");
    refused(&[], "-f");
    assert!(!folder.path("refused").exists());
    write(&folder, "", "Full");
    run(&folder);
    refused(&["--warm-up", "1h"], "has no request between these margins");
    fs::create_dir(folder.path("there")).unwrap();
    analyse(&folder, "there", &["--warm-up", "1s"]).failure().stderr(predicate::str::contains("there exists"));
    let of_another_run = fs::read(folder.path("results/latest/measurement.bin")).unwrap();
    run(&folder);
    let file = folder.path("results/latest/measurement.bin");
    let mut bytes = fs::read(&file).unwrap();
    fs::write(&file, of_another_run).unwrap();
    refused(&["--warm-up", "1s"], "belongs to another run");
    bytes.truncate(bytes.len() - 9);
    fs::write(&file, &bytes).unwrap();
    refused(&["--warm-up", "1s"], "copy the file again");
    fs::write(&file, b"something else, longer than a header").unwrap();
    refused(&["--warm-up", "1s"], "no measurement of Benchwright");
}
