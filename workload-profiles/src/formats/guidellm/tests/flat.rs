//! The flat form of the versions up to 0.6.

use std::time::Duration;

use crds::{benchmark_run::Api, units::Span};

use super::*;
use crate::workload::{LengthDistribution, Load, Margin, OutputLength, RequestSource, RowContent, RowOrder, Stage};

const OLD: &str = "profile: has the format of GuideLLM up to 0.6, and is read with the meaning of those versions";

/// A flat profile: the keys from the test, and defaults for the required keys that it omits.
fn flat(keys: &str) -> String {
    let mut text = keys.to_owned();
    for (key, default) in [
        ("target", "target: 'http://server:8000'"),
        ("data", "data: prompt_tokens=64,output_tokens=16"),
        ("max_", "max_seconds: 30"),
        ("profile", "profile: synchronous"),
    ] {
        if !text.lines().any(|it| it.starts_with(key) || key == "profile" && it.starts_with("rate")) {
            text.push_str(&format!("\n{default}"));
        }
    }
    text
}

fn stages(keys: &str) -> Vec<Stage> {
    read(&flat(keys)).unwrap_or_else(|error| panic!("{keys}\n{error}")).0.stages
}

fn names(keys: &str) -> Vec<String> {
    stages(keys).into_iter().map(|it| it.name).collect()
}

fn check_flat_error(keys: &str, expected: &str) {
    assert_eq!(read(&flat(keys)).map(|it| it.1).unwrap_err().to_string(), expected, "{keys}");
}

#[test]
fn the_profile_decides_what_the_rate_is() {
    assert_eq!(names("profile: constant\nrate: [2, 4]"), ["r2", "r4"]);
    assert_eq!(names("rate_type: poisson\nrate: '2,4'"), ["r2", "r4"]);
    assert_eq!(names("profile: concurrent\nrate: [2, 4]"), ["c2", "c4"]);
    assert_eq!(names("profile: sweep\nrate: 4"), ["c1", "c512", "sweep1", "sweep2"]);
    assert_eq!(names("rate-type: throughput\nrate: [7]"), ["c7"]);
    check_flat_error(
        "profile: synchronous\nrate: 4",
        "rate: is written, but the profile is synchronous, which has no rate; take it out",
    );
    check_flat_error("profile: concurrent\nrate: [2, 0.5]", "rate[1]: is 0.5; write a whole number from 1 to 10240");
    check_flat_error("profile: constant", "rate: is missing; write the requests per second, such as 5 or [1, 2, 4]");
}

#[test]
fn the_other_keys_have_their_places() {
    let keys = "profile: constant\nrate: 5\nmax_requests: 40\nmax_error_rate: 0.5\nwarmup: 0.1\ncooldown_percent: 0.2\nmodel: m\n\
                request_type: text_completions\nrandom_seed: 42\nprocessor: /m/tokenizer.json\nrampup: 4\noutputs: [json]\n\
                backend_kwargs: {timeout: 9, verify: false, api_key: x}";
    let (workload, notices) = read(&flat(keys)).unwrap();
    assert_eq!((workload.api, workload.model.as_deref()), (Api::Completions, Some("m")));
    let stage = &workload.stages[0];
    assert_eq!((stage.warm_up, stage.cool_down), (Some(Margin::Count(4)), Some(Margin::Count(8))));
    assert_eq!(workload.timeouts.token_gap, Some(Span(Duration::from_secs(9))));
    assert_eq!(workload.stop_rules.len(), 1);
    assert_eq!(
        notices,
        [
            OLD,
            "backend_kwargs.api_key: is not sent; put the token into a Secret, and name the Secret in target.auth",
            "random_seed: is not used: the seed of the run decides every draw",
        ]
    );
    // GuideLLM up to version 0.6 times out after one minute.
    let silence = read(&flat("")).unwrap().0.timeouts.first_token;
    assert_eq!(silence, Some(Span(Duration::from_secs(60))));
}

#[test]
fn data_is_a_text_a_mapping_or_a_file() {
    let input = |data: &str| match read(&flat(&format!("data: {data}"))).unwrap().0.requests {
        RequestSource::Random { input, .. } => input,
        other => panic!("{other:?}"),
    };
    for data in [
        "prompt_tokens=64,output_tokens=16",
        "['prompt_tokens=64,output_tokens=16']",
        "'{\"prompt_tokens\": 64, \"output_tokens\": 16}'",
        "{prompt_tokens: 64, output_tokens: 16}",
        "[{type_: synthetic_text, prompt_tokens: 64, output_tokens: 16}]",
    ] {
        assert_eq!(input(data), LengthDistribution::fixed(64), "{data}");
    }
    let file = read(&flat(
        "data: /d/rows.jsonl\ndata_column_mapper: {text_column: q}\ndata_args: {split: train}\ndata_samples: 3",
    ))
    .unwrap()
    .0;
    assert!(matches!(file.requests, RequestSource::DataSet(set) if set.count == Some(3)));
    check_flat_error(
        "data: [prompt_tokens=x]",
        "data[0].prompt_tokens: is \"x\"; write a whole number from 1 to 2000000\ndata[0].output_tokens: is missing; write the length of answers, or set backend.max_tokens; without both the server decides, which this engine does not support for synthetic prompts",
    );
    let error = read(&flat("data: openai/gsm8k")).unwrap_err().to_string();
    assert!(error.starts_with("data.source: is \"openai/gsm8k\", a data set of the Hugging Face Hub"), "{error}");
}

