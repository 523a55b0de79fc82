mod data_sets;
mod hostile;
mod load;
mod server;
mod shipped;

use crds::benchmark_run::Harness;

use crate::{Notice, parse_text, problem::ProfileError, workload::Workload};

use super::*;

/// Reads flags of one of the tools: lines of a mapping, or a command line.
fn read_for(harness: Harness, flags: &str) -> Result<(Workload, Vec<String>), ProfileError> {
    let (workload, notices) = parse_text(harness, Target::default(), flags)?;
    Ok((workload, notices.iter().map(Notice::to_string).collect()))
}

fn read(flags: &str) -> Result<(Workload, Vec<String>), ProfileError> {
    read_for(Harness::VllmBenchmark, flags)
}

fn workload(flags: &str) -> Workload {
    read(flags).unwrap_or_else(|error| panic!("{flags}\n{error}")).0
}

fn inferencemax(flags: &str) -> Workload {
    read_for(Harness::Inferencemax, flags).unwrap_or_else(|error| panic!("{flags}\n{error}")).0
}

fn check_error(flags: &str, expected: &str) {
    assert_eq!(read(flags).unwrap_err().to_string(), expected, "{flags}");
}

/// Checks that the notices contain `expected`.
fn check_notice(flags: &str, expected: &str) {
    let notices = read(flags).unwrap().1;
    assert!(notices.iter().any(|it| it == expected), "{flags}\n{notices:#?}\nlacks {expected}");
}

/// Checks that no notice is about the flag.
fn check_silent(flags: &str, flag: &str) {
    let notices = read(flags).unwrap().1;
    assert!(!notices.iter().any(|it| it.starts_with(&format!("{flag}:"))), "{flags}\n{notices:#?}");
}

#[test]
fn flags_have_hyphens_or_underscores() {
    let expected = workload("dataset-name: random\nnum-prompts: 7\nmax-concurrency: 2");
    assert_eq!(workload("dataset_name: random\nnum_prompts: 7\nmax_concurrency: 2"), expected);
    assert_eq!(workload("--dataset-name: random\n--num-prompts: '7'\nmax-concurrency: 2\nexecutable: x.py"), expected);
}

#[test]
fn a_command_line_is_a_profile() {
    let mapping =
        workload("dataset-name: random\nnum-prompts: 7\nmax-concurrency: 2\nheader: x-a=1 x-b=2\nignore-eos: none");
    for line in [
        "vllm bench serve --dataset-name random --num-prompts=7 --max-concurrency 2 --header x-a=1 x-b=2 --ignore-eos",
        "# ours\nvllm bench serve \\\n  --dataset-name random --num_prompts 7 \\\n  --max-concurrency 2 --header x-a=1 x-b=2 --ignore-eos",
        "python3 benchmarks/benchmark_serving.py --dataset-name random --num-prompts 7 --max-concurrency 2 --header 'x-a=1' 'x-b=2' --ignore-eos",
    ] {
        let found = workload(line);
        // A command line is not from llm-d-benchmark, so its texts repeat in every run.
        assert_eq!(found, Workload { prompts: PromptReuse::PerStage, ..mapping.clone() }, "{line}");
    }
    check_error(
        "vllm bench throughput --num-prompts 7",
        "profile: begins with \"vllm bench throughput\"; write vllm bench serve or python benchmark_serving.py or python3 benchmark_serving.py or benchmark_serving.py, and its flags after it",
    );
}

#[test]
fn the_tool_that_is_chosen_for_a_script_is_named() {
    let line =
        "python3 benchmarks/benchmark_serving.py --dataset-name random --random-input-len 100 --random-range-ratio 0.2";
    check_notice(
        line,
        "profile: is read as the command line of vLLM's benchmark_serving.py; the option for InferenceMAX is --harness inferencemax",
    );
    let input = |workload: Workload| match workload.requests {
        RequestSource::Random { input, .. } => (input.min, input.max),
        other => panic!("{other:?}"),
    };
    assert_eq!(input(workload(line)), (80, 120));
    let (other, notices) = read_for(Harness::Inferencemax, line).unwrap();
    assert_eq!(input(other), (20, 100));
    assert!(notices[0].starts_with("profile: is read as the command line of InferenceMAX's"), "{notices:?}");
}

