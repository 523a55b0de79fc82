mod tree_changes;

use std::{collections::BTreeSet, fs, path::Path};

use super::*;
use tree_changes::{
    Change::{self, Content, Emptied, Gone, Key, Line, Linked, Renamed, Text},
    TreeCopy, changed, copy, tree,
};

const SERVER: &str = "closed/Us/results/h100x8/llama3.1-8b/Server";
const INTERACTIVE: &str = "closed/Us/results/h100x8/llama3.1-8b/Interactive";
const OFFLINE: &str = "closed/Us/results/h100x8/llama3.1-8b/Offline";
const SINGLE: &str = "closed/Us/results/h100x8/llama3.1-8b-edge/SingleStream";
const SYSTEM: &str = "closed/Us/systems/h100x8.json";
const PERFORMANCE: &str = "performance/run_1/mlperf_log_detail.txt";
const ACCURACY: &str = "accuracy/mlperf_log_detail.txt";

/// Returns changes of a valid tree. Each change comes with the only rule that it violates.
fn closed() -> Vec<(Rule, String, Change)> {
    let mut all: Vec<(Rule, String, Change)> = Vec::new();
    let mut add = |rule, folder: &str, file: &str, change| {
        all.push((
            rule,
            [folder, file].iter().filter(|it| !it.is_empty()).copied().collect::<Vec<_>>().join("/"),
            change,
        ));
    };
    add(Rule::Empty, "closed", "", Gone);
    add(Rule::Incomplete, "", "INCOMPLETE.md", Content(b"# Incomplete\n".to_vec()));
    add(Rule::Link, SERVER, PERFORMANCE, Linked);
    add(Rule::Link, SERVER, "README.md", Linked);
    add(Rule::NoSource, "closed/Us/src", "", Gone);
    add(Rule::SourceEmpty, "closed/Us/src", "", Emptied);
    add(Rule::NoCalibration, "closed/Us/documentation", "", Gone);
    add(Rule::NoCalibration, "closed/Us/documentation/calibration.md", "", Content(Vec::new()));
    add(Rule::UnknownBenchmark, "closed/Us/results/h100x8/llama3.1-8b", "", Renamed("llama3.2-8b"));
    add(Rule::UnknownScenario, OFFLINE, "../SingleStream/README.md", Content(b"x".to_vec()));
    add(Rule::UnknownScenario, OFFLINE, "../Burst/README.md", Content(b"x".to_vec()));
    add(Rule::MissingScenario, OFFLINE, "", Gone);
    add(Rule::MissingScenario, SINGLE, "", Gone);
    for file in ["README.md", "user.conf", "measurements.json", "accuracy/accuracy.txt", PERFORMANCE, ACCURACY] {
        add(Rule::MissingFile, OFFLINE, file, Gone);
        add(Rule::MissingFile, OFFLINE, file, Content(Vec::new()));
    }
    add(Rule::MissingFile, OFFLINE, "accuracy/mlperf_log_accuracy.json", Gone);
    add(Rule::MissingFile, SYSTEM, "", Gone);
    for file in [
        "performance/run_1/mlperf_log_summary.txt",
        "performance/run_1/mlperf_log_accuracy.json",
        "accuracy/mlperf_log_summary.txt",
    ] {
        add(Rule::MissingQuietFile, OFFLINE, file, Gone);
    }
    let long = [b":::MLLOG ".to_vec(), vec![b'x'; 5 << 20]].concat();
    add(Rule::Unreadable, SERVER, PERFORMANCE, Content(long));
    add(Rule::Unreadable, SERVER, "accuracy/accuracy.txt", Content(vec![b'x'; 5 << 20]));
    add(Rule::Unreadable, SERVER, "measurements.json", Content(vec![0xFF, 0xFE]));
    add(Rule::LogMarker, SERVER, PERFORMANCE, Text(":::MLLOG", "hello\n:::MLLOG"));
    add(Rule::LogMarker, SERVER, ACCURACY, Text(":::MLLOG", "hello\n:::MLLOG"));
    add(Rule::LogLine, SERVER, PERFORMANCE, Line("result_more", "inf", false));
    add(Rule::LogLine, SERVER, ACCURACY, Line("more", "-nan", false));
    for key in ["loadgen_version", "loadgen_git_commit_date", "loadgen_file_sha1", "power_begin", "power_end"] {
        add(Rule::LogKeys, SERVER, PERFORMANCE, Key(key, None));
    }
    add(Rule::AccuracyScenario, SERVER, ACCURACY, Key("effective_scenario", Some("\"Offline\"")));
    add(Rule::AccuracyScenario, SERVER, ACCURACY, Key("effective_scenario", Some("\"SingleStream\"")));
    add(Rule::Scenario, OFFLINE, PERFORMANCE, Key("effective_scenario", Some("\"Server\"")));
    add(Rule::TestMode, SERVER, ACCURACY, Key("effective_test_mode", Some("\"PerformanceOnly\"")));
    add(Rule::TestMode, SERVER, PERFORMANCE, Key("effective_test_mode", Some("\"FindPeakPerformance\"")));
    for key in ["effective_qsl_rng_seed", "effective_sample_index_rng_seed", "effective_schedule_rng_seed"] {
        add(Rule::Seeds, SERVER, PERFORMANCE, Key(key, Some("2085463073848966841")));
        add(Rule::Seeds, SERVER, PERFORMANCE, Key(key, None));
    }
    add(Rule::MinDuration, SERVER, PERFORMANCE, Key("effective_min_duration_ms", Some("599999")));
    add(Rule::SampleCount, SINGLE, PERFORMANCE, Key("effective_performance_sample_count", Some("4999")));
    add(Rule::OfflineSamples, OFFLINE, PERFORMANCE, Key("effective_samples_per_query", Some("13367")));
    add(Rule::TokenLatencies, OFFLINE, PERFORMANCE, Key("requested_use_token_latencies", None));
    for folder in [SERVER, INTERACTIVE, SINGLE] {
        add(Rule::EarlyStopping, folder, PERFORMANCE, Key("early_stopping_met", Some("false")));
        add(Rule::EarlyStopping, folder, PERFORMANCE, Key("early_stopping_met", None));
    }
    let (ttft, tpot) =
        ("result_first_token_99.00_percentile_latency_ns", "result_time_per_output_token_99.00_percentile_ns");
    add(Rule::TokenLimits, SERVER, PERFORMANCE, Key(ttft, Some("2000000000")));
    add(Rule::TokenLimits, SERVER, PERFORMANCE, Key(tpot, Some("100000000")));
    add(Rule::TokenLimits, SERVER, PERFORMANCE, Key(tpot, Some("NaN")));
    add(Rule::InteractiveLimits, INTERACTIVE, PERFORMANCE, Key(ttft, Some("500000000")));
    add(Rule::InteractiveLimits, INTERACTIVE, PERFORMANCE, Key(tpot, Some("30000000")));
    add(Rule::TargetLatency, SERVER, PERFORMANCE, Key("effective_target_latency_ns", Some("20000000001")));
    add(Rule::Metric, SERVER, PERFORMANCE, Key("result_completed_tokens_per_second", None));
    add(Rule::Metric, OFFLINE, PERFORMANCE, Key("result_tokens_per_second", Some("Infinity")));
    add(Rule::Metric, SINGLE, PERFORMANCE, Key("result_90.00_percentile_latency_ns", Some("0")));
    add(Rule::Validity, OFFLINE, PERFORMANCE, Key("result_validity", Some("\"INVALID\"")));
    add(Rule::Validity, OFFLINE, PERFORMANCE, Key("result_validity", None));
    let summary = "performance/run_1/mlperf_log_summary.txt";
    add(Rule::SummaryDiffers, OFFLINE, summary, Text("Result is : VALID", "Result is : INVALID"));
    for (folder, key) in [
        (SERVER, "result_completed_samples_per_sec"),
        (INTERACTIVE, "result_completed_samples_per_sec"),
        (OFFLINE, "result_samples_per_second"),
        (SINGLE, "early_stopping_latency_ss"),
    ] {
        add(Rule::ResultKey, folder, PERFORMANCE, Key(key, None));
        add(Rule::ResultKey, folder, PERFORMANCE, Key(key, Some("\"fast\"")));
    }
    add(Rule::PowerFiles, SERVER, "performance/power", Emptied);
    add(Rule::PowerFiles, SERVER, "performance/power/client.json", Content(b"{}".to_vec()));
    add(Rule::PowerFiles, SERVER, "performance/power", Content(b"watts".to_vec()));
    add(Rule::PerformanceErrors, SERVER, PERFORMANCE, Line("error_runtime", "\"lost\"", true));
    add(Rule::MadeUp, SERVER, PERFORMANCE, Line("qsl_name", "\"synthetic\"", false));
    add(Rule::EqualIssue, SERVER, PERFORMANCE, Key("effective_sample_concatenate_permutation", Some("false")));
    add(Rule::IssueOrder, SERVER, PERFORMANCE, Key("effective_performance_issue_unique", Some("true")));
    add(Rule::IssueOrder, SERVER, PERFORMANCE, Key("effective_performance_issue_same", Some("true")));
    for key in ["requested_server_ttft_latency", "requested_server_tpot_latency"] {
        add(Rule::VerdictLimits, SERVER, PERFORMANCE, Key(key, Some("2000000001")));
        add(Rule::VerdictLimits, INTERACTIVE, PERFORMANCE, Key(key, Some("2000000000")));
        add(Rule::VerdictLimits, INTERACTIVE, PERFORMANCE, Key(key, None));
    }
    for (folder, loose) in [(SERVER, "0.98"), (INTERACTIVE, "0.5"), (SINGLE, "0.89")] {
        add(Rule::VerdictLimits, folder, PERFORMANCE, Key("effective_target_latency_percentile", Some(loose)));
    }
    let audited = "\"CaseTests Audit Config file (audit.config).\"";
    add(Rule::Audited, SERVER, PERFORMANCE, Line("warning_generic_message", audited, false));
    add(Rule::AccuracyErrors, SERVER, ACCURACY, Line("error_runtime", "\"lost\"", true));
    add(Rule::AccuracySampleCount, SERVER, ACCURACY, Key("effective_accuracy_sample_count", Some("13367")));
    add(Rule::AccuracySampleCount, SERVER, ACCURACY, Key("effective_accuracy_sample_count", Some("\"all\"")));
    let scores = "accuracy/accuracy.txt";
    for (key, value, low) in [
        ("'rouge1'", "'38.7792'", "'38.39'"),
        ("'rouge2'", "'15.9075'", "'15.74'"),
        ("'rougeL'", "'24.4957'", "'24.25'"),
        ("'rougeLsum'", "'35.793'", "'35.43'"),
        ("'gen_len'", "8167644", "7350879"),
        ("'gen_len'", "8167644", "8984409"),
    ] {
        let change = |from: String, to: String| Text(from.leak(), to.leak());
        add(Rule::ScoreBounds, SERVER, scores, change(format!("{key}: {value}"), format!("{key}: {low}")));
        add(Rule::ScoreMissing, SERVER, scores, change(format!("{key}: {value}"), format!("{key}: np.int64({value})")));
    }
    add(Rule::ScoreMissing, SERVER, scores, Text("Results", "{'rouge1': '60'}"));
    add(Rule::NoHash, SERVER, scores, Text("hash=", "sha256="));
    add(Rule::HashShape, SERVER, scores, Text("hash=", "hash=x"));
    add(Rule::NotTruncated, SERVER, "accuracy/mlperf_log_accuracy.json", Content(vec![b'x'; 10_241]));
    add(Rule::HashDiffers, SERVER, "accuracy/mlperf_log_accuracy.json", Content(b"[\n]\n".to_vec()));
    let verdict = "TEST06/verify_accuracy.txt";
    add(Rule::AuditMissing, SERVER, verdict, Gone);
    add(Rule::AuditNoLog, INTERACTIVE, "TEST06/accuracy/mlperf_log_accuracy.json", Gone);
    add(Rule::AuditSkipped, SERVER, verdict, Text("First token check pass: True", "First token check pass: Skipped"));
    add(Rule::AuditFailed, OFFLINE, verdict, Text("First token check pass: Skipped", "First token check pass: False"));
    add(Rule::AuditFailed, SERVER, verdict, Text("EOS check pass: True", "EOS check pass: False"));
    add(Rule::AuditFailed, SERVER, verdict, Text("Sample length check pass: True", ""));
    add(Rule::AuditUnfinished, SERVER, verdict, Text("verification complete", "verification failed"));
    let answers = "TEST06/accuracy/mlperf_log_accuracy.json";
    add(Rule::AuditLog, SERVER, answers, Text("\"token_count\" : 3", "\"token_count\" : 4"));
    add(Rule::AuditLog, SERVER, answers, Content(b"hello\n".to_vec()));
    add(Rule::SystemJson, SYSTEM, "", Content(b"{\"division\": ".to_vec()));
    add(Rule::SystemJson, SYSTEM, "", Content(b"[]".to_vec()));
    for key in ["cooling", "hw_notes", "accelerator_on-chip_memories", "framework"] {
        add(Rule::SystemKey, SYSTEM, "", Key(key, None));
    }
    for key in ["cooling", "framework", "system_name"] {
        add(Rule::SystemEmpty, SYSTEM, "", Key(key, Some(" ")));
    }
    add(Rule::SystemStatus, SYSTEM, "", Key("status", Some("research")));
    add(Rule::SystemType, SYSTEM, "", Key("system_type", Some("cloud")));
    add(Rule::SystemType, SYSTEM, "", Key("system_type", Some("datacenter")));
    add(Rule::SystemNames, SYSTEM, "", Key("submitter", Some("Them")));
    add(Rule::SystemNames, SYSTEM, "", Key("division", Some("open")));
    add(Rule::SystemCounts, SYSTEM, "", Key("number_of_nodes", Some("one")));
    add(Rule::SystemCounts, SYSTEM, "", Key("accelerators_per_node", Some("8 or 4")));
    add(Rule::SystemNoNodes, SYSTEM, "", Key("number_of_nodes", Some("0")));
    add(Rule::SystemNetwork, SYSTEM, "", Key("is_network", Some("true")));
    let facts = "measurements.json";
    add(Rule::Measurements, SERVER, facts, Content(b"hello".to_vec()));
    for key in
        ["input_data_types", "retraining", "starting_weights_filename", "weight_data_types", "weight_transformations"]
    {
        add(Rule::Measurements, SERVER, facts, Key(key, None));
        add(Rule::Measurements, SERVER, facts, Key(key, Some("")));
    }
    all
}

