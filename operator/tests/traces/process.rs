//! Tests with the operator as a process: with a collector, and with an invalid endpoint.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{Method, Uri},
    response::Response,
};
use bytes::Bytes;
use opentelemetry_proto::tonic::trace::v1::{Span, span::SpanKind, status::StatusCode};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    time::{sleep, timeout},
};

use crate::traces::collector::{Collector, attribute};

/// Much more time than any step needs. No measured figure depends on it.
const PATIENCE: Duration = Duration::from_secs(60);
/// A text in everything that is secret or comes from the API server. It must not appear in a trace.
const CANARY: &str = "canary-7f3a";
const RUNS: &str = "/apis/benchwright.dev/v1alpha1/namespaces/bench/benchmarkruns";

/// A fake API server that stores objects by path, and refuses the first creation of a Job.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<Objects>>);

#[derive(Default)]
struct Objects {
    by_path: BTreeMap<String, Value>,
    version: u64,
    has_refused: bool,
}

async fn answer(State(server): State<Server>, method: Method, uri: Uri, body: Bytes) -> Response {
    if uri.query().unwrap_or_default().contains("watch=true") {
        return Response::new(Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>()));
    }
    let mut objects = server.0.lock().unwrap_or_else(PoisonError::into_inner);
    let mut body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let path = uri.path();
    objects.version += 1;
    let version = objects.version.to_string();
    let (code, answer) = match method {
        Method::POST if path.ends_with("/jobs") && !objects.has_refused => {
            objects.has_refused = true;
            failure(500)
        }
        Method::POST => {
            let name = body["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            body["metadata"]["uid"] = json!(format!("uid-{name}"));
            body["metadata"]["resourceVersion"] = json!(version);
            objects.by_path.insert(format!("{path}/{name}"), body.clone());
            (201, body)
        }
        Method::PATCH => match objects.by_path.get_mut(path.trim_end_matches("/status")) {
            Some(run) => {
                run["status"] = body["status"].clone();
                run["metadata"]["resourceVersion"] = json!(version);
                (200, run.clone())
            }
            None => failure(404),
        },
        _ => match objects.by_path.get(path) {
            Some(found) => (200, found.clone()),
            // A path that ends with s is a list: in this test plural names end with s, and names of objects do not.
            None if path.ends_with('s') => {
                let plural = path.rsplit('/').next().unwrap_or_default();
                let items = objects.by_path.iter().filter(|it| it.0.contains(&format!("/{plural}/"))).map(|it| it.1);
                let items: Vec<_> = items.cloned().collect();
                (
                    200,
                    json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": version}, "items": items}),
                )
            }
            None => failure(404),
        },
    };
    Response::builder().status(code).body(Body::from(answer.to_string())).expect("the codes are HTTP statuses")
}

fn failure(code: u16) -> (u16, Value) {
    let reason = if code == 404 { "NotFound" } else { "InternalError" };
    let message = format!("the words of a server: {CANARY}");
    (code, json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}))
}

/// Starts an API server with a run that has not had a turn yet.
async fn server() -> anyhow::Result<SocketAddr> {
    let server = Server::default();
    let run = json!({
        "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun",
        "metadata": {
            "name": "chat", "namespace": "bench", "uid": "uid-chat", "generation": 1, "resourceVersion": "1",
            "creationTimestamp": jiff::Timestamp::now().to_string(), "annotations": {"note": CANARY},
        },
        "spec": {
            "target": {"simulator": {}},
            "launcher": {"labels": {"note": CANARY}},
        },
    });
    server.0.lock().unwrap_or_else(PoisonError::into_inner).by_path.insert(format!("{RUNS}/chat"), run);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let router = Router::new().fallback(answer).with_state(server);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

/// The command that starts the operator, without OpenTelemetry's environment variables.
fn operator() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_benchwright-operator"));
    let names = std::env::vars_os().filter_map(|it| it.0.into_string().ok()).filter(|it| it.starts_with("OTEL_"));
    for name in names {
        command.env_remove(name);
    }
    command.args(["--launcher-image=launcher", "--no-leader-election", "--admin-address=127.0.0.1:0"]);
    // Half of the usual stack size of threads. So the test shows that turns need much less stack than they normally have.
    command.env("RUST_MIN_STACK", (1 << 20).to_string());
    command
}

fn kubeconfig(server: SocketAddr) -> anyhow::Result<PathBuf> {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{"name": "a", "cluster": {"server": format!("http://{server}")}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "users": [{"name": "a", "user": {"token": CANARY}}],
    });
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("kubeconfig-{}", server.port()));
    fs::write(&path, config.to_string())?;
    Ok(path)
}

/// A process that is killed when the test ends.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // An error means that the process has already ended.
        let _ = self.0.kill();
    }
}

/// The spans of turns, in the order in which they ended.
fn turns(spans: &[Span]) -> Vec<&Span> {
    let mut turns: Vec<_> = spans.iter().filter(|it| it.parent_span_id.is_empty()).collect();
    turns.sort_by_key(|it| it.end_time_unix_nano);
    turns
}

