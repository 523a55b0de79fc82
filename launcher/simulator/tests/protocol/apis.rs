//! The Responses and the Messages API, LoRA adapters, images, tools and structured output.

use serde_json::{Value, json};
use simulator::{SimOptions, Simulator};

use crate::{
    client::{Client, text},
    fixed,
};

async fn ask(client: &mut Client, path: &str, body: &Value) -> String {
    text(client.post(path, body).await).await
}

/// Returns the events of a stream, each with the name in its `event` line.
fn events(stream: &str) -> Vec<(String, Value)> {
    let lines = stream.split("\n\n").filter(|it| it.starts_with("event: ")).map(|event| {
        let (name, data) = event.split_once('\n').unwrap();
        (name["event: ".len()..].to_owned(), serde_json::from_str(&data["data: ".len()..]).unwrap())
    });
    lines.collect()
}

#[tokio::test(start_paused = true)]
async fn a_message_is_streamed_and_whole_with_the_same_text() {
    let simulator = Simulator::new(SimOptions { prompt_tokens_details: true, ..fixed() });
    let mut client = Client::new(&simulator).await;
    let mut body = json!({"messages": [{"role": "user", "content": "a b c"}], "max_tokens": 3, "stream": true});
    let stream = ask(&mut client, "/v1/messages", &body).await;
    assert!(stream.ends_with("data: [DONE]\n\n"), "{stream}");
    let events = events(&stream);
    let names: Vec<&str> = events.iter().map(|it| it.0.as_str()).collect();
    let (delta, stop) = ("content_block_delta", "content_block_stop");
    let expected = ["message_start", "content_block_start", delta, delta, delta, stop, "message_delta", "message_stop"];
    assert_eq!(names, expected);
    assert!(events.iter().all(|(name, event)| event["type"] == *name));
    let texts: String = events.iter().filter_map(|(_, it)| it["delta"]["text"].as_str()).collect();
    let end = &events[6].1;
    assert_eq!((&end["delta"]["stop_reason"], &end["usage"]["output_tokens"]), (&json!("max_tokens"), &json!(3)));
    // The prompt has 3 words, and 7 tokens from the template.
    assert_eq!(end["usage"]["input_tokens"], 10);
    body["stream"] = json!(false);
    let whole: Value = serde_json::from_str(&ask(&mut client, "/v1/messages", &body).await).unwrap();
    assert_eq!(whole["content"], json!([{"type": "text", "text": texts}]));
    assert_eq!((&whole["stop_reason"], &whole["usage"]["output_tokens"]), (&json!("max_tokens"), &json!(3)));
}

#[tokio::test(start_paused = true)]
async fn a_response_is_streamed_and_whole_with_the_same_text() {
    let simulator = Simulator::new(fixed());
    let mut client = Client::new(&simulator).await;
    let mut body = json!({"input": "a b c", "max_output_tokens": 2, "stream": true});
    let stream = ask(&mut client, "/v1/responses", &body).await;
    let events = events(&stream);
    let deltas = events.iter().filter(|it| it.0 == "response.output_text.delta");
    let texts: String = deltas.filter_map(|(_, it)| it["delta"].as_str()).collect();
    let numbers: Vec<u64> = events.iter().map(|it| it.1["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    let (name, last) = events.last().unwrap();
    assert_eq!((name.as_str(), &last["response"]["usage"]["output_tokens"]), ("response.incomplete", &json!(2)));
    assert_eq!(last["response"]["output"][0]["content"][0]["text"], texts);
    body["stream"] = json!(false);
    let whole: Value = serde_json::from_str(&ask(&mut client, "/v1/responses", &body).await).unwrap();
    assert_eq!((&whole["object"], &whole["status"]), (&json!("response"), &json!("incomplete")));
    assert_eq!(whole["output"][0]["content"][0]["text"], texts);
}

#[tokio::test(start_paused = true)]
async fn adapters_are_served_beside_the_model() {
    let simulator = Simulator::new(SimOptions { lora_modules: vec!["law".into()], ..fixed() });
    let mut client = Client::new(&simulator).await;
    let body = |model: &str| json!({"model": model, "prompt": "a", "max_tokens": 1});
    for model in ["law", "tiny-llama"] {
        let answer: Value = serde_json::from_str(&ask(&mut client, "/v1/completions", &body(model)).await).unwrap();
        assert_eq!(answer["model"], model);
    }
    let refused = ask(&mut client, "/v1/completions", &body("medicine")).await;
    assert!(refused.contains("The model `medicine` does not exist"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn an_image_counts_by_its_size() {
    let simulator = Simulator::new(fixed());
    let mut client = Client::new(&simulator).await;
    // An image of 56 x 29 pixels has 2 x 2 patches.
    let url = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAADgAAAAdCAAAAAA=";
    let mut tokens = Vec::new();
    for content in [
        json!([{"type": "text", "text": "a"}]),
        json!([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": url}}]),
    ] {
        let body = json!({"messages": [{"role": "user", "content": content}], "max_tokens": 1});
        let answer: Value = serde_json::from_str(&ask(&mut client, "/v1/chat/completions", &body).await).unwrap();
        tokens.push(answer["usage"]["prompt_tokens"].as_u64().unwrap());
    }
    assert_eq!(tokens[1] - tokens[0], 4);
}

#[tokio::test(start_paused = true)]
async fn a_demanded_tool_is_called_and_structured_output_is_json() {
    let simulator = Simulator::new(fixed());
    let mut client = Client::new(&simulator).await;
    let messages = json!([{"role": "user", "content": "a"}]);
    let tools = json!([{"type": "function", "function": {"name": "look"}}]);
    let mut body = json!({"messages": messages, "tools": tools, "tool_choice": "required", "max_tokens": 4});
    let answer: Value = serde_json::from_str(&ask(&mut client, "/v1/chat/completions", &body).await).unwrap();
    let call = &answer["choices"][0]["message"]["tool_calls"][0]["function"];
    let arguments = call["arguments"].as_str().unwrap();
    assert_eq!(call["name"], "look");
    assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object());
    body["stream"] = json!(true);
    let stream = ask(&mut client, "/v1/chat/completions", &body).await;
    let chunks = stream.split("\n\n").filter_map(|it| serde_json::from_str::<Value>(it.strip_prefix("data: ")?).ok());
    let pieces: String = chunks
        .filter_map(|it| {
            let call = &it["choices"][0]["delta"]["tool_calls"][0];
            call["function"]["arguments"].as_str().map(str::to_owned)
        })
        .collect();
    assert_eq!(pieces, arguments);
    let body = json!({"messages": messages, "response_format": {"type": "json_object"}, "max_tokens": 4});
    let answer: Value = serde_json::from_str(&ask(&mut client, "/v1/chat/completions", &body).await).unwrap();
    let content = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(serde_json::from_str::<Value>(content).unwrap()["text"].is_string(), "{content}");
}
