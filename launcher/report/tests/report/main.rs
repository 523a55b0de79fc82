//! Tests all reports of a run: records in, reports out.

#![allow(clippy::unwrap_used, reason = "in helpers of tests as in tests themselves")]

mod comment;
mod fixture;
mod index_page;
mod layout;
mod objectives;
mod page_data;
mod repeats;
mod server_replicas;
mod servers;
mod stages_csv;
mod standard_report;
mod startups;
mod terminal_table;
mod time_series;

use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::Path,
    time::Duration,
};

use crds::{Envelope, Outcome};
use document::{ManagedServerDocument, Parts, ReportDocument, TOOL_VERSION};
use fixture::{Analysed, Fixture, PROFILE, ms, normal};
use measurement::{
    phase::StopReason,
    record::{Cause, Limit, ListIndex, RequestOutcome, RequestRecord},
    recorder::{Records, WireTally},
};
use parquet::{
    file::reader::{FileReader as _, SerializedFileReader},
    record::RowAccessor as _,
};
use report::{
    Attachments, Folder, Inputs, Stored,
    benchmark_report::{self, Revision},
    index, markdown,
    paint::Paint,
    terminal,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use workload_profiles::workload::{LengthDistribution, PromptText, RequestSource, Shape};

/// Removes the release from a report, so that snapshots stay valid for the next release.
fn without_version(text: &str) -> String {
    text.replace(TOOL_VERSION, "[version]")
}

fn json_of(fixture: &Fixture, analysed: &Analysed) -> Value {
    json_of_report(&fixture.report(analysed))
}

fn json_of_report(report: &Parts<'_>) -> Value {
    let mut text = Vec::new();
    report.document().unwrap().write(&mut text).unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn a_json_report_that_is_read_and_written_again_has_the_same_bytes() {
    for (name, fixture) in corners() {
        let mut text = Vec::new();
        fixture.report(&fixture.analyse()).document().unwrap().write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let read = ReportDocument::read(&text).unwrap();
        let mut again = Vec::new();
        read.write(&mut again).unwrap();
        assert_eq!(String::from_utf8(again).unwrap(), text, "{name}");
    }
}

#[test]
fn a_field_of_another_release_is_ignored_and_another_type_of_a_field_is_named() {
    let fixture = Fixture::new();
    let mut report = json_of(&fixture, &fixture.analyse());
    let document = ReportDocument::read(&report.to_string()).unwrap();
    report["toolVersion"] = "7.1.0".into();
    // Adds an unknown key to a type of the document, and to a type that refuses unknown keys because it is also used for input.
    report["figures"]["ttftMs"]["p75point5"] = 1.into();
    report["resolvedRun"]["validity"]["maxMoonPhase"] = 1.into();
    for stage in report["stages"].as_array_mut().unwrap() {
        let load = stage["load"].as_object_mut().unwrap().values_mut().next().unwrap();
        load["ofTomorrow"] = json!({"a": 1});
    }
    let read = ReportDocument::read(&report.to_string()).unwrap();
    assert_eq!(ReportDocument { tool_version: document.tool_version.clone(), ..read }, document);
    report["figures"]["ttftMs"]["p75"] = "fast".into();
    let error = ReportDocument::read(&report.to_string()).unwrap_err().to_string();
    for part in ["figures.ttftMs.p75", "fast", "benchwright 7.1.0 (commit 0123456789ab)"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn the_markdown_report_of_two_stages() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    insta::assert_snapshot!(without_version(&markdown::render(&fixture.report(&analysed).document().unwrap())));
}

#[test]
fn what_server_and_user_tell_stands_in_the_reports() {
    let fixture = Fixture::with_all_told();
    let analysed = fixture.analyse();
    let report = fixture.report(&analysed);
    let page = markdown::render(&report.document().unwrap());
    for part in [
        "vllm 0.11.0, simulated by benchwright 1, model root /models/8b\\|x, revision abc, at most 8192 tokens",
        "8 x H100, 2.5 USD an hour each, as spec.target.hardware says",
        "output tokens/s per accelerator (of 8)",
        "| USD per million output tokens | USD per million tokens |",
        "10 of 10 rows of the data set were sent, 14 times in all, 1.4 passes.",
    ] {
        assert!(page.contains(part), "{part} is missing in {page}");
    }
    let standard = benchmark_report::render(Revision::V02, &report, 0).unwrap();
    assert!(standard.contains("tool: vllm") && standard.contains("0.11.0"), "{standard}");
}

#[test]
fn the_table_of_two_stages() {
    insta::assert_snapshot!(terminal::table(
        &Fixture::new().report(&Fixture::new().analyse()).document().unwrap(),
        Paint::OFF
    ));
}

#[test]
fn the_markdown_report_tells_how_sure_the_figures_are() {
    let fixture = Fixture::of_a_steady_stage();
    let text = markdown::render(&fixture.report(&fixture.analyse()).document().unwrap());
    let part = text.split("## ").find(|it| it.starts_with("How sure the figures are")).unwrap();
    insta::assert_snapshot!(part);
}

#[test]
fn a_stage_that_was_not_steady_has_no_figures_of_a_steady_window() {
    let fixture = Fixture::of_a_steady_stage();
    let mut analysed = fixture.analyse();
    let row = |analysed: &Analysed| {
        let page = markdown::render(&fixture.report(analysed).document().unwrap());
        page.lines().find(|it| it.starts_with("| TTFT mean | r10 | ")).unwrap().to_owned()
    };
    assert!(row(&analysed).ends_with("| 43ms (42.96ms to 43.04ms) |"), "{}", row(&analysed));
    let known = analysed.analysis.stages[0].uncertainty.as_mut().unwrap();
    known.steady_state.verdict = analysis::uncertainty::SteadyVerdict::NotFound;
    assert!(row(&analysed).ends_with("| 400 | - |"), "{}", row(&analysed));
}

#[test]
fn several_stages_have_their_means_and_a_place_of_the_course_over_time() {
    let mut fixture = Fixture::of_a_steady_stage();
    let page = |fixture: &Fixture| markdown::render(&fixture.report(&fixture.analyse()).document().unwrap());
    assert!(page(&fixture).contains("\n- figures over time: timeSeries in report.json"));
    let mut idle = fixture.workload.stages[0].clone();
    idle.name = "idle".into();
    fixture.workload.stages.push(idle);
    let text = page(&fixture);
    for figure in ["TTFT", "TPOT", "latency"] {
        assert!(text.contains(&format!("| {figure} mean | r10 | ")), "{text}");
    }
}

#[test]
fn the_legend_of_marks_stands_below_tables_that_have_one() {
    let legend = "\n\\* this percentile is the largest value: ";
    let fixture = Fixture::of_a_steady_stage();
    let of = |page: &str, heading: &str| page.split("\n## ").find(|it| it.starts_with(heading)).unwrap().to_owned();
    let page = markdown::render(&fixture.report(&fixture.analyse()).document().unwrap());
    let (figures, interactivity) = (of(&page, "Figures"), of(&page, "Interactivity"));
    assert!(figures.contains('*') && figures.contains(legend), "p99.9 of 400 values: {figures}");
    assert!(!interactivity.contains('*'), "{interactivity}");
}

#[test]
fn cost_has_a_heading_of_its_own_and_stands_on_the_terminal() {
    let fixture = Fixture::with_all_told();
    let analysed = fixture.analyse();
    let page = markdown::render(&fixture.report(&analysed).document().unwrap());
    let of = |heading: &str| page.split("\n## ").find(|it| it.starts_with(heading)).unwrap();
    let names = ["output tokens/s per accelerator (of 8)", "USD per million output tokens", "USD per million tokens"];
    let table = terminal::table(&fixture.report(&analysed).document().unwrap(), Paint::OFF);
    for name in names {
        assert!(of("Accelerators and cost").contains(name) && !of("Interactivity").contains(name), "{page}");
    }
    // The head of the cost column in the table of stages.
    assert!(table.contains("USD per") && table.contains("M output"), "{table}");
    let without = Fixture { run: crds::ResolvedRun { hardware: None, ..fixture.run.clone() }, ..fixture };
    assert!(!terminal::table(&without.report(&analysed).document().unwrap(), Paint::OFF).contains("USD"));
}

#[test]
fn the_standard_report_of_one_stage() {
    let fixture = Fixture::of_one_stage();
    let analysed = fixture.analyse();
    insta::assert_snapshot!(without_version(
        &benchmark_report::render(Revision::V02, &fixture.report(&analysed), 0).unwrap()
    ));
}

#[test]
fn the_json_report_of_one_stage() {
    let fixture = Fixture::of_one_stage();
    let analysed = fixture.analyse();
    let mut json = json_of(&fixture, &analysed);
    // The time series has its own snapshot.
    json.as_object_mut().unwrap().shift_remove("timeSeries").unwrap();
    let text = serde_json::to_string_pretty(&json).unwrap();
    insta::assert_snapshot!(without_version(&text));
}

/// One fixture for each corner case of the formats.
fn corners() -> Vec<(&'static str, Fixture)> {
    let with = |change: fn(&mut Fixture)| {
        let mut fixture = Fixture::new();
        change(&mut fixture);
        fixture
    };
    vec![
        ("as it is", Fixture::new()),
        ("all told", Fixture::with_all_told()),
        ("one stage", Fixture::of_one_stage()),
        ("a steady stage", Fixture::of_a_steady_stage()),
        ("mock prompts", with(|it| it.workload.requests = RequestSource::Mock)),
        (
            "mock prompts of unknown length",
            with(|it| {
                it.workload.requests = RequestSource::Mock;
                it.requests.iter_mut().for_each(|(record, _)| record.input_tokens = None);
            }),
        ),
        (
            "uniform and log-normal lengths",
            with(|it| {
                it.workload.requests = RequestSource::random(
                    LengthDistribution { shape: Shape::Uniform, ..normal(20) },
                    LengthDistribution { shape: Shape::Lognormal, ..normal(5) },
                    PromptText::Prose,
                );
            }),
        ),
        ("shared prefixes", with(|it| it.workload.requests = shared_prefix(LengthDistribution::fixed(10)))),
        ("shared prefixes of drawn length", with(|it| it.workload.requests = shared_prefix(normal(10)))),
        ("no streaming", with(|it| it.workload.streaming = false)),
        (
            "several tokens an event",
            with(|it| it.requests.iter_mut().for_each(|(record, _)| record.output_tokens = Some(20))),
        ),
        ("the model ends an answer", with(|it| it.workload.sampling.ignore_eos = false)),
        ("no usage", with(|it| it.requests.iter_mut().for_each(|(record, _)| record.output_tokens = None))),
        ("usage now and then", with(|it| it.requests[0].0.output_tokens = None)),
        ("no success", with(|it| it.requests.retain(|(record, _)| record.outcome != RequestOutcome::Ok))),
        ("no request", with(|it| it.requests.clear())),
        (
            "cut off",
            with(|it| {
                it.stopped = Some(StopReason::Signal);
                it.requests[9].0.outcome = RequestOutcome::Cancelled;
            }),
        ),
        ("no cluster", with(|it| it.run.run.namespace.clear())),
    ]
}

fn shared_prefix(question_len: LengthDistribution) -> RequestSource {
    RequestSource::SharedPrefix {
        groups: 2,
        prompts_per_group: 3,
        system_prompt_len: LengthDistribution::fixed(10),
        question_len,
        output_len: LengthDistribution::fixed(5),
        seed: None,
        multi_turn: false,
    }
}

/// Collects the keys in some parts of `report.json`. Leaves out keys below the fields in `keys of kinds`, because these keys are data.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                found.insert(key.clone());
                if !["outcomes", "errorSamples", "causes", "load"].contains(&key.as_str()) {
                    keys(value, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|it| keys(it, found)),
        _ => {}
    }
}

#[test]
fn every_figure_stands_in_the_documentation() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    let documentation = fs::read_to_string(path).unwrap();
    let fixture = Fixture::new();
    let report = json_of(&fixture, &fixture.analyse());
    let mut found = BTreeSet::from(["distributions".to_owned(), "requestSample".to_owned()]);
    for part in ["figures", "timeSeries", "distributions", "requestSample", "selfJudgement", "labels"] {
        keys(&report[part], &mut found);
    }
    let told = Fixture::with_all_told();
    let report_of_all_told = json_of(&told, &told.analyse());
    for part in ["server", "hardware", "contamination"] {
        found.insert(part.to_owned());
        keys(&report_of_all_told[part], &mut found);
    }
    for stage in report["stages"].as_array().unwrap() {
        found.extend(
            stage.as_object().unwrap().keys().filter(|it| it.ends_with("PerSecond") || it.ends_with("Ms")).cloned(),
        );
    }
    for stage in report["stages"].as_array().unwrap() {
        keys(&stage["uncertainty"], &mut found);
    }
    let steady = Fixture::of_a_steady_stage();
    keys(&json_of(&steady, &steady.analyse())["stages"][0]["uncertainty"], &mut found);
    assert!(found.len() > 60, "{found:?}");
    let undocumented: Vec<&String> = found.iter().filter(|it| !documentation.contains(&format!("`{it}`"))).collect();
    assert!(undocumented.is_empty(), "{undocumented:?}");
    for reason in [
        "RunSucceeded",
        "Cancelled",
        "DeadlineExceeded",
        "TargetLost",
        "StageNotRun",
        "StopRule",
        "TooFewSuccesses",
        "TooManyErrors",
        "SendLagTooLarge",
        "ReceiveDelayTooLarge",
        "ReadsCoalesced",
        "CpuSaturated",
        "CpuThrottled",
        "CpuStolen",
        "SchedulerStalled",
        "ClockStepped",
        "EventsDropped",
        "SLOViolated",
        "SLOInconclusive",
    ] {
        let is_listed = documentation.lines().any(|it| {
            it.strip_prefix("- ").and_then(|it| it.strip_prefix(reason)).is_some_and(|it| it.starts_with([':', ' ']))
        });
        assert!(is_listed, "{reason}");
    }
}

#[test]
fn timeouts_are_told_by_their_limit_and_retries_by_their_number() {
    let mut fixture = Fixture::new();
    let (failed, wire) = fixture.requests.pop().unwrap();
    for limit in [Limit::Connect, Limit::FirstToken, Limit::TokenGap, Limit::TokenGap, Limit::Request] {
        let record = RequestRecord { outcome: RequestOutcome::Timeout, ..failed.clone() };
        let wire = WireTally { timeout: Some(limit), retried: true, error: Some("late".into()), ..wire.clone() };
        fixture.requests.push((record, wire));
    }
    let analysed = fixture.analyse();
    let figures = &json_of(&fixture, &analysed)["figures"];
    assert_eq!(figures["outcomes"]["timeout"], 5);
    let expected = serde_json::json!({"connect": 1, "firstToken": 1, "tokenGap": 2, "request": 1});
    assert_eq!(figures["timeouts"], expected);
    assert_eq!(figures["retried"], 5);
    let markdown = markdown::render(&fixture.report(&analysed).document().unwrap());
    let table = terminal::table(&fixture.report(&analysed).document().unwrap(), Paint::OFF);
    for (name, count) in [("connect", 1), ("firstToken", 1), ("tokenGap", 2), ("request", 1)] {
        assert!(markdown.contains(&format!("| timeout: {name} | {count} |")), "{markdown}");
    }
    let table = table.replace("\n  ", " ");
    assert!(table.contains("5 timeout (connect 1, firstToken 1, tokenGap 2, request 1); 5 retried"), "{table}");
    assert!(markdown.contains("| timeout | 5 | late |") && markdown.contains("| retried | 5 |"), "{markdown}");
}

#[test]
fn each_cause_of_a_connect_error_has_its_count_and_its_message() {
    let mut fixture = Fixture::new();
    let (failed, wire) = fixture.requests.pop().unwrap();
    for (cause, error) in [(Cause::Reset, "reset by peer"), (Cause::Refused, "refused"), (Cause::Refused, "again")] {
        let record = RequestRecord { outcome: RequestOutcome::ConnectError, ..failed.clone() };
        fixture.requests.push((record, WireTally { cause: Some(cause), error: Some(error.into()), ..wire.clone() }));
    }
    let analysed = fixture.analyse();
    let figures = &json_of(&fixture, &analysed)["figures"];
    let expected = serde_json::json!({
        "reset": {"count": 1, "sample": "reset by peer"}, "refused": {"count": 2, "sample": "refused"},
    });
    assert_eq!((&figures["causes"], &figures["errorSamples"]["connect_error"]), (&expected, &"refused".into()));
    let markdown = markdown::render(&fixture.report(&analysed).document().unwrap());
    assert!(markdown.contains("| connect_error: reset | 1 | reset by peer |"), "{markdown}");
    assert!(
        markdown.contains("(mostly connect_error: 3; the first says: refused); check that the server runs"),
        "{markdown}"
    );
    let table = terminal::table(&fixture.report(&analysed).document().unwrap(), Paint::OFF);
    assert!(table.contains("3 connect_error (refused 2, reset 1)"), "{table}");
}

#[test]
fn the_workload_of_a_report_is_a_profile_of_the_same_load() {
    let fixture = Fixture::new();
    let report = json_of(&fixture, &fixture.analyse());
    let run = crds::resolve::ResolvedRun { harness: crds::benchmark_run::Harness::Benchwright, ..fixture.run.clone() };
    let (workload, _) = workload_profiles::parse(&run, &report["workload"].to_string()).unwrap();
    // Everything is the same afterwards except the credential, which no report contains.
    assert_ne!(workload.headers, fixture.workload.headers);
    assert_eq!(workload_profiles::Workload { headers: fixture.workload.headers.clone(), ..workload }, fixture.workload);
}

#[test]
fn report_json_holds_what_repeats_the_run() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let report = json_of(&fixture, &analysed);
    assert_eq!(report["format"], "benchwright.dev/report/v1");
    assert_eq!(report["seeds"]["run"], 42);
    assert_eq!(serde_json::from_value::<crds::ResolvedRun>(report["resolvedRun"].clone()).unwrap(), fixture.run);
    let mut workload = fixture.workload.clone();
    workload.headers.insert("x-api-key".into(), "<redacted>".into());
    let read: workload_profiles::Workload = serde_json::from_value(report["workload"].clone()).unwrap();
    assert_eq!(read, workload);
    let summary: crds::RunSummary = serde_json::from_value(report["summary"].clone()).unwrap();
    assert_eq!(summary, analysed.analysis.summary());
}

