use std::{collections::BTreeMap, time::Duration};

use crds::{
    benchmark_run::{Api, Harness},
    resolve::ResolvedRun,
    units::{RequestRate, Span},
};
use proptest::prelude::*;

use super::Target;
use crate::{
    formats::hostile,
    overrides, parse_text, prepare,
    problem::Findings,
    shipped, shipped_names,
    variables::tests::{run, with},
    workload::*,
    yaml,
};

fn read(text: &str) -> Result<(Workload, Vec<String>), String> {
    let read = parse_text(Harness::Fmperf, Target::default(), text).map_err(|it| it.to_string())?;
    Ok((read.0, read.1.iter().map(ToString::to_string).collect()))
}

fn workload(text: &str) -> Workload {
    read(text).unwrap_or_else(|error| panic!("{text}\n{error}")).0
}

fn check_error(text: &str, expected: &str) {
    assert_eq!(read(text).map(|it| it.1).unwrap_err(), expected, "{text}");
}

fn has_notice(text: &str, part: &str) -> bool {
    read(text).unwrap().1.iter().any(|it| it.contains(part))
}

fn seconds(value: u64) -> Option<Span> {
    Some(Span(Duration::from_secs(value)))
}

fn rate(value: f64) -> RequestRate {
    RequestRate::try_from(value).unwrap()
}

fn conversations(workload: &Workload) -> &Conversations {
    let RequestSource::Conversations(conversations) = &workload.requests else {
        panic!("it is {:?}", workload.requests)
    };
    conversations
}

const LONG: &str = "model_name: m\nscenarios: long-input\nqps_values: '0.5 2'\nnum_users_warmup: 5\nnum_users: 3\nnum_rounds: 4\n\
                    system_prompt: 256\nchat_history: 1024\nanswer_len: 32\ntest_duration: 300\n";

#[test]
fn long_input_is_users_at_each_rate_after_a_warm_up() {
    let workload = workload(LONG);
    assert_eq!((workload.api, workload.streaming, workload.model.as_deref()), (Api::Chat, true, Some("m")));
    let load = |users, of: f64, turns, duration| Load::Users { users, rate: rate(of), turns, duration, count: None };
    let found: Vec<(&str, &Load, Option<Margin>, Span)> =
        workload.stages.iter().map(|it| (it.name.as_str(), &it.load, it.warm_up, it.pause_after)).collect();
    let (pause, none) = (Span(Duration::from_secs(10)), Span::default());
    let expected = [
        ("warm-up-r0.5", &load(1, 2.0, 2, seconds(2)), Some(Margin::All), none),
        ("r0.5", &load(3, 0.5, 4, seconds(300)), None, pause),
        ("warm-up-r2", &load(1, 2.0, 2, seconds(2)), Some(Margin::All), none),
        ("r2", &load(3, 2.0, 4, seconds(300)), None, none),
    ];
    assert_eq!(found, expected);
    let talk = conversations(&workload);
    assert_eq!(talk.prefixes, Prefixes::shared(256, PrefixPlace::System));
    assert_eq!(talk.own_system, Some(LengthDistribution::fixed(1024)));
    assert_eq!((talk.turns.mean, talk.turn.output.mean, talk.history), (4.0, 32.0, History::Answers));
}

#[test]
fn the_original_ends_answers_where_the_model_does_and_marks_users() {
    let workload = workload(LONG);
    assert!(!workload.sampling.ignore_eos);
    assert_eq!(serde_json::to_value(&workload.sampling.extra).unwrap(), serde_json::json!({"temperature": 0}));
    let sessions = &workload.sessions;
    assert_eq!((sessions.header.as_deref(), sessions.after_failure), (Some("x-user-id"), AfterFailure::End));
    // The texts of a user depend on the user's number, and every run begins with the same number.
    assert_eq!(workload.prompts, PromptReuse::PerStage);
}

