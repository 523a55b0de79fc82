//! Tests the standard benchmark report of llm-d in its two revisions.

use std::{fs, path::Path};

use analysis::{Analysis, Distribution, SessionFigures};
use document::Parts;
use report::benchmark_report::{self, Revision};
use serde_json::Value;

use crate::{
    corners,
    fixture::{Analysed, Fixture},
    json_of_report, servers,
};

/// The files of llm-d-benchmark. Not every machine has them.
const PEERS: &str = "../../../shared/peer-data/llm-d-benchmark/llmdbenchmark/analysis/benchmark_report";

fn document(revision: Revision, report: &Parts<'_>, index: usize) -> (String, Value) {
    let text = benchmark_report::render(revision, report, index).unwrap();
    let value = match revision {
        Revision::V02 => serde_saphyr::from_str(&text).unwrap(),
        Revision::V021 => serde_json::from_str(&text).unwrap(),
    };
    (text, value)
}

/// Adds sessions to the first stage.
fn with_sessions(mut analysis: Analysis) -> Analysis {
    let times = analysis.stages[0].figures.latency;
    let lengths = analysis.stages[0].figures.osl;
    analysis.stages[0].sessions = Some(SessionFigures {
        sessions: 5,
        complete: 3,
        failed: 1,
        cut_short: 1,
        partial: 0,
        per_second: Some(1.5),
        duration: times,
        turns: lengths,
        input_tokens: lengths,
        output_tokens: lengths,
        shortened_turns: 0,
        hold: None,
        by_turn: Vec::new(),
    });
    analysis
}

fn check_schema(revision: Revision, schema: &str) {
    let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    for (name, fixture) in corners() {
        let analysed = fixture.analyse();
        let analysed = Analysed { analysis: with_sessions(analysed.analysis), ..analysed };
        let server = servers::server(&analysed, 260, None);
        for analysed in [&analysed, &servers::with(&analysed, &server)] {
            let report = fixture.report(analysed);
            for index in 0..analysed.analysis.stages.len() {
                let (text, value) = document(revision, &report, index);
                let errors: Vec<String> =
                    validator.iter_errors(&value).map(|it| format!("{}: {it}", it.instance_path())).collect();
                assert!(errors.is_empty(), "{name}, stage {index}: {errors:#?}\n{text}");
                assert!(!text.contains("null"), "{name}, stage {index}: {text}");
            }
        }
    }
}

#[test]
fn every_standard_report_is_valid() {
    check_schema(Revision::V02, include_str!("../fixtures/benchmark_report_v0.2.schema.json"));
    check_schema(Revision::V021, include_str!("../fixtures/benchmark_report_v0.2.1.schema.json"));
}

#[test]
fn every_standard_report_is_valid_by_its_makers_schema() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(PEERS);
    for (revision, name) in
        [(Revision::V02, "br_v0_2_json_schema.json"), (Revision::V021, "br_v0_2_1_json_schema.json")]
    {
        match fs::read_to_string(folder.join(name)) {
            Ok(schema) => check_schema(revision, &schema),
            Err(_) => eprintln!("skipped: {PEERS}/{name} is not there"),
        }
    }
}

/// A value of the format, converted from its unit to milliseconds.
fn millis(statistics: &Value, value: &str) -> f64 {
    let factor = match statistics["units"].as_str().unwrap() {
        "s" | "s/token" => 1e3,
        "ms" | "ms/token" => 1.0,
        other => panic!("{other} is no unit of time"),
    };
    statistics[value].as_f64().unwrap() * factor
}

fn check_equal(found: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{what}: {found}, but report.json has {expected}");
}