#[test]
fn a_workload_is_written_even_where_its_text_is_no_workload_any_more() {
    let mut fixture = Fixture::new();
    // A text of the maximum length. It becomes longer when the secret is replaced.
    let extra = format!(r#"{{"a": "{}", "api_key": "x"}}"#, "a".repeat((64 << 10) - 40));
    fixture.workload.sampling.extra = serde_json::from_str(&extra).unwrap();
    let report = json_of(&fixture, &fixture.analyse());
    assert_eq!(report["workload"]["sampling"]["extra"]["api_key"], "<redacted>");
}

#[test]
fn requests_parquet_names_the_server_where_there_are_several() {
    let fixture = Fixture::new();
    let mut analysed = fixture.analyse();
    let servers = [ListIndex::new(1), None, ListIndex::new(0)].into_iter().cycle();
    let records = analysed.records.into_iter().zip(servers);
    analysed.records = records.map(|(it, replica)| RequestRecord { replica, ..it }).collect();
    let replica = |url: &str| json!({"url": url, "command": [], "pid": 1, "started": "2026-01-02T03:04:05Z"});
    for (urls, expected) in [(&["a"][..], None), (&["a", "b"], Some([Some(1), None, Some(0)]))] {
        let replicas: Vec<_> = urls.iter().map(|it| replica(it)).collect();
        let document = json!({"engine": "Simulator", "lifecycle": "PerRun", "reused": false, "distribution": "RoundRobin",
                              "replicas": replicas});
        let managed_server: ManagedServerDocument = serde_json::from_value(document).unwrap();
        let report = Parts { managed_server: Some(&managed_server), ..fixture.report(&analysed) };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("requests.parquet");
        let mut file = File::create(&path).unwrap();
        report::requests_parquet::write(&report, &analysed.records, &mut file).unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let columns = reader.metadata().file_metadata().schema_descr().columns().to_vec();
        let column = columns.iter().position(|it| it.name() == "replica");
        let found = column.map(|column| {
            let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
            [0, 1, 2].map(|row| rows[row].get_long(column).ok())
        });
        assert_eq!(found, expected, "{urls:?}");
    }
}

#[test]
fn requests_parquet_has_a_row_for_every_request() {
    let fixture = Fixture::new();
    let mut analysed = fixture.analyse();
    // A run leaves records sorted by end time, not by number.
    let mut records: Vec<RequestRecord> = analysed.records.into_iter().collect();
    records.reverse();
    analysed.records = records.into_iter().collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.parquet");
    let mut file = File::create(&path).unwrap();
    report::requests_parquet::write(&fixture.report(&analysed), &analysed.records, &mut file).unwrap();

    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata();
    assert_eq!(metadata.num_rows(), 14);
    let started = metadata.key_value_metadata().unwrap().iter().find(|it| it.key == "benchwright.started").unwrap();
    assert_eq!(started.value.as_deref(), Some("2026-01-02T03:04:05Z"));
    let left_out = metadata.key_value_metadata().unwrap().iter().find(|it| it.key == "benchwright.left_out").unwrap();
    assert_eq!(left_out.value.as_deref(), Some("0"));
    let columns: Vec<&str> = metadata.schema_descr().columns().iter().map(|it| it.name()).collect();
    assert!(columns.iter().all(|it| !it.contains("prompt") && !it.contains("text")));
    let column = |name: &str| columns.iter().position(|it| *it == name).unwrap();

    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    let first = &fixture.requests[0].0;
    let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap();
    assert_eq!(rows[0].get_string(column("stage")).unwrap(), "r10");
    assert_eq!(rows[0].get_long(column("sent_ns")).unwrap(), nanos(first.sent.unwrap()));
    assert_eq!(rows[0].get_long(column("last_token_ns")).unwrap(), nanos(first.last_token.unwrap()));
    assert_eq!(rows[0].get_long(column("tpot_ns")).unwrap(), nanos(ms(10)));
    assert_eq!(rows[0].get_long(column("output_tokens")).unwrap(), 5);
    let last = rows.last().unwrap();
    assert_eq!(last.get_string(column("stage")).unwrap(), "c2");
    assert_eq!(last.get_string(column("outcome")).unwrap(), "http_503");
    assert!(last.get_long(column("first_token_ns")).is_err(), "what did not happen is null");
    let numbers: Vec<i64> = rows.iter().map(|it| it.get_long(column("number")).unwrap()).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3]);
}