#[test]
fn an_unknown_flag_is_refused_with_the_nearest_one() {
    check_error("max-concurency: 4", "max-concurency: is no flag of vllm bench serve; did you mean max-concurrency?");
    check_error(
        "vllm bench serve --num-promts 4",
        "num-promts: is no flag of vllm bench serve; did you mean num-prompts?",
    );
}

#[test]
fn every_mistake_is_reported_at_once() {
    let text = "max-concurrency: 0\nrequest-rate: fast\nbackend: openia\nseeed: 1\nrandom-input-len: -1\ngoodput: ttft:fast\nnum-prompts: 1.5";
    let error = read(text).unwrap_err().to_string();
    for part in [
        "seeed: is no flag of vllm bench serve; did you mean seed?",
        "backend: is \"openia\"; choose one of openai",
        "max-concurrency: is 0; write a whole number from 1 to 60000",
        "request-rate: is \"fast\"; write a number above 0 and at most 1000000, or inf",
        "num-prompts: is 1.5; write a whole number from 1 to 10000000",
    ] {
        assert!(error.contains(part), "{error}\nlacks {part}");
    }
}

/// llm-d-benchmark replaces some flags, such as the seed.
#[test]
fn what_llm_d_benchmark_changes_is_noticed() {
    let fresh = "dataset-name: random\nseed: 42";
    assert_eq!(workload(fresh).prompts, PromptReuse::Fresh);
    check_notice(
        fresh,
        "seed: is not used: the seed of the run decides every draw; llm-d-benchmark replaces it by the time of day",
    );
    let repeated = "vllm bench serve --dataset-name random --seed 42";
    assert_eq!(workload(repeated).prompts, PromptReuse::PerStage);
    check_notice(repeated, "seed: is not used: the seed of the run decides every draw");
    check_notice(
        repeated,
        "seed: texts are the same in every run with the same seed of the run, as with vllm bench serve: a server that ran before may have them in its prefix cache",
    );
    // The texts of a timed trace are new in each run, whatever the seed is.
    let trace = "vllm bench serve --dataset-name timed_trace --dataset-path t.jsonl";
    assert_eq!(workload(trace).prompts, PromptReuse::Fresh);
    check_silent(trace, "seed");
    let label =
        "has no effect on reports; llm-d-benchmark makes a report only of results whose name begins with openai";
    check_notice("label: mine", &format!("label: {label}"));
    check_notice("backend: vllm", &format!("backend: {label}"));
    check_silent("backend: vllm\nlabel: openai-mine", "label");
    check_silent("vllm bench serve --backend vllm", "backend");
}

#[test]
fn flags_about_results_change_nothing() {
    let plain = workload("dataset-name: random");
    let flags = "dataset-name: random\nsave-result: none\nsave-detailed: none\nresult-dir: /x\nmetadata: a=b\npercentile-metrics: ttft,e2el";
    assert_eq!(workload(flags), plain);
    check_silent(flags, "percentile-metrics");
    check_notice(
        "metric-percentiles: '0.1,99'",
        "metric-percentiles: is not used: the report has a fixed set of percentiles, and covers all requests",
    );
}

#[test]
fn a_flag_of_another_data_set_is_named() {
    let flags = "dataset-name: random\nsonnet-input-len: 5";
    check_notice(flags, "sonnet-input-len: is not used: it belongs to another dataset-name");
    check_silent(flags, "random-input-len");
}

#[test]
fn the_documented_flags_are_taken() {
    let page = include_str!("../../../../../docs/flag-profiles.md");
    let examples: Vec<&str> = page.split("```yaml\n").skip(1).filter_map(|it| it.split("```").next()).collect();
    assert!(!examples.is_empty());
    for flags in examples {
        workload(flags);
    }
}