fn is_error(span: &Span) -> bool {
    span.status.as_ref().is_some_and(|it| it.code == i32::from(StatusCode::Error))
}

#[tokio::test]
async fn a_collector_receives_each_turn_with_its_steps_and_requests_and_no_secret() -> anyhow::Result<()> {
    let (collector, address) = Collector::start().await?;
    let mut command = operator();
    command.arg(format!("--otlp-endpoint=http://{address}")).env("KUBECONFIG", kubeconfig(server().await?)?);
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20key").stderr(Stdio::inherit());
    let mut process = Process(command.spawn()?);
    let created = |it: &Span| attribute(&it.attributes, "benchwright.writes").contains("create jobs") && !is_error(it);
    let wait = async {
        while !collector.spans().iter().any(created) {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, wait).await?;

    let spans = collector.spans();
    let turns = turns(&spans);
    let traces: BTreeSet<_> = turns.iter().map(|it| &it.trace_id).collect();
    assert_eq!(traces.len(), turns.len(), "each turn is a trace of its own");
    for turn in &turns {
        let text = |key: &str| attribute(&turn.attributes, key);
        assert_eq!((turn.name.as_str(), text("benchwright.run.uid").as_str()), ("turn", "uid-chat"));
        assert_eq!((text("k8s.namespace.name"), text("benchwright.run.name")), ("bench".into(), "chat".into()));
    }
    let refused = turns.iter().find(|it| is_error(it)).expect("the first Job was refused");
    assert_eq!(attribute(&refused.attributes, "benchwright.outcome"), "refused");
    assert_eq!(attribute(&refused.attributes, "benchwright.phase.before"), "None");
    let done = turns.iter().find(|it| created(it)).expect("the second Job was not");
    assert_eq!(attribute(&done.attributes, "benchwright.outcome"), "done");
    assert_eq!(attribute(&done.attributes, "benchwright.phase.before"), "Preparing");
    assert_eq!(attribute(&done.attributes, "benchwright.phase.after"), "Starting");
    assert!(attribute(&done.attributes, "benchwright.writes").contains("patch benchmarkruns/status"), "{done:?}");

    let of_refused: Vec<_> = spans.iter().filter(|it| it.trace_id == refused.trace_id).collect();
    let names: BTreeSet<_> = of_refused.iter().map(|it| it.name.as_str()).collect();
    for name in ["turn", "observe", "decide", "apply", "get benchmarkruns", "create configmaps", "create jobs"] {
        assert!(names.contains(name), "no {name} in {names:?}");
    }
    let parent_of =
        |span: &Span| of_refused.iter().find(|it| it.span_id == span.parent_span_id).map(|it| it.name.as_str());
    for span in of_refused.iter().filter(|it| !it.parent_span_id.is_empty()) {
        let parent = parent_of(span).unwrap_or_else(|| panic!("{span:?} has a parent in its trace"));
        let is_step = ["observe", "decide", "apply"].contains(&span.name.as_str());
        assert!(
            if is_step { parent == "turn" } else { span.kind == i32::from(SpanKind::Client) },
            "{parent}: {span:?}"
        );
    }
    let job = of_refused.iter().find(|it| it.name == "create jobs").expect("it is among the names");
    assert_eq!((parent_of(job), is_error(job)), (Some("apply"), true));
    let text = |key: &str| attribute(&job.attributes, key);
    assert_eq!([text("benchwright.verb"), text("benchwright.resource")], ["create", "jobs"]);
    assert_eq!([text("http.request.method"), text("http.response.status_code")], ["POST", "500"]);

    let all: BTreeSet<_> = spans.iter().map(|it| it.name.as_str()).collect();
    for never in ["list benchmarkruns", "list jobs", "create events"] {
        assert!(!all.contains(never), "watches and events are no part of a turn: {all:?}");
    }

    let ended = Command::new("sh").args(["-c", &format!("kill -TERM {}", process.0.id())]).status()?;
    assert!(ended.success());
    let end = tokio::task::spawn_blocking(move || process.0.wait());
    assert!(timeout(PATIENCE, end).await???.success());
    for request in collector.received() {
        let header = |name: &str| request.headers.get(name).and_then(|it| it.to_str().ok()).map(str::to_owned);
        assert_eq!(request.path, "/v1/traces");
        assert_eq!(header("content-type").as_deref(), Some("application/x-protobuf"));
        assert_eq!(header("authorization").as_deref(), Some("Bearer key"));
        let resource = request.decoded().resource_spans.remove(0).resource.expect("spans name their process");
        assert_eq!(attribute(&resource.attributes, "service.name"), "benchwright-operator");
        let holds = request.body.windows(CANARY.len()).any(|it| it == CANARY.as_bytes());
        assert!(!holds, "a secret or words of a server in {request:?}");
    }
    Ok(())
}

#[test]
fn a_wrong_endpoint_ends_the_operator_at_its_start_with_the_remedy() -> anyhow::Result<()> {
    let output = operator().arg("--otlp-endpoint=collector:4318").output()?;
    let said = String::from_utf8(output.stderr)?;
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("--otlp-endpoint is \"collector:4318\", ") && said.contains("; write the URL"), "{said}");
    Ok(())
}
