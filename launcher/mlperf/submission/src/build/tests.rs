use std::fs;

use crds::Outcome;
use jiff::Timestamp;
use loadgen::logs::test06::ElementType;
use report::LoadGenSummary;
use workload_profiles::loadgen::Round;

use super::{
    super::{
        check,
        fixture::{Fixture, Run, line},
        layout::Division,
        rules::Rule,
    },
    *,
};

const ONE: [(&str, &str, &str); 3] = [
    ("llama3_1-8b", "Offline", "PerformanceOnly"),
    ("llama3_1-8b", "Offline", "AccuracyOnly"),
    ("llama3_1-8b", "Offline", "TEST06"),
];

fn files(root: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    all.sort();
    all
}

/// Returns the list of missing inputs as one text.
fn missing(options: &BuildOptions) -> String {
    let built = build(options).unwrap();
    assert_eq!(built.path, None);
    assert!(!options.out.exists() && !options.out.with_extension("partial").exists());
    built.missing.iter().map(|it| format!("{it}\n")).collect()
}

#[test]
fn a_tree_has_the_files_that_the_checker_wants() {
    let fixture = Fixture::with_runs(&ONE, Division::Open, Round::V6_1);
    let built = build(&fixture.options).unwrap();
    assert_eq!((built.path.as_ref(), built.report.unwrap().findings), (Some(&fixture.options.out), vec![]));
    let tree = built.path.unwrap();
    let case = "open/Us/results/h100x8/llama3.1-8b/Offline";
    let expected = [
        "README.md".into(),
        "open/Us/documentation/calibration.md".into(),
        format!("{case}/README.md"),
        format!("{case}/TEST06/accuracy/mlperf_log_accuracy.json"),
        format!("{case}/TEST06/verify_accuracy.txt"),
        format!("{case}/accuracy/accuracy.txt"),
        format!("{case}/accuracy/mlperf_log_accuracy.json"),
        format!("{case}/accuracy/mlperf_log_detail.txt"),
        format!("{case}/accuracy/mlperf_log_summary.txt"),
        format!("{case}/measurements.json"),
        format!("{case}/performance/run_1/mlperf_log_accuracy.json"),
        format!("{case}/performance/run_1/mlperf_log_detail.txt"),
        format!("{case}/performance/run_1/mlperf_log_summary.txt"),
        format!("{case}/user.conf"),
        "open/Us/src/README.md".into(),
        "open/Us/src/llama3.1-8b/Offline/config.json".into(),
        "open/Us/src/llama3.1-8b/Offline/profile.yaml".into(),
        "open/Us/src/llama3.1-8b/Offline/run.yaml".into(),
        "open/Us/systems/h100x8.json".into(),
    ];
    assert_eq!(files(&tree), expected);
    let text = |file: &str| fs::read_to_string(tree.join(case).join(file)).unwrap();
    let run = fixture.folder.path().join("llama3_1-8b-Offline-PerformanceOnly/Performance/mlperf_log_detail.txt");
    assert_eq!(text("performance/run_1/mlperf_log_detail.txt"), fs::read_to_string(run).unwrap());
    assert!(text("accuracy/mlperf_log_accuracy.json").contains("\n\n...\n\n"));
    assert_eq!(text("accuracy/accuracy.txt").lines().filter(|it| it.starts_with("hash=")).count(), 1);
    assert!(text("TEST06/verify_accuracy.txt").ends_with("TEST06 verification complete\n"));
    let conf = "*.*.max_duration = 0\n# As the test was asked to run.\n*.Offline.target_qps = 5\n*.Offline.min_duration = \
                600000\n*.Offline.min_query_count = 100\n";
    assert_eq!(text("user.conf"), conf);
    assert!(text("README.md").contains("not of MLCommons' build"));
}

#[cfg(unix)]
#[test]
fn a_run_behind_a_link_is_told_by_its_own_name() {
    let mut fixture = Fixture::with_runs(&ONE, Division::Open, Round::V6_1);
    let latest = fixture.folder.path().join("latest");
    std::os::unix::fs::symlink(&fixture.options.runs[0], &latest).unwrap();
    fixture.options.runs[0] = latest;
    let tree = build(&fixture.options).unwrap().path.unwrap();
    let text = fs::read_to_string(tree.join("open/Us/results/h100x8/llama3.1-8b/Offline/README.md")).unwrap();
    assert!(text.contains("run `llama3_1-8b-Offline-PerformanceOnly`"), "{text}");
}

