//! The simulated vLLM as a client sees it: over connections in memory with a paused clock, where times can be computed
//! by hand, and over a socket; compared with recorded answers of vLLM 0.32.0.

#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(clippy::disallowed_methods, reason = "the time of a paused runtime is what these tests look at")]

mod apis;
mod caching;
mod choices;
mod client;
mod recorded;
mod sleep;

use std::sync::Arc;
use std::time::Duration;

use client::{Client, Stream, text};
use crds::benchmark_run::SimulatorPreset;
use crds::units::Seed;
use http::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use simulator::faults::{Fault, FaultKind};
use simulator::latency::StepCosts;
use simulator::{SimOptions, Simulator};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

const MILLISECOND: Duration = Duration::from_millis(1);

/// A step takes 10 ms, plus 1 ms per prompt token and 2 ms per sequence. Answers end only by their length.
fn fixed() -> SimOptions {
    SimOptions {
        model: "tiny-llama".into(),
        costs: StepCosts {
            base: 10 * MILLISECOND,
            per_prefill_token: MILLISECOND,
            per_sequence: 2 * MILLISECOND,
            ..StepCosts::default()
        },
        max_num_seqs: 8,
        max_model_len: 2_048,
        mean_output_tokens: u32::MAX,
        ..SimOptions::preset(SimulatorPreset::Instant)
    }
}

#[tokio::test(start_paused = true)]
async fn times_are_those_of_the_model() {
    let simulator = Simulator::new(fixed());
    let mut client = Client::new(&simulator).await;
    let start = Instant::now();
    // The first token takes 10 + 20 x 1 + 2 ms, each further token 10 + 2 ms.
    assert_eq!(client.stream(20, 4).await.token_times(start).await, [32, 44, 56, 68]);
}

#[tokio::test(start_paused = true)]
async fn headers_come_at_once_and_the_role_with_the_first_token() {
    let simulator = Simulator::new(fixed());
    let mut client = Client::new(&simulator).await;
    let start = Instant::now();
    let body = json!({"messages": [{"role": "user", "content": "a b c"}], "max_tokens": 2, "stream": true});
    let response = client.post("/v1/chat/completions", &body).await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    let mut stream = Stream::new(response);
    let times: Vec<_> = stream.all(start).await.into_iter().map(|(at, _)| at.as_millis()).collect();
    // The prompt has 3 words, and 7 tokens from the template. The events are the role, two tokens, and the end.
    assert_eq!(times, [22, 22, 34, 34]);
}

#[tokio::test(start_paused = true)]
async fn the_batch_slows_its_tokens_and_the_queue_delays_the_first() {
    let simulator = Simulator::new(SimOptions { max_num_seqs: 2, ..fixed() });
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(Client::new(&simulator).await);
    }
    let start = Instant::now();
    let mut streams = Vec::new();
    for client in &mut clients {
        let mut stream = client.stream(10, 3).await;
        streams.push(tokio::spawn(async move { stream.token_times(start).await }));
    }
    let mut times = Vec::new();
    for stream in streams {
        times.push(stream.await.unwrap());
    }
    // The first request is alone in its first step: 10 + 10 + 2 ms. The next step also computes the second prompt: 10 + 10 + 2 x 2. Then both decode:
    // 10 + 2 x 2. At 60 ms the third request replaces the first one. Its prompt is computed together with the second request's last token: 10 + 10 +
    // 2 x 2.
    assert_eq!(times, [vec![22, 46, 60], vec![46, 60, 84], vec![84, 96, 108]]);
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_stood_still_does_not_make_up_for_it() {
    let simulator = Simulator::new(fixed());
    let mut client = Client::new(&simulator).await;
    let start = Instant::now();
    let mut stream = client.stream(20, 4).await;
    tokio::time::advance(200 * MILLISECOND).await;
    // The first token was due at 32 ms. Later steps begin at the current time, minus the at most 2 ms by which a timer may be late.
    assert_eq!(stream.token_times(start).await, [200, 210, 222, 234]);
}

