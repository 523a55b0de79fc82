//! Compares the simulator with recorded answers of vLLM 0.32.0.

use http::Request;
use serde_json::{Value, json};
use simulator::Simulator;

use crate::client::{Client, text};
use crate::fixed;

/// Returns the shape of a text: its keys in order, the types of its values, and the words that the protocol fixes.
fn shape(text: &str) -> String {
    fn blur(value: &mut Value, key: &str) {
        match value {
            Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| blur(value, key)),
            // The number of token ids depends on the tokenizer, so the shape does not contain it.
            Value::Array(items) if items.iter().all(Value::is_number) && !items.is_empty() => *value = json!([0]),
            Value::Array(items) => items.iter_mut().for_each(|item| blur(item, key)),
            Value::String(_) if ["object", "role", "finish_reason", "owned_by", "organization"].contains(&key) => {}
            Value::String(text) => *text = if text.is_empty() { "".into() } else { "text".into() },
            Value::Number(_) if ["index", "completion_tokens", "max_model_len"].contains(&key) => {}
            Value::Number(_) => *value = json!(0),
            Value::Null | Value::Bool(_) => {}
        }
    }
    let Ok(mut value) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
    blur(&mut value, "");
    value.to_string()
}

/// Replays the request of a recording. The status, the header names and the frames must match.
async fn replay(name: &str) -> (String, String) {
    let recorded = std::fs::read_to_string(format!(
        "{}/../engine/tests/fixtures/server-transcripts/vllm-0.32.0-default/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    ));
    let recorded: Value = serde_json::from_str(&recorded.unwrap()).unwrap();
    let (asked, answered) = (&recorded["request"], &recorded["response"]);
    let body = match &asked["body"] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let method = asked["method"].as_str().unwrap_or(if asked["body"].is_null() { "GET" } else { "POST" });
    let mut request = Request::builder().method(method).uri(asked["path"].as_str().unwrap());
    match asked["headers"].get("Content-Type") {
        None if method == "POST" => request = request.header("content-type", "application/json"),
        Some(Value::String(kind)) => request = request.header("content-type", kind),
        _ => {}
    }
    let mut client = Client::new(&Simulator::new(fixed())).await;
    let response = client.send(request, body).await;

    let status = answered["status_line"].as_str().unwrap().split(' ').nth(1).unwrap();
    assert_eq!(response.status().as_str(), status, "{name}");
    let mut expected: Vec<_> =
        answered["headers"].as_array().unwrap().iter().map(|it| it[0].as_str().unwrap()).collect();
    // The recorded connections were closed; ours stays open.
    expected.retain(|header| *header != "connection");
    expected.sort_unstable();
    let mut found: Vec<_> = response.headers().keys().map(|key| key.as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, expected, "{name}");
    let kind =
        |headers: &Value| headers.as_array().unwrap().iter().find(|it| it[0] == "content-type").unwrap()[1].clone();
    assert_eq!(response.headers()["content-type"].to_str().unwrap(), kind(&answered["headers"]), "{name}");

    let frames = answered["frames"].as_array().unwrap().iter().map(|frame| frame["text"].as_str().unwrap());
    (text(response).await, frames.collect())
}

#[tokio::test(start_paused = true)]
async fn answers_have_the_shape_of_recorded_ones() {
    for name in [
        "chat-stream",
        "chat-stream-usage",
        "chat-stream-one-token",
        "chat-stream-return-token-ids",
        "chat-stream-continuous-usage",
        "completions-stream",
        "completions-nonstream-two-token-prompts",
        "get-load",
        "completions-stream-usage",
        "chat-nonstream",
        "get-models",
    ] {
        let (found, expected) = replay(name).await;
        let shapes =
            |text: &str| text.split("\n\n").map(|it| shape(it.trim_start_matches("data: "))).collect::<Vec<_>>();
        assert_eq!(shapes(&found), shapes(&expected), "{name}");
    }
}

/// The shapes are sorted, because tokens of several choices arrive in any order. An empty text counts as equal to any other, because a token of a
/// real model may be a part of a letter.
#[tokio::test(start_paused = true)]
async fn several_choices_have_the_chunks_of_recorded_ones() {
    for name in ["chat-stream-n2", "completions-stream-n2", "completions-stream-continuous-usage"] {
        let (found, expected) = replay(name).await;
        let shapes = |text: &str| {
            let texts = text
                .split("\n\n")
                .map(|it| shape(it.trim_start_matches("data: ")).replace(r#""text":"text""#, r#""text":"""#));
            let mut shapes: Vec<_> = texts.map(|it| it.replace(r#""content":"text""#, r#""content":"""#)).collect();
            shapes.sort();
            shapes
        };
        assert_eq!(shapes(&found), shapes(&expected), "{name}");
    }
}

/// vLLM omits alternatives whose bytes are not valid text, so only the keys are compared.
#[tokio::test(start_paused = true)]
async fn log_probabilities_have_the_keys_of_recorded_ones() {
    let (found, expected) = replay("chat-stream-logprobs").await;
    let first = |text: &str| {
        let event = text.split("\n\n").find(|it| it.contains("top_logprobs")).unwrap().trim_start_matches("data: ");
        let entry = serde_json::from_str::<Value>(event).unwrap()["choices"][0]["logprobs"]["content"][0].take();
        let keys = |it: &Value| it.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        (keys(&entry), keys(&entry["top_logprobs"][0]), entry["top_logprobs"].as_array().unwrap().len())
    };
    assert_eq!(first(&found), first(&expected));
    assert_eq!(found.matches("top_logprobs").count(), expected.matches("top_logprobs").count());
}

#[tokio::test(start_paused = true)]
async fn errors_are_word_for_word_the_recorded_ones() {
    // The recorded server had no parser for tool calls, but the simulator has one, so errors about tools are not compared.
    for name in [
        "chat-stream-zero-max-tokens",
        "error-bad-json",
        "error-completions-empty-prompt",
        "error-completions-no-such-model",
        "error-completions-suffix",
        "error-completions-token-out-of-range",
        "error-empty-body",
        "error-logprobs-too-many",
        "error-max-tokens-negative",
        "error-max-tokens-too-big-stream",
        "error-messages-wrong-type",
        "error-n-zero",
        "error-no-content-type",
        "error-no-messages",
        "error-not-found",
        "error-stream-options-without-stream",
        "error-top-logprobs-without-logprobs",
        "error-top-p-too-big",
        "error-unknown-model",
        "error-wrong-content-type",
        "error-wrong-method",
    ] {
        let (found, expected) = replay(name).await;
        assert_eq!(found, expected, "{name}");
    }
}