#[test]
fn older_rounds_have_their_own_tree() {
    let fixture = Fixture::new(Division::Closed, Round::V5_1);
    let built = build(&fixture.options).unwrap();
    assert_eq!((built.missing, built.report.unwrap().findings), (vec![], vec![]));
    let all = files(&fixture.options.out).join("\n");
    for part in [
        "code/README.md",
        "code/llama3.1-8b/README.md",
        "measurements/h100x8/llama3.1-8b/Offline/user.conf",
        "measurements/h100x8/llama3.1-8b/Offline/h100x8.json",
        "compliance/h100x8/llama3.1-8b/",
    ] {
        assert!(all.contains(part), "{part} is not in {all}");
    }
    // The checker of v5.1 accepts any file name that begins with the system's name, and also requires the code of each benchmark.
    let facts = fixture.options.out.join("closed/Us/measurements/h100x8/llama3.1-8b/Offline");
    fs::rename(facts.join("h100x8.json"), facts.join("h100x8_vllm_Offline.json")).unwrap();
    assert_eq!(check::check(&fixture.options.out, Round::V5_1).unwrap().findings, []);
    fs::rename(facts.join("h100x8_vllm_Offline.json"), facts.join("measurements.json")).unwrap();
    fs::remove_dir_all(fixture.options.out.join("closed/Us/code/llama3.1-8b")).unwrap();
    let report = check::check(&fixture.options.out, Round::V5_1).unwrap();
    let found: Vec<_> = report.findings.iter().map(|it| (it.rule, it.file.rsplit('/').next().unwrap())).collect();
    assert_eq!(found, [(Rule::NoSource, "llama3.1-8b"), (Rule::MissingFile, "h100x8.json")]);
    let newer = check::check(&fixture.options.out, Round::V6_1).unwrap();
    assert!(newer.findings.iter().any(|it| it.rule == Rule::Seeds));
}

#[test]
fn interactive_is_a_benchmark_of_its_own_in_v5_0() {
    let runs = ["Server", "Offline"].map(|scenario| {
        ["PerformanceOnly", "AccuracyOnly", "TEST06"].map(|mode| ("llama2-70b-interactive", scenario, mode))
    });
    let Fixture { folder, mut options } = Fixture::with_runs(&runs.concat(), Division::Closed, Round::V5_0);
    let scores = "{'rouge1': '44.5', 'rouge2': '22.1', 'rougeL': '28.7', 'tokens_per_sample': 294.4}\n";
    fs::write(folder.path().join("scores.txt"), scores).unwrap();
    options.accuracy = ["Server", "Offline"]
        .map(|it| ScenarioFile {
            case: Some(format!("llama2-70b-interactive-99.9/{it}")),
            path: folder.path().join("scores.txt"),
        })
        .to_vec();
    options.end_of_sequence = Some(128_009);
    let built = build(&options).unwrap();
    assert_eq!((built.missing, built.report.unwrap().findings), (vec![], vec![]));
    let all = files(&options.out).join("\n");
    assert!(all.contains("results/h100x8/llama2-70b-interactive-99.9/Server/performance/run_1/"), "{all}");
}

#[test]
fn all_that_is_missing_is_told_at_once_and_nothing_is_written() {
    let mut fixture = Fixture::with_runs(&ONE[..1], Division::Closed, Round::V6_1);
    let options = &mut fixture.options;
    (options.accuracy, options.measurements, options.calibration) = (vec!["Server=a".parse().unwrap()], vec![], None);
    options.system = options.system.with_file_name("other.json");
    let list = missing(options);
    for part in [
        "--system",
        "--calibration",
        "llama3.1-8b/Offline: no accuracy run; run the profile",
        "llama3.1-8b/Offline: no TEST06 run; run the profile with audit TEST06",
        "--accuracy llama3.1-8b/Offline=FILE",
        "--measurements",
        "--accuracy Server= names no scenario",
    ] {
        assert!(list.contains(part), "{part} is not in {list}");
    }
    assert_eq!(list.lines().count(), 7, "{list}");
}

