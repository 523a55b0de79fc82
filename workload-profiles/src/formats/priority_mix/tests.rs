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
    shipped,
    variables::tests::{run, with},
    workload::*,
    yaml,
};

const PROFILE: &str = "model: m\napi: {type: chat, path: /v1/chat/completions}\n\
    load: {duration_seconds: 90, rate_per_second: 6, max_in_flight: 24}\n\
    request: {prompt: one two three four, max_tokens: 64, stream: true}\n\
    trafficClasses:\n\
    - {name: critical, weight: 0.2, priority: 100, objective: critical, fairnessID: tenant-a}\n\
    - {name: batch, weight: 0.8, priority: -10, objective: batch, headers: {x-a: b}, request: {max_tokens: 512}}\n";

fn read(text: &str) -> Result<(Workload, Vec<String>), String> {
    let read = parse_text(Harness::PriorityMix, Target::default(), text).map_err(|it| it.to_string())?;
    Ok((read.0, read.1.iter().map(ToString::to_string).collect()))
}

fn check_error(text: &str, expected: &str) {
    assert_eq!(read(text).map(|it| it.1).unwrap_err(), expected, "{text}");
}

#[test]
fn arrivals_are_even_and_classes_have_header_fields() {
    let workload = read(PROFILE).unwrap().0;
    assert_eq!((workload.api, workload.streaming, workload.model.as_deref()), (Api::Chat, true, Some("m")));
    let rate = RequestRate::try_from(6.0).unwrap();
    let expected = Load::Open {
        arrivals: Arrivals::Constant,
        rate: rate.into(),
        duration: None,
        count: Some(540),
        max_concurrency: Some(24),
    };
    assert_eq!(workload.stages[0].load, expected);
    assert_eq!(workload.timeouts.request, Some(Span(Duration::from_secs(60))));
    let [critical, batch] = workload.classes.classes.as_slice() else { panic!("there are two") };
    assert_eq!((critical.weight, critical.output), (0.2, Some(64)));
    assert_eq!(critical.headers["x-llm-d-inference-objective"], "critical");
    assert_eq!(critical.headers["x-llm-d-inference-fairness-id"], "tenant-a");
    assert_eq!((batch.headers["x-a"].as_str(), batch.output), ("b", Some(512)));
}

fn stage(text: &str) -> (RequestRate, u64, u32) {
    match read(text).unwrap().0.stages.remove(0).load {
        Load::Open { rate: Rate::Steady(rate), count: Some(count), max_concurrency: Some(limit), .. } => {
            (rate, count, limit)
        }
        other => panic!("it is {other:?}"),
    }
}

fn has_notice(text: &str, part: &str) -> bool {
    read(text).unwrap_or_else(|error| panic!("{text}\n{error}")).1.iter().any(|it| it.contains(part))
}

/// Returns a profile with this request and these classes.
fn profile(request: &str, classes: &str) -> String {
    format!("request: {request}\ntrafficClasses: {classes}\n")
}

#[test]
fn what_is_left_out_is_as_in_the_original() {
    let (workload, notices) = read("trafficClasses: [{name: a}]").unwrap();
    let [class] = workload.classes.classes.as_slice() else { panic!("there is one") };
    assert_eq!((class.weight, class.output, workload.streaming), (1.0, Some(32), false));
    assert!(notices.iter().any(|it| it.starts_with("request.stream: is off, which is its default")), "{notices:?}");
    let RequestSource::SharedPrefix { groups: 1, system_prompt_len, .. } = workload.requests else { panic!() };
    assert_eq!(system_prompt_len.mean, 6.0);
    let rate = |it| RequestRate::try_from(it).unwrap();
    assert_eq!(stage("trafficClasses: [{name: a}]"), (rate(1.0), 30, 1));
    let text = PROFILE.replace(", max_in_flight: 24", "").replace("rate_per_second: 6", "rate_per_second: 2.5");
    assert_eq!(stage(&text), (rate(2.5), 225, 3));
    assert_eq!(stage(&text.replace("load: {", "load: {total_requests: 7, ")), (rate(2.5), 7, 3));
}

#[test]
fn the_number_of_requests_is_cut_to_a_whole_one() {
    let count = |load: &str| stage(&format!("load: {load}\ntrafficClasses: [{{name: a}}]")).1;
    assert_eq!(count("{rate_per_second: 0.7, duration_seconds: 5}"), 3);
    assert_eq!(count("{rate_per_second: 0.7, duration_seconds: 1}"), 1);
}

