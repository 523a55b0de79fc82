//! Command lines.

use super::*;

fn check_same(line: &str, profile: &str) {
    let found = read(line).unwrap_or_else(|error| panic!("{line}\n{error}")).0;
    assert_eq!(found, read(profile).unwrap().0, "{line}");
}

fn check_line_error(line: &str, expected: &str) {
    assert_eq!(read(line).map(|it| it.1).unwrap_err().to_string(), expected, "{line}");
}

#[test]
fn options_are_the_keys_of_spec() {
    let line = "guidellm run --backend kind=openai_http,target=http://server:8000 --profile kind=concurrent,streams=4 \\\n  \
                --data '{\"kind\": \"synthetic_text\", \"prompt_tokens\": 64, \"output_tokens\": 16}' \\\n  \
                --constraint=kind=max_duration,seconds=30 --label env=ci --disable-progress";
    check_same(line, &nested(""));
    let line = "guidellm run --profile kind=concurrent --data kind=synthetic_text,prompt_tokens=64,output_tokens=16 \
                --constraint kind=max_requests --override profile.streams 1,2,4 --override 'constraints[0].count' 10,20,40";
    let benchmarks = "benchmarks: [{profile.streams: 1, 'constraints[0].count': 10}, {profile.streams: 2, 'constraints[0].count': 20}, \
                      {profile.streams: 4, 'constraints[0].count': 40}]";
    let spec = nested("profile: {kind: concurrent}\nconstraints: [{kind: max_requests}]");
    check_same(line, &format!("{spec}{benchmarks}"));
}

#[test]
fn scenarios_of_the_original_are_known_by_name() {
    let line = "guidellm run -c chat --constraint kind=max_duration,seconds=30 --profile kind=concurrent,streams=4";
    let data = "data: [{kind: synthetic_text, prompt_tokens: 512, prompt_tokens_stdev: 128, prompt_tokens_min: 1, prompt_tokens_max: 1024, \
                output_tokens: 256, output_tokens_stdev: 64, output_tokens_min: 1, output_tokens_max: 1024}]";
    check_same(line, &nested(data));
    assert_eq!(
        read("guidellm run --scenario rag --constraint kind=max_duration,seconds=30").unwrap().0.stages.len(),
        10
    );
    let flat = read("guidellm benchmark --scenario chat --target http://server:8000 --max-seconds 30 --rate-type concurrent --rate 4").unwrap().0;
    assert_eq!(flat.requests, read(line).unwrap().0.requests);
    check_line_error(
        "guidellm run --scenario my.yaml",
        "--scenario: is \"my.yaml\"; a file is not read from a command line, so make the file the profile, or name chat or rag, which come with GuideLLM",
    );
}

#[test]
fn the_older_command_has_the_flat_keys() {
    let flat = "target: 'http://server:8000'\nprofile: constant\nrate: [1, 2]\nmax_seconds: 30\nwarmup: 0.1\n\
                data: ['prompt_tokens=64,output_tokens=16']\nbackend_kwargs: {verify: true}";
    for line in [
        "guidellm benchmark --target http://server:8000 --rate-type constant --rate 1,2 --max-seconds 30 --warmup-percent 0.1 \
         --data 'prompt_tokens=64,output_tokens=16' --backend-args '{\"verify\": true}'",
        "guidellm benchmark run --target=http://server:8000 --profile constant --rate 1 --rate 2 --max-seconds=30 --warmup 0.1 \
         --data prompt_tokens=64,output_tokens=16 --backend-kwargs '{verify: true}' --output-path /tmp/x.json",
    ] {
        check_same(line, flat);
    }
    check_line_error(
        "guidellm benchmark --max-second 5",
        "--max-second: is no known option; did you mean max-seconds?",
    );
    check_line_error(
        "guidellm benchmark --target x --max-seconds -5 --data prompt_tokens=5,output_tokens=5",
        "--max-seconds: is -5; write a number of seconds above 0 and at most 604800",
    );
}

#[test]
fn settings_of_the_older_command_may_stand_before_it() {
    let rest = "guidellm benchmark --target http://server:8000 --rate-type throughput --max-seconds 30 \
                --data prompt_tokens=64,output_tokens=16";
    let flat = "target: 'http://server:8000'\nprofile: throughput\nmax_seconds: 30\ndata: ['prompt_tokens=64,output_tokens=16']\n";
    check_same(&format!("GUIDELLM__MAX_CONCURRENCY=64 HF_TOKEN=x {rest}"), &format!("{flat}max_concurrency: 64"));
    check_same(
        &format!("GUIDELLM__MAX_CONCURRENCY=64 {rest} --max-concurrency 8"),
        &format!("{flat}max_concurrency: 8"),
    );
    check_same(
        &format!("GUIDELLM__PREFERRED_ROUTE=text_completions {rest}"),
        &format!("{flat}request_type: text_completions"),
    );
    check_line_error(
        &format!("GUIDELLM__MAX_WORKER_PROCESSES=2 {rest}"),
        "GUIDELLM__MAX_WORKER_PROCESSES: is a setting of GuideLLM that is not read; take it out; the settings that are read are \
         GUIDELLM__MAX_CONCURRENCY and GUIDELLM__PREFERRED_ROUTE",
    );
    let error = read("GUIDELLM__MAX_CONCURRENCY=64 guidellm run --profile kind=sweep").unwrap_err().to_string();
    assert!(
        error.starts_with("GUIDELLM__MAX_CONCURRENCY: is a setting of GuideLLM, and guidellm run takes options"),
        "{error}"
    );
}

#[test]
fn mistakes_name_the_option() {
    check_line_error(
        "guidellm run --profil kind=sweep --data kind --backend",
        "--profil: is no known option; did you mean profile?\n\
         --data: holds \"kind\"; write key=value, with commas between, or a mapping {...}\n\
         --backend: has no value; write it after the option",
    );
    check_line_error(
        "guidellm run --profile kind=sweep --profile kind=sweep",
        "--profile: is given twice; keep one of them",
    );
    check_line_error(
        "guidellm run --override profile.streams",
        "--override: has 1 values; write a path and its values, such as profile.streams 1,2,4",
    );
    check_line_error(
        "guidellm preprocess",
        "profile: has the command \"preprocess\"; write guidellm run or guidellm benchmark",
    );
    check_line_error("guidellm run --data 'a", "profile: has a quote ' that does not end, in \"a\"; close it");
    let unfilled = read("guidellm run --backend target=REPLACE_ENV_URL").unwrap_err().to_string();
    assert!(unfilled.contains("holds REPLACE_ENV_URL, which has no value"), "{unfilled}");
}
