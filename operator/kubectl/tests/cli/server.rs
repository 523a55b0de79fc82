//! A fake API server on a real socket. It serves BenchmarkRuns with lists and watches, logs, execs, and port-forwards to a fake launcher.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    future::IntoFuture as _,
    sync::{Arc, Mutex, MutexGuard},
};

use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
    http::{Method, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use futures::{SinkExt as _, StreamExt as _, stream};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, handshake::derive_accept_key, protocol::Role},
};

const PODS: &str = "/api/v1/namespaces/bench/pods/";
const RUNS: &str = "/apis/benchwright.dev/v1alpha1/namespaces/bench/benchmarkruns";
/// The path of the runs of all namespaces.
const ALL_RUNS: &str = "/apis/benchwright.dev/v1alpha1/benchmarkruns";

/// The server. It stops together with the runtime of the test.
#[derive(Clone)]
pub struct Server {
    port: u16,
    world: Arc<World>,
}

struct World {
    state: Mutex<Data>,
    /// The number of the newest change.
    version: watch::Sender<usize>,
}

#[derive(Default)]
struct Data {
    runs: BTreeMap<String, Value>,
    /// All changes of runs, in the form of watch events.
    changes: Vec<Value>,
    /// `VERB path?query` and the body of each received request.
    requests: Vec<(String, Value)>,
    /// Verbs and path suffixes of requests that are answered with 403.
    denied: BTreeSet<(String, String)>,
    /// Verbs and path suffixes of requests that are never answered.
    held: BTreeSet<(String, String)>,
    /// The response to the next creation, which then creates nothing.
    refusal: Option<Value>,
    logs: BTreeMap<String, String>,
    /// The content of the launcher's `/metrics`.
    metrics: String,
    /// Objects other than runs, by their paths.
    objects: BTreeMap<String, Value>,
    /// The status that a pod gets when it is created.
    pod_status: Value,
    /// The messages that the server sends during an exec.
    exec: Vec<Sent>,
    /// Messages for an exec in a pod whose name has this prefix.
    exec_of: BTreeMap<String, Vec<Sent>>,
    /// Verb and resource of the rights that an access review denies.
    lacking: BTreeSet<(String, String)>,
}

/// A message from the kubelet to the client of an exec.
#[derive(Clone, Debug)]
pub enum Sent {
    Stdout(Vec<u8>),
    Stderr(String),
    /// The exit status of the command. `None` for success.
    End(Option<String>),
    /// No further message, while the connection stays open.
    Silence,
    /// The connection closes without a message.
    Break,
}

