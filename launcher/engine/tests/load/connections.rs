//! Tests of connections that are kept, replaced after the server has closed them, or refused.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crds::{benchmark_run::Api, units::Span};
use engine::client::{
    Target,
    probe::{self, ProbeError},
};
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response, body::Bytes, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use measurement::record::{Cause, RequestOutcome};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use workload_profiles::workload::{Probes, Stage};

use super::common::*;

fn answer() -> Response<Full<Bytes>> {
    Response::builder().header("content-type", "text/event-stream").body(Full::from(ANSWER)).unwrap()
}

/// Serves requests with `serve`. When `serve` returns `false`, the connection is closed without an answer.
async fn until(server: DuplexStream, serve: impl Fn(Request<Incoming>) -> bool) {
    let service = service_fn(async |request: Request<Incoming>| {
        let goes_on = serve(request);
        if goes_on { Ok(answer()) } else { Err("closed") }
    });
    // The error is ignored, because the tests check how the connection ends.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(server), service).await;
}

/// Answers `answers` requests of a connection, and closes it without an answer when the next one arrives.
fn closes_after(answers: u64, server: DuplexStream) {
    let answered = AtomicU64::new(0);
    tokio::spawn(until(server, move |_| answered.fetch_add(1, Ordering::Relaxed) < answers));
}

#[tokio::test(start_paused = true)]
async fn connections_are_kept_for_the_next_request() {
    let connections = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&connections);
    let target = in_process(move |server| {
        count.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(until(server, |_| true));
    });
    let result = issue(&workload(vec![closed(3, 300)], 1), &target).await;
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 300)]);
    assert_eq!(connections.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_the_server_closed_is_replaced() {
    // The first three connections answer ten requests each. The next request gets no answer and the connection closes, as if the server's
    // keep-alive time had ended while the request was on its way.
    let (requests, connections) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (count, made) = (Arc::clone(&requests), Arc::clone(&connections));
    let target = in_process(move |server| {
        let answers = if made.fetch_add(1, Ordering::Relaxed) < 3 { 10 } else { u64::MAX };
        let (answered, count) = (AtomicU64::new(0), Arc::clone(&count));
        tokio::spawn(until(server, move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            answered.fetch_add(1, Ordering::Relaxed) < answers
        }));
    });
    let result = issue(&workload(vec![closed(1, 50)], 1), &target).await;
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 50)]);
    let retried = result.recorder.stages[0].retried;
    assert_eq!((retried, requests.load(Ordering::Relaxed)), (3, 53));
}

#[tokio::test(start_paused = true)]
async fn more_resends_than_keep_alive_explains_are_failures() {
    // Each connection answers ten requests, and closes without a byte at the next one. Only one exchange in eleven fails, so most kept
    // connections work.
    let target = in_process(|server| closes_after(10, server));
    let result = issue(&workload(vec![closed(1, 1_000), closed(1, 100)], 1), &target).await;
    // At most one in a hundred requests of a stage is sent again, but at least three are allowed.
    for (stage, requests, resent) in [(0, 1_000, 10), (1, 100, 3)] {
        let tally = &result.recorder.stages[stage];
        assert!(tally.retried.abs_diff(resent) <= 1, "{} of {requests} were sent again", tally.retried);
        let failed = tally.outcomes[&RequestOutcome::ConnectError];
        assert_eq!((failed + tally.succeeded(), tally.causes[&Cause::KeptClosed].count), (requests, failed));
        assert!(failed >= requests / 20, "{failed} of {requests}");
        assert!(tally.causes[&Cause::KeptClosed].sample().contains("idle timeout"), "{:?}", tally.causes);
        assert_eq!(tally.own_connections, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_keeps_no_connection_gets_a_new_one_for_each_request() {
    // Each connection answers one request, and closes without a byte at the second one.
    let connections = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&connections);
    let target = in_process(move |server| {
        count.fetch_add(1, Ordering::Relaxed);
        closes_after(1, server);
    });
    let result = issue(&workload(vec![closed(1, 1_000), closed(1, 20)], 1), &target).await;
    // Of 1,000 requests, the first one uses a connection opened in advance. Keep-alive can explain the next three resends. The fourth
    // resend proves that the server keeps no connections, so the remaining 995 requests get new ones.
    for (stage, requests, resent, own) in [(0, 1_000, 4, 995), (1, 20, 0, 20)] {
        let tally = &result.recorder.stages[stage];
        assert_eq!(outcomes(&result, stage), [("ok".to_owned(), requests)]);
        assert_eq!((tally.retried, tally.own_connections), (resent, own));
    }
    assert_eq!(connections.load(Ordering::Relaxed), 1_020);
}

#[tokio::test(start_paused = true)]
async fn all_requests_on_kept_connections_are_sent_again_when_the_server_keeps_none() {
    // Sixteen connections close at their second request. All these requests are in flight before the first close is noticed.
    let target = in_process(|server| closes_after(1, server));
    let result = issue(&workload(vec![closed(16, 100)], 1), &target).await;
    let tally = &result.recorder.stages[0];
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 100)]);
    assert!((4..=16).contains(&tally.retried), "{}", tally.retried);
    assert!(tally.own_connections >= 68, "{}", tally.own_connections);
}

