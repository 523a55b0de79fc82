use std::path::Path;

use super::*;
use crate::workload::Assignment;

fn with_target(flags: &str) -> Vec<String> {
    let target = Target { url: Some("http://server:8000"), model: Some("m") };
    let (_, notices) = parse_text(Harness::VllmBenchmark, target, flags).unwrap();
    notices.iter().map(Notice::to_string).collect()
}

#[test]
fn the_backend_is_the_api() {
    let api = |flags: &str| workload(flags).api;
    assert_eq!(api("dataset-name: random"), Api::Completions);
    assert_eq!(api("backend: openai-responses\nendpoint: /v1/responses"), Api::Responses);
    let chat = workload("backend: openai-chat\nendpoint: /v1/chat/completions");
    assert_eq!((chat.api, chat.sampling.length_field), (Api::Chat, LengthField::MaxCompletionTokens));
    check_notice(
        "backend: openai-chat",
        "endpoint: is /v1/completions, with which vllm bench serve refuses this backend; requests go to /v1/chat/completions",
    );
    check_error(
        "endpoint: /x/v1/completions",
        "endpoint: is \"/x/v1/completions\", and requests of this backend go to /v1/completions; \
         put the part before it into target.url of the run, and take endpoint out",
    );
    for (backend, why) in
        [("openai-embeddings-chat", "embeddings"), ("vllm-rerank", "ranks texts"), ("openai-audio", "speech")]
    {
        let error = read(&format!("backend: {backend}")).unwrap_err().to_string();
        assert!(error.starts_with(&format!("backend: is {backend}, which")) && error.contains(why), "{error}");
    }
}

/// The tool takes the first event of a chat as the first token, but this event contains only the role.
#[test]
fn the_first_token_of_a_chat_is_noticed() {
    check_notice(
        "backend: openai-chat",
        "backend: calls chats: vllm bench serve takes the first event for the first token, which in a chat has only the role; \
         here TTFT ends with the first event with content",
    );
    check_silent("backend: openai", "backend");
}

#[test]
fn another_target_is_noticed() {
    let notices = with_target("model: x\nbase-url: http://other:80/\ntokenizer: t");
    let expected = [
        "base-url: is http://other:80, but requests are sent to the target of the run, http://server:8000",
        "model: is x, but target.model of the run is m, which is used",
    ];
    assert!(expected.iter().all(|it| notices.iter().any(|found| found == it)), "{notices:#?}");
    let notices = with_target("model: /models/x\nserved-model-name: m\nhost: server");
    assert!(!notices.iter().any(|it| it.starts_with("model") || it.starts_with("host")), "{notices:#?}");
}

#[test]
fn the_name_of_the_model_is_the_served_one() {
    assert_eq!(workload("model: a").model.as_deref(), Some("a"));
    assert_eq!(workload("model: a\nserved-model-name: b").model.as_deref(), Some("b"));
}

#[test]
fn a_tokenizer_is_a_file() {
    let path = |flags: &str| workload(flags).tokenizer.map(|it| it.as_path().to_path_buf());
    assert_eq!(path("tokenizer: /m/llama/").as_deref(), Some(Path::new("/m/llama/tokenizer.json")));
    assert_eq!(path("tokenizer: x/tokenizer.json").as_deref(), Some(Path::new("x/tokenizer.json")));
    assert_eq!(path("tokenizer: meta/llama"), None);
    check_notice(
        "tokenizer: meta/llama",
        "tokenizer: is meta/llama, which is not loaded: here a token is counted as a word; for exact lengths write the path of a tokenizer.json",
    );
    check_notice(
        "dataset-name: sharegpt\ndataset-path: s.json",
        "tokenizer: is missing, and vllm bench serve then loads the model's tokenizer; here a token is counted as a word; for exact lengths write the path of a tokenizer.json",
    );
    // The lengths of rows in a file are fixed, so the tokenizer does not matter.
    check_silent("dataset-name: custom\ndataset-path: a.jsonl", "tokenizer");
}