impl Server {
    pub async fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let world = Arc::new(World { state: Mutex::default(), version: watch::Sender::new(0) });
        let app = axum::Router::new().fallback(answer).with_state(Arc::clone(&world));
        tokio::spawn(axum::serve(listener, app).into_future());
        Server { port, world }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn data(&self) -> MutexGuard<'_, Data> {
        self.world.state.lock().unwrap()
    }

    /// Stores a run with a status.
    pub fn store(&self, mut run: Value, status: Value) {
        run["status"] = status;
        self.world.change("ADDED", run);
    }

    /// Changes the status of a run.
    pub fn set_status(&self, name: &str, status: Value) {
        let mut run = self.data().runs[name].clone();
        run["status"] = status;
        self.world.change("MODIFIED", run);
    }

    pub fn delete(&self, name: &str) {
        let run = self.data().runs[name].clone();
        self.world.change("DELETED", run);
    }

    /// From now on, refuses requests with this verb on paths with this suffix.
    pub fn deny(&self, verb: &str, path: &str) {
        self.data().denied.insert((verb.to_owned(), path.to_owned()));
    }

    /// From now on, never answers requests with this verb on paths with this suffix.
    pub fn hold(&self, verb: &str, path: &str) {
        self.data().held.insert((verb.to_owned(), path.to_owned()));
    }

    /// Answers all future requests again.
    pub fn release(&self) {
        self.data().held.clear();
    }

    /// Answers the next creation with this error.
    pub fn refuse_creation(&self, code: u16, reason: &str, message: &str) {
        self.data().refusal = Some(failure(code, reason, message));
    }

    /// Answers the next creation as if the namespace did not exist.
    pub fn refuse_namespace(&self) {
        let mut status = failure(404, "NotFound", "namespaces \"bench\" not found");
        status["details"] = json!({"name": "bench", "kind": "namespaces"});
        self.data().refusal = Some(status);
    }

    pub fn set_log(&self, pod: &str, text: &str) {
        self.data().logs.insert(pod.to_owned(), text.to_owned());
    }

    /// Stores an object that is not a run, under its path.
    pub fn set_object(&self, path: &str, object: Value) {
        self.data().objects.insert(path.to_owned(), object);
    }

    /// Gives each new pod this status.
    pub fn set_pod_status(&self, status: Value) {
        self.data().pod_status = status;
    }

    /// Makes access reviews deny this right.
    pub fn take_right(&self, verb: &str, resource: &str) {
        self.data().lacking.insert((verb.to_owned(), resource.to_owned()));
    }

    /// Sets the messages that the server sends during each exec.
    pub fn set_exec(&self, sent: Vec<Sent>) {
        self.data().exec = sent;
    }

    /// Sets the messages that the server sends during an exec in pods with this name prefix.
    pub fn set_exec_of(&self, start: &str, sent: Vec<Sent>) {
        self.data().exec_of.insert(start.to_owned(), sent);
    }

    /// All pods that currently exist.
    pub fn pods(&self) -> Vec<Value> {
        let data = self.data();
        data.objects.iter().filter(|(path, _)| path.starts_with(PODS)).map(|(_, it)| it.clone()).collect()
    }

    pub fn set_metrics(&self, page: &str) {
        page.clone_into(&mut self.data().metrics);
    }

    /// The bodies of all requests with this prefix.
    pub fn requests(&self, start: &str) -> Vec<Value> {
        let data = self.data();
        data.requests.iter().filter(|(it, _)| it.starts_with(start)).map(|(_, body)| body.clone()).collect()
    }

    /// Whether a request was received whose verb, path and query contain `part`.
    pub fn has_requested(&self, part: &str) -> bool {
        self.data().requests.iter().any(|(it, _)| it.contains(part))
    }

    /// Waits until a request with this prefix was received.
    pub async fn requested(&self, start: &str) {
        for _ in 0..6_000 {
            if !self.requests(start).is_empty() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("no request that begins with {start} within 30 s");
    }
}

impl World {
    fn change(&self, kind: &str, mut run: Value) {
        let mut data = self.state.lock().unwrap();
        let version = data.changes.len() + 1;
        run["metadata"]["resourceVersion"] = json!(version.to_string());
        let name = run["metadata"]["name"].as_str().unwrap().to_owned();
        match kind {
            "DELETED" => data.runs.remove(&name),
            _ => data.runs.insert(name, run.clone()),
        };
        data.changes.push(json!({"type": kind, "object": run}));
        drop(data);
        self.version.send_replace(version);
    }
}

fn failure(code: u16, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message,
        "details": {"name": "x"},
    })
}