#[test]
fn classes_take_turns_and_streams_are_off_unless_asked_for() {
    assert_eq!(read(PROFILE).unwrap().0.classes.assignment, Assignment::RoundRobin);
    assert!(!has_notice(PROFILE, "request.stream"));
    let mixed = profile("{stream: true}", "[{name: a}, {name: b, request: {stream: false}}]");
    check_error(
        &mixed,
        "trafficClasses[1]: has stream: false, and the first class true; write stream once, into request of the profile",
    );
}

#[test]
fn all_classes_share_one_text_and_a_number_makes_it_fresh() {
    let RequestSource::SharedPrefix { groups, prompts_per_group, system_prompt_len, output_len, .. } =
        read(PROFILE).unwrap().0.requests
    else {
        panic!("prompts repeat")
    };
    assert_eq!((groups, prompts_per_group, system_prompt_len.mean), (1, 1, 3.0));
    assert_eq!((output_len.min, output_len.max), (64, 512));
    for place in ["{variation}", "{request_index}", "{traffic_class} of {request_index}"] {
        let text = profile(&format!("{{promptTemplate: 'one two {place} four', promptRepeat: 3}}"), "[{name: a}]");
        let RequestSource::Random { input, prefixes, .. } = read(&text).unwrap().0.requests else {
            panic!("they differ: {text}")
        };
        let rest = if place.contains("of") { 16.0 } else { 10.0 };
        assert_eq!((input.mean, prefixes.buckets[0].tokens), (rest, 2), "{text}");
    }
    // llm-d-benchmark only replaces placeholders in templates, not in prompts.
    let plain = read(&profile("{prompt: 'one {variation}'}", "[{name: a}]")).unwrap().0.requests;
    assert!(matches!(plain, RequestSource::SharedPrefix { groups: 1, .. }), "{plain:?}");
    let one = read(&profile("{prompt: one}", "[{name: a}]")).unwrap().0.requests;
    assert!(matches!(one, RequestSource::Random { input, .. } if input == LengthDistribution::fixed(1)));
}

#[test]
fn the_name_of_a_class_in_the_prompt_gives_a_text_for_each_class() {
    let text = profile("{promptTemplate: 'a {traffic_class} prompt'}", "[{name: a}, {name: b}]");
    let requests = read(&text).unwrap().0.requests;
    assert!(matches!(requests, RequestSource::SharedPrefix { groups: 2, .. }), "{requests:?}");
    assert!(has_notice(&text, "trafficClasses: have prompts that differ in {traffic_class}"));
}

