use std::{collections::BTreeMap, time::Duration};

use crds::{
    benchmark_run::{Api, Harness},
    resolve::ResolvedRun,
    units::{RequestRate, Span},
};
use proptest::prelude::*;

use super::Target;
use crate::{
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

#[test]
fn what_is_left_out_is_as_in_the_original() {
    let text = PROFILE
        .replace(", max_in_flight: 24", ", total_requests: 7")
        .replace("rate_per_second: 6", "rate_per_second: 2.5");
    let Load::Open { count, max_concurrency, .. } = read(&text).unwrap().0.stages.remove(0).load else { panic!() };
    assert_eq!((count, max_concurrency), (Some(7), Some(3)));
}

#[test]
fn one_text_is_one_prompt_and_a_variation_makes_it_fresh() {
    let RequestSource::SharedPrefix { groups, prompts_per_group, system_prompt_len, output_len, .. } =
        read(PROFILE).unwrap().0.requests
    else {
        panic!("prompts repeat")
    };
    assert_eq!((groups, prompts_per_group, system_prompt_len.mean), (2, 1, 3.0));
    assert_eq!((output_len.min, output_len.max), (64, 512));
    let varied =
        PROFILE.replace("prompt: one two three four", "promptTemplate: 'one two {variation} four', promptRepeat: 3");
    let RequestSource::Random { input, prefixes, .. } = read(&varied).unwrap().0.requests else {
        panic!("they differ")
    };
    assert_eq!((input.mean, prefixes.buckets[0].tokens), (10.0, 2));
}

#[test]
fn prompts_of_different_lengths_are_named() {
    let text =
        PROFILE.replace("request: {max_tokens: 512}", "request: {promptTemplate: a b, promptRepeat: 9, max_tokens: 5}");
    let (workload, notices) = read(&text).unwrap();
    let RequestSource::SharedPrefix { system_prompt_len, .. } = workload.requests else { panic!("prompts repeat") };
    assert_eq!((system_prompt_len.min, system_prompt_len.max), (3, 17));
    assert!(
        notices.iter().any(|it| it.starts_with("trafficClasses: have prompts of different lengths")),
        "{notices:?}"
    );
}

#[test]
fn every_mistake_is_reported_at_once() {
    check_error(
        "api: {type: grpc}\nload: {rate_per_second: 0, max_in_flight: 0}\ntrafficClass: []\ntrafficClasses: [{name: a, weight: 0, objective: 'a b'}]",
        "api.type: is \"grpc\"; choose one of chat, completion and completions\n\
         load.rate_per_second: is 0; write a number above 0 and at most 1000000\n\
         load.duration_seconds: is missing; write how long requests are sent, or total_requests\n\
         load.max_in_flight: is 0; write a whole number from 1 to 60000\n\
         trafficClasses[0].weight: is 0; write a number above 0 and at most 1000000000\n\
         trafficClasses[0].request: has no prompt, and request at the root has none; write promptTemplate or prompt\n\
         trafficClasses[0].request: has no max_tokens, and request at the root has none; write it in one of them\n\
         trafficClasses[0].objective: is \"a b\"; write at most 256 ASCII characters without blanks\n\
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
            "trafficClasses[0]", "trafficClasses[0].weight", "trafficClasses[0].headers", "trafficClasses[1].request",
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
        if let Ok((workload, _)) = parse_text(Harness::PriorityMix, Target::default(), &yaml::write(&profile).unwrap()) {
            let again = yaml::write(&serde_json::to_value(&workload).unwrap()).unwrap();
            let read = parse_text(Harness::Benchwright, Target::default(), &again).map(|it| it.0);
            prop_assert_eq!(read, Ok(workload));
        }
    }

    #[test]
    fn a_profile_that_is_cut_gives_a_message_or_a_load(end in 0..PROFILE.len()) {
        let _ = read(&PROFILE[..end]);
    }
}