fn answer_json(value: &Value) -> Response {
    let code = value["code"].as_u64().and_then(|it| u16::try_from(it).ok()).unwrap_or(200);
    let code = StatusCode::from_u16(code).unwrap();
    (code, [(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

async fn answer(State(world): State<Arc<World>>, mut request: Request) -> Response {
    let upgrade = request.headers().contains_key(header::UPGRADE).then(|| hyper::upgrade::on(&mut request));
    let key = request.headers().get("sec-websocket-key").cloned();
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 22).await.unwrap();
    let (path, query) = (parts.uri.path().to_owned(), parts.uri.query().unwrap_or_default().to_owned());
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let verb = match &parts.method {
        &Method::GET if query.contains("watch=true") => "watch",
        &Method::GET if path == RUNS || path == ALL_RUNS => "list",
        &Method::GET => "get",
        &Method::POST => "create",
        &Method::DELETE => "delete",
        &Method::PATCH => "patch",
        other => panic!("{other} {path} is not served"),
    };
    let wanted_version = query.split('&').find_map(|it| it.strip_prefix("resourceVersion=")?.parse::<usize>().ok());
    let is_held = {
        let mut data = world.state.lock().unwrap();
        data.requests.push((format!("{} {path}?{query}", parts.method), body.clone()));
        data.held.iter().any(|(of, end)| of == verb && path.ends_with(end))
    };
    if is_held {
        std::future::pending::<()>().await;
    }
    let reply = {
        let mut data = world.state.lock().unwrap();
        let denied = data.denied.iter().any(|(of, end)| of == verb && path.ends_with(end));
        let resource = path.rsplit('/').next().unwrap_or_default();
        if denied {
            let message = format!(
                "{resource} is forbidden: User \"u\" cannot {verb} resource \"{resource}\" in the namespace \"bench\""
            );
            return answer_json(&failure(403, "Forbidden", &message));
        }
        if let Some(pod) = path.strip_suffix("/log") {
            let pod = pod.rsplit('/').next().unwrap_or_default();
            return match data.logs.get(pod) {
                Some(text) => text.clone().into_response(),
                None => answer_json(&failure(404, "NotFound", "pods \"x\" not found")),
            };
        }
        match (verb, path.strip_prefix(RUNS).or(path.strip_prefix(ALL_RUNS))) {
            ("watch", Some("")) => None,
            ("list", Some("")) => {
                let name = query.split('&').find_map(|it| it.strip_prefix("fieldSelector=metadata.name%3D"));
                let items: Vec<&Value> =
                    data.runs.iter().filter(|(it, _)| name.is_none_or(|name| name == *it)).map(|it| it.1).collect();
                let version = data.changes.len().to_string();
                Some(
                    json!({"kind": "BenchmarkRunList", "apiVersion": "benchwright.dev/v1alpha1", "metadata": {"resourceVersion": version}, "items": items}),
                )
            }
            ("create", Some("")) if data.refusal.is_some() => data.refusal.take(),
            ("create", Some("")) => {
                let mut run = body.clone();
                let generated = run["metadata"]["generateName"].as_str().map(|it| format!("{it}x7k2p"));
                let name = run["metadata"]["name"].as_str().map(str::to_owned).or(generated).unwrap();
                run["metadata"]["name"] = json!(name);
                run["metadata"]["namespace"] = json!("bench");
                run["metadata"]["uid"] = json!(format!("uid-of-{name}"));
                if data.runs.contains_key(&name) {
                    return answer_json(&failure(409, "AlreadyExists", "it exists"));
                }
                drop(data);
                world.change("ADDED", run.clone());
                Some(run)
            }
            ("patch", Some(name)) => {
                let mut run = data.runs[name.trim_start_matches('/')].clone();
                assert_eq!(run["metadata"]["uid"], body["metadata"]["uid"]);
                run["spec"]["cancel"] = body["spec"]["cancel"].clone();
                drop(data);
                world.change("MODIFIED", run.clone());
                Some(run)
            }
            ("get", Some(name)) => {
                let found = data.runs.get(name.trim_start_matches('/')).cloned();
                Some(found.unwrap_or_else(|| failure(404, "NotFound", "it is not found")))
            }
            _ if path.ends_with("/portforward") => {
                let page = data.metrics.clone();
                let (upgrade, key) = (upgrade.unwrap(), key.unwrap());
                tokio::spawn(async move { forward(upgrade.await.unwrap(), page).await });
                return switched(key.as_bytes());
            }
            _ if path.ends_with("/exec") => {
                let pod = path.strip_prefix(PODS).unwrap();
                let of = data.exec_of.iter().find(|(start, _)| pod.starts_with(*start)).map(|it| it.1);
                let sent = of.unwrap_or(&data.exec).clone();
                let (upgrade, key) = (upgrade.unwrap(), key.unwrap());
                tokio::spawn(async move { execute(upgrade.await.unwrap(), sent).await });
                return switched(key.as_bytes());
            }
            ("create", None) if path.ends_with("/selfsubjectaccessreviews") => {
                let mut review = body.clone();
                let asked = &body["spec"]["resourceAttributes"];
                let word = |it: &str| asked[it].as_str().map(str::to_owned);
                let resource =
                    [word("resource"), word("subresource")].into_iter().flatten().collect::<Vec<_>>().join("/");
                review["status"] = json!({"allowed": !data.lacking.contains(&(word("verb").unwrap(), resource))});
                Some(review)
            }
            ("create", None) if path == PODS.trim_end_matches('/') => {
                let mut pod = body.clone();
                pod["status"] = data.pod_status.clone();
                let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
                data.objects.insert(format!("{PODS}{name}"), pod.clone());
                Some(pod)
            }
            ("get", None) if path == PODS.trim_end_matches('/') => {
                let items: Vec<&Value> =
                    data.objects.iter().filter(|(it, _)| it.starts_with(PODS)).map(|(_, it)| it).collect();
                Some(json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}))
            }
            ("get", None) if data.objects.contains_key(&path) => data.objects.get(&path).cloned(),
            ("delete", None) if data.objects.contains_key(&path) => data.objects.remove(&path),
            _ => Some(failure(404, "NotFound", "the server could not find the requested resource")),
        }
    };
    match reply {
        Some(reply) => answer_json(&reply),
        None => changes_since(&world, wanted_version.unwrap_or_default()),
    }
}

/// The response that switches a connection to WebSocket.
fn switched(key: &[u8]) -> Response {
    Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_ACCEPT, derive_accept_key(key))
        .header(header::SEC_WEBSOCKET_PROTOCOL, "v4.channel.k8s.io")
        .body(Body::empty())
        .unwrap()
}