#[test]
fn a_warm_up_of_half_a_second_is_none() {
    let one = workload("scenarios: long-input\nqps_values: 1\nnum_users_warmup: 1");
    assert_eq!(one.stages.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["r1"]);
}

// The notices report three things: prompts repeat one word, the times in llm-d-benchmark's report are wrong by a factor of 1000, and LMBenchmark's
// load drops when the server is slow.
#[test]
fn what_the_scripts_of_short_scenarios_ignore_is_named() {
    let plain = workload("scenarios: short-input\nqps_values: 5");
    let talk = conversations(&plain);
    assert_eq!((talk.prefixes.buckets[0].tokens, talk.own_system.as_ref().map(|it| it.max)), (1, Some(1)));
    assert_eq!(talk.turn.output, LengthDistribution::fixed(20));
    assert_eq!(
        plain.stages[0].load,
        Load::Users { users: 320, rate: rate(5.0), turns: 20, duration: seconds(100), count: None }
    );
    let long = workload("scenarios: long-long\nqps_values: 5");
    assert_eq!(conversations(&long).turn.output, LengthDistribution::fixed(1000));
    let named = "scenarios: short-input\nqps_values: 5\nnum_users: 1\nsystem_prompt: 256\nanswer_len: 20";
    assert_eq!(conversations(&workload(named)).prefixes.buckets[0].tokens, 256);
    assert!(has_notice(named, "num_users: is 1, which is used here; the script of short-input ignores it and has 320"));
    assert!(has_notice(
        named,
        "system_prompt: is 256, which is used here; the script of short-input ignores it and has 1 word"
    ));
    assert!(!has_notice(named, "answer_len:"));
}

#[test]
fn the_differences_of_figures_are_named() {
    assert!(has_notice(LONG, "its load falls when the server is slow"));
    assert!(has_notice(LONG, "hold seconds under the unit ms: multiply their times by 1000"));
    assert!(has_notice(LONG, "finds its text in the prefix cache"));
}

#[test]
fn sharegpt_sends_the_file_at_even_times() {
    let text =
        "scenarios: sharegpt\nqps_values: '1.34'\nuse_chat_completions: false\nnum_users: 1\ntest_duration: 30\n";
    let workload = workload(text);
    let RequestSource::DataSet(set) = &workload.requests else { panic!("it is a file") };
    assert_eq!(
        (set.output.clone(), set.used_up, set.filter.min_turns),
        (OutputLength::Answer, UsedUp::EndStage, Some(2))
    );
    assert_eq!(workload.api, Api::Completions);
    let Load::Open { arrivals: Arrivals::Constant, rate: Rate::Steady(found), duration: None, .. } =
        &workload.stages[0].load
    else {
        panic!("it is paced")
    };
    assert_eq!(*found, rate(1.34));
    assert!(has_notice(
        text,
        "dataset_file: is missing, so that ShareGPT_V3_unfiltered_cleaned_split.json beside the profile is read"
    ));
    assert!(has_notice(text, "test_duration: is not used, as in the original"));
    let named = format!("{text}dataset_file: {{url: 'https://a/b.json'}}");
    assert!(!has_notice(&named, "dataset_file"));
    check_error(&format!("{text}dataset_file: ''"), "dataset_file: is \"\"; write a path or a URL of 1 to 4096 bytes");
}

#[test]
fn every_key_of_lmbenchmark_has_a_default() {
    let workload = workload("model_name: m");
    assert!(matches!(workload.requests, RequestSource::DataSet(_)));
    assert_eq!(workload.stages.len(), 6);
}

#[test]
fn several_loads_in_one_are_refused() {
    let error = read("scenarios: all\nqps_values: '1 2'").unwrap_err();
    assert!(error.starts_with("scenarios: is all, which the original runs as three different loads"), "{error}");
    let error = read("scenarios: sharegpt long-input\nqps_values: '1 2'").unwrap_err();
    assert!(error.starts_with("scenarios: is \"sharegpt long-input\", several loads"), "{error}");
    check_error(
        "scenarios: long\nqps_values: 1",
        "scenarios: is \"long\"; choose one of sharegpt, short-input, long-input and long-long",
    );
}