#[test]
fn a_class_changes_single_keys_of_the_request() {
    let words = |classes: &str| {
        let text = profile("{promptTemplate: 'a {variation} c d', max_tokens: 5}", classes);
        let (workload, _) = read(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let RequestSource::Random { input, .. } = workload.requests else { panic!("they differ") };
        (input.mean + 1.0, workload.classes.classes[0].output)
    };
    assert_eq!(words("[{name: a, request: {promptRepeat: 50}}]"), (200.0, Some(5)));
    assert_eq!(words("[{name: a, promptRepeat: 3, max_tokens: 8}]"), (12.0, Some(8)));
    assert_eq!(words("[{name: a, promptRepeat: 3, request: {promptRepeat: 9}}]"), (12.0, Some(5)));
    // A template takes precedence over a prompt, even over the prompt of a class.
    assert_eq!(words("[{name: a, prompt: x}]"), (4.0, Some(5)));
}

#[test]
fn other_names_of_keys_are_read() {
    let text = "request: {prompt_template: '{variation} b'}\ntraffic_classes: [{name: a, fairness_id: x}]";
    let workload = read(text).unwrap().0;
    assert!(matches!(workload.requests, RequestSource::Random { .. }));
    assert_eq!(workload.classes.classes[0].headers["x-llm-d-inference-fairness-id"], "x");
    check_error(
        "trafficClasses: [{name: a, fairness_id: x, fairnessID: x}]",
        "trafficClasses[0].fairness_id: means the same as fairnessID; keep one of them",
    );
}

#[test]
fn different_prompts_of_classes_are_refused() {
    let remedy =
        "classes cannot have different prompts yet: write one prompt for all classes, or run a profile for each class";
    let different = |classes: &str, found: &str, first: &str| {
        let message = format!(
            "trafficClasses[1]: has a prompt of {found}, but the first class has a prompt of {first}; {remedy}"
        );
        check_error(&profile("{prompt: one two}", classes), &message);
    };
    different("[{name: a}, {name: b, promptRepeat: 9}]", "18 words", "2 words");
    different("[{name: a, prompt: x}, {name: b, prompt: z}]", "1 word", "1 word");
}

#[test]
fn header_fields_of_a_class_win_over_its_objective() {
    let headers = "{X-LLM-D-Inference-Objective: hi, x-llm-d-inference-fairness-id: me}";
    let text = format!("trafficClasses: [{{name: a, objective: lo, fairnessID: me, headers: {headers}}}]");
    let sent = read(&text).unwrap().0.classes.classes.remove(0).headers;
    let sent: Vec<(&str, &str)> = sent.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(sent, [("X-LLM-D-Inference-Objective", "hi"), ("x-llm-d-inference-fairness-id", "me")]);
    assert!(has_notice(
        &text,
        "trafficClasses[0].objective: is \"lo\", but headers has x-llm-d-inference-objective, which is sent: \"hi\""
    ));
    assert!(!has_notice(&text, "fairnessID"));
}

#[test]
fn every_mistake_is_reported_at_once() {
    check_error(
        "api: {type: grpc}\nload: {rate_per_second: 0, max_in_flight: 0}\ntrafficClass: []\ntrafficClasses: [{name: a, weight: 0, objective: 'a b', prompt: ''}]",
        "api.type: is \"grpc\"; choose one of chat, completion and completions\n\
         load.rate_per_second: is 0; write a number above 0 and at most 1000000\n\
         load.max_in_flight: is 0; write a whole number from 1 to 60000\n\
         trafficClasses[0].weight: is 0; write a number above 0 and at most 1000000000\n\
         trafficClasses[0].objective: is \"a b\"; write at most 256 ASCII characters without blanks\n\
         trafficClasses[0]: has a prompt without words, or with more than 2000000 words; write a text into promptTemplate or prompt, and its repetitions into promptRepeat\n\
         trafficClass: is no known key; did you mean trafficClasses?",
    );
}

#[test]
fn the_shipped_profile_is_the_mix_that_it_is_known_for() {
    let run = ResolvedRun { harness: Harness::PriorityMix, ..run("m") };
    let template = shipped(Harness::PriorityMix, "priority_mix").unwrap();
    let ready = prepare(&run, template, &with("m", &[]).unwrap(), &BTreeMap::new()).unwrap();
    insta::assert_yaml_snapshot!(ready.workload);
}

proptest! {
    #[test]
    fn no_value_in_any_place_makes_the_parser_panic(
        path in prop::sample::select(vec![
            "api", "api.type", "load", "load.duration_seconds", "load.rate_per_second", "load.total_requests", "load.max_in_flight",
            "load.request_timeout_seconds", "request", "request.prompt", "request.max_tokens", "trafficClasses",
            "trafficClasses[0]", "trafficClasses[0].weight", "trafficClasses[0].promptTemplate", "request.promptTemplate", "traffic_classes", "trafficClasses[0].headers", "trafficClasses[1].request",
        ]),
        value in prop_oneof![
            any::<f64>().prop_map(|it| it.to_string()),
            any::<i64>().prop_map(|it| it.to_string()),
            prop::sample::select(vec![
                "[]", "{}", "[[]]", "x", "null", "true", "''", "'{variation}'", "1e-9", "{promptTemplate: '{variation} a', promptRepeat: 2000000}",
                "{promptRepeat: 1e300}", "{authorization: x}", "[{name: a, weight: 1}]", "{prompt: '{variation}'}",
            ]).prop_map(str::to_owned),
        ],
    ) {
        let mut profile = yaml::read(PROFILE).unwrap();
        overrides::apply(&mut profile, &BTreeMap::from([(path.to_owned(), value)]), &super::KEYS, &Findings::default());
        if let Ok((workload, _)) = parse_text(Harness::PriorityMix, Target::default(), &yaml::write(&profile)) {
            hostile::check_round_trip(&workload);
        }
    }

    #[test]
    fn a_profile_that_is_cut_gives_a_message_or_a_load(share in 0.0..1.0) {
        hostile::check(Harness::PriorityMix, hostile::cut(PROFILE, share));
    }
}