#[test]
fn every_rule_finds_the_one_thing_that_breaks_it_and_nothing_else() {
    let fixture = tree(Division::Closed);
    let mut broken = BTreeSet::new();
    for (rule, file, change) in closed() {
        let report = changed(&fixture, &file, &change);
        let found: BTreeSet<_> = report.findings.iter().map(|it| it.rule).collect();
        assert_eq!(found, BTreeSet::from([rule]), "{file}: {:#?}", report.findings);
        assert!(!report.clean());
        broken.insert(rule);
    }
    assert!(check(&fixture.out, Round::V6_1).unwrap().clean(), "the changes are taken back");
    let network = tree(Division::Network);
    for (rule, file, change) in [
        (
            Rule::SutName,
            format!("{}/{PERFORMANCE}", SERVER.replace("closed", "network")),
            Key("sut_name", Some("\"SUT\"")),
        ),
        (Rule::AccuracySutName, format!("{}/{ACCURACY}", SERVER.replace("closed", "network")), Key("sut_name", None)),
        (Rule::SystemNetwork, SYSTEM.replace("closed", "network"), Key("is_network", Some("false"))),
        (Rule::SystemNetwork, SYSTEM.replace("closed", "network"), Key("nic_sut", Some(""))),
    ] {
        let report = changed(&network, &file, &change);
        let found: BTreeSet<_> = report.findings.iter().map(|it| it.rule).collect();
        assert_eq!(found, BTreeSet::from([rule]), "{file}: {:#?}", report.findings);
        broken.insert(rule);
    }
    let never: Vec<_> = Rule::ALL.iter().filter(|it| !broken.contains(it)).collect();
    assert!(never.is_empty(), "no change breaks {never:?}");
}