#[test]
fn read_back_by_its_units_it_has_the_figures_of_report_json() {
    let fixture = Fixture::of_a_steady_stage();
    let analysed = fixture.analyse();
    let server = servers::server(&analysed, 260, None);
    let analysed = servers::with(&analysed, &server);
    let report = fixture.report(&analysed);
    let json = json_of_report(&report);
    let (stage, servers) = (&json["stages"][0], &json["serverMetrics"]["stages"][0]["figures"]);
    for revision in Revision::ALL {
        let (_, standard) = document(revision, &report, 0);
        let aggregate = &standard["results"]["request_performance"]["aggregate"];
        for (there, here) in [
            ("time_to_first_token", "ttftMs"),
            ("time_per_output_token", "tpotMs"),
            ("normalized_time_per_output_token", "ntpotMs"),
            ("inter_token_latency", "itlMs"),
            ("request_latency", "latencyMs"),
        ] {
            for value in ["mean", "min", "p50", "p90", "p99", "p99p9", "max"] {
                let found = &aggregate["latency"][there];
                check_equal(millis(found, value), &stage["figures"][here][value], &format!("{there}.{value}"));
                // Older releases of Prism ignore units and assume seconds, so every time must be in seconds.
                check_equal(found[value].as_f64().unwrap() * 1e3, &stage["figures"][here][value], there);
            }
        }
        for (there, here) in [("output_token_rate", "outputTokensPerSecond"), ("request_rate", "requestsPerSecond")] {
            let found = aggregate["throughput"][there]["mean"].as_f64().unwrap();
            check_equal(found, &stage["figures"]["throughput"][here], there);
        }
        assert_eq!(aggregate["requests"]["total"], stage["figures"]["requests"]);

        let observability = &standard["results"]["observability"];
        let component = &observability["components"][0]["aggregate"];
        assert_eq!(component["cache_hit_rate"]["units"], "fraction");
        check_equal(
            component["running_requests"]["mean"].as_f64().unwrap(),
            &servers["runningRequests"]["mean"],
            "running",
        );
        check_equal(component["cache_hit_rate"]["mean"].as_f64().unwrap(), &servers["prefixCacheHitShare"], "hits");
        check_equal(component["power_consumption"]["max"].as_f64().unwrap(), &servers["gpuPowerWatts"]["max"], "power");
        let prism = &observability["vllm_num_requests_running"]["aggregated"];
        assert_eq!(prism, &component["running_requests"]);

        let steady = (&observability["benchwright_steady_state"], &stage["uncertainty"]["steadyState"]);
        assert_eq!(steady.0["verdict"], steady.1["verdict"]);
        assert_eq!(steady.0["verdict"], "steady");
        let window = (&steady.0["window"], &steady.1["window"]);
        let (found, expected) = (&window.0["time_to_first_token"], &window.1["ttftMs"]["p90"]);
        check_equal(millis(found, "p90"), &expected["value"], "p90 of the steady window");
        check_equal(found["p90_interval95"][0].as_f64().unwrap() * 1e3, &expected["low"], "its interval");
        assert_eq!(window.0["start"].as_str().unwrap(), "2026-01-02T03:04:05Z");
    }
}

#[test]
fn revision_0_2_1_has_the_course_over_time() {
    let fixture = Fixture::of_a_steady_stage();
    let analysed = fixture.analyse();
    let report = fixture.report(&analysed);
    let json = json_of_report(&report);
    let (_, standard) = document(Revision::V021, &report, 0);
    let over_time = &standard["results"]["request_performance"]["time_series"];
    let ttft = &over_time["latency"]["time_to_first_token"];
    let (points, bins) = (ttft["series"].as_array().unwrap(), json["timeSeries"]["due"].as_array().unwrap());
    assert!(points.len() > 100 && points.len() <= bins.len(), "{} of {}", points.len(), bins.len());
    assert_eq!(points[0]["ts"], "2026-01-02T03:04:05Z");
    // Times of bins have only four digits in `report.json`.
    let expected = json["timeSeries"]["ttftMs"]["p50"][0].as_f64().unwrap();
    let found = points[0]["p50"].as_f64().unwrap() * 1e3;
    assert!((found / expected - 1.0).abs() < 1e-3, "{found}, {expected}");
    // Ten requests per second. The bins contain whole numbers of requests.
    let rates = over_time["throughput"]["request_rate"]["series"].as_array().unwrap();
    let mean = rates.iter().map(|it| it["value"].as_f64().unwrap()).sum::<f64>() / rates.len() as f64;
    assert!((mean - 10.0).abs() < 1.0, "{mean}");
    let (_, older) = document(Revision::V02, &report, 0);
    assert!(older["results"]["request_performance"].get("time_series").is_none());
}

#[test]
fn revision_0_2_1_has_the_servers_over_time() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let server = servers::server(&analysed, 260, None);
    let analysed = servers::with(&analysed, &server);
    let report = fixture.report(&analysed);
    let (_, standard) = document(Revision::V021, &report, 1);
    let component = &standard["results"]["observability"]["components"][0];
    let running = &component["time_series"]["num_requests_running"];
    assert_eq!((&running["units"], &component["component_label"]), (&"count".into(), &"target".into()));
    // The bins are one second wide. The stage is in the bin that begins 3 s after the start of the run.
    assert_eq!(running["series"], serde_json::json!([{"ts": "2026-01-02T03:04:08Z", "value": 4.0}]));
    assert_eq!(component["time_series"]["kv_cache_usage"]["units"], "fraction");
    let (_, older) = document(Revision::V02, &report, 1);
    assert!(older["results"]["observability"]["components"][0].get("time_series").is_none());
}