#[test]
fn an_incomplete_tree_says_so() {
    let mut fixture = Fixture::with_runs(&ONE[..1], Division::Closed, Round::V6_1);
    fixture.options.incomplete = true;
    let built = build(&fixture.options).unwrap();
    let marker = fs::read_to_string(built.path.unwrap().join(INCOMPLETE)).unwrap();
    assert!(marker.contains("no accuracy run") && marker.contains("missing-scenario"), "{marker}");
    let report = check::check(&fixture.options.out, Round::V6_1).unwrap();
    assert!(report.findings.iter().any(|it| it.rule == Rule::Incomplete));
}

#[test]
fn a_calibration_that_is_not_there_is_missing_and_stops_no_incomplete_tree() {
    let mut fixture = Fixture::with_runs(&ONE, Division::Open, Round::V6_1);
    fixture.options.calibration = Some(fixture.folder.path().join("nowhere.md"));
    assert!(missing(&fixture.options).contains("--calibration"));
    fixture.options.incomplete = true;
    assert!(build(&fixture.options).unwrap().path.is_some());
}

#[test]
fn a_run_that_does_not_count_makes_no_tree() {
    let fixture = Fixture::with_runs(&ONE, Division::Open, Round::V6_1);
    let log = fixture.options.runs[0].join("Performance/mlperf_log_detail.txt");
    let text = fs::read_to_string(&log).unwrap() + &line("error_runtime", "\"lost\"", true);
    fs::write(log, text).unwrap();
    let built = build(&fixture.options).unwrap();
    let found: Vec<_> = built.report.unwrap().findings.iter().map(|it| it.rule).collect();
    assert_eq!((built.path, found), (None, vec![Rule::PerformanceErrors]));
    assert!(!fixture.options.out.exists());
}

#[test]
fn logs_of_another_loadgen_are_taken_as_well() {
    let mut fixture = Fixture::with_runs(&[], Division::Open, Round::V6_1);
    let official = fixture.folder.path().join("official");
    for (mode, name) in [("PerformanceOnly", "performance"), ("AccuracyOnly", "accuracy")] {
        Run::new("llama3_1-8b-interactive", "Server", mode).write_logs(&official.join(name));
        fixture.options.runs.push(official.join(name));
    }
    fs::write(official.join("performance/user.conf"), "*.Server.target_qps = 5\n").unwrap();
    fs::write(official.join("accuracy/accuracy.txt"), "{'rouge1': 1}\n").unwrap();
    (fixture.options.accuracy, fixture.options.incomplete) = (vec![], false);
    assert!(missing(&fixture.options).contains("--benchmark"));
    fixture.options.benchmark = Some("llama3.1-8b".into());
    let built = build(&fixture.options).unwrap();
    assert_eq!((built.missing, built.report.unwrap().findings), (vec![], vec![]));
    let conf = fixture.options.out.join("open/Us/results/h100x8/llama3.1-8b/Interactive/user.conf");
    assert_eq!(fs::read_to_string(conf).unwrap(), "*.Server.target_qps = 5\n");
    fs::write(official.join("performance/user.conf"), "*.Server.target_qps = 99\n").unwrap();
    fixture.options.out = fixture.folder.path().join("another");
    let list = missing(&fixture.options);
    assert!(
        list.contains("Interactive: user.conf does not fit: it sets server_target_qps to 99.0, but the log"),
        "{list}"
    );
}