#[test]
fn a_finding_tells_file_key_values_and_remedy() {
    let fixture = tree(Division::Closed);
    let file = format!("{OFFLINE}/{PERFORMANCE}");
    let report = changed(&fixture, &file, &Key("result_validity", Some("\"INVALID\"")));
    assert_eq!(
        report.findings[0].to_string(),
        format!(
            "{file}: result_validity found INVALID, wanted VALID; run the test until its result is VALID [validity, which \
             MLPerf's checker overlooks]"
        )
    );
    let row = report.rows.iter().find(|it| it.benchmark == "llama3.1-8b" && it.scenario == "Offline").unwrap();
    assert_eq!((row.findings, row.value, row.unit), (1, Some(1280.25), "tokens/s"));
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["findings"][0]["rule"], "validity");
    assert_eq!(json["findings"][0]["overlooked"], true);
}

#[test]
fn what_mlperfs_checker_overlooks_is_told_of_that_alone() {
    let network = tree(Division::Network);
    let check = |fixture: &TreeCopy, file: &str, change: &Change, overlooked: bool| {
        let report = changed(fixture, file, change);
        assert!(report.findings.iter().all(|it| it.overlooked == overlooked), "{:#?}", report.findings);
        assert!(!report.clean(), "{file}");
    };
    let server = SERVER.replace("closed", "network");
    let name = || Key("sut_name", Some("\"PySUT\""));
    check(&network, &format!("{server}/{PERFORMANCE}"), &name(), false);
    check(&network, &format!("{server}/{ACCURACY}"), &name(), true);
    let fixture = tree(Division::Closed);
    let verdict = "TEST06/verify_accuracy.txt";
    for (file, change) in [
        (format!("{SERVER}/accuracy/accuracy.txt"), Text("hash=", "hash=x")),
        (format!("{SERVER}/{verdict}"), Text("verification complete", "verification failed")),
        (format!("{SERVER}/TEST06/accuracy/mlperf_log_accuracy.json"), Gone),
        (format!("{SERVER}/{verdict}"), Text("First token check pass: True", "First token check pass: Skipped")),
        (format!("{SERVER}/{ACCURACY}"), Key("effective_scenario", Some("\"Offline\""))),
        ("closed/Us/src".into(), Emptied),
    ] {
        check(&fixture, &file, &change, true);
    }
}