#[test]
fn many_requests_go_into_several_row_groups() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let model = &fixture.requests[0].0;
    let records: Records = (0..100_001).map(|number| RequestRecord { number, ..model.clone() }).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.parquet");
    let mut file = File::create(&path).unwrap();
    report::requests_parquet::write(&fixture.report(&analysed), &records, &mut file).unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let rows: Vec<i64> = reader.metadata().row_groups().iter().map(|it| it.num_rows()).collect();
    assert_eq!(rows, [100_000, 1]);
}

#[test]
fn no_request_needs_more_of_the_table_than_is_reckoned_with_before_the_load() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let model = &fixture.requests[0].0;
    // No value occurs twice, and none can be derived from another one, so that nothing can be compressed.
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 20
    };
    let record = |number| {
        let mut time = || Duration::from_nanos(random());
        let (scheduled, sent, first, last, ended) = (time(), time(), time(), time(), time());
        let wait = time();
        let mut tokens = || Some(u32::try_from(random() & 0xffff_ffff).unwrap());
        RequestRecord {
            number,
            scheduled,
            sent: Some(sent),
            first_token: Some(first),
            last_token: Some(first + last),
            ended,
            permit_wait: Some(wait),
            requested_input_tokens: tokens(),
            requested_output_tokens: tokens(),
            input_tokens: tokens(),
            output_tokens: tokens(),
            cached_tokens: tokens(),
            ..model.clone()
        }
    };
    let records: Records = (0..100_000).map(record).collect();
    let mut bytes = Vec::new();
    report::requests_parquet::write(&fixture.report(&analysed), &records, &mut bytes).unwrap();
    let per_row = bytes.len() as u64 / records.len() as u64;
    let reckoned = report::requests_parquet::BYTES_PER_ROW;
    assert!(per_row <= reckoned && per_row > reckoned / 2, "{per_row} bytes, and {reckoned} are reckoned with");
}

