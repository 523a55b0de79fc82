//! The sleep mode.

use super::*;
use simulator::SleepMode;

fn sleepy() -> SimOptions {
    let mode = SleepMode { sleep: 500 * MILLISECOND, wake_up: 200 * MILLISECOND, reload: Duration::from_secs(3) };
    SimOptions { sleep_mode: Some(mode), ..fixed() }
}

/// Posts JSON. Returns how long the answer took in milliseconds, its status and its body.
async fn timed_post(client: &mut Client, path: &str, body: &Value) -> (u128, u16, String) {
    let start = Instant::now();
    let response = client.post(path, body).await;
    let (status, body) = (response.status().as_u16(), text(response).await);
    (start.elapsed().as_millis(), status, body)
}

async fn assert_answer(client: &mut Client, path: &str, millis: u128, body: &str) {
    assert_eq!(timed_post(client, path, &json!({})).await, (millis, 200, body.to_owned()), "{path}");
}

#[tokio::test(start_paused = true)]
async fn without_the_sleep_mode_its_endpoints_are_not_there() {
    let mut client = Client::new(&Simulator::new(fixed())).await;
    for path in ["/sleep?level=1", "/wake_up", "/collective_rpc"] {
        assert_eq!(timed_post(&mut client, path, &json!({})).await.1, 404, "{path}");
    }
    assert_eq!(client.get("/is_sleeping").await, r#"{"detail":"Not Found"}"#);
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_until_the_server_wakes_up() {
    let simulator = Simulator::new(sleepy());
    let (mut control, mut client) = (Client::new(&simulator).await, Client::new(&simulator).await);
    assert_eq!(control.get("/is_sleeping").await, r#"{"is_sleeping":false}"#);
    assert_answer(&mut control, "/sleep?level=1&mode=abort", 500, r#"{"status":"sleeping","level":1}"#).await;
    assert_eq!(control.get("/is_sleeping").await, r#"{"is_sleeping":true}"#);
    assert_eq!(control.get("/health").await, "", "it is healthy in its sleep");
    let asleep = control.get("/metrics").await;
    assert!(asleep.contains(r#"sleep_state="weights_offloaded"} 1"#), "{asleep}");
    let start = Instant::now();
    let mut stream = client.stream(20, 1).await;
    assert_eq!(start.elapsed(), Duration::ZERO, "the head of the answer comes at once");
    tokio::time::advance(Duration::from_secs(30)).await;
    assert_eq!(control.metric("num_requests_waiting").await, 1.0);
    assert_answer(&mut control, "/wake_up", 200, r#"{"status":"awake","tags":null}"#).await;
    // 30 s of sleep, then 200 ms to wake up, then 10 + 20 x 1 + 2 ms for the first token.
    assert_eq!(stream.token_times(start).await, [30_232]);
    assert_eq!(control.get("/is_sleeping").await, r#"{"is_sleeping":false}"#);
}

#[tokio::test(start_paused = true)]
async fn what_runs_is_aborted_and_the_prefix_cache_is_forgotten() {
    let simulator = Simulator::new(SimOptions { block_size: 4, ..sleepy() });
    let (mut control, mut client) = (Client::new(&simulator).await, Client::new(&simulator).await);
    assert_eq!(client.stream(20, 1).await.all(Instant::now()).await.len(), 3, "token, usage, end");
    let mut stream = client.stream(20, 1_000).await;
    assert_answer(&mut control, "/sleep", 500, r#"{"status":"sleeping","level":1}"#).await;
    let events = stream.all(Instant::now()).await;
    assert!(events.iter().any(|(_, event)| event.contains(r#""finish_reason":"abort""#)), "{events:?}");
    assert_answer(&mut control, "/wake_up", 200, r#"{"status":"awake","tags":null}"#).await;
    let hits = control.metric("prefix_cache_hits_total").await;
    client.stream(20, 1).await.all(Instant::now()).await;
    assert_eq!(control.metric("prefix_cache_hits_total").await, hits);
}

#[tokio::test(start_paused = true)]
async fn after_a_sleep_of_level_2_the_weights_are_loaded_between_two_steps_of_waking_up() {
    let simulator = Simulator::new(sleepy());
    let mut control = Client::new(&simulator).await;
    assert_answer(&mut control, "/sleep?level=2", 500, r#"{"status":"sleeping","level":2}"#).await;
    assert_answer(&mut control, "/wake_up?tags=weights", 200, r#"{"status":"awake","tags":["weights"]}"#).await;
    let reload = timed_post(&mut control, "/collective_rpc", &json!({"method": "reload_weights"})).await;
    assert_eq!(reload, (3_000, 200, r#"{"results":[null]}"#.to_owned()));
    assert_eq!(control.get("/is_sleeping").await, r#"{"is_sleeping":true}"#, "the KV cache still sleeps");
    assert_answer(&mut control, "/wake_up?tags=kv_cache", 0, r#"{"status":"awake","tags":["kv_cache"]}"#).await;
    assert_eq!(control.get("/is_sleeping").await, r#"{"is_sleeping":false}"#);
    assert_eq!(timed_post(&mut control, "/sleep?level=3", &json!({})).await.1, 400);
    assert_eq!(timed_post(&mut control, "/collective_rpc", &json!({"method": "x"})).await.1, 501);
}