#[test]
fn names_and_words_of_a_description_may_have_any_case() {
    let fixture = tree(Division::Closed);
    for (key, value) in [("submitter", "US"), ("status", "Available"), ("division", "Closed")] {
        let report = changed(&fixture, SYSTEM, &Key(key, Some(value)));
        assert_eq!(report.findings, [], "{key}");
    }
}

#[test]
fn an_edge_system_may_infer_its_offline_result() {
    let fixture = tree(Division::Closed);
    let (edge, single) = (SINGLE.replace("SingleStream", "Offline"), fixture.out.join(SINGLE));
    let offline = fixture.out.join(&edge);
    for folder in ["performance/run_1", "accuracy"] {
        copy(&single.join(folder), &offline.join(folder));
    }
    let report = check(&fixture.out, Round::V6_1).unwrap();
    assert_eq!(report.findings, []);
    let row = report.rows.iter().find(|it| it.benchmark == "llama3.1-8b-edge" && it.scenario == "Offline").unwrap();
    assert_eq!((row.value, row.unit), (Some(1.75), "samples/s"));
    assert!(report.notes.iter().any(|it| it.contains("Offline of llama3.1-8b-edge is inferred")), "{:?}", report.notes);
    // Neither a datacenter benchmark nor a datacenter system may infer results from SingleStream.
    let server =
        changed(&fixture, &format!("{OFFLINE}/{PERFORMANCE}"), &Key("effective_scenario", Some("\"SingleStream\"")));
    assert!(server.findings.iter().any(|it| it.rule == Rule::Scenario), "{:?}", server.findings);
    let datacenter = changed(&fixture, SYSTEM, &Key("system_type", Some("datacenter")));
    assert!(datacenter.findings.iter().any(|it| it.rule == Rule::Scenario), "{:?}", datacenter.findings);
}