#[test]
fn a_run_that_benchwright_calls_invalid_is_noted() {
    let fixture = Fixture::with_runs(&ONE, Division::Open, Round::V6_1);
    for (run, outcome) in fixture.options.runs.iter().zip([Outcome::Invalid, Outcome::Passed, Outcome::Passed]) {
        let summary = LoadGenSummary {
            tool: "benchwright".into(),
            target: "http://sut:80".into(),
            model: "org/m".into(),
            benchmark: "llama3_1-8b".into(),
            round: "v6.1".into(),
            started: Timestamp::UNIX_EPOCH,
            outcome,
            reasons: vec!["SendLagTooLarge: 131 ms".into()],
            trials: Vec::new(),
            tests: Vec::new(),
            runner: serde_json::Map::new(),
        };
        fs::write(run.join("summary.json"), serde_json::to_string(&summary).unwrap()).unwrap();
    }
    let built = build(&fixture.options).unwrap();
    let note = "llama3.1-8b/Offline: benchwright judged the performance run llama3_1-8b-Offline-PerformanceOnly as Invalid: \
                SendLagTooLarge: 131 ms";
    assert_eq!((built.missing, built.notes), (vec![], vec![note.to_owned()]));
    let readme = fixture.options.out.join("open/Us/results/h100x8/llama3.1-8b/Offline/README.md");
    assert!(fs::read_to_string(readme).unwrap().contains(note));
}

#[test]
fn a_file_of_scores_that_names_no_scenario_is_said_to_be_unused() {
    let mut fixture = Fixture::new(Division::Closed, Round::V6_1);
    let scores = fixture.options.accuracy[0].path.clone();
    fixture.options.accuracy = vec![ScenarioFile { case: None, path: scores }];
    let list = missing(&fixture.options);
    let part = "scores.txt was not used: it names none of the several scenarios; evaluate the accuracy log and give the script's output with --accuracy llama3.1-8b/Offline=FILE";
    assert!(list.contains(part), "{list}");
}

#[test]
fn one_run_may_hold_both_in_one_log() {
    let fixture =
        Fixture::with_runs(&[("llama3_1-8b", "Offline", "SubmissionRun"), ONE[2]], Division::Open, Round::V6_1);
    let built = build(&fixture.options).unwrap();
    assert_eq!((built.missing, built.report.unwrap().findings), (vec![], vec![]));
}

#[test]
fn runs_that_do_not_belong_together_are_told() {
    let mut fixture = Fixture::with_runs(&ONE, Division::Open, Round::V6_1);
    let config = fixture.options.runs[1].join("config.json");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("http://sut:80", "http://other:80").replace("org/m", "org/n")).unwrap();
    let again = Run::new("llama3_1-8b", "Offline", "PerformanceOnly").write(&fixture.folder.path().join("again"));
    fixture.options.runs.extend([again, fixture.options.runs[0].join(".")]);
    let list = missing(&fixture.options);
    assert!(list.contains("different targets: http://other:80, http://sut:80; build a tree for each"), "{list}");
    let same = missing(&BuildOptions { same_system: true, ..fixture.options.clone() });
    assert!(!same.contains("different targets") && same.contains("different models"), "{same}");
    assert!(list.contains("different models: org/m, org/n"), "{list}");
    assert!(list.contains("several performance runs"), "{list}");
    assert_eq!(list.matches("PerformanceOnly").count(), 2, "the same folder counts once: {list}");
}

#[test]
fn an_audit_that_fails_is_found() {
    let fixture = Fixture::with_runs(&ONE, Division::Closed, Round::V6_1);
    let log = fixture.options.runs[2].join("Performance/mlperf_log_accuracy.json");
    let text = fs::read_to_string(&log).unwrap().replacen("\"token_count\" : 3", "\"token_count\" : 9", 1);
    fs::write(log, text).unwrap();
    let report = build(&fixture.options).unwrap().report.unwrap();
    let rules: Vec<_> = report.findings.iter().map(|it| it.rule).collect();
    assert!(rules.contains(&Rule::AuditFailed) && rules.contains(&Rule::AuditLog), "{rules:?}");
}

#[test]
fn token_ids_of_an_audit_may_have_eight_bytes() {
    let mut fixture = Fixture::with_runs(&ONE, Division::Network, Round::V6_1);
    let log = fixture.options.runs[2].join("Performance/mlperf_log_accuracy.json");
    let text = fs::read_to_string(&log).unwrap();
    let (ids, wide) = ("070000000800000009F40100", "0700000000000000080000000000000009F4010000000000");
    fs::write(&log, text.replace(ids, wide)).unwrap();
    fixture.options.elements = ElementType::Int64;
    let report = build(&fixture.options).unwrap().report.unwrap();
    let rules: Vec<_> = report.findings.iter().map(|it| it.rule).collect();
    assert_eq!(rules, [Rule::MissingScenario], "Server is not there");
}

