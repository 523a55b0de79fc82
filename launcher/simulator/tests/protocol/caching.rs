//! The prefix cache as a client sees it.

use http::StatusCode;
use serde_json::{Value, json};
use simulator::{SimOptions, Simulator};
use tokio::time::Instant;

use crate::client::{Client, Stream, text};
use crate::fixed;

/// Options with blocks of 16 tokens. The usage includes the prefix cache.
fn options() -> SimOptions {
    SimOptions { prompt_tokens_details: true, ..fixed() }
}

/// Returns the times of the tokens of a two-token answer, in milliseconds, and the details of its usage.
async fn ask(client: &mut Client, path: &str, mut body: Value) -> (Vec<u128>, Value) {
    body["stream"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    body["max_tokens"] = json!(2);
    let start = Instant::now();
    let response = client.post(path, &body).await;
    assert_eq!(response.status(), StatusCode::OK);
    let events = Stream::new(response).all(start).await;
    let parsed = |event: &str| serde_json::from_str::<Value>(event).unwrap();
    let usage = parsed(&events[events.len() - 2].1)["usage"]["prompt_tokens_details"].take();
    let times = events.iter().filter(|(_, event)| event.contains(r#""text""#)).map(|(at, _)| at.as_millis()).collect();
    (times, usage)
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_begins_as_one_before_has_its_first_token_sooner() {
    let mut client = Client::new(&Simulator::new(options())).await;
    let prompt: Vec<u32> = (0..70).collect();
    let mut other = prompt.clone();
    other[40] = 999;
    // The first token takes 10 + 2 ms, plus 1 ms per computed token. The second takes 10 + 2 ms.
    for (tokens, cached) in [(&prompt[..], 0), (&prompt[..], 64), (&prompt[..64], 48), (&other[..], 32)] {
        let computed = tokens.len() as u128 - u128::from(cached as u32);
        let (times, details) = ask(&mut client, "/v1/completions", json!({"prompt": tokens})).await;
        assert_eq!(details, json!({"cached_tokens": cached}));
        assert_eq!(times, [12 + computed, 24 + computed], "{cached} cached");
    }
    for (name, expected) in [
        ("prefix_cache_queries_total", 70.0 + 70.0 + 64.0 + 70.0),
        ("prefix_cache_hits_total", 144.0),
        ("prompt_tokens_cached_total", 144.0),
        ("prompt_tokens_by_source_total", 274.0),
        ("prompt_tokens_total", 274.0),
        ("request_prefill_kv_computed_tokens_sum", 130.0),
        // The computed prompt tokens, plus two tokens for each of the four answers.
        ("iteration_tokens_total_sum", 130.0 + 8.0),
    ] {
        assert_eq!(client.metric(name).await, expected, "{name}");
    }
    assert!(client.get("/metrics").await.contains(r#"enable_prefix_caching="True""#));
}

#[tokio::test(start_paused = true)]
async fn without_a_prefix_cache_every_prompt_is_computed() {
    let mut client = Client::new(&Simulator::new(SimOptions { prefix_caching: false, ..options() })).await;
    let prompt: Vec<u32> = (0..70).collect();
    for _ in 0..2 {
        let (times, details) = ask(&mut client, "/v1/completions", json!({"prompt": prompt})).await;
        assert_eq!((times, details), (vec![82, 94], json!({"cached_tokens": 0})));
    }
    assert_eq!(client.metric("prefix_cache_queries_total").await, 0.0);
    assert!(client.get("/metrics").await.contains(r#"enable_prefix_caching="False""#));
}

#[tokio::test(start_paused = true)]
async fn a_chat_that_goes_on_finds_what_was_said_before() {
    let mut client = Client::new(&Simulator::new(options())).await;
    let long = "word ".repeat(30);
    let mut messages = vec![json!({"role": "user", "content": long})];
    let body = json!({"messages": messages, "max_tokens": 40});
    let first: Value = serde_json::from_str(&text(client.post("/v1/chat/completions", &body).await).await).unwrap();
    let details = |answer: &Value| answer["usage"]["prompt_tokens_details"].clone();
    // The prompt has 37 tokens: two full blocks, which are new.
    let expected = json!({"cached_tokens": 0, "created_cache_tokens": 32, "multimodal_tokens": null});
    assert_eq!(details(&first), expected);
    messages.push(first["choices"][0]["message"].clone());
    messages.push(json!({"role": "user", "content": long}));
    let body = json!({"messages": messages, "max_tokens": 4});
    let second: Value = serde_json::from_str(&text(client.post("/v1/chat/completions", &body).await).await).unwrap();
    // The two requests share 37 tokens of the first prompt and 40 of its answer. The last token was not computed, so 76 tokens make 4 full blocks.
    assert_eq!(details(&second)["cached_tokens"], 64, "{second}");
    // A request with its own salt shares no block with other requests.
    let (_, details) = ask(&mut client, "/v1/chat/completions", json!({"messages": messages, "cache_salt": "a"})).await;
    assert_eq!(details, json!({"cached_tokens": 0, "created_cache_tokens": 112}));
}

#[tokio::test(start_paused = true)]
async fn a_full_cache_forgets_what_was_used_longest_ago() {
    // There are 140 blocks, of which one is reserved. A prompt of 640 tokens holds 40 blocks, and one more with its answer. The fifth prompt evicts
    // the last 22 blocks of the prompt that begins with 10,000. The other 18 blocks of this prompt remain.
    let options = SimOptions { num_gpu_blocks: 140, max_num_batched_tokens: 4_096, ..options() };
    let mut client = Client::new(&Simulator::new(options)).await;
    let mut cached = async |first: u32| {
        let prompt: Vec<u32> = (first..first + 640).collect();
        ask(&mut client, "/v1/completions", json!({"prompt": prompt})).await.1["cached_tokens"].as_u64().unwrap()
    };
    for (first, expected) in [(0, 0), (10_000, 0), (20_000, 0), (0, 624), (30_000, 0), (0, 624), (10_000, 288)] {
        assert_eq!(cached(first).await, expected, "{first}");
    }
}
