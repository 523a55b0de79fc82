//! Profiles by their name, and from files of other tools, without a BenchmarkRun.

use std::fs;

use predicates::prelude::*;

use crate::common::{Folder, Sim};

#[test]
fn a_profile_runs_by_name_against_a_url_with_overrides_of_two_styles() {
    let server = Sim::start(&[]);
    let folder = Folder::new();
    let arguments = ["run", "-U", &server.url, "-l", "inference-perf", "-w", "sanity_random"];
    let overrides = ["-o", "min=5,mean=8,load.stages.0.rate=20", "-o", "load.stages[0].duration=1"];
    folder.benchwright(&[&arguments[..], &overrides].concat()).assert().success();
    let report = folder.report();
    assert_eq!(
        (&report["run"]["name"], &report["resolvedRun"]["harness"]),
        (&"sanity-random".into(), &"inference-perf".into())
    );
    assert_eq!(report["summary"]["requests"], 20);
    // The results folder contains all that is needed to repeat the run.
    let text = fs::read_to_string(folder.path("results/latest/benchmarkrun.yaml")).unwrap();
    assert!(text.contains("harness: inference-perf"), "{text}");
}

#[test]
fn the_text_of_a_file_shows_its_harness() {
    let folder = Folder::new();
    let profile = "load: {type: concurrent, stages: [{num_requests: 6, concurrency_level: 2}]}\napi: {streaming: true}\n\
                   data: {type: mock}\n";
    folder.write("mine.yml", profile);
    folder.benchwright(&["run", "--simulator", "-w", "mine.yml"]).assert().success();
    let report = folder.report();
    assert_eq!(report["resolvedRun"]["harness"], "inference-perf");
    assert_eq!(report["resolvedRun"]["profileSource"], "mine.yml");
    folder.write("other.yml", "key: 1\n");
    let unknown = folder.benchwright(&["run", "--simulator", "-w", "other.yml"]).assert().code(10);
    unknown.stderr(predicate::str::contains("the profile other.yml does not show its harness; name it with --harness"));
}

#[test]
fn what_is_missing_is_named() {
    let folder = Folder::new();
    for (arguments, message) in [
        (
            &["run", "-w", "sanity_random"][..],
            "a profile is given without a target, and names none itself; add --url URL or --simulator",
        ),
        (&["render"], "nothing to run is given; give a BenchmarkRun with -f FILE"),
        (&["render", "--simulator", "-w", "sanity_randon"], "did you mean sanity_random?"),
        (&["render", "--simulator", "-w", "./none.yaml"], "cannot read ./none.yaml"),
        (&["render", "--simulator", "-w", "nofile"], "there is no file of this name either"),
        (&["render", "--simulator", "-w", "random_concurrent_"], "did you mean random_concurrent"),
        (
            &["render", "-U", "127.0.0.1:18123", "-w", "sanity_random"],
            "--url is \"127.0.0.1:18123\"; write it with its scheme",
        ),
        (&["render", "--simulator", "--variable", "isl"], "--variable \"isl\" is not of the form name=value"),
        (&["profiles", "show", "sanity_randon"], "did you mean sanity_random?"),
        (&["profiles", "show", "sanity_random"], "have a profile sanity_random; choose one with --harness"),
    ] {
        folder.benchwright(arguments).assert().failure().stderr(predicate::str::contains(message));
    }
}

#[test]
fn a_name_that_one_harness_has_needs_no_harness() {
    let folder = Folder::new();
    let shown = folder.benchwright(&["render", "--simulator", "-w", "sanity_concurrent"]).assert().success();
    shown.stdout(predicate::str::contains("kind: concurrent"));
}

#[test]
fn a_script_is_a_profile_and_its_options_can_be_overridden() {
    let folder = Folder::new();
    folder.write(
        "load.sh",
        "#!/bin/bash\nset -e\nexport A=b\nRATE=4\nvllm bench serve --request-rate $RATE --num-prompts 8\n",
    );
    let shown = folder
        .benchwright(&["render", "--simulator", "-w", "load.sh", "-o", "request_rate=20,seed=3"])
        .assert()
        .success();
    shown.stdout("vllm bench serve --request-rate 20 --num-prompts 8 --seed 3\n");
}

#[test]
fn the_command_line_of_a_colleague_holds_its_target() {
    let server = Sim::start(&["--preset", "instant"]);
    let folder = Folder::new();
    let port = server.url.rsplit(':').next().unwrap().to_owned();
    let vllm = "vllm bench serve --model sim-instant --num-prompts 4 --dataset-name random --random-input-len 8";
    for (number, line) in [
        format!("{vllm} --base-url {}", server.url),
        format!("{vllm} --host 127.0.0.1 --port {port}"),
        format!("guidellm benchmark --target {}/v1 --profile synchronous --max-requests 4 --data prompt_tokens=8,output_tokens=4", server.url),
    ]
    .iter()
    .enumerate()
    {
        folder.write("load.sh", &format!("{line}\n"));
        let results = format!("results-{number}");
        folder.benchwright(&["run", "-w", "load.sh", "--results", &results]).assert().success();
        let report = std::fs::read_to_string(folder.path(&results).join("latest/report.json")).unwrap();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["figures"]["succeeded"], 4, "{line}");
    }
    folder.write("load.sh", &format!("{vllm}\n"));
    let refused = folder.benchwright(&["run", "-w", "load.sh"]).assert().code(10);
    refused.stderr(predicate::str::contains("names none itself; add --url URL"));
}

#[test]
fn strict_refuses_what_would_be_changed() {
    let folder = Folder::new();
    let profile = "load: {type: concurrent, stages: [{num_requests: 6, concurrency_level: 2}]}\n\
                   data: {type: random, input_distribution: {mean: 500, std: 5}, output_distribution: {mean: 500}}\n";
    folder.write("mine.yml", profile);
    folder.benchwright(&["render", "--simulator", "-w", "mine.yml"]).assert().success();
    let strict = folder.benchwright(&["render", "--simulator", "-w", "mine.yml", "--strict"]).assert().failure();
    strict.stderr(
        predicate::str::contains("which --strict refuses").and(predicate::str::contains("input_distribution.std")),
    );
}

#[test]
fn the_list_has_every_profile_with_its_load_lengths_and_variables() {
    let folder = Folder::new();
    let list = folder.benchwright(&["profiles", "-l", "inference-perf"]).assert().success();
    list.stdout(
        predicate::str::contains("  chatbot_synthetic\n")
            .and(predicate::str::contains("Poisson 1, 2, 4, 8 requests/s for 120s"))
            .and(predicate::str::contains("ISL 4096 ± 2048 (10 to 8192), OSL 1024 ± 512 (10 to 2048)"))
            .and(predicate::str::contains("rates=[1, 2, 4, 8], duration=120, api=completion, isl=4096, osl=1024"))
            .and(predicate::str::contains("diurnal").not()),
    );
    for (harness, load) in [
        ("loadgen", "    load       LoadGen Server: accuracy, performance\n"),
        ("inference-perf", " 1 request/s "),
        ("nop", "    load       none: the profile measures how the server of target.server starts\n"),
    ] {
        folder.benchwright(&["profiles", "-l", harness]).assert().success().stdout(predicate::str::contains(load));
    }
    let shown = folder.benchwright(&["profiles", "show", "diurnal"]).assert().success();
    shown.stdout(
        predicate::str::contains("# --variable period=... (default 600)").and(predicate::str::contains("stages:")),
    );
}