#[test]
fn at_most_512_requests_are_under_way_unless_the_profile_says_otherwise() {
    let silent = "max_concurrency: is not given: at most 512 requests are in flight, the setting of GuideLLM up to 0.6; write \
                  another number for another bound";
    for kind in ["throughput", "sweep"] {
        assert!(names(&format!("profile: {kind}")).contains(&"c512".to_owned()), "{kind}");
        assert_eq!(flat_notices(&format!("profile: {kind}\nmax_seconds: 30")), [silent]);
        let lowered = format!("profile: {kind}\nmax_concurrency: 64\nmax_seconds: 30");
        assert!(names(&lowered).contains(&"c64".to_owned()), "{:?}", names(&lowered));
        assert_eq!(flat_notices(&lowered), [""; 0]);
    }
    assert_eq!(
        flat_notices("profile: throughput\nrate: 7\nmax_concurrency: 64\nmax_seconds: 30"),
        ["max_concurrency: is not used: in profile throughput, rate is the maximum number of requests in flight"]
    );
    assert_eq!(
        flat_notices("profile: concurrent\nrate: 7\nmax_concurrency: 64\nmax_seconds: 30"),
        ["max_concurrency: is not used: a load of profile concurrent has its own bound"]
    );
    let bound = |keys: &str| match &stages(keys)[0].load {
        Load::Open { max_concurrency, .. } => max_concurrency.map(u32::from),
        other => panic!("{other:?}"),
    };
    assert_eq!(bound("profile: constant\nrate: 5"), Some(512));
    assert_eq!(bound("profile: poisson\nrate: 5\nmax_concurrency: 9"), Some(9));
}

#[test]
fn the_api_of_a_profile_of_an_unknown_version_has_a_notice() {
    let unknown = "request_type: is not given: requests are chats, as in GuideLLM 0.4 to 0.6; versions up to 0.3 send text completions, \
                   for which write text_completions";
    assert_eq!(flat_notices("rate_type: constant\nrate: 5"), [unknown]);
    assert_eq!(read(&flat("rate_type: constant\nrate: 5")).unwrap().0.api, Api::Chat);
    let completions = "rate_type: constant\nrate: 5\nrequest_type: text_completions";
    assert_eq!(read(&flat(completions)).unwrap().0.api, Api::Completions);
    assert_eq!(flat_notices(completions), [""; 0]);
}

fn flat_notices(keys: &str) -> Vec<String> {
    read(&flat(keys)).unwrap_or_else(|error| panic!("{keys}\n{error}")).1.into_iter().filter(|it| it != OLD).collect()
}

#[test]
fn samples_may_stand_among_the_lengths() {
    let count = |keys: &str| {
        let keys = format!("{keys}\nmax_seconds: 30\nprofile: concurrent\nrate: 2");
        stages(&keys).remove(0).load.count()
    };
    assert_eq!(count("data: {prompt_tokens: 64, output_tokens: 16, samples: 1000}"), Some(1_000));
    assert_eq!(count("data: 'prompt_tokens=64,output_tokens=16,samples=9'"), Some(9));
    let both = "data: {prompt_tokens: 64, output_tokens: 16, samples: 1000}\ndata_samples: 7";
    assert_eq!(count(both), Some(7));
    assert_eq!(flat_notices(both), ["data: has samples, which data_samples replaces"]);
    check_flat_error(
        "data: {prompt_tokens: 64, output_tokens: 16, samples: 0.5}",
        "data.samples: is no number of rows; write a whole number from 1, or -1 for all",
    );
    let unknown = flat_notices("data: {prompt_tokens: 64, output_tokens: 16, source: x}");
    assert_eq!(unknown.len(), 1);
    assert!(unknown[0].starts_with("data.source: is no known key;"), "{unknown:?}");
    assert!(unknown[0].ends_with("(GuideLLM up to 0.6 ignores it)"), "{unknown:?}");
}