#[test]
fn a_sample_without_an_answer_is_told() {
    let check = |from: &str, to: &str, part: &str| {
        let fixture = Fixture::with_runs(&ONE, Division::Open, Round::V6_1);
        let log = fixture.options.runs[1].join("Accuracy/mlperf_log_accuracy.json");
        let text = fs::read_to_string(&log).unwrap();
        fs::write(&log, text.replacen(from, to, 1)).unwrap();
        let list = missing(&fixture.options);
        assert!(list.contains(part), "{part} is not in {list}");
    };
    check(
        "\"data\" : \"0700000008000000",
        "\"data\" : \"\", \"was\" : \"",
        "answers 13367 of 13368 samples, and 1 answers",
    );
    check("]", "", "ends before its closing bracket");
}

#[test]
fn folders_that_are_none_of_a_test_are_told() {
    let check = |part: &str, spoil: &dyn Fn(&Path)| {
        let fixture = Fixture::with_runs(&ONE, Division::Open, Round::V6_1);
        spoil(&fixture.options.runs[0]);
        let list = missing(&fixture.options);
        assert!(list.contains(part), "{part} is not in {list}");
    };
    let log = |run: &Path| run.join("Performance/mlperf_log_detail.txt");
    let replace = |run: &Path, from: &str, to: &str| {
        let text = fs::read_to_string(log(run)).unwrap();
        fs::write(log(run), text.replace(from, to)).unwrap();
    };
    check("there is no mlperf_log_detail.txt", &|run| fs::remove_file(log(run)).unwrap());
    check("config.json is not from a LoadGen run", &|run| fs::write(run.join("config.json"), "{").unwrap());
    check("more than 4194304 bytes", &|run| fs::write(log(run), vec![b'x'; 5 << 20]).unwrap());
    check("FindPeakPerformance does not belong to a submission", &|run| {
        replace(run, "PerformanceOnly", "FindPeakPerformance")
    });
    check("scenario MultiStream is not one of llama3.1-8b", &|run| {
        replace(
            run,
            "\"effective_scenario\", \"value\": \"Offline\"",
            "\"effective_scenario\", \"value\": \"MultiStream\"",
        );
    });
    check("an audit other than TEST06", &|run| {
        let text = fs::read_to_string(log(run)).unwrap();
        fs::write(log(run), text + &line("warning_generic_message", "\"CaseTests Audit Config file\"", false)).unwrap();
    });
    check("benchmark bert is not one of the round", &|run| {
        let text = fs::read_to_string(run.join("config.json")).unwrap();
        fs::write(run.join("config.json"), text.replace("llama3_1-8b", "bert")).unwrap();
    });
}

#[test]
fn names_and_places_that_make_no_sense_are_refused() {
    let fixture = Fixture::with_runs(&ONE, Division::Open, Round::V6_1);
    let refused = |change: &dyn Fn(&mut BuildOptions)| {
        let mut options = fixture.options.clone();
        change(&mut options);
        build(&options).unwrap_err().to_string()
    };
    assert!(refused(&|it| it.submitter = "../Us".into()).contains("--submitter"));
    assert!(refused(&|it| it.system = "my system.json".into()).contains("--system"));
    assert!(refused(&|it| it.out = it.runs[0].clone()).contains("exists"));
    assert!(refused(&|it| it.out = "..".into()).contains("exists"));
    fs::create_dir(fixture.folder.path().join("tree.partial")).unwrap();
    assert!(refused(&|_| {}).contains("left from a build"));
}

#[test]
fn a_file_is_given_for_one_scenario_or_for_all() {
    let check = |text: &str, case: Option<&str>, path: &str| {
        assert_eq!(text.parse(), Ok(ScenarioFile { case: case.map(str::to_owned), path: path.into() }), "{text}");
    };
    check("a.txt", None, "a.txt");
    check("Offline=a.txt", Some("Offline"), "a.txt");
    check("llama3.1-8b/Server=x=y.txt", Some("llama3.1-8b/Server"), "x=y.txt");
    check("x=y.txt", None, "x=y.txt");
}
