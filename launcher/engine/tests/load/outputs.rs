//! Tests of kept outputs, over a real socket.

use std::net::Ipv4Addr;

use clock::Clock;
use crds::benchmark_run::Api;
use engine::client::{Client, Exchange, Target};
use measurement::{output::Output, record::RequestOutcome};
use serde_json::{Value, json};
use simulator::Simulator;
use tokio::net::TcpListener;

use super::common::*;

/// Sends a request whose answer has nine tokens. Returns the kept output, and the number of events with output.
async fn call(url: &str, api: Api, body: &Value, keep_output: bool) -> (Option<Output>, u32) {
    let client = Client::new(Target::new(url, api, None, None, &Default::default()).unwrap(), Clock::start());
    let mut exchange = Exchange::default();
    exchange.keep_output = keep_output;
    let streaming = body["stream"] == true;
    let called = client.call(body.to_string().into(), None, streaming, &mut exchange).await;
    assert_eq!(called, Ok(RequestOutcome::Ok), "{body}");
    assert_eq!(exchange.answer.usage.completion_tokens, Some(9));
    (exchange.answer.take_output(), exchange.answer.content_events)
}

#[tokio::test]
async fn an_output_is_the_same_streamed_and_whole() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = Simulator::new(server(millis(2), millis(1)));
    tokio::spawn(async move { server.serve(listener, std::future::pending()).await });
    let messages = json!([{"role": "user", "content": "Tell me about the sea."}]);
    for (api, mut body) in [
        (Api::Completions, json!({"prompt": [5, 6, 7], "max_tokens": 9, "ignore_eos": true})),
        (Api::Chat, json!({"messages": messages, "max_tokens": 9, "ignore_eos": true})),
    ] {
        body["stream_options"] = json!({"include_usage": true});
        body["stream"] = json!(true);
        // Output is kept only if the caller requests it, and token ids only if the server sends them.
        assert_eq!(call(&url, api, &body, false).await, (None, 9));
        let (without_ids, events) = call(&url, api, &body, true).await;
        let without_ids = without_ids.unwrap();
        assert_eq!((without_ids.token_ids.len(), without_ids.first, events), (0, 0, 9));
        assert_eq!(without_ids.text.split(' ').count(), 9);
        body["return_token_ids"] = json!(true);
        let streamed = call(&url, api, &body, true).await.0.unwrap();
        assert_eq!((streamed.token_ids.len(), streamed.first), (9, 1));
        assert_eq!(streamed.text, without_ids.text);
        body["stream"] = json!(false);
        body["stream_options"] = Value::Null;
        let whole = call(&url, api, &body, true).await.0.unwrap();
        assert_eq!(whole, Output { first: 9, ..streamed });
    }
}
