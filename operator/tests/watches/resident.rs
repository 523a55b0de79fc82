//! Measures the resident memory of the operator's process, with a fake API server whose runs have large annotations.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{Query, State},
    http::{Method, Uri},
    response::Response,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, time::sleep};

use crate::fixture::{list, run};

const RUNS: usize = 64;
/// Size of the annotations in bytes. Kubernetes allows 256 KiB per object.
const LARGE: usize = 250 * 1_024;
/// Maximum additional memory for the annotations, in bytes. All annotations as text take more than twice as much. In memory, while one list of all
/// runs is read, they would take eight times as much.
const MOST_PEAK_BYTES: u64 = 7 * 1_024 * 1_024;
/// Many more checks than a start needs. No measured figure depends on it.
const MAX_LOOKS: usize = 1_200;

struct Server {
    annotation: usize,
    read: Mutex<BTreeSet<String>>,
}

impl Server {
    fn run(&self, number: usize) -> Value {
        let mut run = run(&format!("run-{number}"), "Suspended", 1);
        run["metadata"]["annotations"] = json!({"note": "n".repeat(self.annotation)});
        run["spec"]["suspend"] = json!(true);
        run["status"]["attempts"] = json!([]);
        run
    }

    /// A page of the list of all runs. The continue token is the number of the next page's first run.
    fn page(&self, query: &HashMap<String, String>) -> Value {
        let first = query.get("continue").and_then(|it| it.parse().ok()).unwrap_or(0);
        let limit: usize = query.get("limit").and_then(|it| it.parse().ok()).unwrap_or(RUNS);
        let end = (first + limit).min(RUNS);
        let items: Vec<_> = (first..end).map(|it| self.run(it)).collect();
        let mut page = list(&items, 1);
        if end < RUNS {
            page["metadata"]["continue"] = json!(end.to_string());
        }
        page
    }
}

async fn answer(
    State(server): State<Arc<Server>>,
    method: Method,
    uri: Uri,
    Query(query): Query<HashMap<String, String>>,
    body: String,
) -> Response {
    if query.contains_key("watch") {
        return Response::new(Body::from_stream(futures::stream::pending::<std::io::Result<String>>()));
    }
    let segments: Vec<_> = uri.path().rsplit('/').take(2).collect();
    let (code, text) = match segments.as_slice() {
        ["benchmarkruns", ..] => (200, server.page(&query)),
        ["jobs" | "pods", ..] => (200, list(&[], 1)),
        [name, "benchmarkruns"] => {
            server.read.lock().unwrap_or_else(PoisonError::into_inner).insert((*name).to_owned());
            (200, server.run(name.trim_start_matches("run-").parse().unwrap_or(0)))
        }
        _ if method == Method::GET => {
            (404, json!({"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": "x"}))
        }
        _ => (200, serde_json::from_str(&body).unwrap_or_default()),
    };
    let answer = Response::builder().status(code).header("content-type", "application/json");
    answer.body(Body::from(text.to_string())).expect("the header is valid")
}

/// The operator's process. It is killed when the test ends.
struct Operator(Child);

impl Operator {
    fn start(api_server: std::net::SocketAddr) -> anyhow::Result<Operator> {
        let config = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("kubeconfig-{}", api_server.port()));
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": format!("http://{api_server}")}}],
            "users": [{"name": "test", "user": {}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        });
        fs::write(&config, text.to_string())?;
        let child = Command::new(env!("CARGO_BIN_EXE_benchwright-operator"))
            .args(["--launcher-image=x", "--admin-address=127.0.0.1:0", "--no-leader-election"])
            .env("KUBECONFIG", &config)
            // The chart sets the same two variables for the allocator.
            .envs([("MALLOC_ARENA_MAX", "2"), ("MALLOC_MMAP_THRESHOLD_", "131072")])
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Operator(child))
    }

    /// The peak resident memory of the process so far, in bytes.
    fn peak(&self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let kibibytes = status.lines().find_map(|it| it.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        Ok(kibibytes.ok_or_else(|| anyhow::anyhow!("no VmHWM in {status}"))?.trim().parse::<u64>()? * 1_024)
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        // An error means that the process has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The peak memory of an operator that starts and gives each run one turn.
async fn peak_with(annotation: usize) -> anyhow::Result<u64> {
    let server = Arc::new(Server { annotation, read: Mutex::default() });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let router = Router::new().fallback(answer).with_state(Arc::clone(&server));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let operator = Operator::start(address)?;
    for _ in 0..MAX_LOOKS {
        if server.read.lock().unwrap_or_else(PoisonError::into_inner).len() == RUNS {
            return operator.peak();
        }
        sleep(Duration::from_millis(50)).await;
    }
    anyhow::bail!("the operator has not given each run a turn")
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn large_annotations_of_one_tenant_do_not_take_the_operators_memory() -> anyhow::Result<()> {
    let yardstick = peak_with(10).await?;
    let peak = peak_with(LARGE).await?;
    println!("peak with small annotations: {yardstick} bytes; with large ones: {peak} bytes");
    assert!(
        peak.saturating_sub(yardstick) < MOST_PEAK_BYTES,
        "{RUNS} annotations of {LARGE} bytes take {} bytes",
        peak - yardstick
    );
    Ok(())
}
