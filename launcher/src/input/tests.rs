use std::fs;

use super::*;

fn check(text: &str) -> Result<Input, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.yaml");
    fs::write(&path, text).unwrap();
    from_file(&path, &LocalOptions::default()).map_err(|error| error.to_string())
}

const HEAD: &str = "apiVersion: benchwright.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: chat}\n";

#[test]
fn the_smallest_file_runs_sanity_random() {
    let input = check(&format!("{HEAD}spec: {{target: {{simulator: {{}}}}}}")).unwrap();
    assert_eq!(input.run.profile_source, "sanity_random");
    assert_eq!(input.workload.stages.len(), 1);
}

#[test]
fn a_target_is_waited_for_a_minute_unless_the_file_says_otherwise() {
    for (readiness, seconds) in
        [("", 60), (", readiness: {probe: Models}", 60), (", readiness: {timeoutSeconds: 900}", 900)]
    {
        let input = check(&format!("{HEAD}spec: {{target: {{url: 'http://h'{readiness}}}}}")).unwrap();
        assert_eq!(input.run.readiness_timeout.0.as_secs(), seconds, "{readiness}");
    }
}

#[test]
fn the_run_of_a_results_folder_is_no_benchmark_run() {
    let input = check(&format!("{HEAD}spec: {{target: {{simulator: {{}}}}}}")).unwrap();
    let error = check(&serde_saphyr::to_string(&input.run).unwrap()).unwrap_err();
    assert!(error.contains("results folder") && error.contains("benchmarkrun.yaml"), "{error}");
}

#[test]
fn an_empty_file_is_told_apart_from_a_wrong_one() {
    for text in ["", "  \n", "---\n", "# nothing\n"] {
        let error = check(text).unwrap_err();
        assert!(error.contains("is empty"), "{text:?}: {error}");
    }
    for text in ["apiVersion: v1\nkind: Pod\n", "hello\n", "- 1\n", "a: 1\n"] {
        let error = check(text).unwrap_err();
        assert!(error.contains("takes a benchwright.dev/v1alpha1 BenchmarkRun"), "{text:?}: {error}");
    }
    assert!(check("a: [1\n").unwrap_err().contains("line"));
}

#[test]
fn everything_that_is_wrong_is_told_in_the_order_of_the_file() {
    let error = check(&format!(
            "{HEAD}spec:\n  shard: 3\n  harness: locust\n  seed: many\n  target: {{simulator: {{}}, url: 'ftp://h', modle: x}}\n"
        ))
        .unwrap_err();
    let lines: Vec<&str> = error.lines().skip(1).map(str::trim).collect();
    assert_eq!(
        lines,
        [
            "spec.shard, line 5 column 3: is no field of spec, and holds 3; take it out; known are cancel, cleanup, execution, harness, \
                 launcher, profile, profiling, queueName, repeat, search, seed, slo, storage, suspend, target and validity",
            "spec.harness, line 6 column 12: is \"locust\"; choose one of benchwright, inference-perf, loadgen, guidellm, vllm-benchmark, inferencemax, fmperf, aiperf, priority-mix, mmlu and nop",
            "spec.seed, line 7 column 9: is \"many\"; write a whole number from 0 to 9007199254740991",
            "spec.target.modle, line 8 column 43: is no field of spec.target, and holds \"x\"; did you mean model?",
        ]
    );
    let error =
        check(&format!("{HEAD}spec: {{target: {{simulator: {{}}, url: 'http://h:0'}}, suspend: maybe}}")).unwrap_err();
    assert!(error.contains("spec.suspend") && error.contains("spec.target, line 4 column 16: names more"), "{error}");
}

#[test]
fn natural_values_are_read() {
    let text = r#"
spec:
  target: {simulator: {}}
  launcher: {resources: {requests: {cpu: 1}}}
  validity: {maxErrorRatio: 0.05, maxCpuShare: "1"}
  profile:
    variables: {isl: 1024, osl: "16"}
    overrides: {load.stages.0.rate: 5}
    inline: |
      load: {type: constant, stages: [{rate: 1, duration: 2}]}
      data:
        type: random
        input_distribution: {mean: {{ isl }}, max: 2048}
        output_distribution: {mean: {{ osl }}, min: 1}
"#;
    let input = check(&format!("{HEAD}{text}")).unwrap();
    assert!((input.run.validity.max_error_ratio - 0.05).abs() < 1e-12);
    assert!(input.profile_text.contains("1024"), "{}", input.profile_text);
}