#[test]
fn a_full_disk_in_the_middle_of_a_table_is_told_as_such() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let report = fixture.report(&analysed);
    let table = report::requests_parquet::write(&report, &analysed.records, &mut Full).unwrap_err();
    let document = report.document().unwrap().write(&mut Full).unwrap_err();
    for error in [table, document] {
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull, "{error}");
    }
}

#[test]
fn a_results_folder_is_whole_and_holds_no_credential() {
    let root = tempfile::tempdir().unwrap();
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let report = fixture.report(&analysed);
    let mut folder = Folder::create(root.path(), "chat/a1").unwrap();
    let spec = serde_saphyr::from_str("target: {url: 'http://gateway.llm-d:80'}").unwrap();
    let inputs = Inputs {
        run: &fixture.run,
        spec: &spec,
        profile_text: PROFILE,
        paths_from: None,
        searches_rate: false,
        measures_rates: false,
    };
    report::write_inputs(&mut folder, &inputs).unwrap();
    let attachments = Attachments { records: Some(&analysed.records), ..Attachments::default() };
    let page_of = |it: &ReportDocument| Ok(it.model.clone());
    report::write_report(&mut folder, &report, &report.document().unwrap(), &attachments, Some(&page_of)).unwrap();
    let stored = folder.finish().unwrap();
    index::add(root.path(), &report.document().unwrap(), &stored).unwrap();

    let mut names: Vec<String> =
        fs::read_dir(&stored.path).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let expected = [
        "benchmark_report_v0.2-c2.yaml",
        "benchmark_report_v0.2-r10.yaml",
        "benchmark_report_v0.2.1-c2.json",
        "benchmark_report_v0.2.1-r10.json",
        "benchmarkrun.yaml",
        "comment.md",
        "junit.xml",
        "profile.yaml",
        "report.html",
        "report.json",
        "report.md",
        "requests.parquet",
        "run.yaml",
        "stages.csv",
    ];
    assert_eq!(names, expected);
    for artifact in &stored.artifacts {
        let bytes = fs::read(stored.path.join(&artifact.name)).unwrap();
        let sha256 = crds::hex(&Sha256::digest(&bytes));
        assert_eq!((artifact.bytes, &artifact.sha256), (bytes.len() as u64, &sha256), "{}", artifact.name);
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("sk-of-the-profile"), "{} holds a credential", artifact.name);
    }
    assert_eq!(fs::read_link(root.path().join("latest")).unwrap(), Path::new("chat/a1"));
    let line = "| [chat/a1](chat/a1/report.md) | chat (inline) | r10, c2 | http://gateway.llm-d:80 | org/model-8b \
                | Invalid; 50 % to 75 % of the requests of a stage met the goals | 14 | 1 | 30ms to 49ms | 30ms* to 59ms* | 10ms* | 22.32 to 50 |";
    let index = fs::read_to_string(root.path().join("index.md")).unwrap();
    assert!(index.contains(line), "{index}");

    let run = serde_saphyr::from_str::<crds::ResolvedRun>(&fs::read_to_string(stored.path.join("run.yaml")).unwrap());
    assert_eq!(run.unwrap(), fixture.run);
}

