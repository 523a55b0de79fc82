//! Tests that the size of a page is limited for any run.

use serde_json::{Value, json};

use crate::{
    fixture::{Level, full, read, sweep},
    run::{MAX_BYTES, render},
};

/// A column of `entries` different numbers with many digits.
fn column(entries: usize) -> Value {
    (0..entries).map(|it| json!(1_000.0 + it as f64 * 13.579)).collect()
}

fn counts(entries: usize) -> Value {
    (0..entries).map(|it| json!(1_000_000 + it * 7_919)).collect()
}

/// A run with this number of stages, columns of the maximum length, and long texts everywhere.
fn largest(stages: u32) -> Value {
    let bins = 240;
    let level = |it| Level { rate: f64::from(it) * 1.234, done: f64::from(it) * 1.2, mean_ms: 90.0, count: 1_000_000 };
    let levels: Vec<Level> = (1..=stages).map(level).collect();
    let mut document = sweep(&levels);
    let long = "<&\"'".repeat(500);
    let times = json!({"count": counts(bins), "p50": column(bins), "p90": column(bins), "p99": column(bins)});
    let outcomes =
        ["ok", "empty", "http_4xx", "http_5xx", "http_other", "broken_stream", "timeout", "connect_error", "cancelled"];
    let ended: serde_json::Map<String, Value> = outcomes.iter().map(|it| ((*it).to_owned(), counts(bins))).collect();
    let heat =
        json!({"binsPerColumn": 2, "edgesMs": column(41), "counts": (0..120).map(|_| counts(40)).collect::<Value>()});
    document["timeSeries"] = json!({
        "binMs": 1000.0, "startMs": 0.0, "firstEventMs": 0.0, "lastEventMs": 240_000.0,
        "due": counts(bins), "sent": counts(bins), "ended": ended, "underWay": column(bins),
        "inputTokens": counts(bins), "outputTokens": counts(bins),
        "ttftMs": times, "itlMs": times, "latencyMs": times, "sendLagMs": times, "itlHeat": heat,
    });
    let share: Value = (1..=200).map(|it| json!(f64::from(it) / 200.0)).collect();
    let distribution = json!({"count": 1_000_000, "effectiveValues": 1234.5, "share": share, "ms": column(200)});
    let sure = full()["stages"][0]["uncertainty"].clone();
    for stage in document["stages"].as_array_mut().unwrap() {
        stage["name"] = format!("{}{}", stage["name"].as_str().unwrap(), "x".repeat(58)).into();
        stage["distributions"] = json!({"ttftMs": distribution, "itlMs": distribution, "latencyMs": distribution});
        stage["uncertainty"] = sure.clone();
        stage["warmUp"] = json!({"duration": "1s"});
        stage["notRun"] = long.clone().into();
    }
    document["serverMetrics"] = full()["serverMetrics"].clone();
    for (name, column_of) in document["serverMetrics"]["timeSeries"].as_object_mut().unwrap() {
        if column_of.is_array() {
            *column_of = if name == "failedScrapes" { counts(bins) } else { column(bins) };
        }
    }
    let requests = 300;
    let texts: Value = (0..requests).map(|_| json!("broken_stream")).collect();
    document["requestSample"] = json!({
        "of": 1_000_000, "stage": (0..requests).map(|it| json!(it as u32 % stages)).collect::<Value>(),
        "number": counts(requests), "outcome": texts,
        "dueMs": column(requests), "sentMs": column(requests), "firstTokenMs": column(requests), "endedMs": column(requests),
    });
    let texts: Value = (0..1_000).map(|_| json!(long)).collect();
    document["selfJudgement"]["remarks"] = texts.clone();
    document["serverMetrics"]["remarks"] = texts;
    document["notices"] = (0..1_000).map(|_| json!({"path": long, "message": long})).collect();
    let replica = json!({
        "url": long, "command": [long], "pid": 7, "started": "2026-11-21T02:08:50Z", "exit": long, "died": true,
        "outOfMemory": long, "lastWords": [long, long], "log": long, "logNote": long,
    });
    document["managedServer"] = json!({
        "engine": "Custom", "lifecycle": "PerRun", "reused": false, "distribution": "RoundRobin",
        "notes": vec![&long; 1_000], "replicas": vec![replica; 1_000],
    });
    for name in ["model", "toolCommit"] {
        document[name] = long.clone().into();
    }
    let samples: serde_json::Map<String, Value> = (0..1_000).map(|it| (format!("http_{it}"), json!(long))).collect();
    document["figures"]["errorSamples"] = samples.clone().into();
    document["figures"]["outcomes"] =
        samples.keys().map(|it| (it.clone(), json!(1_000))).collect::<serde_json::Map<_, _>>().into();
    document
}

#[test]
fn the_largest_page_is_within_its_bound() {
    let page = render(&read(&largest(100))).unwrap();
    assert!(page.len() <= MAX_BYTES, "{} bytes", page.len());
    assert!(page.contains("800 more are in report.json."));
}

#[test]
fn a_run_of_ten_full_stages_is_below_a_megabyte() {
    let mut document = largest(10);
    document.as_object_mut().unwrap().remove("managedServer");
    for texts in ["/selfJudgement/remarks", "/serverMetrics/remarks", "/notices"] {
        *document.pointer_mut(texts).unwrap() = json!([]);
    }
    document["figures"]["errorSamples"] = json!({});
    document["figures"]["outcomes"] = json!({"ok": 1_000_000});
    let page = render(&read(&document)).unwrap();
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
}

#[test]
fn the_number_of_requests_does_not_change_the_size() {
    let few = render(&read(&full())).unwrap();
    let mut document = full();
    document["requestSample"]["of"] = 1_000_000.into();
    document["figures"]["requests"] = 1_000_000.into();
    let many = render(&read(&document)).unwrap();
    assert!(many.len().abs_diff(few.len()) < 100, "{} and {}", few.len(), many.len());
}