#[test]
fn fields_without_an_effect_are_noticed() {
    let text = format!(
        "{HEAD}spec: {{target: {{simulator: {{}}}}, profile: {{files: [{{configMapRef: {{name: a, key: run.yaml}}}}]}}, \
             suspend: true, cancel: Immediate, storage: {{pvc: {{}}}}, \
             launcher: {{image: a}}, execution: {{retry: {{limit: 3}}, deadlines: {{startSeconds: 5}}}}, queueName: load, cleanup: {{run: {{}}}}}}"
    );
    let notices = check(&text).unwrap().notices;
    let paths: Vec<&str> = notices.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "spec.suspend",
            "spec.cancel",
            "spec.storage.pvc",
            "spec.profile.files",
            "spec.launcher",
            "spec.execution.retry",
            "spec.execution.deadlines",
            "spec.queueName",
            "spec.cleanup"
        ]
    );
    assert_eq!(check(&format!("{HEAD}spec: {{target: {{simulator: {{}}}}}}")).unwrap().notices, []);
    let bucket = "{s3: {bucket: bench, secretRef: {name: s}}}";
    let input = check(&format!("{HEAD}spec: {{target: {{simulator: {{}}}}, storage: {bucket}}}")).unwrap();
    assert_eq!(input.notices[0].path, "spec.storage.s3");
    assert!(input.run.store_results && input.run.upload.is_none(), "the folder is kept here");
}

#[test]
fn what_is_empty_is_left_out_as_in_a_cluster() {
    let profile = "{variables: {isl: }, overrides: {load.stages: null}}";
    let notices = check(&format!("{HEAD}spec: {{target: {{simulator: {{}}}}, profile: {profile}}}")).unwrap().notices;
    let paths: Vec<&str> = notices.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, ["spec.profile.variables.isl", "spec.profile.overrides.load.stages"]);
    assert!(notices[0].message.contains("has no effect"), "{notices:?}");
}

#[test]
fn whole_numbers_are_integers_as_in_a_cluster() {
    let spec = "{target: {simulator: {}, readiness: {timeoutSeconds: 60.0}}, seed: 1e5, profile: {variables: {isl: 1e3}, inline: \
                    'load: {type: constant, stages: [{rate: 1, duration: 2}]}\n\n\
                    data: {type: random, input_distribution: {mean: {{ isl }}, max: 2048}, output_distribution: {mean: 50}}'}}";
    let input = check(&format!("{HEAD}spec: {spec}")).unwrap();
    assert_eq!((input.run.seed.0, input.run.readiness_timeout.0.as_secs()), (100_000, 60));
    assert!(input.profile_text.contains("mean: 1000,"), "{}", input.profile_text);
}

#[test]
fn a_mounted_run_without_a_salt_is_refused_by_name() {
    let input = check(&format!("{HEAD}spec: {{target: {{simulator: {{}}}}}}")).unwrap();
    let mut run = serde_json::to_value(&input.run).unwrap();
    run.as_object_mut().unwrap().remove("promptSalt");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("run.yaml"), run.to_string()).unwrap();
    fs::write(folder.path().join("spec.yaml"), serde_saphyr::to_string(&input.spec).unwrap()).unwrap();
    fs::write(folder.path().join("profile.yaml"), &input.profile_text).unwrap();
    let error = from_folder(folder.path()).unwrap_err().to_string();
    assert!(error.contains("promptSalt"), "{error}");
}

#[test]
fn old_names_and_words_of_yaml_say_what_to_write() {
    let error = check(&format!(
            "{HEAD}spec: {{target: {{simulator: {{}}}}, storage: {{perRequestRecords: Off}}, execution: {{retry: {{on: [Disrupted]}}}}, seed: 010}}"
        ))
        .unwrap_err();
    for part in ["did you mean None?", "it is called reasons", "kubectl reads as 8"] {
        assert!(error.contains(part), "{error} lacks {part}");
    }
}