#[test]
fn arguments_of_data_may_name_columns() {
    let file = "data: /d/rows.csv\nprofile: concurrent\nrate: 2\n";
    let (workload, _) = read(&flat(&format!(
        "{file}data_args: {{prompt_column: question, output_tokens_count_column: len}}\ndataloader_kwargs: {{shuffle: true}}"
    )))
    .unwrap();
    let RequestSource::DataSet(set) = workload.requests else { panic!("it is a file") };
    assert!(matches!(&set.row, RowContent::Prompt(column) if column.name == "question"), "{:?}", set.row);
    assert_eq!((set.output, set.order), (OutputLength::Column("len".to_owned()), RowOrder::Shuffled));
    let take_out = "is an argument of GuideLLM's data set library, which this engine does not read; take it out, and prepare the rows in the file";
    check_flat_error(&format!("{file}data_args: {{foo: 3}}"), &format!("data_args.foo: {take_out}"));
    check_flat_error(&format!("{file}data_args: [{{foo: 3}}]"), &format!("data_args[0].foo: {take_out}"));
    let wrong = flat(&format!(
        "{file}data_args: {{prompt_column: 5}}\ndata_column_mapper: {{output_tokens_count_column: len}}"
    ));
    let error = read(&wrong).unwrap_err().to_string();
    assert!(error.starts_with("data_args.prompt_column: is 5; write the name of a column\n"), "{error}");
    check_flat_error(
        &format!("{file}data_args: {{prompt_column: q}}\ndata_column_mapper: {{text_column: p}}"),
        "data_args.prompt_column: names another column than text_column elsewhere in the profile; keep one of them",
    );
}

#[test]
fn keys_without_effect_have_a_notice() {
    assert_eq!(
        flat_notices(
            "data: prompt_tokens=64,output_tokens=16\ndata_column_mapper: foo\ndataloader_kwargs: {pin_memory: true}\ndata_collator: x\nprocessor_args: {a: 1}\ndata_args: x"
        ),
        [
            "data_column_mapper: is \"foo\", which is not used; write the names of the columns, as {text_column: prompt}",
            "data_args: is \"x\", which is not used; write a mapping for each source of data",
            "dataloader_kwargs.pin_memory: is not used: it does not change what is sent",
            "data_collator: is \"x\", which is not used: each row is one request",
            "processor_args: is not used: prompts are made with the file that processor names",
        ]
    );
    let defaults = "data: prompt_tokens=64,output_tokens=16\ndata_column_mapper: generative_column_mapper\ndataloader_kwargs: {}\ndata_collator: generative\nprocessor_args: {}";
    assert_eq!(flat_notices(defaults), Vec::<String>::new());
    for kind in ["sweep", "throughput"] {
        let notice = format!("rate: holds 2 values, of which {kind} takes only the first");
        assert_eq!(flat_notices(&format!("profile: {kind}\nrate: [5, 10]"))[0], notice);
    }
    check_flat_error(
        "profile: throughput\nmax_seconds: 5\ncooldown_percent: 10",
        "cooldown_percent: leaves nothing of strategy 0; shorten it",
    );
}

#[test]
fn unknown_keys_are_ignored_there_and_named_here() {
    let (_, notices) = read(&flat("max_second: 5\nmax_seconds: 30")).unwrap();
    assert_eq!(
        notices,
        ["max_second: is no key of a scenario, and GuideLLM up to 0.6 ignores it; did you mean max_seconds?", OLD]
    );
    let error = read("{}").unwrap_err().to_string();
    assert!(error.starts_with("profile: has no key of a scenario of GuideLLM; write spec"), "{error}");
    check_flat_error("max_seconds: -5", "max_seconds: is -5; write a number of seconds above 0 and at most 604800");
    check_flat_error("profile: constant\nrate_type: sweep", "rate_type: means the same as profile; keep one of them");
    let enforced = read(&flat("over_saturation: {enabled: true}")).unwrap_err().to_string();
    assert!(enforced.starts_with("over_saturation.kind: is over_saturation with mode enforce"), "{enforced}");
    assert!(read(&flat("over_saturation: {enabled: false}")).is_ok());
}

#[test]
fn the_scenario_of_a_result_file_is_run_again() {
    let spec = nested(
        "profile: {kind: constant, rate: [2.0, 4.0], rampup_duration: 0.0, max_concurrency: null, warmup: {percent: null, value: null, mode: prefer_duration}}",
    );
    let inner: String = spec.lines().map(|it| format!("  {it}\n")).collect();
    let result =
        format!("metadata: {{version: 2}}\nbenchmarks: [{{metrics: {{}}}}]\nconfig:\n{inner}  benchmarks: [null]\n");
    let (workload, notices) = read(&result).unwrap();
    assert_eq!(workload.stages.len(), 2);
    assert!(notices[0].starts_with("config: is the scenario of a result file"), "{notices:?}");
    let error = read(&result.replace("rate: [2.0", "rate: [x")).unwrap_err().to_string();
    assert!(
        error.starts_with("config.spec.profile.rate[0]: is \"x\"; write a number of requests per second"),
        "{error}"
    );
    let old: String = flat("profile: constant\nrate: 2").lines().map(|it| format!("  {it}\n")).collect();
    let stages = read(&format!("benchmarks: []\nargs:\n{old}")).unwrap().0.stages;
    assert!(matches!(stages[0].load, Load::Open { .. }));
}