#[test]
fn every_mistake_is_reported_at_once() {
    check_error(
        "scenarios: long-input\nqps_values: '1 x 0'\nnum_user: 3\nanswer_len: 0\nuse_chat_completions: 3\nimage: 5\n",
        "image: is 5; write a text\n\
         use_chat_completions: is 3; write true or false\n\
         qps_values: holds \"x\"; write requests per second, 0.001 to 1000000, separated by blanks\n\
         qps_values: holds \"0\"; write requests per second, 0.001 to 1000000, separated by blanks\n\
         answer_len: is 0; write a whole number from 1 to 2000000\n\
         num_user: is no known key; did you mean num_users?",
    );
}

#[test]
fn a_homogeneous_load_is_one_prompt_again_and_again() {
    let text = "input_tokens: 500\noutput_tokens: 50\ngreedy: true\nimage: x\nmodel_name: m\n";
    let workload = workload(text);
    let RequestSource::SharedPrefix { groups: 1, prompts_per_group: 1, system_prompt_len, output_len, seed, .. } =
        &workload.requests
    else {
        panic!("it is {:?}", workload.requests)
    };
    assert_eq!((system_prompt_len.mean, output_len.mean, seed.is_some()), (499.0, 50.0, true));
    assert!(workload.sampling.ignore_eos);
    assert_eq!(serde_json::to_value(&workload.sampling.extra).unwrap(), serde_json::json!({"temperature": 0}));
    assert!(matches!(workload.stages[0].load, Load::Closed { concurrency: 1, .. }));
    assert!(has_notice(
        text,
        "num_users: is missing, so that it is 1; the original takes it from the variable NUM_USERS"
    ));
    assert!(!has_notice(&format!("{text}num_users: 4\nduration: 60\ngrace_period: 5"), "is missing"));
}

#[test]
fn a_heterogeneous_load_has_as_many_prompts_as_samples() {
    let workload = workload("min_input_tokens: 10\nmax_input_tokens: 200\nfrac_greedy: 0.25\nsample_size: 7");
    let RequestSource::SharedPrefix { groups: 7, system_prompt_len, .. } = &workload.requests else { panic!() };
    assert_eq!((system_prompt_len.min, system_prompt_len.max), (9, 199));
    let classes: Vec<(&str, f64)> = workload.classes.classes.iter().map(|it| (it.name.as_str(), it.weight)).collect();
    assert_eq!(classes, [("greedy", 0.25), ("sampled", 0.75)]);
    check_error(
        "min_input_tokens: 30\nmax_output_tokens: 5",
        "min_input_tokens: is 30, above max_input_tokens, which is 20; lower it, or raise max_input_tokens\n\
         min_output_tokens: is 10, above max_output_tokens, which is 5; lower it, or raise max_output_tokens",
    );
}

#[test]
fn the_differences_of_samples_are_named() {
    let several = "min_input_tokens: 1\nmax_input_tokens: 200\nfrac_greedy: 0.25\nsample_size: 7";
    assert!(has_notice(several, "sample_size: is 7: all these prompts are sent equally often"));
    assert!(has_notice(several, "min_input_tokens: is 1, but several distinct prompts need at least 2 tokens here"));
    assert!(has_notice(several, "frac_greedy: is drawn for each request here; the original draws it"));
    assert!(has_notice(several, "num_users: send the next request immediately after a failure; the original waits"));
    let alike = "min_input_tokens: 2\nfrac_greedy: 1\nsample_size: 1";
    assert!(!["sample_size:", "min_input_tokens:", "frac_greedy:"].iter().any(|it| has_notice(alike, it)));
}

#[test]
fn a_prompt_of_one_token_is_sent_as_such() {
    let RequestSource::Random { input, .. } = workload("input_tokens: 1").requests else { panic!("it has no prefix") };
    assert_eq!(input, LengthDistribution::fixed(1));
}