#[tokio::test(start_paused = true)]
async fn the_instant_server_takes_no_time() {
    let simulator = Simulator::new(SimOptions::preset(SimulatorPreset::Instant));
    let start = Instant::now();
    let mut streams = Vec::new();
    for _ in 0..20 {
        let mut client = Client::new(&simulator).await;
        streams.push(tokio::spawn(async move { client.stream(1_000, 100).await.all(start).await }));
    }
    for stream in streams {
        let events = stream.await.unwrap();
        assert_eq!(events.last().unwrap(), &(Duration::ZERO, "[DONE]".to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn token_ids_are_told_where_they_are_asked_for() {
    let simulator = Simulator::new(fixed());
    let mut client = Client::new(&simulator).await;
    let messages = json!([{"role": "user", "content": "Tell me"}]);
    // Prompts given as ids are returned unchanged. The words of a text and the tokens of a template have synthetic ids.
    for (path, body, prompt) in [
        ("/v1/completions", json!({"prompt": [5, 0, 128_255], "max_tokens": 3}), Ok([5, 0, 128_255])),
        ("/v1/completions", json!({"prompt": "the sea is wide", "max_tokens": 3}), Err(4)),
        ("/v1/chat/completions", json!({"messages": messages, "max_tokens": 3}), Err(9)),
    ] {
        let mut asked = body.clone();
        asked["return_token_ids"] = json!(true);
        let whole: Value = serde_json::from_str(&text(client.post(path, &asked).await).await).unwrap();
        asked["stream"] = json!(true);
        let response = client.post(path, &asked).await;
        let events = Stream::new(response).all(Instant::now()).await;
        let events: Vec<Value> = events.iter().filter_map(|(_, it)| serde_json::from_str(it).ok()).collect();
        let list = |value: &Value| value.as_array().cloned();
        let choices = || events.iter().map(|it| &it["choices"][0]);
        let each: Vec<_> = choices().filter_map(|it| list(&it["token_ids"])).collect();
        assert_eq!(each.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1], "{events:?}");
        assert_eq!(Some(each.concat()), list(&whole["choices"][0]["token_ids"]), "{whole}");
        // The ids of the prompt appear once, in the same place as in vLLM: in the first chunk of a chat or of a completion.
        let of_prompt =
            |it: &Value| list(&it["prompt_token_ids"]).or_else(|| list(&it["choices"][0]["prompt_token_ids"]));
        let prompts: Vec<_> = events.iter().map(of_prompt).collect();
        assert!(prompts[0].is_some() && prompts[1..].iter().all(Option::is_none), "{events:?}");
        assert_eq!(prompts[0], of_prompt(&whole));
        let ids: Vec<u64> = prompts[0].iter().flatten().map(|it| it.as_u64().unwrap()).collect();
        match prompt {
            Ok(same) => assert_eq!(ids, same),
            Err(count) => assert_eq!(ids.len(), count),
        }
        let unasked = text(client.post(path, &body).await).await;
        assert!(unasked.contains("\"token_ids\":null") && unasked.contains("\"prompt_token_ids\":null"), "{unasked}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_id_of_an_answer_is_the_one_of_the_request_or_made_up() {
    let mut client = Client::new(&Simulator::new(fixed())).await;
    let mut id = async |given: Option<&str>| {
        let mut request = Request::post("/v1/completions").header("content-type", "application/json; charset=utf-8");
        if let Some(given) = given {
            request = request.header("x-request-id", given);
        }
        let answer = text(client.send(request, r#"{"prompt": "a", "max_tokens": 1}"#).await).await;
        serde_json::from_str::<Value>(&answer).unwrap()["id"].as_str().unwrap().to_owned()
    };
    assert_eq!(id(Some("my \"own\" id")).await, "cmpl-my \"own\" id");
    let (first, second) = (id(None).await, id(None).await);
    assert_eq!((first.len(), second.len()), ("cmpl-".len() + 16, "cmpl-".len() + 16));
    assert_ne!(first, second);
}

#[tokio::test(start_paused = true)]
async fn who_hangs_up_leaves_the_batch() {
    let simulator = Simulator::new(SimOptions { max_num_seqs: 1, ..fixed() });
    let mut observer = Client::new(&simulator).await;
    let (mut first, mut second) = (Client::new(&simulator).await, Client::new(&simulator).await);
    let mut endless = first.stream(10, 2_000).await;
    endless.next().await.unwrap().unwrap();
    let mut waiting = second.stream(10, 2).await;
    // The current step ends at 34 ms. The next step, which ends at 46 ms, is the first that leaves the second request in the queue.
    tokio::time::sleep(30 * MILLISECOND).await;
    assert_eq!(observer.metric("num_requests_running").await, 1.0);
    assert_eq!(observer.metric("num_requests_waiting").await, 1.0);
    assert_eq!(observer.metric("kv_cache_usage_perc").await, 1.0 / f64::from((1 << 20) - 1));
    drop((endless, first));
    assert_eq!(waiting.token_times(Instant::now()).await.len(), 2);
    tokio::time::sleep(20 * MILLISECOND).await;
    assert_eq!(observer.metric("num_requests_running").await, 0.0);
    assert_eq!(observer.metric("kv_cache_usage_perc").await, 0.0);
    // A client that disconnected is counted in the token metrics, but not in the request metrics.
    assert_eq!(observer.metric("request_success_total").await, 1.0);
    assert_eq!(observer.metric("time_to_first_token_seconds_count").await, 2.0);
    assert!(observer.metric("generation_tokens_total").await > 2.0);
}

#[tokio::test(start_paused = true)]
async fn metrics_agree_with_each_other_and_with_the_model() {
    let simulator = Simulator::new(SimOptions { max_num_seqs: 3, max_num_batched_tokens: 16, ..fixed() });
    let mut tasks = Vec::new();
    for (prompt, output) in [(10, 1), (40, 5), (3, 9), (25, 2), (1, 30), (60, 4)] {
        let mut client = Client::new(&simulator).await;
        tasks.push(tokio::spawn(async move { client.stream(prompt, output).await.all(Instant::now()).await.len() }));
    }
    for task in tasks {
        assert!(task.await.unwrap() >= 3);
    }
    let mut client = Client::new(&simulator).await;
    let (requests, prompt, output) = (6.0, 139.0, 51.0);
    for (name, expected) in [
        ("prompt_tokens_total", prompt),
        ("generation_tokens_total", output),
        ("request_success_total", requests),
        ("time_to_first_token_seconds_count", requests),
        ("inter_token_latency_seconds_count", output - requests),
        ("request_prompt_tokens_sum", prompt),
        ("request_generation_tokens_sum", output),
        ("e2e_request_latency_seconds_count", requests),
    ] {
        assert_eq!(client.metric(name).await, expected, "{name}");
    }
    let computed = prompt - client.metric("prompt_tokens_cached_total").await;
    assert_eq!(client.metric("iteration_tokens_total_sum").await, computed + output);
    let mut sum = async |name: &str| client.metric(&format!("{name}_seconds_sum")).await;
    let close = |left: f64, right: f64| (left - right).abs() < 1e-9;
    let (inference, prefill) = (sum("request_inference_time").await, sum("request_prefill_time").await);
    let (decode, queue) = (sum("request_decode_time").await, sum("request_queue_time").await);
    assert!(close(sum("inter_token_latency").await, decode));
    assert!(close(inference, prefill + decode));
    assert!(close(sum("e2e_request_latency").await, queue + inference));
    assert!(close(sum("time_to_first_token").await, queue + prefill) && queue > 0.0);
}

#[tokio::test(start_paused = true)]
async fn a_seed_gives_the_same_server_again() {
    let play = async |seed| {
        let options =
            SimOptions { seed: Seed(seed), mean_output_tokens: 30, ..SimOptions::preset(SimulatorPreset::Gpu) };
        let simulator = Simulator::new(options);
        let mut client = Client::new(&simulator).await;
        let start = Instant::now();
        let mut events = client.stream(50, 100).await.all(start).await;
        events.extend(client.stream(51, 100).await.all(start).await);
        let choice = |event: &str| Some(serde_json::from_str::<Value>(event).ok()?["choices"].take());
        events.into_iter().map(|(at, event)| (at, choice(&event))).collect::<Vec<_>>()
    };
    let first = play(5).await;
    assert_eq!(first, play(5).await);
    assert_ne!(first, play(6).await);
}

fn with_fault(kind: FaultKind, ratio: f64) -> Arc<Simulator> {
    Simulator::new(SimOptions { fault: Some(Fault { kind, ratio }), ..fixed() })
}

#[tokio::test(start_paused = true)]
async fn a_fault_refuses_its_share_and_always_the_same_ones() {
    let play = async || {
        let mut client = Client::new(&with_fault(FaultKind::Status(503), 0.5)).await;
        let mut statuses = Vec::new();
        for _ in 0..40 {
            let response = client.post("/v1/completions", &json!({"prompt": "a", "max_tokens": 1})).await;
            statuses.push(response.status().as_u16());
            let body: Value = serde_json::from_str(&text(response).await).unwrap();
            assert_eq!(body["error"]["code"] == 503, statuses.ends_with(&[503]));
        }
        statuses
    };
    let statuses = play().await;
    let failed = statuses.iter().filter(|status| **status == 503).count();
    assert!((10..=30).contains(&failed), "{statuses:?}");
    assert_eq!(statuses, play().await);
}

#[tokio::test(start_paused = true)]
async fn faults_in_a_stream_strike_after_their_token() {
    for tokens in [0, 3] {
        let mut client = Client::new(&with_fault(FaultKind::BreakAfter(tokens), 1.0)).await;
        let mut stream = client.stream(1, 10).await;
        for _ in 0..tokens {
            stream.next().await.unwrap().unwrap();
        }
        assert!(stream.next().await.unwrap().is_err());

        let mut client = Client::new(&with_fault(FaultKind::StallAfter(tokens), 1.0)).await;
        let mut stream = client.stream(1, 10).await;
        for _ in 0..tokens {
            stream.next().await.unwrap().unwrap();
        }
        assert!(tokio::time::timeout(Duration::from_secs(3_600), stream.next()).await.is_err());
    }
    let mut client = Client::new(&with_fault(FaultKind::Hang, 1.0)).await;
    assert!(tokio::time::timeout(Duration::from_secs(3_600), client.get("/health")).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_body_beyond_the_limit_is_refused() {
    let mut client = Client::new(&Simulator::new(fixed())).await;
    let request = Request::post("/v1/completions").header("content-type", "application/json");
    let response = client.send(request, vec![b' '; (32 << 20) + 1]).await;
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn over_a_socket_a_shutdown_aborts_what_runs() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let simulator = Simulator::new(fixed());
    let server = tokio::spawn(async move {
        let shutdown = async { stopped.await.unwrap() };
        simulator.serve(listener, shutdown).await;
    });
    let mut client = Client::over(TokioIo::new(TcpStream::connect(address).await.unwrap())).await;
    assert_eq!(client.get("/health").await, "");
    let version: Value = serde_json::from_str(&client.get("/version").await).unwrap();
    let simulator = concat!("benchwright ", env!("CARGO_PKG_VERSION"));
    assert_eq!(version, json!({"version": "0.32.0", "simulator": simulator}));
    let mut stream = client.stream(1, 2_000).await;
    stream.next().await.unwrap().unwrap();
    stop.send(()).unwrap();
    let events: Vec<String> = stream.all(Instant::now()).await.into_iter().map(|(_, event)| event).collect();
    let [.., abort, usage, done] = events.as_slice() else { panic!("{events:?}") };
    assert!(abort.contains(r#""text":"","logprobs":null,"finish_reason":"abort""#), "{abort}");
    assert!(usage.contains(r#""choices":[],"usage":{"prompt_tokens":1,"#), "{usage}");
    assert_eq!(done, "[DONE]");
    server.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn several_threads_share_one_engine() {
    const STREAMS: u32 = 24;
    const TOKENS: u32 = 60;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let simulator =
        Simulator::new(SimOptions { mean_output_tokens: u32::MAX, ..SimOptions::preset(SimulatorPreset::Instant) });
    let server = tokio::spawn(async move {
        let shutdown = async { stopped.await.unwrap() };
        simulator.serve(listener, shutdown).await;
    });
    let connect = async move || Client::over(TokioIo::new(TcpStream::connect(address).await.unwrap())).await;
    let tasks: Vec<_> = (0..STREAMS)
        .map(|_| {
            tokio::spawn(async move {
                let mut client = connect().await;
                let events = client.stream(40, TOKENS).await.all(Instant::now()).await;
                let texts = events.iter().filter_map(|(_, it)| serde_json::from_str::<Value>(it).ok());
                texts.filter_map(|it| it["choices"][0]["text"].as_str().map(str::to_owned)).collect::<Vec<_>>()
            })
        })
        .collect();
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    // The same prompt has the same answer on every thread, with each token once and in order.
    assert!(answers.iter().all(|it| it.len() == TOKENS as usize && *it == answers[0]), "{answers:?}");
    let mut client = connect().await;
    let (streams, tokens) = (f64::from(STREAMS), f64::from(STREAMS * TOKENS));
    for (name, expected) in [
        ("generation_tokens_total", tokens),
        ("prompt_tokens_total", 40.0 * streams),
        ("request_success_total", streams),
        ("inter_token_latency_seconds_count", tokens - streams),
        ("prefix_cache_queries_total", 40.0 * streams),
        // Every request except the first finds the two full blocks in the cache.
        ("prefix_cache_hits_total", 32.0 * (streams - 1.0)),
    ] {
        assert_eq!(client.metric(name).await, expected, "{name}");
    }
    drop(client);
    stop.send(()).unwrap();
    server.await.unwrap();
}
