//! Answers of real servers, as recorded: whole, cut at every byte and joined, they mean the same.

use std::{fs, path::Path, time::Duration};

use launcher::{
    client::answer::{Answer, Failure},
    record::RequestOutcome,
};
use serde_json::Value;

struct Transcript {
    status: u16,
    content_type: Option<String>,
    streaming: bool,
    frames: Vec<String>,
}

fn read(name: &str) -> Transcript {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/server-transcripts").join(name);
    let exchange: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let response = &exchange["response"];
    let status = response["status_line"].as_str().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = response["headers"].as_array().unwrap();
    let content_type = headers.iter().find(|it| it[0] == "content-type").map(|it| it[1].as_str().unwrap().to_owned());
    let frames =
        response["frames"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap().to_owned()).collect();
    Transcript { status, content_type, streaming: exchange["request"]["body"]["stream"] == true, frames }
}

/// Gives the pieces to an answer, all at one time, each as a read of its own.
fn feed<'a>(
    transcript: &Transcript,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Answer, Result<RequestOutcome, Failure>) {
    let mut answer = Answer::default();
    answer.head(transcript.status, transcript.content_type.as_deref(), transcript.streaming);
    let mut read = 0;
    for piece in pieces {
        read += 1;
        answer.bytes(piece, Duration::from_secs(1), read);
    }
    answer.end(Duration::from_secs(1), read);
    let verdict = answer.verdict();
    (answer, verdict)
}

/// What does not depend on how the bytes were cut.
fn meaning((answer, verdict): &(Answer, Result<RequestOutcome, Failure>)) -> impl PartialEq + std::fmt::Debug + use<> {
    let times = (answer.first_token, answer.last_token, answer.gaps.len());
    (answer.content_events, times, answer.usage, verdict.clone())
}

fn check(name: &str, events: u32, usage: Option<(u32, u32)>, expected: Result<RequestOutcome, Failure>) {
    let transcript = read(name);
    let frames = || transcript.frames.iter().map(String::as_bytes);
    let joined = frames().collect::<Vec<_>>().concat();
    let whole = feed(&transcript, frames());
    assert_eq!(whole.1, expected, "{name}");
    assert_eq!(whole.0.content_events, events, "{name}");
    let found = whole.0.usage.prompt_tokens.zip(whole.0.usage.completion_tokens);
    assert_eq!(found, usage, "{name}");
    for size in [1, 2, 3, 7, 64, 1_000, usize::MAX] {
        let cut = feed(&transcript, joined.chunks(size.min(joined.len().max(1))));
        assert_eq!(meaning(&cut), meaning(&whole), "{name} cut into pieces of {size}");
    }
}

fn ok(name: &str, events: u32, usage: Option<(u32, u32)>) {
    check(name, events, usage, Ok(RequestOutcome::Ok));
}

fn failed(name: &str, events: u32, usage: Option<(u32, u32)>, outcome: RequestOutcome, message: &str) {
    check(name, events, usage, Err(Failure { outcome, message: message.to_owned() }));
}

#[test]
fn vllm_streams_have_their_events_and_usage() {
    ok("vllm-0.32.0-default/chat-stream.json", 8, None);
    ok("vllm-0.32.0-default/chat-stream-usage.json", 8, Some((15, 8)));
    ok("vllm-0.32.0-default/chat-stream-one-token.json", 1, Some((15, 1)));
    ok("vllm-0.32.0-default/completions-stream.json", 8, None);
    ok("vllm-0.32.0-default/completions-stream-usage.json", 8, Some((5, 8)));
    ok("vllm-0.16.0-default/chat-stream.json", 8, None);
    ok("vllm-0.16.0-default/completions-stream-continuous-usage.json", 8, Some((5, 8)));
    ok("vllm-0.32.0-full/chat-stream-continuous-only.json", 8, None);
    ok("vllm-0.32.0-full/completions-stream-stop.json", 1, Some((5, 1)));
    // Four tokens an event.
    ok("vllm-0.32.0-small/chat-stream-usage.json", 3, Some((15, 8)));
}

