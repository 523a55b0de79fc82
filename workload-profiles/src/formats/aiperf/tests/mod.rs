mod data;
mod hostile;
mod load;
mod shipped;

use crds::benchmark_run::{Api, Harness};

use crate::{Notice, parse_text, problem::ProfileError, workload::Assignment};

use super::*;

fn read(flags: &str) -> Result<(Workload, Vec<String>), ProfileError> {
    let (workload, notices) = parse_text(Harness::Aiperf, Target::default(), flags)?;
    Ok((workload, notices.iter().map(Notice::to_string).collect()))
}

fn workload(flags: &str) -> Workload {
    read(flags).unwrap_or_else(|error| panic!("{flags}\n{error}")).0
}

fn check_error(flags: &str, expected: &str) {
    assert_eq!(read(flags).unwrap_err().to_string(), expected, "{flags}");
}

/// Checks that the notices contain `expected`.
fn check_notice(flags: &str, expected: &str) {
    let notices = read(flags).unwrap().1;
    assert!(notices.iter().any(|it| it == expected), "{flags}\n{notices:#?}\nlacks {expected}");
}

#[test]
fn a_command_line_is_the_same_as_a_mapping() {
    let mapping = workload(
        "model: m\nurl: server:8000\nconcurrency: 4\nisl: 100\nosl: 20\nstreaming: none\nextra-inputs: 'ignore_eos:true,top_p:0.9'\nheader: 'x-a:1'",
    );
    let line = "aiperf profile -m m -u server:8000 --concurrency 4 --synthetic-input-tokens-mean 100 --output-tokens-mean=20 --streaming \
                --extra-inputs ignore_eos:true --extra-inputs top_p:0.9 -H 'x-a: 1'";
    assert_eq!(workload(line), mapping);
    check_error(
        "aiperf plot --x",
        "profile: begins with \"aiperf plot\"; write aiperf profile, and its flags after it",
    );
    check_error("concurency: 4", "concurency: is no flag of aiperf profile; did you mean concurrency?");
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    for flag in [
        "prefill-concurrency",
        "seq-dist",
        "public-dataset",
        "search-space",
        "accuracy-benchmark",
        "video-width",
        "scenario",
    ] {
        let error = read(&format!("{flag}: 5")).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{flag}: ")) && error.contains(','), "{error}");
    }
    check_error(
        "endpoint-type: embeddings",
        "endpoint-type: is \"embeddings\", which this engine does not call; choose one of chat, completions and responses",
    );
    check_error(
        "num-profile-runs: 3",
        "num-profile-runs: is above 1, which is not supported; take it out, and start the run several times",
    );
}

#[test]
fn the_endpoint_is_the_api() {
    let chat = workload("model: m");
    assert_eq!((chat.api, chat.streaming), (Api::Chat, false));
    check_notice(
        "model: m",
        "streaming: is off, so that TTFT, TPOT and ITL cannot be measured; write streaming: none for them",
    );
    assert_eq!(workload("endpoint-type: completions\ncustom-endpoint: v1/completions").api, Api::Completions);
    assert_eq!(workload("endpoint-type: responses\nstreaming: none").api, Api::Responses);
    check_error(
        "custom-endpoint: /x",
        "custom-endpoint: is \"/x\", and requests of this endpoint-type go to /v1/chat/completions; \
         put the part before it into target.url of the run, and take custom-endpoint out",
    );
}

#[test]
fn several_models_are_classes() {
    let classes = workload("model: a,b").classes;
    assert_eq!(classes.assignment, Assignment::RoundRobin);
    assert_eq!(classes.classes.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(workload("model: m").model.as_deref(), Some("m"));
    check_error("url: [a, b]", "url: holds 2 servers; name one, or a gateway before them");
}

#[test]
fn lengths_of_answers_are_sent_where_they_are_given() {
    let field = |flags: &str| workload(flags).sampling.length_field;
    assert_eq!(field("model: m"), LengthField::NotSent);
    assert_eq!(field("osl: 5"), LengthField::MaxCompletionTokens);
    assert_eq!(field("osl: 5\nuse-legacy-max-tokens: none"), LengthField::MaxTokens);
    // The output length alone does not make the server ignore the end-of-sequence token.
    assert!(!workload("osl: 5").sampling.ignore_eos);
    let sampling = workload("extra-inputs: ignore_eos:true,min_tokens:7,temperature:0.5,stop:x").sampling;
    assert_eq!((sampling.ignore_eos, sampling.min_tokens), (true, Some(7)));
    assert_eq!(serde_json::to_string(&sampling.extra).unwrap(), r#"{"stop":"x","temperature":0.5}"#);
    assert!(workload("extra-inputs: '{\"ignore_eos\": true}'").sampling.ignore_eos);
}

#[test]
fn a_seed_makes_runs_repeat() {
    assert_eq!(workload("model: m").prompts, PromptReuse::Fresh);
    assert_eq!(workload("random-seed: 5").prompts, PromptReuse::PerStage);
}

#[test]
fn a_credential_is_not_shown() {
    let error = read("header: 'Authorization:Bearer sk-1'").unwrap_err().to_string();
    assert!(error.starts_with("header.Authorization: is a credential") && !error.contains("sk-1"), "{error}");
    check_notice(
        "api-key: sk-1",
        "api-key: is not sent; put the token into a Secret, and name the Secret in target.auth",
    );
}

#[test]
fn sessions_keep_what_the_profile_asks_for() {
    let sessions = workload("connection-reuse-strategy: sticky-user-sessions\nsession-header: x-session").sessions;
    assert_eq!((sessions.keep_connection, sessions.header.as_deref()), (true, Some("x-session")));
    check_error(
        "connection-reuse-strategy: never",
        "connection-reuse-strategy: is never, which is not supported; choose one of pooled and sticky-user-sessions",
    );
}