#[test]
fn a_profile_that_does_not_exist_lists_the_near_ones() {
    let error =
        check(&format!("{HEAD}spec: {{target: {{simulator: {{}}}}, profile: {{name: sanity_randm}}}}")).unwrap_err();
    assert!(error.contains("sanity_random"), "{error}");
}

#[test]
fn what_needs_a_cluster_says_what_to_give_instead() {
    let target = "target: {url: 'http://h', auth: {secretKeyRef: {name: a, key: b}}, tls: {ca: {configMapRef: {name: a, key: b}}}}";
    let error = check(&format!("{HEAD}spec: {{{target}}}")).unwrap_err();
    assert!(error.contains("--token-file") && error.contains("--ca-file"), "{error}");
}

#[test]
fn an_argument_that_is_wrong_is_named_by_its_flag() {
    let metrics_urls = vec!["ftp://a".to_owned(), "http://b".to_owned(), "unix:/c".to_owned()];
    let options = LocalOptions { metrics_urls, ..LocalOptions::default() };
    let told = |url: &str| {
        let source = RunSource::Url { url: url.to_owned(), model: None };
        from_source(&source, &options).unwrap_err().to_string()
    };
    let metrics = [
        "--metrics-url: is \"ftp://a\"; write a URL that begins with http:// or https://",
        "--metrics-url: is \"unix:/c\"; write http:// or https://, because only a target may be a socket",
    ];
    assert_eq!(told("http://h"), metrics.join("\n"));
    let url =
        "--url: is \"ftp://h\"; write a URL that begins with http:// or https://, or unix: and the path of a socket";
    assert_eq!(told("ftp://h"), [metrics[0], metrics[1], url].join("\n"));

    // Both problems are reported together with a mistake in the file.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.yaml");
    fs::write(&path, format!("{HEAD}spec: {{target: {{simulator: {{}}, metrics: [{{url: 'ftp://f'}}]}}}}")).unwrap();
    let error = from_file(&path, &options).unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().map(str::trim).collect();
    assert!(lines[0].ends_with("run.yaml cannot be run:"), "{error}");
    assert_eq!(lines[1..3], metrics);
    assert!(lines[3].starts_with("spec.target.metrics[0].url, line 4 column "), "{error}");
}

#[test]
fn an_objective_that_does_not_fit_to_the_profile_has_its_place_in_the_file() {
    let error = check(&format!(
        "{HEAD}spec:\n  target: {{simulator: {{}}}}\n  slo:\n    objectives:\n    - {{name: a, metric: ttft, stat: p99, stage: r77, max: 1s}}\n"
    ));
    let error = error.unwrap_err();
    assert!(error.contains("run.yaml cannot be run:\n  spec.slo.objectives[0].stage, line 8 column "), "{error}");
    assert!(error.contains("is \"r77\", and the profile has no stage of this name; "), "{error}");
}

#[test]
fn a_long_search_raises_the_time_limit_of_its_run_unless_the_file_sets_one() {
    let run_seconds = |budget: &str, execution: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.yaml");
        let objective = "{name: ttft, metric: ttft, stat: p95, max: 500ms}";
        let spec = format!("{{target: {{url: 'http://h:1'}}, slo: {{objectives: [{objective}]}}{execution}}}");
        fs::write(&path, format!("{HEAD}spec: {spec}")).unwrap();
        let search = SearchOptions { budget: Some(budget.parse().unwrap()), ..SearchOptions::default() };
        let input = from_file(&path, &LocalOptions { search: Some(search), ..LocalOptions::default() });
        input.map(|it| it.run.run_deadline.0.as_secs()).map_err(|error| error.to_string())
    };
    // The default is an hour. A search needs a minute beside its trials.
    for (budget, seconds) in [("20m", 3_600), ("59m", 3_600), ("60m", 3_660), ("3h", 10_860)] {
        assert_eq!(run_seconds(budget, "").unwrap(), seconds, "{budget}");
    }
    let deadline = |seconds: u32| format!(", execution: {{deadlines: {{runSeconds: {seconds}}}}}");
    assert_eq!(run_seconds("3h", &deadline(20_000)).unwrap(), 20_000);
    let refused = run_seconds("3h", &deadline(3_600)).unwrap_err();
    assert!(refused.contains("spec.execution.deadlines.runSeconds") && refused.contains("needs 10860"), "{refused}");
}
