//! Several choices, several prompts, and the options for each of them.

use http::{Request, StatusCode};
use serde_json::{Value, json};
use simulator::{SimOptions, Simulator};
use tokio::time::Instant;

use crate::client::{Client, Stream, text};
use crate::fixed;

async fn whole(client: &mut Client, path: &str, body: &Value) -> Value {
    let response = client.post(path, body).await;
    assert_eq!(response.status(), StatusCode::OK, "{body}");
    serde_json::from_str(&text(response).await).unwrap()
}

/// The chunks of a stream that contain choices, and the usage at its end.
async fn stream(client: &mut Client, path: &str, body: &Value) -> (Vec<Value>, Value) {
    let mut body = body.clone();
    body["stream"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    let response = client.post(path, &body).await;
    assert_eq!(response.status(), StatusCode::OK, "{body}");
    let events = Stream::new(response).all(Instant::now()).await;
    assert_eq!(events.last().unwrap().1, "[DONE]");
    let mut events: Vec<Value> = events.iter().filter_map(|(_, it)| serde_json::from_str(it).ok()).collect();
    let usage = events.pop().unwrap()["usage"].take();
    (events, usage)
}

/// The text and finish of each choice.
fn choices(chunks: &[Value], count: usize) -> Vec<(String, Value, Value)> {
    let mut choices = vec![(String::new(), Value::Null, Value::Null); count];
    for chunk in chunks {
        let choice = &chunk["choices"][0];
        let (text, finish, reason) = &mut choices[choice["index"].as_u64().unwrap() as usize];
        let piece = choice["text"].as_str().or(choice["delta"]["content"].as_str()).unwrap();
        text.push_str(piece);
        if !choice["finish_reason"].is_null() {
            assert!(finish.is_null(), "{chunk}");
            (*finish, *reason) = (choice["finish_reason"].clone(), choice["stop_reason"].clone());
        }
    }
    choices
}

#[tokio::test(start_paused = true)]
async fn each_prompt_has_its_choices_streamed_or_whole() {
    let mut client = Client::new(&Simulator::new(fixed())).await;
    let messages = json!([{"role": "user", "content": "Tell me"}]);
    for (path, body, count, prompt_tokens) in [
        ("/v1/completions", json!({"prompt": ["a b c", "d e"], "n": 2, "max_tokens": 5}), 4, 5),
        ("/v1/completions", json!({"prompt": [[1, 2, 3], [4]], "max_tokens": 5}), 2, 4),
        ("/v1/chat/completions", json!({"messages": messages, "n": 3, "max_tokens": 5}), 3, 9),
    ] {
        let answer = whole(&mut client, path, &body).await;
        let (chunks, usage) = stream(&mut client, path, &body).await;
        let streamed = choices(&chunks, count);
        for (index, choice) in answer["choices"].as_array().unwrap().iter().enumerate() {
            assert_eq!(choice["index"], index);
            let text = choice["text"].as_str().or(choice["message"]["content"].as_str()).unwrap();
            assert_eq!(streamed[index], (text.to_owned(), choice["finish_reason"].clone(), Value::Null));
        }
        let texts: std::collections::HashSet<_> = streamed.iter().map(|it| &it.0).collect();
        assert_eq!(texts.len(), count, "{streamed:?}");
        for usage in [&usage, &answer["usage"]] {
            assert_eq!(
                (&usage["prompt_tokens"], &usage["completion_tokens"]),
                (&json!(prompt_tokens), &json!(5 * count))
            );
        }
        // The choices run concurrently: the first token of the last choice arrives before the last token of the first choice.
        let order: Vec<_> = chunks.iter().map(|it| it["choices"][0]["index"].as_u64().unwrap() as usize).collect();
        let last_begins = order.iter().position(|it| *it == count - 1).unwrap();
        assert!(order[last_begins..].contains(&0), "{order:?}");
    }
    // The requests had 4 + 2 + 3 choices for 2 + 2 + 1 prompts, and each request was sent twice.
    assert_eq!(client.metric("request_success_total").await, 18.0);
    assert_eq!(client.metric("request_params_n_sum").await, 2.0 * (2.0 + 2.0 + 1.0 + 1.0 + 3.0));
    assert_eq!(client.metric("request_params_n_count").await, 10.0);
    assert_eq!(client.metric("request_max_num_generation_tokens_count").await, 10.0);
}

#[tokio::test(start_paused = true)]
async fn stops_end_an_answer_and_are_named() {
    let mut client = Client::new(&Simulator::new(fixed())).await;
    let plain = json!({"prompt": "a b c", "max_tokens": 30, "ignore_eos": true});
    let all = whole(&mut client, "/v1/completions", &plain).await["choices"][0]["text"].as_str().unwrap().to_owned();
    let stop = &all[20..26];
    let at = all.find(stop).unwrap();
    for (stops, include, shown) in [(json!(stop), false, at), (json!(["~", stop]), true, at + stop.len())] {
        let mut body = plain.clone();
        (body["stop"], body["include_stop_str_in_output"]) = (stops, json!(include));
        let (chunks, usage) = stream(&mut client, "/v1/completions", &body).await;
        assert_eq!(choices(&chunks, 1), [(all[..shown].to_owned(), json!("stop"), json!(stop))]);
        // There is one chunk per token, even while the text of a token is held back.
        assert_eq!(usage["completion_tokens"], chunks.len());
        let answer = whole(&mut client, "/v1/completions", &body).await;
        assert_eq!(answer["usage"]["completion_tokens"], chunks.len());
        assert_eq!(answer["choices"][0]["text"], all[..shown]);
        assert_eq!(answer["choices"][0]["stop_reason"], stop);
    }
}

#[tokio::test(start_paused = true)]
async fn echo_and_log_probabilities_are_given_where_asked_for() {
    let mut client = Client::new(&Simulator::new(fixed())).await;
    let body = json!({"prompt": ["a b", "c"], "max_tokens": 3, "echo": true});
    let (chunks, usage) = stream(&mut client, "/v1/completions", &body).await;
    let answer = whole(&mut client, "/v1/completions", &body).await;
    for (index, prompt) in ["a b", "c"].into_iter().enumerate() {
        assert!(answer["choices"][index]["text"].as_str().unwrap().starts_with(prompt));
        assert_eq!(answer["choices"][index]["text"], choices(&chunks, 2)[index].0);
    }
    assert_eq!(usage["completion_tokens"], 6);
    let body = json!({"prompt": "a b", "max_tokens": 3, "logprobs": 2});
    let answer = whole(&mut client, "/v1/completions", &body).await;
    let (chunks, _) = stream(&mut client, "/v1/completions", &body).await;
    let logprobs = &answer["choices"][0]["logprobs"];
    for name in ["text_offset", "token_logprobs", "tokens", "top_logprobs"] {
        let pieces = chunks.iter().flat_map(|it| it["choices"][0]["logprobs"][name].as_array().unwrap().clone());
        assert_eq!(json!(pieces.collect::<Vec<_>>()), logprobs[name], "{name}");
    }
    let tokens = logprobs["tokens"].as_array().unwrap();
    assert_eq!(tokens.iter().map(|it| it.as_str().unwrap()).collect::<String>(), answer["choices"][0]["text"]);
}

#[tokio::test(start_paused = true)]
async fn tokens_can_be_asked_for_and_turned_back() {
    let mut client = Client::new(&Simulator::new(fixed())).await;
    let body = json!({"prompt": "Tell me about the sea."});
    let tokens = whole(&mut client, "/tokenize", &body).await;
    assert_eq!((&tokens["count"], &tokens["max_model_len"]), (&json!(6), &json!(2_048)));
    let back = whole(&mut client, "/detokenize", &json!({"tokens": tokens["tokens"]})).await;
    let again = whole(&mut client, "/tokenize", &json!({"prompt": back["prompt"]})).await;
    assert_eq!(again["tokens"], tokens["tokens"]);
    for (method, path) in [("GET", "/ping"), ("POST", "/ping"), ("GET", "/health")] {
        let request = Request::builder().method(method).uri(path);
        assert_eq!(client.send(request, "").await.status(), StatusCode::OK, "{method} {path}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_abort_ends_every_choice() {
    let simulator = Simulator::new(SimOptions { mean_output_tokens: u32::MAX, ..fixed() });
    let mut client = Client::new(&simulator).await;
    let body = json!({"prompt": ["a", "b"], "max_tokens": 2_000, "stream": true});
    let mut stream = Stream::new(client.post("/v1/completions", &body).await);
    stream.next().await.unwrap().unwrap();
    simulator.stop();
    let events = stream.all(Instant::now()).await;
    assert_eq!(events.iter().filter(|(_, it)| it.contains(r#""finish_reason":"abort""#)).count(), 2);
    assert_eq!(events.last().unwrap().1, "[DONE]");
}
