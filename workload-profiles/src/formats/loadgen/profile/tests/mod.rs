mod conf_files;

use std::collections::BTreeMap;

use crds::benchmark_run::{Api, Harness};
use proptest::prelude::*;

use super::*;
use crate::{
    loadgen::{Mode, Settings},
    parse_text,
    problem::suggestion,
    workload::{
        AutoQps, DataSetFormat, LengthDistribution, MAX_REQUESTS, OutputLength, Phase, PromptForm, PromptText,
        RequestSource, RowContent,
    },
    yaml,
};

/// A valid profile. Required keys that are not in `keys` have default values.
fn profile(keys: &str) -> String {
    let mut text = keys.to_owned();
    for (key, default) in [
        ("benchmark:", "benchmark: llama3_1-8b"),
        ("scenario:", "scenario: Server"),
        ("dataset:", "dataset: {synthetic: {input: 100}}"),
    ] {
        if !keys.lines().any(|it| it.starts_with(key)) {
            text.push_str(&format!("\n{default}"));
        }
    }
    text
}

fn read(keys: &str) -> Result<(Workload, Vec<String>), String> {
    let read = parse_text(Harness::Loadgen, Target::default(), &profile(keys)).map_err(|it| it.to_string())?;
    Ok((read.0, read.1.iter().map(ToString::to_string).collect()))
}

fn workload(keys: &str) -> Workload {
    read(keys).unwrap_or_else(|error| panic!("{keys}: {error}")).0
}

fn loadgen(keys: &str) -> LoadGen {
    workload(keys).loadgen.unwrap()
}

fn settings(keys: &str) -> Settings {
    loadgen(keys).tests.remove(0).settings
}

fn check_error(keys: &str, expected: &str) {
    assert_eq!(read(keys).unwrap_err(), expected, "{keys}");
}

fn check_notices(keys: &str, expected: &[&str]) {
    assert_eq!(read(keys).unwrap().1, expected, "{keys}");
}