#[test]
fn the_class_guidellm_is_a_run_of_guidellm() {
    let text =
        "model_name: m\nrate_type: sweep\nprompt_tokens: 300\noutput_tokens: 20\nmax_requests: 50\nmax_seconds: 30\n";
    let workload = workload(&format!("{text}output_format: json\nimage: x\nservice_account: runner"));
    assert!(workload.stages.len() > 2, "{:?}", workload.stages);
    let RequestSource::Random { input, output, .. } = &workload.requests else { panic!("{:?}", workload.requests) };
    assert_eq!((input.mean, output.mean), (300.0, 20.0));
    assert!(read("rate_type: sweep\nprompt_token: 5").unwrap_err().starts_with("prompt_token: is no known key"));
}

#[test]
fn a_class_with_a_model_of_its_own_is_refused_by_name() {
    let error = read("sample_size: 10").unwrap_err();
    assert!(error.starts_with("profile: is of fmperf's class Realistic"), "{error}");
}

#[test]
fn every_shipped_profile_asks_for_the_load_that_it_is_known_for() {
    let run = ResolvedRun { harness: Harness::Fmperf, ..run("m") };
    for name in shipped_names(Harness::Fmperf) {
        let template = shipped(Harness::Fmperf, name).unwrap();
        let ready = prepare(&run, template, &with("m", &[]).unwrap(), &BTreeMap::new()).unwrap();
        insta::assert_yaml_snapshot!(name, ready.workload);
    }
}

proptest! {
    #[test]
    fn no_value_in_any_place_makes_the_parser_panic(
        path in prop::sample::select(super::KEYS.to_vec()),
        scenario in prop::sample::select(vec!["sharegpt", "long-input", "short-input", "all"]),
        value in prop_oneof![
            any::<f64>().prop_map(|it| it.to_string()),
            any::<i64>().prop_map(|it| it.to_string()),
            prop::sample::select(vec!["[]", "{}", "[1, x]", "x", "null", "true", "''", "0", "4294967296", "1e308", "{url: 5}"])
                .prop_map(str::to_owned),
        ],
    ) {
        let mut profile = yaml::read(&LONG.replace("long-input", scenario)).unwrap();
        overrides::apply(&mut profile, &BTreeMap::from([(path.to_owned(), value)]), &super::KEYS, &Findings::default());
        if let Ok((workload, _)) = parse_text(Harness::Fmperf, Target::default(), &yaml::write(&profile)) {
            hostile::check_round_trip(&workload);
        }
    }

    #[test]
    fn a_profile_that_is_cut_gives_a_message_or_a_load(share in 0.0..1.0) {
        hostile::check(Harness::Fmperf, hostile::cut(LONG, share));
    }
}

#[test]
fn a_name_without_a_value_matters_only_where_the_value_does() {
    // The first lines of llm-d-benchmark's profiles.
    let head = "model_name: REPLACE_ENV_LLMDBENCH_DEPLOY_CURRENT_MODEL\nimage: REPLACE_ENV_LLMDBENCH_HARNESS_CONTAINER_IMAGE\n\
                service_account: REPLACE_ENV_LLMDBENCH_HARNESS_SERVICE_ACCOUNT\npvc_name: REPLACE_ENV_LLMDBENCH_HARNESS_PVC_NAME\n";
    let run = ResolvedRun { harness: Harness::Fmperf, ..run("m") };
    let prepared = |text: &str| {
        prepare(&run, text, &with("m", &[]).unwrap(), &BTreeMap::new())
            .map(|it| it.workload.model)
            .map_err(|it| it.to_string())
    };
    let text = LONG.replace("model_name: m\n", head);
    assert_eq!(prepared(&text), Ok(Some("m".to_owned())));
    let error = prepared(&text.replace("num_users: 3", "num_users: REPLACE_ENV_USERS")).unwrap_err();
    assert!(error.starts_with("num_users: holds REPLACE_ENV_USERS, which has no value; "), "{error}");
}