#[test]
fn files_of_a_power_measurement_are_asked_for_and_its_figures_are_not_checked() {
    let fixture = tree(Division::Closed);
    let performance = fixture.out.join(SERVER).join("performance");
    copy(&performance.join("run_1"), &performance.join("ranging"));
    for file in ["run_1/spl.txt", "ranging/spl.txt", "power/client.json", "power/client.log", "power/ptd_logs.txt"] {
        fs::create_dir_all(performance.join(file).parent().unwrap()).unwrap();
        fs::write(performance.join(file), "x").unwrap();
    }
    let report = check(&fixture.out, Round::V6_1).unwrap();
    let [finding] = report.findings.as_slice() else { panic!("{:?}", report.findings) };
    assert_eq!(
        (finding.rule, finding.found.as_str(), finding.overlooked),
        (Rule::PowerFiles, "no server.json, server.log", false)
    );
    for file in ["power/server.json", "power/server.log"] {
        fs::write(performance.join(file), "x").unwrap();
    }
    let report = check(&fixture.out, Round::V6_1).unwrap();
    assert_eq!(report.findings, []);
    assert!(report.notes.iter().any(|it| it.contains("of power measurements only the files")), "{:?}", report.notes);
    let more = changed(&fixture, &format!("{SERVER}/performance/power/notes.txt"), &Content(b"x".to_vec()));
    assert_eq!(more.findings[0].found, "notes.txt");
}