#[tokio::test(start_paused = true)]
async fn a_new_connection_that_closes_is_a_failure_where_none_is_kept() {
    // Each connection answers one request, but every fifth connection closes at its first request.
    let connections = Arc::new(AtomicU64::new(0));
    let target = in_process(move |server| {
        let fails = connections.fetch_add(1, Ordering::Relaxed) % 5 == 4;
        closes_after(u64::from(!fails), server);
    });
    let result = issue(&workload(vec![closed(1, 100)], 1), &target).await;
    let tally = &result.recorder.stages[0];
    let failed = tally.outcomes[&RequestOutcome::ConnectError];
    assert_eq!((failed + tally.succeeded(), tally.causes[&Cause::Closed].count), (100, failed));
    assert!((19..=21).contains(&failed), "{failed}");
    assert_eq!(tally.causes.len(), 1, "{:?}", tally.causes);
}

#[tokio::test(start_paused = true)]
async fn resends_of_probes_do_not_use_up_those_of_the_load() {
    // A kept connection closes at every probe, and at three requests of the load.
    let load = Arc::new(AtomicU64::new(0));
    let target = in_process(move |server| {
        let (answered, load) = (AtomicU64::new(0), Arc::clone(&load));
        tokio::spawn(until(server, move |request| {
            let is_new = answered.fetch_add(1, Ordering::Relaxed) == 0;
            let is_probe = request.headers()["x-request-id"].to_str().unwrap().contains("-probe-");
            is_new || !(is_probe || matches!(load.fetch_add(1, Ordering::Relaxed), 10 | 20 | 30))
        }));
    });
    let mut workload = workload(vec![paced(40.0, 400)], 1);
    workload.probes = Some(Probes { rate: 8.0.try_into().unwrap(), input: 4, output: 1 });
    let result = issue(&workload, &target).await;
    assert_eq!((outcomes(&result, 0), result.recorder.stages[0].retried), (vec![("ok".to_owned(), 400)], 3));
    assert!(result.recorder.probes[0].outcomes[&RequestOutcome::ConnectError] > 0);
}

