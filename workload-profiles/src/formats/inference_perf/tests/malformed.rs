//! Profiles that inference-perf reads in another way than their authors mean.

use super::*;

const MEANT: &str = "{type: conversation_replay, conversation_replay: {seed: 32, num_conversations: 32}}";

#[test]
fn data_that_are_indented_too_far_are_read_where_they_were_meant() {
    let text = format!(
        "load: {{type: concurrent, stages: [{{concurrency_level: 32, num_requests: 192}}]}}\napi: {{streaming: true}}\n\
         tokenizer: {{pretrained_model_name_or_path: '', data: {MEANT}}}"
    );
    let (workload, notices) = parse_text(Harness::InferencePerf, Target::default(), &text).unwrap();
    assert!(matches!(workload.requests, RequestSource::Conversations(_)));
    assert_eq!(
        notices.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "tokenizer.data: is indented too far, and is read as if it were at the root, as its author meant; inference-perf finds no data there and sends mock prompts"
        ]
    );
}

#[test]
fn mistakes_in_such_data_have_the_path_where_they_stand() {
    let text = "load: {stages: [{rate: 1, duration: 1}]}\nserver: {data: {type: shared_prefix, shared_prefix: {num_groups: many}}}";
    let error = parse_text(Harness::InferencePerf, Target::default(), text).unwrap_err();
    assert_eq!(
        error.to_string(),
        "server.data.shared_prefix.num_groups: is \"many\"; write a whole number from 1 to 1000000"
    );
}

#[test]
fn data_at_the_root_are_not_taken_from_elsewhere() {
    let error = read(&format!("tokenizer: {{data: {MEANT}}}")).unwrap_err().to_string();
    assert_eq!(
        error,
        "tokenizer.data: is not a key of tokenizer, but of the root of the profile; remove its indentation"
    );
}

#[test]
fn a_misspelt_spread_and_a_variance_alone_do_not_pass_unnoticed() {
    check_notice(
        &input("std: 500, min: 5000, max: 10000, mean: 10000"),
        "data.input_distribution.std: is read as std_dev, 500; inference-perf ignores it and uses 200",
    );
    assert_eq!(input_lengths("variance: 25, std_dev: 0").std_dev, 5.0);
}

#[test]
fn streaming_is_off_by_default_and_said_so() {
    let (workload, notices) = read("api: {type: completion}").unwrap();
    assert!(!workload.streaming && notices[0].starts_with("api.streaming: is off, so that TTFT"), "{notices:?}");
}

#[test]
fn an_unknown_key_alone_is_a_notice() {
    check_notice(
        "load: {stages: [{rate: 1, duration: 30}], interwal: 5}",
        "load.interwal: is no known key; did you mean interval? (not used; inference-perf ignores it up to version 0.6.1, and refuses \
         it later)",
    );
    // An unknown key is a problem here, because it may be a misspelt form of the missing key.
    check_error(
        "load: {stages: [{raet: 1, duration: 30}]}",
        "load.stages[0].rate: is missing; write the requests per second\n\
         load.stages[0].raet: is no known key; did you mean rate?",
    );
}