#[test]
fn what_is_odd_and_no_fault_is_noted() {
    let fixture = tree(Division::Closed);
    let noted = |file: &str, change: &Change, part: &str| {
        let report = changed(&fixture, file, change);
        assert_eq!(report.findings, [], "{file}");
        assert!(report.notes.iter().any(|it| it.contains(part)), "{part} is not in {:?}", report.notes);
    };
    let old = Key("loadgen_version", Some("\"5.0.22 @ 5c282545dc\""));
    noted(&format!("{SERVER}/{PERFORMANCE}"), &old, "LoadGen 5.0.22 @ 5c282545dc, and v6.1 is measured with LoadGen 6");
    noted("closed/Us/systems/b200x8.json", &Content(b"{}".to_vec()), "b200x8.json describes a system without results");
    let conf = Text("*.Server.target_qps = 5", "*.Server.target_qps = 99");
    noted(&format!("{SERVER}/user.conf"), &conf, "server_target_qps to 99.0, but the log of the test has 5");
    assert_eq!(check(&fixture.out, Round::V6_1).unwrap().notes, Vec::<String>::new());
}

#[test]
fn logs_of_loadgen_before_2026_are_of_all_samples() {
    let fixture = tree(Division::Closed);
    let log = format!("{SERVER}/{ACCURACY}");
    assert_eq!(changed(&fixture, &log, &Key("effective_accuracy_sample_count", None)).findings, []);
    let path = fixture.out.join(&log);
    let text = fs::read_to_string(&path).unwrap().replace("effective_accuracy_sample_count", "gone");
    fs::write(&path, text).unwrap();
    let few = changed(&fixture, &log, &Key("qsl_reported_total_count", Some("13367")));
    let found: Vec<_> = few.findings.iter().map(|it| (it.rule, it.key.as_str())).collect();
    assert_eq!(found, [(Rule::AccuracySampleCount, "qsl_reported_total_count")]);
    let neither = changed(&fixture, &log, &Key("qsl_reported_total_count", None));
    assert_eq!(neither.findings[0].key, "effective_accuracy_sample_count");
}

#[test]
fn all_keys_that_a_description_lacks_are_listed() {
    let fixture = tree(Division::Closed);
    let report = changed(&fixture, SYSTEM, &Content(b"{}".to_vec()));
    assert_eq!(report.count, 1);
    let wanted = &report.findings[0].wanted;
    assert_eq!(wanted.split(", ").count(), 35, "{wanted}");
    assert!(wanted.ends_with("system_type_detail"), "{wanted}");
}

#[test]
fn one_server_scenario_is_enough_and_none_is_not() {
    let fixture = tree(Division::Closed);
    assert!(changed(&fixture, SERVER, &Gone).clean());
    for folder in [SERVER, INTERACTIVE] {
        fs::remove_dir_all(fixture.out.join(folder)).unwrap();
    }
    let report = check(&fixture.out, Round::V6_1).unwrap();
    let found: Vec<_> = report.findings.iter().map(|it| (it.rule, it.wanted.as_str())).collect();
    assert_eq!(found, [(Rule::MissingScenario, "Server or Interactive")]);
}

#[test]
fn the_open_division_has_no_bounds_but_its_logs_are_looked_at() {
    let fixture = tree(Division::Open);
    let open = |it: &str| it.replace("closed", "open");
    let slow = Key("result_first_token_99.00_percentile_latency_ns", Some("9000000000"));
    assert!(changed(&fixture, &format!("{}/{PERFORMANCE}", open(SERVER)), &slow).clean());
    let invalid = Key("result_validity", Some("\"INVALID\""));
    assert!(!changed(&fixture, &format!("{}/{PERFORMANCE}", open(SERVER)), &invalid).clean());
}

#[test]
fn logs_that_are_not_mlcommons_own_are_noted_and_no_fault() {
    let fixture = tree(Division::Closed);
    let ours = Key("loadgen_version", Some("\"6.0.17-compatible (benchwright 0.1.0)\""));
    let report = changed(&fixture, &format!("{SERVER}/{PERFORMANCE}"), &ours);
    assert!(report.clean());
    assert!(report.notes.iter().any(|it| it.contains("official submissions")), "{:?}", report.notes);
}

#[test]
fn what_is_no_tree_is_refused() {
    let error = check(Path::new("/no/such/folder"), Round::V6_1).unwrap_err().to_string();
    assert!(error.contains("closed, open or network"), "{error}");
}

#[test]
fn rules_have_names_of_their_own() {
    let names: BTreeSet<_> = Rule::ALL.iter().map(|it| it.name()).collect();
    assert_eq!(names.len(), Rule::ALL.len());
}