#[test]
fn sessions_are_in_revision_0_2_1() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let analysed = Analysed { analysis: with_sessions(analysed.analysis), ..analysed };
    let report = fixture.report(&analysed);
    let (_, standard) = document(Revision::V021, &report, 0);
    let sessions = &standard["results"]["session_performance"]["sessions"];
    assert_eq!((&sessions["total"], &sessions["succeeded"], &sessions["failed"]), (&5.into(), &3.into(), &1.into()));
    assert_eq!(
        (&sessions["session_rate"]["units"], &sessions["session_duration"]["units"]),
        (&"queries/s".into(), &"s".into())
    );
    let longest: Distribution<_> = analysed.analysis.stages[0].figures.latency.unwrap();
    assert_eq!(sessions["session_duration"]["max"], longest.max.as_secs_f64());
}

#[test]
fn stages_of_a_run_are_one_run_for_prism() {
    let fixture = Fixture::with_all_told();
    let analysed = fixture.analyse();
    let report = fixture.report(&analysed);
    let [(_, first), (_, second)] = [0, 1].map(|it| document(Revision::V02, &report, it));
    for field in ["eid", "description"] {
        assert_eq!(first["run"][field], second["run"][field], "{field}");
    }
    assert_ne!(first["run"]["uid"], second["run"]["uid"]);
    assert_eq!(first["scenario"]["load"]["metadata"], second["scenario"]["load"]["metadata"]);
    let stages = [&first, &second].map(|it| it["scenario"]["load"]["standardized"]["stage"].as_u64().unwrap());
    assert_eq!(stages, [0, 1]);
    let target = &first["scenario"]["stack"][0]["standardized"];
    assert_eq!((&target["accelerator"]["model"], &target["accelerator"]["count"]), (&"H100".into(), &8.into()));
}

#[test]
fn what_was_not_measured_is_not_in_a_standard_report() {
    for (name, absent) in [
        ("no streaming", &["time_to_first_token", "inter_token_latency", "time_per_output_token:"][..]),
        ("usage now and then", &["output_length", "output_token_rate", "total_token_rate", "time_per_output_token"]),
        ("several tokens an event", &["inter_token_latency"]),
        ("no success", &["latency", "input_length", "output_length"]),
        ("mock prompts of unknown length", &["load:", "input_length", "input_token_rate", "total_token_rate"]),
        ("the model ends an answer", &["output_seq_len"]),
    ] {
        let (_, fixture) = corners().into_iter().find(|it| it.0 == name).unwrap();
        let analysed = fixture.analyse();
        // Uses the stage that contains the corner case.
        let index = usize::from(name == "no success");
        let text = benchmark_report::render(Revision::V02, &fixture.report(&analysed), index).unwrap();
        let aggregate = text.split("keywords:").nth(1).unwrap();
        for key in absent {
            let stands = aggregate.lines().any(|line| line.trim_start().starts_with(key));
            assert!(!stands, "{name}: {key} stands in {text}");
        }
    }
}

#[test]
fn several_stages_have_a_standard_report_each() {
    let two = Fixture::new().analyse().analysis;
    let name = |analysis: &Analysis, index| Revision::ALL.map(|it| benchmark_report::file_name(it, analysis, index));
    assert_eq!(name(&two, 0), ["benchmark_report_v0.2-r10.yaml", "benchmark_report_v0.2.1-r10.json"]);
    assert_eq!(name(&two, 1), ["benchmark_report_v0.2-c2.yaml", "benchmark_report_v0.2.1-c2.json"]);
    let mut odd = two.clone();
    (odd.stages[0].stage.name, odd.stages[1].stage.name) = ("a/b".into(), "a_b".into());
    assert_eq!(name(&odd, 0), ["benchmark_report_v0.2-a%2fb.yaml", "benchmark_report_v0.2.1-a%2fb.json"]);
    assert_eq!(name(&odd, 1), ["benchmark_report_v0.2-a_b.yaml", "benchmark_report_v0.2.1-a_b.json"]);
    let one = Fixture::of_one_stage().analyse().analysis;
    assert_eq!(name(&one, 0), ["benchmark_report_v0.2.yaml", "benchmark_report_v0.2.1.json"]);
}

/// Writes the reports of every corner case to a folder, so that other programs can check them: `BENCHMARK_REPORTS=FOLDER cargo test -p report`.
#[test]
fn standard_reports_are_written_where_asked() {
    let Some(folder) = std::env::var_os("BENCHMARK_REPORTS") else { return };
    fs::create_dir_all(&folder).unwrap();
    let mut written = 0;
    for (name, fixture) in corners() {
        let analysed = fixture.analyse();
        let analysed = Analysed { analysis: with_sessions(analysed.analysis), ..analysed };
        let server = servers::server(&analysed, 260, None);
        let analysed = servers::with(&analysed, &server);
        let report = fixture.report(&analysed);
        for revision in Revision::ALL {
            for index in 0..analysed.analysis.stages.len() {
                let file = format!("{} {}", name, benchmark_report::file_name(revision, &analysed.analysis, index));
                fs::write(Path::new(&folder).join(file), document(revision, &report, index).0).unwrap();
                written += 1;
            }
        }
    }
    assert!(written > 0);
}