/// The response to a watch: all changes after a version, followed by each new change.
fn changes_since(world: &Arc<World>, version: usize) -> Response {
    let receiver = world.version.subscribe();
    let state = (Arc::clone(world), receiver, version);
    let lines = stream::unfold(state, |(world, mut receiver, sent)| async move {
        receiver.wait_for(|newest| *newest > sent).await.ok()?;
        let line = format!("{}\n", world.state.lock().unwrap().changes[sent]);
        Some((Ok::<_, Infallible>(Bytes::from(line)), (world, receiver, sent + 1)))
    });
    ([(header::CONTENT_TYPE, "application/json")], Body::from_stream(lines)).into_response()
}

/// Plays the kubelet's part in an exec.
async fn execute(socket: hyper::upgrade::Upgraded, sent: Vec<Sent>) {
    let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(socket), Role::Server, None).await;
    for part in sent {
        let (channel, bytes) = match part {
            Sent::Stdout(bytes) => (1, bytes),
            Sent::Stderr(text) => (2, text.into_bytes()),
            Sent::End(None) => (3, br#"{"metadata":{},"status":"Success"}"#.to_vec()),
            Sent::End(Some(message)) => {
                let status = json!({
                    "metadata": {}, "status": "Failure", "reason": "NonZeroExitCode", "message": message,
                    "details": {"causes": [{"reason": "ExitCode", "message": "10"}]},
                });
                (3, status.to_string().into_bytes())
            }
            Sent::Silence => {
                while let Some(Ok(_)) = socket.next().await {}
                return;
            }
            Sent::Break => return,
        };
        // Sent in several messages, as by the kubelet.
        for piece in bytes.chunks(32 * 1024) {
            if socket.send(Message::binary([&[channel], piece].concat())).await.is_err() {
                return;
            }
        }
    }
    // Wait until the client closes the connection.
    while let Some(Ok(_)) = socket.next().await {}
}

/// Plays the kubelet's part in a port-forward to a launcher that answers one request.
async fn forward(socket: hyper::upgrade::Upgraded, page: String) {
    let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(socket), Role::Server, None).await;
    let port = 8080_u16.to_le_bytes();
    for channel in [0, 1] {
        socket.send(Message::binary(vec![channel, port[0], port[1]])).await.unwrap();
    }
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        match socket.next().await {
            Some(Ok(Message::Binary(bytes))) => request.extend_from_slice(&bytes[1..]),
            Some(Ok(_)) => {}
            _ => return,
        }
    }
    assert!(request.starts_with(b"GET /metrics HTTP/1.1\r\n"), "{}", String::from_utf8_lossy(&request));
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{page}", page.len());
    // Sent in small pieces, as a network may deliver them.
    for piece in answer.as_bytes().chunks(100) {
        if socket.send(Message::binary([&[0], piece].concat())).await.is_err() {
            return;
        }
    }
    // Wait until the client closes the connection.
    while let Some(Ok(_)) = socket.next().await {}
}