#[test]
fn a_credential_does_not_belong_into_a_profile() {
    let secret = "header: Authorization=Bearer-sk-123";
    let error = read(secret).unwrap_err().to_string();
    assert!(error.starts_with("header.Authorization: is a credential") && !error.contains("sk-123"), "{error}");
    let error = read("header: Authorization:sk-123").unwrap_err().to_string();
    assert!(!error.contains("sk-123"), "{error}");
    assert_eq!(workload("header: x-a=b=c").headers["x-a"], "b=c");
}

#[test]
fn adapters_are_classes() {
    let classes = workload("lora-modules: a b\nlora-assignment: round-robin").classes;
    assert_eq!(classes.assignment, Assignment::RoundRobin);
    let models: Vec<_> = classes.classes.iter().map(|it| it.model.as_deref().unwrap()).collect();
    assert_eq!(models, ["a", "b"]);
    assert_eq!(workload("lora-modules: [a]").classes.assignment, Assignment::Random);
    check_error("lora-modules: a a", "lora-modules: holds \"a\" twice; keep one");
}

#[test]
fn sampling_is_what_the_original_sends() {
    let extra = |flags: &str| serde_json::to_string(&workload(flags).sampling.extra).unwrap();
    assert_eq!(extra("dataset-name: random"), r#"{"repetition_penalty":1.0}"#);
    assert_eq!(extra("backend: openai-chat\ntop-k: -1\ntemperature: 0"), r#"{"temperature":0.0,"top_k":-1}"#);
    assert_eq!(extra("logprobs: 2\ntop-p: 0.9"), r#"{"logprobs":2,"repetition_penalty":1.0,"top_p":0.9}"#);
    // The fields of `extra-body` are added last, so they take precedence.
    assert_eq!(
        extra("temperature: 0.5\nextra-body: '{\"temperature\": 1, \"stop\": [\"x\"]}'"),
        r#"{"repetition_penalty":1.0,"stop":["x"],"temperature":1}"#
    );
    let body = workload("extra-body: {min_tokens: 7, ignore_eos: false}").sampling;
    assert_eq!((body.min_tokens, body.ignore_eos), (Some(7), false));
    check_error(
        "extra-body: {max_tokens: 7}",
        "extra-body.max_tokens: would replace the length of each answer; set the output length of the data instead",
    );
    check_error(
        "extra-body: {stream: false}",
        "extra-body: cannot be sent: stream is a field that the launcher writes itself; take it out",
    );
    check_notice(
        "backend: openai-chat\nlogprobs: 2",
        "logprobs: is not sent: vllm bench serve sends it only with completions",
    );
    let old = inferencemax("dataset-name: random").sampling;
    assert_eq!(
        (serde_json::to_string(&old.extra).unwrap().as_str(), old.ignore_eos),
        (r#"{"temperature":0.0}"#, false)
    );
}

#[test]
fn the_end_of_sequence_is_ignored_where_the_original_does() {
    let ignores = |flags: &str| workload(flags).sampling.ignore_eos;
    assert!(ignores("dataset-name: random"));
    check_notice(
        "dataset-name: random",
        "ignore-eos: is on, as vllm bench serve 0.32 sets it for this dataset-name; older versions leave it off",
    );
    check_silent("dataset-name: random\nignore-eos: none", "ignore-eos");
    assert!(ignores("dataset-name: timed_trace\ndataset-path: t.jsonl"));
    assert!(!ignores("dataset-name: prefix_repetition"));
    assert!(!ignores("dataset-name: custom\ndataset-path: a.jsonl"));
    assert!(ignores("dataset-name: custom\ndataset-path: a.jsonl\nignore-eos: none"));
}

#[test]
fn answers_may_take_as_long_as_in_the_original() {
    let workload = workload("dataset-name: random");
    assert_eq!(workload.timeouts.request.unwrap().to_string(), "21600s");
    assert!(workload.streaming);
}