#[test]
fn reasoning_and_tool_calls_are_output() {
    ok("vllm-0.32.0-reasoning/chat-stream-usage.json", 8, Some((15, 8)));
    ok("vllm-0.32.0-full/chat-stream-tool-auto.json", 8, Some((118, 8)));
    ok("vllm-0.32.0-full/chat-stream-tool-required.json", 63, Some((118, 120)));
}

#[test]
fn an_answer_whose_only_token_has_no_text_is_an_answer() {
    ok("vllm-0.32.0-full/chat-stream-one-token.json", 0, Some((15, 1)));
}

#[test]
fn answers_in_one_piece_have_usage_and_no_events() {
    ok("vllm-0.32.0-default/chat-nonstream.json", 0, Some((15, 8)));
    ok("vllm-0.32.0-reasoning/chat-nonstream.json", 0, Some((15, 8)));
    ok("llama-cpp-python-0.3.36/completions-nonstream.json", 0, Some((5, 8)));
}

#[test]
fn other_servers_are_understood() {
    ok("llama-cpp-python-0.3.36/chat-stream.json", 8, None);
    // No [DONE].
    ok("transformers-serve-5.19.0-plain/chat-stream.json", 3, Some((15, 8)));
    ok("transformers-serve-5.19.0-plain/completions-stream.json", 8, Some((5, 8)));
    ok("fakellm-0.3.5/chat-stream.json", 6, None);
    // No content type, and the whole text beside the role.
    ok("mock-llm-npm-0.1.29/chat-stream.json", 1, None);
}

#[test]
fn answers_that_ended_early_are_broken() {
    let cut = "the stream ended before its end";
    failed("llama-cpp-python-0.3.36/chat-stream-client-cut.json", 4, None, RequestOutcome::BrokenStream, cut);
    failed("transformers-serve-5.19.0-cb/chat-stream.json", 0, None, RequestOutcome::BrokenStream, cut);
    failed(
        "vllm-0.32.0-reasoning/chat-stream-engine-killed.json",
        122,
        Some((15, 129)),
        RequestOutcome::BrokenStream,
        "an error in the stream: InternalServerError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
    );
    // The server was ended by SIGTERM: reason `abort`, then usage and [DONE], as if nothing had happened.
    failed(
        "vllm-0.32.0-small/chat-stream-server-sigterm-smooth.json",
        37,
        Some((15, 142)),
        RequestOutcome::BrokenStream,
        "the server gave the answer up",
    );
}

#[test]
fn errors_under_status_200_are_errors() {
    failed(
        "vllm-0.16.0-default/completions-stream-default-max-tokens.json",
        0,
        None,
        RequestOutcome::HttpError(500),
        "500 in an answer with status 200: InternalServerError",
    );
    let dead = read("vllm-0.16.0-engine-dead/chat-stream.json");
    let verdict = feed(&dead, dead.frames.iter().map(String::as_bytes)).1.unwrap_err();
    assert_eq!(verdict.outcome, RequestOutcome::HttpError(500));
    assert!(verdict.message.starts_with("500 in an answer with status 200: "), "{}", verdict.message);
}

#[test]
fn every_recorded_error_has_its_status_and_a_short_message() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/server-transcripts/vllm-0.32.0-default");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.starts_with("error-") {
            continue;
        }
        let transcript = read(&format!("vllm-0.32.0-default/{name}"));
        let verdict = feed(&transcript, transcript.frames.iter().map(String::as_bytes)).1.unwrap_err();
        assert_eq!(verdict.outcome, RequestOutcome::HttpError(transcript.status), "{name}");
        let length = verdict.message.chars().count();
        assert!((5..=203).contains(&length) && !verdict.message.contains('\n'), "{name}: {}", verdict.message);
        seen += 1;
    }
    assert!(seen > 10);
}
