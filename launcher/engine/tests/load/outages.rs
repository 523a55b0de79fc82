//! Tests how a closed loop behaves while its target is not available.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicU64, Ordering},
};

use clock::Clock;
use crds::{benchmark_run::Api, units::Span};
use engine::client::Target;
use http_body_util::Full;
use hyper::{Request, Response, body::Bytes, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use measurement::record::RequestOutcome;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, UnixListener},
    time::sleep,
};
use workload_profiles::workload::Timeouts;

use super::common::*;

/// Answers each request on a connection `after` milliseconds after its arrival.
async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, status: u16, after: u64) {
    let service = service_fn(async |_: Request<Incoming>| {
        sleep(millis(after)).await;
        let head = Response::builder().status(status).header("content-type", "text/event-stream");
        Ok::<_, Infallible>(head.body(Full::<Bytes>::from(ANSWER)).unwrap())
    });
    // How the connection ends does not matter.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn accept(listener: &UnixListener, after: u64) {
    let (stream, _) = listener.accept().await.unwrap();
    tokio::spawn(serve(stream, 200, after));
}

/// What a proxy does while no server is behind it.
#[derive(Clone, Copy)]
enum Proxy {
    Closes,
    Says(u16),
}

#[tokio::test(start_paused = true)]
async fn a_proxy_without_a_server_does_not_use_up_the_requests_of_a_closed_loop() {
    for (proxy, name) in [
        (Proxy::Closes, "connect_error"),
        (Proxy::Says(502), "http_502"),
        (Proxy::Says(503), "http_503"),
        (Proxy::Says(504), "http_504"),
    ] {
        let clock = Clock::from_runtime();
        // The server starts after 2 s. Each connection serves one request, so the next request sees the current state.
        let target = in_process(move |stream| {
            let is_back = clock.now() >= millis(2_000);
            tokio::spawn(async move {
                match proxy {
                    _ if is_back => serve(stream, 200, 0).await,
                    Proxy::Closes => {}
                    Proxy::Says(status) => {
                        let until_back = serve(stream, status, 0);
                        let _ = clock.within(Some(millis(2_000)), until_back).await;
                    }
                }
            });
        });
        let result = issue(&workload(vec![closed(4, 100)], 1), &target).await;
        // All four slots try at 0. After that, one slot at a time tries: after 20, 40, 80, 160, 320, 640 and 1,280 ms. Each of these
        // attempts fails.
        let mut found = outcomes(&result, 0);
        found.sort();
        let mut expected = [("ok".to_owned(), 89), (name.to_owned(), 11)];
        expected.sort();
        assert_eq!(found, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_lasts_does_not_hold_up_the_slots_that_try() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.sock");
    let target = Target::new(&format!("unix:{}", path.display()), Api::Completions, None, None, &Default::default());
    // The server accepts one request after 2 s, and answers it after 3 minutes. It accepts further connections from 9.8 s on.
    tokio::spawn(async move {
        sleep(millis(2_000)).await;
        accept(&UnixListener::bind(&path).unwrap(), 180_000).await;
        std::fs::remove_file(&path).unwrap();
        sleep(millis(7_500)).await;
        let listener = UnixListener::bind(&path).unwrap();
        loop {
            accept(&listener, 0).await;
        }
    });
    let result = issue(&workload(vec![closed(4, 100)], 1), &target.unwrap()).await;
    // Attempts fail at 0, and after 20, 40, 80 and so on up to 1,280 ms. The next attempt is accepted at 2,280 ms. Then the other slots try each
    // second.
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 82), ("connect_error".to_owned(), 18)]);
    let mut ended: Vec<_> = records(&result).iter().map(|it| it.ended).collect();
    ended.sort();
    assert!(ended[99] > millis(182_000), "{:?}", ended[99]);
    assert!(ended[98] < millis(11_000), "{:?}", ended[98]);
}

#[tokio::test(start_paused = true)]
async fn a_try_that_a_timeout_ends_before_it_is_connected_is_one_of_an_outage() {
    // Nothing accepts the connections, so the TLS handshake never begins.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let target = Target::new(&url, Api::Completions, None, None, &Default::default()).unwrap();
    let mut workload = workload(vec![closed_for(4, millis(10_000), millis(0))], 1);
    workload.timeouts = Timeouts { request: Some(Span(millis(500))), ..Timeouts::default() };
    let result = issue(&workload, &target).await;
    // Attempts begin at 0, at 520, 540, 580 and 660 ms, at 1,190, 1,510 and 2,150 ms, and from then on every second.
    let found = records(&result);
    assert!(all(&result, RequestOutcome::Timeout) && found.iter().all(|it| it.sent.is_none()));
    assert_eq!(found.len(), 4 + 4 + 3 + 7);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_some_requests_is_there() {
    // A gateway refuses every second connection. The other requests succeed, so this is no outage and waits do not grow.
    let connections = AtomicU64::new(0);
    let target = in_process(move |stream| {
        let is_refused = connections.fetch_add(1, Ordering::Relaxed) % 2 == 1;
        tokio::spawn(serve(stream, if is_refused { 503 } else { 200 }, 5));
    });
    let result = issue(&workload(vec![closed(2, 100)], 1), &target).await;
    let [(_, succeeded), (_, refused)] = &outcomes(&result, 0)[..] else { panic!("{:?}", outcomes(&result, 0)) };
    // A request takes 5 ms. A refused request costs its slot another 10 ms.
    assert_eq!((*succeeded, *refused), (75, 25));
    assert!(records(&result).iter().all(|it| it.ended < millis(400)));
}
