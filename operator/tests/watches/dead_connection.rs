//! An operator whose network fails silently: a proxy stops forwarding, but closes no connection.

use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{Query, State},
    http::Uri,
    response::Response,
};
use bytes::Bytes;
use crds::status::Phase;
use futures::{StreamExt as _, stream};
use kube::Config;
use operator::{
    admin,
    connection::{self, Health, Limits},
    leadership::Fence,
    watches::{self, Runs},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
    sync::watch,
    time::{sleep, timeout},
};

use crate::fixture::{context, list, run};

/// Much more time than any step needs. No measured figure depends on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The operator's own limits, but shorter, so that the test need not wait long.
const LIMITS: Limits = Limits {
    connect: Duration::from_secs(1),
    read: Duration::from_millis(1_500),
    request: Duration::from_millis(1_500),
    watch_seconds: 1,
    idle: Duration::from_millis(500),
    silent: Duration::from_secs(4),
    stuck: Duration::from_secs(60),
};

/// The runs, each with its resource version.
type Objects = Arc<Mutex<Vec<Value>>>;

/// Responds like an API server that has these runs. It ends each watch after the time that its client requests.
async fn answer(State(objects): State<Objects>, uri: Uri, Query(query): Query<HashMap<String, String>>) -> Response {
    let objects = objects.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let items = if uri.path().ends_with("/benchmarkruns") { objects } else { Vec::new() };
    let version = |it: &Value| it["metadata"]["resourceVersion"].as_str().and_then(|it| it.parse::<u64>().ok());
    if !query.contains_key("watch") {
        let newest = items.iter().filter_map(version).max().unwrap_or(1);
        return Response::new(Body::from(list(&items, newest).to_string()));
    }
    let since = query["resourceVersion"].parse::<u64>().ok();
    let limit = Duration::from_secs(query["timeoutSeconds"].parse().expect("the operator limits its watches"));
    let news = items.into_iter().filter(|it| version(it) > since);
    let lines: Vec<_> = news.map(|it| format!("{}\n", json!({"type": "ADDED", "object": it}))).collect();
    let end = stream::once(async move {
        sleep(limit).await;
        Bytes::new()
    });
    let body = stream::iter(lines.into_iter().map(Bytes::from)).chain(end).map(Ok::<_, io::Error>);
    Response::new(Body::from_stream(body))
}

/// Forwards connections to `server` while `cut` is false. A connection that exists during a cut stays dead, and neither end is notified, as when a
/// NAT table loses an entry or a host disappears.
async fn proxy(
    listener: TcpListener,
    server: SocketAddr,
    cut: watch::Receiver<bool>,
    tries: Arc<AtomicUsize>,
) -> io::Result<()> {
    loop {
        let (mut client, _) = listener.accept().await?;
        tries.fetch_add(1, Ordering::Relaxed);
        let mut cut = cut.clone();
        tokio::spawn(async move {
            if !*cut.borrow_and_update() {
                let mut server = TcpStream::connect(server).await?;
                tokio::select! {
                    done = copy_bidirectional(&mut client, &mut server) => return done.map(drop),
                    _ = cut.wait_for(|it| *it) => {}
                }
            }
            // The connection stays open, but no byte is sent.
            std::future::pending::<io::Result<()>>().await
        });
    }
}

/// Requests a page of the operator's admin server. Returns its response, which begins with the status line.
async fn page(admin: SocketAddr, path: &str) -> io::Result<String> {
    let mut connection = TcpStream::connect(admin).await?;
    connection.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes()).await?;
    let mut text = String::new();
    connection.read_to_string(&mut text).await?;
    Ok(text)
}

async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let wait = async {
        while !holds().await {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("never {what}"));
}

struct Operator {
    runs: Runs,
    admin: SocketAddr,
}

async fn start_operator(api_server: SocketAddr) -> anyhow::Result<Operator> {
    let health = Arc::new(Health::new(LIMITS));
    let client =
        connection::client(&Config::new(format!("http://{api_server}").parse()?), &health, &Arc::new(Fence::open()))?;
    let context = context(client, health);
    let (turns, runs) = watches::controller(None, &context, std::future::pending());
    tokio::spawn(turns);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let admin = listener.local_addr()?;
    let caches = Arc::new(vec![runs.clone()].into());
    tokio::spawn(admin::serve(listener, context, caches, std::future::pending()));
    Ok(Operator { runs, admin })
}

#[tokio::test]
async fn a_connection_that_died_without_a_word_is_noticed_told_and_replaced() -> anyhow::Result<()> {
    let objects = Objects::default();
    objects.lock().unwrap_or_else(PoisonError::into_inner).push(run("early", "Succeeded", 1));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let server = listener.local_addr()?;
    let router = Router::new().fallback(answer).with_state(Arc::clone(&objects));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let behind_proxy = listener.local_addr()?;
    let (cut, cuts) = watch::channel(false);
    let tries = Arc::new(AtomicUsize::new(0));
    tokio::spawn(proxy(listener, server, cuts, Arc::clone(&tries)));

    let Operator { runs, admin } = start_operator(behind_proxy).await?;
    let ready = async || page(admin, "/readyz").await.is_ok_and(|it| it.starts_with("HTTP/1.1 200"));
    until("ready", ready).await;
    assert_eq!(runs.states(), [(Some(Phase::Succeeded), None)]);

    cut.send(true)?;
    // Another watch may become silent a moment earlier, so the page must mention this one.
    let names_runs = async || {
        page(admin, "/readyz").await.is_ok_and(|it| it.starts_with("HTTP/1.1 503") && it.contains("/benchmarkruns"))
    };
    until("not ready because of the watch on runs", names_runs).await;
    assert!(
        page(admin, "/healthz").await?.starts_with("HTTP/1.1 200"),
        "it goes on asking: a new start would not help"
    );
    objects.lock().unwrap_or_else(PoisonError::into_inner).push(run("late", "Succeeded", 2));
    // The delay between attempts must not grow while the network is down: each of the three watches makes three more attempts.
    let before = tries.load(Ordering::Relaxed);
    until("nine tries on", async || tries.load(Ordering::Relaxed) >= before + 9).await;

    cut.send(false)?;
    until("ready again", ready).await;
    until("aware of the run that was made meanwhile", async || runs.states().len() == 2).await;
    Ok(())
}