#[test]
fn the_envelope_carries_the_verdict_and_the_stages() {
    let fixture = Fixture::new();
    let analysis = fixture.analyse().analysis;
    let stored = Stored { path: "/results/chat/a1".into(), name: "chat/a1".into(), artifacts: Vec::new() };
    let sent = report::envelope::envelope(&fixture.run.run, &analysis, Some(&stored));
    let read = Envelope::parse(&sent.to_text()).unwrap();
    assert_eq!(read, sent);
    assert_eq!(read.core.folder.as_deref(), Some("chat/a1"));
    assert_eq!((read.core.outcome, read.core.reason.as_str()), (Outcome::Invalid, "TooManyErrors"));
    assert_eq!(read.core.summary.unwrap().requests, 14);
    let stages: Vec<&str> = read.stages.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(stages, ["r10", "c2"]);
}

#[test]
fn traffic_classes_have_their_figures_a_table_and_a_column() {
    let mut fixture = Fixture::new();
    let class = |name: &str| serde_json::from_value(serde_json::json!({"name": name, "weight": 1})).unwrap();
    fixture.workload.classes.classes = vec![class("gold"), class("base|x")];
    for (record, _) in &mut fixture.requests {
        record.class = ListIndex::new(usize::from(record.stage == 1));
    }
    let analysed = fixture.analyse();
    let report = fixture.report(&analysed);
    let page = markdown::render(&report.document().unwrap());
    let table = page.split("## Traffic classes").nth(1).unwrap().split("\n## ").next().unwrap();
    assert!(table.contains("| gold | sent | 10 | 0 |") && table.contains("| base\\|x | sent | 4 | 1 |"), "{table}");

    let json = json_of(&fixture, &analysed);
    let of = |index: usize| {
        let class = &json["classes"][index];
        (class["name"].clone(), class["figures"]["requests"].clone(), class["figures"]["failed"].clone())
    };
    assert_eq!((of(0), of(1)), (("gold".into(), 10.into(), 0.into()), ("base|x".into(), 4.into(), 1.into())));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.parquet");
    report::requests_parquet::write(&report, &analysed.records, &mut File::create(&path).unwrap()).unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let columns = reader.metadata().file_metadata().schema_descr().columns();
    let column = columns.iter().position(|it| it.name() == "class").unwrap();
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(
        (rows[0].get_string(column).unwrap().as_str(), rows[13].get_string(column).unwrap().as_str()),
        ("gold", "base|x")
    );
}