#[test]
fn a_profile_of_a_benchmark_needs_little_more_than_its_name() {
    let workload = workload("");
    assert_eq!((workload.api, workload.streaming), (Api::Completions, true));
    let expected =
        RequestSource::random(LengthDistribution::fixed(100), LengthDistribution::fixed(128), PromptText::Words);
    assert_eq!(workload.requests, expected);
    let sampling = serde_json::to_string(&workload.sampling).unwrap();
    assert_eq!(sampling, r#"{"ignoreEos":false,"minTokens":1,"extra":{"temperature":0}}"#);
    assert_eq!(workload.timeouts.request, Some(Span(Duration::from_secs(3_600))));
    let loadgen = workload.loadgen.unwrap();
    assert_eq!((loadgen.benchmark.as_str(), loadgen.round.as_str()), ("llama3_1-8b", "v6.1"));
    assert_eq!((loadgen.sut_name.as_str(), loadgen.qsl.name.as_str()), ("Network SUT", "synthetic"));
    assert_eq!((loadgen.qsl.total_sample_count, loadgen.qsl.performance_sample_count), (13_368, 13_368));
    let test = &loadgen.tests[0];
    assert_eq!((loadgen.tests.len(), test.audited, test.settings.mode), (1, false, Mode::PerformanceOnly));
    assert_eq!((test.settings.server_ttft_latency, test.settings.server_tpot_latency), (2_000_000_000, 100_000_000));
}

#[test]
fn interactive_is_a_server_with_limits_of_its_own() {
    for benchmark in ["llama3.1-8b", "llama3_1-8b-interactive"] {
        let loadgen = loadgen(&format!("scenario: Interactive\nbenchmark: {benchmark}"));
        assert_eq!(loadgen.benchmark, "llama3_1-8b-interactive");
        let settings = &loadgen.tests[0].settings;
        assert_eq!((settings.scenario, settings.server_ttft_latency), (Scenario::Server, 500_000_000));
    }
}

#[test]
fn each_phase_of_each_test_is_a_stage() {
    let stages = |keys: &str| -> Vec<(String, u32, Phase)> {
        let of = |it: Stage| match it.load {
            Load::LoadGen { test, phase, scenario: Scenario::Server } => (it.name, test, phase),
            other => panic!("{other:?}"),
        };
        workload(keys).stages.into_iter().map(of).collect()
    };
    let (accuracy, performance) = (|set| Phase::Accuracy { set }, Phase::Performance);
    assert_eq!(stages(""), [("performance".to_owned(), 0, performance)]);
    assert_eq!(stages("mode: accuracy"), [("accuracy".to_owned(), 0, accuracy(0))]);
    let both = [("accuracy".to_owned(), 0, accuracy(0)), ("performance".to_owned(), 1, performance)];
    assert_eq!(stages("mode: both"), both);
    let sets = "settings: {performance_sample_count_override: 40}\nqsl: {total_sample_count: 100}";
    let names: Vec<String> = stages(&format!("mode: SubmissionRun\n{sets}")).into_iter().map(|it| it.0).collect();
    assert_eq!(names, ["accuracy", "accuracy-2", "accuracy-3", "performance"]);
    assert_eq!(stages("mode: FindPeakPerformance"), [("performance".to_owned(), 0, performance)]);
}

#[test]
fn a_benchmark_without_limits_of_interactive_use_is_not_interactive() {
    for (benchmark, name) in [("llama3.1-8b-edge", "llama3_1-8b-edge"), ("mixtral-8x7b", "mixtral-8x7b")] {
        let keys = format!(
            "scenario: Interactive\nbenchmark: {benchmark}\ntokens: {{max: 9}}\nqsl: {{total_sample_count: 5}}"
        );
        check_error(&keys, &format!("scenario: is Interactive, but {name} has no limits for it; choose Server"));
    }
}

#[test]
fn a_rate_is_a_number_or_is_found() {
    let auto = |keys: &str| loadgen(keys).auto_qps;
    assert_eq!((auto("target_qps: 7"), settings("target_qps: '7'").server_target_qps), (None, 7.0));
    assert_eq!(auto("target_qps: auto"), Some(AutoQps::LastOffline { share: 0.8 }));
    assert_eq!(auto("target_qps: {lastOffline: {share: 0.5}}"), Some(AutoQps::LastOffline { share: 0.5 }));
    assert_eq!(auto("target_qps: search"), Some(AutoQps::Search));
    assert_eq!(auto("target_qps: auto\nscenario: Offline"), Some(AutoQps::Search));
    check_error(
        "target_qps: 5\nscenario: SingleStream",
        "target_qps: is not a setting of SingleStream, which has no rate; write the expected milliseconds as settings.target_latency",
    );
    check_error(
        "target_qps: auto\nsettings: {target_qps: 1}",
        "target_qps: is set, and so is settings.target_qps; keep one of them",
    );
    check_error(
        "target_qps: auto\nmode: FindPeakPerformance",
        "target_qps: is searched already, because mode is FindPeakPerformance; write the first rate as a number",
    );
}

#[test]
fn requests_under_way_are_bounded_where_the_scenario_does_not() {
    assert_eq!(loadgen("").max_concurrency, None);
    assert_eq!(loadgen("maxConcurrency: 64").max_concurrency, Some(64));
    assert_eq!(loadgen("scenario: Offline").max_concurrency, Some(1_024));
    check_error(
        "scenario: MultiStream\nmaxConcurrency: 64",
        "maxConcurrency: is not a key for MultiStream, which sends a query when the last one is complete; take it out",
    );
}

#[test]
fn streams_are_asked_for_where_tokens_are_timed() {
    assert!(!workload("scenario: Offline").streaming);
    assert!(workload("scenario: Offline\nstreaming: true").streaming);
    assert!(!workload("settings: {use_token_latencies: false}").streaming);
    check_error(
        "streaming: false",
        "streaming: is off, but use_token_latencies is on, and the times of tokens are measured only in streams; leave it \
         out, or set settings.use_token_latencies to false",
    );
}

#[test]
fn any_other_benchmark_has_what_counts_for_all() {
    let keys = "benchmark: mine\nqsl: {name: poems, total_sample_count: 50}\ntokens: {max: 9, min: 2}";
    check_notices(
        keys,
        &[&format!(
            "benchmark: mine is not a known benchmark, so that the lines of mlperf.conf for all models are used; {}",
            suggestion("mine", benchmark::names())
        )],
    );
    let workload = workload(keys);
    let RequestSource::Random { output, .. } = workload.requests else { panic!("it is synthetic") };
    assert_eq!((output, workload.sampling.min_tokens), (LengthDistribution::fixed(9), Some(2)));
    let qsl = workload.loadgen.unwrap().qsl;
    assert_eq!((qsl.name.as_str(), qsl.total_sample_count, qsl.performance_sample_count), ("poems", 50, 50));
    check_error(
        "benchmark: llama3_1-8bb-x\n",
        "tokens.max: is missing, and the limit of this benchmark is not built in; write the most tokens of an answer, such as 128\n\
         qsl.total_sample_count: is missing, and the data set of this benchmark is not built in; write how many samples there are",
    );
}

#[test]
fn a_value_that_cannot_be_run_is_told_with_its_bound() {
    let most = format!("above 0 and at most {MAX_REQUESTS}");
    for (keys, expected) in [
        ("target_qps: 0", "target_qps: is 0; write a number above 0 and at most 1000000".to_owned()),
        (
            "user_conf: '*.Server.target_qps = -3'",
            "settings.target_qps: is -3; set it under settings or in user_conf, above 0 and at most 1000000".to_owned(),
        ),
        (
            "user_conf: '*.Server.target_qps = nan'",
            "settings.target_qps: is NaN; set it under settings or in user_conf, above 0 and at most 1000000".to_owned(),
        ),
        (
            "mode: both\nsettings: {min_query_count: 0}",
            format!("settings.min_query_count: is 0; set it under settings or in user_conf, {most}"),
        ),
        (
            "scenario: MultiStream\nsettings: {samples_per_query: 0}",
            format!("settings.samples_per_query: is 0; set it under settings or in user_conf, {most}"),
        ),
        (
            "scenario: SingleStream\nsettings: {target_latency: 0}",
            "settings.target_latency: is 0; set it under settings or in user_conf, above 0 and at most 86400000".to_owned(),
        ),
        (
            "settings: {target_latency_percentile: 100}",
            "settings.target_latency_percentile: is 100; set it under settings or in user_conf, above 0 and below 100".to_owned(),
        ),
        (
            "user_conf: '*.*.min_duration = -1'",
            "settings.min_duration: is 18446744073709551615 milliseconds; set it under settings or in user_conf, at most 604800000"
                .to_owned(),
        ),
        (
            "scenario: Offline\ntarget_qps: 100000",
            "settings.min_query_count: gives, with the rate and the durations, 66000000 samples; a run sends at most 10000000, so lower one of them"
                .to_owned(),
        ),
        (
            "mode: accuracy\nsettings: {performance_sample_count_override: 1}",
            "settings.performance_sample_count_override: gives 13369 sample sets, and a run has at most 1000; raise it"
                .to_owned(),
        ),
        (
            "settings: {performance_issue_same: true, performance_issue_same_index: 13368}",
            "settings.performance_issue_same_index: is 13368; set it under settings or in user_conf, below 13368, the number of samples"
                .to_owned(),
        ),
        (
            "accuracy: {limits: {atLeast: {exact_match: 38}}}",
            "accuracy.limits.atLeast.exact_match: is a figure that the check llama3.1-8b does not compute; bound one of \
             rouge1, rouge2, rougeL and rougeLsum"
                .to_owned(),
        ),
        (
            "mode: FindPeakPerformance\nscenario: Offline",
            "mode: is FindPeakPerformance, which LoadGen has only in Server, not in Offline; choose performance".to_owned(),
        ),
    ] {
        check_error(keys, &expected);
    }
}

#[test]
fn every_mistake_of_a_profile_is_reported_at_once() {
    let text = "benchmrk: x\nscenario: Ofline\nround: v9\nmode: quick\naudit: TEST6\nseeds: {qls: 1}\n\
        settings: {target_qsp: 1, min_duration: fast, qsl_rng_seed: 1, mode: 1, use_token_latencies: 2}\n\
        qsl: {total: 5}\ntokens: {max: 0}\ndataset: {synthetic: {input: 0, output: 500, size: 3}}\nsampling: {temperature: 1}";
    let error = parse_text(Harness::Loadgen, Target::default(), text).unwrap_err();
    insta::assert_snapshot!(error.to_string());
}

#[test]
fn a_file_of_samples_is_sent_as_token_ids_where_the_api_takes_them() {
    let set = |keys: &str| match workload(keys).requests {
        RequestSource::DataSet(set) => {
            let RowContent::Prompt(prompt) = set.row else { panic!("a row holds a prompt") };
            (prompt.name, prompt.form, set.format, set.output, set.count)
        }
        other => panic!("{other:?}"),
    };
    let (ids, text) = (PromptForm::TokenIds, PromptForm::Text);
    for (keys, (column, form)) in [
        ("dataset: {file: {path: /d/cnn.json}}", ("tok_input", ids)),
        ("api: chat\ndataset: {file: {path: /d/cnn.json}}", ("input", text)),
        ("dataset: {file: {path: /d/cnn.json, column: article}}", ("article", text)),
        ("dataset: {file: {path: /d/cnn.json, column: ids, form: tokenIds}}", ("ids", ids)),
        ("dataset: {file: {path: /d/cnn, format: json, form: text}}", ("input", text)),
    ] {
        assert_eq!(
            set(keys),
            (column.to_owned(), form, DataSetFormat::Json, OutputLength::Fixed(128), Some(13_368)),
            "{keys}"
        );
    }
    let keys = "qsl: {total_sample_count: 7}\ndataset: {file: {path: /d/cnn.jsonl}}";
    assert_eq!((set(keys).4, loadgen(keys).qsl.name.as_str()), (Some(7), "cnn"));
    check_error(
        "dataset: {file: {path: /d/orca.bin}}",
        "dataset.file.path: is \"/d/orca.bin\", whose name does not show the format; set format to json, jsonl, csv, \
         parquet, pickle or npy",
    );
}

#[test]
fn an_answer_is_asked_no_longer_than_the_benchmark_allows() {
    let output = |keys: &str| match workload(keys).requests {
        RequestSource::Random { output, .. } => output,
        other => panic!("{other:?}"),
    };
    let drawn = output("dataset: {synthetic: {input: 9, output: {mean: 50, stdDev: 9}}}");
    assert_eq!((drawn.min, drawn.max), (1, 128));
    check_error(
        "dataset: {synthetic: {input: 9, output: 200}}",
        "dataset.synthetic.output: is at least 200, above tokens.max, which is 128; lower it",
    );
    check_error("sampling: {minTokens: 129}", "sampling.minTokens: is 129, above tokens.max, which is 128; lower it");
    assert_eq!(workload("sampling: {minTokens: 128}").sampling.min_tokens, Some(128));
}

#[test]
fn the_documented_profile_is_one_and_holds_the_defaults() {
    let page = include_str!("../../../../../../docs/loadgen.md");
    let block = page.split("```yaml\n").nth(2).unwrap().split("```").next().unwrap();
    let (documented, notices) = parse_text(Harness::Loadgen, Target::default(), block).unwrap();
    assert_eq!((documented, notices), (workload("dataset: {synthetic: {input: 512}}"), Vec::new()));
    for key in
        KEYS.into_iter().chain(crate::loadgen::KEYS.iter().map(|it| it.name).filter(|it| !it.starts_with("test05_")))
    {
        assert!(page.contains(&format!("`{key}`")) || page.contains(&format!("{key}:")), "{key} is not documented");
    }
}

proptest! {
    #[test]
    fn no_value_in_any_place_makes_the_parser_panic(
        path in prop::sample::select(vec![
            "benchmark", "scenario", "round", "mode", "target_qps", "settings", "seeds", "user_conf", "audit_config", "audit", "qsl",
            "sut_name", "dataset", "dataset.synthetic", "dataset.file", "tokens", "api", "streaming", "sampling", "timeouts", "headers", "maxConcurrency",
        ]),
        value in prop_oneof![
            any::<f64>().prop_map(|it| it.to_string()),
            any::<i64>().prop_map(|it| it.to_string()),
            prop::sample::select(vec![
                "[]", "{}", "[[]]", "x", "null", "true", "Offline", "SingleStream", "MultiStream", "both", "auto", "{lastOffline: {}}",
                "{search: 1}", "{file: {path: a.json}}", "{path: b.jsonl}", "'*.*.min_query_count = -1'", "'*.*.performance_sample_count_override = 1'", "'*.*.mode = 0'",
                "'*.MultiStream.samples_per_query = -1'", "{min_duration: 18446744073709551615}", "{min_query_count: 10000000}",
                "{total_sample_count: 10000000, performance_sample_count: 1}", "{max: 2000000, min: 2000000}", "llama2-70b", "gptj",
                "{target_latency: 1e-300}", "{performance_issue_same: 1, performance_issue_same_index: 99999999}", "TEST09",
            ]).prop_map(str::to_owned),
        ],
        keys in prop::sample::select(vec!["", "scenario: Offline", "scenario: SingleStream\nmode: both", "mode: SubmissionRun"]),
    ) {
        let mut value_of = yaml::read(&profile(keys)).unwrap();
        let findings = Findings::default();
        crate::overrides::apply(&mut value_of, &BTreeMap::from([(path.to_owned(), value)]), &[], &findings);
        let text = yaml::write(&value_of);
        if let Ok((workload, _)) = parse_text(Harness::Loadgen, Target::default(), &text) {
            prop_assert!(!workload.stages.is_empty() && workload.stages.len() <= 1_001);
        }
    }
}

#[test]
fn static_batches_are_of_offline_and_follow_each_other() {
    let batches = |keys: &str| {
        let loadgen = loadgen(&format!("scenario: Offline\n{keys}"));
        (loadgen.batch_size, loadgen.max_concurrency)
    };
    assert_eq!(batches(""), (None, Some(1_024)));
    assert_eq!(batches("batchSize: 32"), (Some(32), Some(1)));
    assert_eq!(batches("batchSize: 32\nmaxConcurrency: 4"), (Some(32), Some(4)));
    check_error(
        "scenario: Server\nbatchSize: 8\nstreaming: false\nsettings: {use_token_latencies: false}",
        "batchSize: is a key of Offline alone, and the scenario is Server; take it out",
    );
    check_error(
        "scenario: Offline\nbatchSize: 8\napi: chat",
        "batchSize: puts several prompts into a request, and a chat holds one conversation; set api to completions, or take it out",
    );
    check_error(
        "scenario: Offline\nbatchSize: 8\nstreaming: true",
        "batchSize: needs answers in one piece; set streaming to false, or take it out",
    );
    for wrong in ["0", "1025", "-1", "x"] {
        let error = read(&format!("scenario: Offline\nbatchSize: {wrong}")).unwrap_err();
        assert!(error.starts_with("batchSize: "), "{error}");
    }
}