#[tokio::test(start_paused = true)]
async fn half_a_head_is_a_broken_answer() {
    let target = in_process(|mut server| {
        tokio::spawn(async move {
            let mut request = [0; 1_024];
            if server.read(&mut request).await.is_ok_and(|it| it > 0) {
                server.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/ev").await.unwrap();
            }
        });
    });
    let result = issue(&workload(vec![closed(1, 2)], 1), &target).await;
    assert_eq!(outcomes(&result, 0), [("broken_stream".to_owned(), 2)]);
    let sample = &result.recorder.stages[0].error_samples[&RequestOutcome::BrokenStream];
    assert!(sample.contains("in the head of the answer"), "{sample}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_server_held_is_not_sent_again() {
    // Each connection answers one request, holds the next one for a second and then closes. The server may have processed that request.
    let target = in_process(|server| {
        tokio::spawn(async move {
            let answered = AtomicU64::new(0);
            let service = service_fn(async |_: Request<Incoming>| {
                if answered.fetch_add(1, Ordering::Relaxed) == 0 {
                    return Ok(answer());
                }
                tokio::time::sleep(millis(1_000)).await;
                Err("closed")
            });
            let _ = http1::Builder::new().serve_connection(TokioIo::new(server), service).await;
        });
    });
    let result = issue(&workload(vec![closed(1, 6)], 1), &target).await;
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 3), ("connect_error".to_owned(), 3)]);
    assert_eq!(result.recorder.stages[0].retried, 0);
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_that_ends_is_not_used_again() {
    // Each connection is closed 50 ms after it was opened, long before the next request is due.
    let connections = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&connections);
    let target = in_process(move |server| {
        count.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            // Dropping the future after the timeout closes the connection.
            let _ = tokio::time::timeout(millis(50), until(server, |_| true)).await;
        });
    });
    let result = issue(&workload(vec![open(1.0, 20)], 1), &target).await;
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 20)]);
    assert!(connections.load(Ordering::Relaxed) >= 20);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_asked_once_more_and_no_more() {
    let requests = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&requests);
    let target = in_process(move |server| {
        let count = Arc::clone(&count);
        tokio::spawn(until(server, move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            false
        }));
    });
    let result = issue(&workload(vec![closed(1, 5)], 1), &target).await;
    assert_eq!(outcomes(&result, 0), [("connect_error".to_owned(), 5)]);
    // The first request used a connection opened before the stage, and was sent again. The other requests had new connections, so they were not sent
    // again.
    assert_eq!(requests.load(Ordering::Relaxed), 6);
    assert_eq!(result.recorder.stages[0].retried, 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_http_is_a_broken_answer() {
    let target = in_process(|mut server| {
        tokio::spawn(async move {
            let mut request = [0; 1_024];
            if server.read(&mut request).await.is_ok_and(|it| it > 0) {
                server.write_all(b"SSH-2.0-OpenSSH_9.9\r\n").await.unwrap();
            }
        });
    });
    let result = issue(&workload(vec![closed(1, 2)], 1), &target).await;
    assert_eq!(outcomes(&result, 0), [("broken_stream".to_owned(), 2)]);
}

#[tokio::test(start_paused = true)]
async fn a_request_carries_what_the_workload_says() {
    let bodies = Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = Arc::clone(&bodies);
    let target = in_process(move |server| {
        let kept = Arc::clone(&kept);
        let service = service_fn(move |request: Request<Incoming>| {
            let kept = Arc::clone(&kept);
            async move {
                let (head, body) = request.into_parts();
                let body: serde_json::Value =
                    serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap();
                kept.lock().unwrap().push((head, body));
                Ok::<_, Infallible>(answer())
            }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(server), service));
    });
    let result = issue(&workload(vec![closed(1, 2)], 7), &target).await;
    assert!(all(&result, RequestOutcome::Ok));
    let seen = bodies.lock().unwrap();
    let ids: Vec<_> = seen.iter().map(|(head, _)| head.headers["x-request-id"].to_str().unwrap().to_owned()).collect();
    assert!(ids[0].starts_with("bw-") && ids[0].ends_with("-0-0") && ids[1].ends_with("-0-1"), "{ids:?}");
    for (head, body) in seen.iter() {
        assert_eq!((head.method.as_str(), head.uri.path()), ("POST", "/v1/completions"));
        assert_eq!(
            (&head.headers["host"], &head.headers["content-type"]),
            (&"in-process".parse().unwrap(), &"application/json".parse().unwrap())
        );
        assert_eq!(body["prompt"].as_str().unwrap().split(' ').count(), 10);
        assert_eq!(
            (body["max_tokens"].as_u64(), body["ignore_eos"].as_bool(), body["stream"].as_bool()),
            (Some(7), Some(true), Some(true))
        );
        assert_eq!(body["stream_options"]["include_usage"], true);
        assert!(body.get("temperature").is_none() && body.get("seed").is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn several_answers_to_a_prompt_have_one_usage() {
    let target = in_process(|server| {
        tokio::spawn(until(server, |_| true));
    });
    // The server's usage counts one token for all choices together.
    for (choices, misses) in [(1, 0), (2, 3)] {
        let mut workload = workload(vec![closed(1, 3)], 1);
        workload.sampling.extra = BTreeMap::from([("n".to_owned(), serde_json::json!(choices))]).try_into().unwrap();
        let result = issue(&workload, &target).await;
        assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 3)]);
        assert_eq!(result.recorder.stages[0].output_length_misses, misses);
        assert!(records(&result).iter().all(|it| it.requested_output_tokens == Some(choices)));
    }
}

#[tokio::test]
async fn a_closed_port_refuses() {
    // A port that was free a moment ago, so that connections are refused.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let target =
        Target::new(&format!("http://127.0.0.1:{port}"), Api::Completions, None, None, &Default::default()).unwrap();
    let result = issue(&workload(vec![closed(2, 4)], 1), &target).await;
    assert_eq!(outcomes(&result, 0), [("connect_error".to_owned(), 4)]);
    assert!(records(&result).iter().all(|it| it.sent.is_none() && it.send_lag().is_none()));
    assert_eq!(result.recorder.stages[0].causes[&Cause::Refused].count, 4);
    let error = probe::models(&target).await.unwrap_err();
    assert!(error.to_string().contains("refused") && !error.is_final(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_probe_finds_the_models_and_generates() {
    use simulator::{SimOptions, faults::FaultKind};
    let target = simulated(server(millis(100), millis(20)));
    assert_eq!(probe::models(&target).await.unwrap()[0].id, "m");
    probe::generate(&target, "m").await.unwrap();
    let error = probe::generate(&target, "other").await.unwrap_err();
    assert!(matches!(error, ProbeError::Refused { status: 404, .. }) && !error.is_final(), "{error}");
    assert!(error.to_string().contains("NotFoundError") && error.to_string().contains("target.model"), "{error}");
    let target = simulated(SimOptions { fault: fault(FaultKind::Hang), ..server(millis(100), millis(20)) });
    let error = probe::models(&target).await.unwrap_err().to_string();
    assert!(error.contains("/v1/models did not answer within 10s"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_slot_without_a_socket_waits_before_it_tries_again() {
    // The socket file is missing, so each attempt fails immediately. Both slots try at 0. After that, one slot at a time tries: after 20
    // ms, and then after twice as long each time, up to 640 ms.
    let target = Target::new("unix:/nowhere/at.sock", Api::Completions, None, None, &Default::default()).unwrap();
    let result = issue(&workload(vec![closed_for(2, millis(1_000), millis(0))], 1), &target).await;
    assert_eq!(outcomes(&result, 0), [("connect_error".to_owned(), 8)]);
}

#[tokio::test(start_paused = true)]
async fn an_outage_does_not_use_up_the_requests_of_a_closed_loop() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.sock");
    let target = Target::new(&format!("unix:{}", path.display()), Api::Completions, None, None, &Default::default());
    // The server starts after 2 s.
    tokio::spawn(async move {
        tokio::time::sleep(millis(2_000)).await;
        let listener = tokio::net::UnixListener::bind(path).unwrap();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let service = service_fn(|_: Request<Incoming>| async { Ok::<_, Infallible>(answer()) });
            tokio::spawn(
                async move { drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await) },
            );
        }
    });
    let result = issue(&workload(vec![closed(4, 100)], 1), &target.unwrap()).await;
    // All four slots try at 0. After that, one slot at a time tries: after 20, 40, 80, 160, 320, 640 and 1,280 ms. Each of these attempts
    // fails.
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 89), ("connect_error".to_owned(), 11)]);
    let waited = records(&result).iter().filter(|it| it.scheduled > millis(1_300)).count();
    assert_eq!(waited, 89);
}

#[tokio::test(start_paused = true)]
async fn connections_are_opened_after_a_pause_and_not_before_it() {
    // The server closes connections that are idle for 1.5 s. The pause between the stages takes 60 s.
    let connections = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&connections);
    let target = in_process(move |server| {
        count.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            let _ = tokio::time::timeout(millis(1_500), until(server, |_| true)).await;
        });
    });
    let first = Stage { pause_after: Span(millis(60_000)), ..closed(300, 300) };
    let result = issue(&workload(vec![first, closed(300, 300)], 1), &target).await;
    for stage in [0, 1] {
        assert_eq!(outcomes(&result, stage), [("ok".to_owned(), 300)]);
        assert_eq!(result.recorder.stages[stage].retried, 0);
    }
    assert_eq!(connections.load(Ordering::Relaxed), 600);
}
