//! Tests of the timeouts of a request and of its parts, to the millisecond on a paused clock.

use std::time::Duration;

use crds::{benchmark_run::Api, units::Span};
use engine::client::Target;
use measurement::record::{Limit, RequestOutcome};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream},
    net::TcpListener,
};
use workload_profiles::workload::Timeouts;

use super::common::*;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
const TOKEN: &str = "data: {\"choices\":[{\"text\":\"a\"}]}\n\n";
const SILENT: &str = "data: {\"choices\":[{\"text\":\"\"}]}\n\n";
const ROLE: &str = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
const COMMENT: &str = ": keep-alive\n\n";
const DONE: &str = "data: [DONE]\n\n";

/// A server that sends each text this many milliseconds after the previous one. After the last text it sends nothing more.
fn script(parts: &'static [(u64, &'static str)]) -> Target {
    in_process(move |server| {
        tokio::spawn(play(server, parts));
    })
}

async fn play(mut server: DuplexStream, parts: &[(u64, &str)]) {
    let mut request = [0; 4_096];
    if !server.read(&mut request).await.is_ok_and(|it| it > 0) {
        return;
    }
    for (after, text) in parts {
        tokio::time::sleep(millis(*after)).await;
        // An error is ignored, because a client that gave up has closed the connection.
        let _ = server.write_all(text.as_bytes()).await;
    }
    std::future::pending().await
}

fn timeouts(first_token: u64, token_gap: u64, request: u64) -> Timeouts {
    let limit = |count: u64| (count > 0).then(|| Span(millis(count)));
    Timeouts {
        first_token: limit(first_token),
        token_gap: limit(token_gap),
        request: limit(request),
        ..Timeouts::default()
    }
}

/// Runs two requests, one after the other. Each must end with this outcome, this long after it was sent.
async fn check(
    parts: &'static [(u64, &'static str)],
    timeouts: Timeouts,
    expected: Result<RequestOutcome, Limit>,
    after: u64,
) {
    let mut workload = workload(vec![closed(1, 2)], 5);
    workload.timeouts = timeouts;
    let result = issue(&workload, &script(parts)).await;
    let tally = &result.recorder.stages[0];
    assert_eq!(tally.requests(), 2, "{parts:?}");
    let outcome = expected.unwrap_or(RequestOutcome::Timeout);
    for record in records(&result) {
        assert_eq!((record.outcome, after_send(&record, Some(record.ended))), (outcome, millis(after)), "{parts:?}");
    }
    let limits: Vec<_> = tally.timeouts.iter().map(|(limit, count)| (*limit, *count)).collect();
    assert_eq!(limits, expected.err().map(|it| (it, 2)).into_iter().collect::<Vec<_>>(), "{parts:?}");
    let successes = if outcome == RequestOutcome::Ok { 2 } else { 0 };
    assert_eq!(tally.latency_sent.histogram().len(), successes, "{parts:?}");
    if let Err(limit) = expected {
        let words = match limit {
            Limit::Connect => "connect timeout",
            Limit::FirstToken => "first-token timeout",
            Limit::TokenGap => "token-gap timeout",
            Limit::Request => "request timeout",
        };
        let message = &tally.error_samples[&RequestOutcome::Timeout];
        assert!(message.contains(words), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_and_a_role_are_no_first_token() {
    let parts = &[(10, HEAD), (10, ROLE), (500, COMMENT), (500, COMMENT), (500, TOKEN), (10, DONE)];
    check(parts, timeouts(1_200, 0, 0), Err(Limit::FirstToken), 1_200).await;
    check(parts, timeouts(1_600, 0, 0), Ok(RequestOutcome::Ok), 1_530).await;
}

#[tokio::test(start_paused = true)]
async fn a_stall_in_the_middle_is_noticed_whatever_comments_come() {
    let parts = &[(0, HEAD), (900, TOKEN), (90, TOKEN), (50, COMMENT), (40, TOKEN), (80, COMMENT), (80, COMMENT)];
    check(parts, timeouts(1_000, 100, 0), Err(Limit::TokenGap), 900 + 90 + 90 + 100).await;
    check(parts, timeouts(0, 100, 0), Err(Limit::TokenGap), 900 + 90 + 90 + 100).await;
    check(parts, timeouts(0, 100, 1_100), Err(Limit::Request), 1_100).await;
}

#[tokio::test(start_paused = true)]
async fn tokens_without_text_are_no_stall() {
    let parts = &[(0, HEAD), (90, SILENT), (90, SILENT), (90, TOKEN), (90, SILENT), (90, DONE)];
    check(parts, timeouts(100, 100, 0), Ok(RequestOutcome::Ok), 450).await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_complete_is_not_given_up() {
    // The server does not end the body. All timeouts would pass before the client stops waiting for the end of the body.
    let parts = &[(0, HEAD), (50, TOKEN), (50, DONE)];
    check(parts, timeouts(100, 100, 300), Ok(RequestOutcome::Ok), 100).await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_not_made_has_its_own_limit() {
    // The server accepts the connection but sends nothing, so the TLS handshake waits.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let target = Target::new(&url, Api::Completions, None, None, &Default::default()).unwrap();
    let mut workload = workload(vec![closed(1, 3)], 5);
    workload.timeouts = Timeouts { connect: Span(Duration::from_secs(4)), ..timeouts(1_000, 1_000, 0) };
    let result = issue(&workload, &target).await;
    assert_eq!(outcomes(&result, 0), [("timeout".to_owned(), 3)]);
    let tally = &result.recorder.stages[0];
    assert_eq!(tally.timeouts[&Limit::Connect], 3);
    let message = &tally.error_samples[&RequestOutcome::Timeout];
    assert!(message.contains("connect timeout, 4s") && message.contains(&url), "{message}");
    assert!(records(&result).iter().all(|it| it.sent.is_none() && it.ended - it.scheduled >= Duration::from_secs(4)));
}
