//! Tests of HTTP/2, negotiated over TLS or configured: one connection carries many requests, but never more than the server allows.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use crds::benchmark_run::{Api, HttpVersion};
use engine::client::Target;
use h2::server::{Builder, SendResponse};
use http::{Request, Response};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::watch,
};
use workload_profiles::workload::{Abandonment, Departure};

use super::{common::*, tls};

const FIRST: &str = "data: {\"choices\":[{\"text\":\" a\",\"finish_reason\":null}]}\n\n";
const LAST: &str = "data: {\"choices\":[{\"text\":\" b\",\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";

/// A test server, with its limits and what it has observed.
#[derive(Default)]
struct Server {
    connections: AtomicUsize,
    requests: AtomicUsize,
    /// Number of requests in flight: the current and the highest value.
    active: watch::Sender<(usize, usize)>,
    /// The first answers are held back until this many requests are in flight.
    hold: usize,
    /// Number of requests per connection before the server sends GOAWAY; 0: no limit.
    goodbye_after: usize,
    max_streams: u32,
}

impl Server {
    fn seen(&self) -> (usize, usize) {
        (self.connections.load(Ordering::Relaxed), self.requests.load(Ordering::Relaxed))
    }

    async fn serve(self: Arc<Self>, socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        self.connections.fetch_add(1, Ordering::Relaxed);
        let mut connection: h2::server::Connection<_, Bytes> =
            Builder::new().max_concurrent_streams(self.max_streams).handshake(socket).await.unwrap();
        let mut count = 0;
        while let Some(Ok((request, respond))) = connection.accept().await {
            count += 1;
            tokio::spawn(Arc::clone(&self).answer(request, respond));
            if count == self.goodbye_after {
                connection.graceful_shutdown();
            }
        }
    }

    async fn answer(self: Arc<Self>, request: Request<h2::RecvStream>, mut respond: SendResponse<Bytes>) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.active.send_modify(|(now, most)| {
            *now += 1;
            *most = (*most).max(*now);
        });
        assert_eq!((request.uri().path(), request.method().as_str()), ("/v1/completions", "POST"));
        assert!(request.uri().authority().is_some() && request.headers().get("host").is_none());
        let requested = request.headers()["content-length"].to_str().unwrap().parse::<usize>().unwrap();
        let (mut body, mut length) = (request.into_body(), 0);
        while let Some(bytes) = body.data().await {
            length += bytes.unwrap().len();
        }
        assert_eq!(length, requested);
        let head = Response::builder().header("content-type", "text/event-stream").body(()).unwrap();
        let mut stream = respond.send_response(head, false).unwrap();
        stream.send_data(FIRST.into(), false).unwrap();
        self.active.subscribe().wait_for(|(_, most)| *most >= self.hold).await.unwrap();
        self.active.send_modify(|(now, _)| *now -= 1);
        // An error is ignored, because the client may have disconnected.
        let _ = stream.send_data(LAST.into(), true);
    }
}

/// Listens on a free port, and returns the port.
async fn listen(server: &Arc<Server>) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = Arc::clone(server);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            tokio::spawn(Arc::clone(&server).serve(stream));
        }
    });
    port
}

fn target(url: &str, authority: Option<&str>, version: HttpVersion) -> Target {
    Target::new(url, Api::Completions, None, authority, &Default::default()).unwrap().speaking(version)
}

async fn known_beforehand(server: &Arc<Server>) -> Target {
    target(&format!("http://localhost:{}", listen(server).await), None, HttpVersion::Http2)
}

#[tokio::test]
async fn requests_share_a_connection() {
    let server = Arc::new(Server { max_streams: 1_000, hold: 40, ..Server::default() });
    let target = known_beforehand(&server).await;
    let result = issue(&workload(vec![closed(40, 200)], 2), &target).await;
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 200)]);
    assert_eq!(server.seen(), (1, 200));
    assert_eq!(server.active.borrow().1, 40);
    for record in records(&result) {
        assert_eq!((record.output_tokens, record.content_events), (Some(2), 2));
        let (sent, first, last) = (record.sent.unwrap(), record.first_token.unwrap(), record.last_token.unwrap());
        assert!(sent <= first && first <= last && last <= record.ended, "{record:?}");
    }
}

#[tokio::test]
async fn a_server_gets_no_more_requests_on_a_connection_than_it_allows() {
    // The server holds 24 requests back until all have arrived. Each connection allows 8 streams, so no request may wait in the client.
    let server = Arc::new(Server { max_streams: 8, hold: 24, ..Server::default() });
    let target = known_beforehand(&server).await;
    let result = issue(&workload(vec![closed(24, 96)], 2), &target).await;
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 96)]);
    assert_eq!((server.seen(), server.active.borrow().1), ((3, 96), 24));
}

#[tokio::test]
async fn a_request_that_is_left_gives_its_place_back() {
    let server = Arc::new(Server { max_streams: 100, ..Server::default() });
    let target = known_beforehand(&server).await;
    let mut workload = workload(vec![closed(2, 250)], 2);
    workload.abandonment = Some(Abandonment { share: 1.0, after: Departure::Tokens(1) });
    let result = issue(&workload, &target).await;
    assert_eq!(result.recorder.stages[0].requests(), 250);
    assert_eq!(server.seen(), (1, 250));
}

#[tokio::test]
async fn a_connection_that_says_goodbye_is_replaced() {
    let server = Arc::new(Server { max_streams: 100, goodbye_after: 10, ..Server::default() });
    let target = known_beforehand(&server).await;
    let result = issue(&workload(vec![closed(3, 60)], 2), &target).await;
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 60)]);
    assert!(server.seen().0 >= 6, "{:?}", server.seen());
}

#[tokio::test]
async fn tls_negotiates_the_version() {
    let server = Arc::new(Server { max_streams: 100, ..Server::default() });
    let serve = {
        let server = Arc::clone(&server);
        move |stream| Arc::clone(&server).serve(stream)
    };
    let both = tls::listen(&[b"h2", b"http/1.1"], serve).await;
    let url = format!("https://localhost:{both}");
    let result = issue(&workload(vec![closed(5, 20)], 2), &target(&url, Some(tls::AUTHORITY), HttpVersion::Auto)).await;
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 20)]);
    assert_eq!(server.seen(), (1, 20));
    // A server without ALPN uses HTTP/1.1. If HTTP/2 is required, the requests fail.
    let old = tls::serve().await;
    let url = format!("https://localhost:{old}");
    for (version, expected) in
        [(HttpVersion::Auto, "ok"), (HttpVersion::Http1, "ok"), (HttpVersion::Http2, "connect_error")]
    {
        let result = issue(&workload(vec![closed(2, 6)], 2), &target(&url, Some(tls::AUTHORITY), version)).await;
        assert_eq!(outcomes(&result, 0), [(expected.to_owned(), 6)], "{version:?}");
    }
}

#[tokio::test]
async fn a_server_that_speaks_only_http1_is_told() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let simulator = simulator::Simulator::new(server(millis(2), millis(1)));
    tokio::spawn(async move { simulator.serve(listener, std::future::pending()).await });
    let target = target(&format!("http://localhost:{port}"), None, HttpVersion::Http2);
    let result = issue(&workload(vec![closed(1, 2)], 2), &target).await;
    let failed = &result.recorder.stages[0];
    assert_eq!(failed.succeeded(), 0);
    assert_eq!(failed.requests(), 2);
    let message = failed.error_samples.values().next().unwrap();
    assert!(message.contains("target.httpVersion"), "{message}");
}
