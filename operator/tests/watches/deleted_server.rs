//! The server of a run that was deleted before it had a turn is removed nevertheless.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crds::Settings;
use http::{Method, Request};
use kube::client::Body;
use operator::{
    connection::{Health, Limits},
    servers,
};
use serde_json::{Value, json};

use crate::fixture::{Answer, context, failure, list, operator, operator_with, response, run};

/// A fake API server. Its first list has three runs. Then the watch either reports that all of them were deleted, or it expires and the next list is
/// empty.
#[derive(Default)]
struct Server {
    expires: bool,
    /// Number of reads of the Deployment that still fail.
    failures: AtomicUsize,
    lists: AtomicUsize,
    watches: AtomicUsize,
    /// The objects that were deleted.
    deleted: Mutex<Vec<String>>,
}

fn with_server(name: &str, phase: &str, version: u64) -> Value {
    let mut run = run(name, phase, version);
    run["status"]["server"] =
        json!({"name": format!("{name}-server"), "replicas": 1, "startTime": "2026-01-02T03:04:05Z"});
    run
}

fn runs() -> [Value; 3] {
    [with_server("own", "Running", 1), with_server("shared", "Running", 2), run("without", "Running", 3)]
}

impl Server {
    async fn answer(self: Arc<Self>, request: Request<Body>) -> Answer {
        let uri = request.uri();
        let (query, last) = (uri.query().unwrap_or_default(), uri.path().rsplit('/').next().unwrap_or_default());
        if request.method() == Method::DELETE {
            self.deleted.lock().unwrap_or_else(PoisonError::into_inner).push(last.to_owned());
            return response(200, &json!({"kind": "Status", "status": "Success"}));
        }
        let labels = |run: &str| json!({"benchwright.dev/server": "own-server", "benchwright.dev/run-uid": run});
        match last {
            "benchmarkruns" if query.contains("watch=true") => {
                if self.watches.fetch_add(1, Ordering::Relaxed) > 0 {
                    return std::future::pending().await;
                }
                if self.expires {
                    let status = json!({"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"});
                    return lines(&(json!({"type": "ERROR", "object": status}).to_string() + "\n"));
                }
                let gone = |run: Value| json!({"type": "DELETED", "object": run}).to_string() + "\n";
                lines(&runs().map(gone).concat())
            }
            "benchmarkruns" if self.expires && self.lists.fetch_add(1, Ordering::Relaxed) > 0 => {
                response(200, &list(&[], 4))
            }
            "benchmarkruns" => response(200, &list(&runs(), 3)),
            "jobs" | "pods" if query.contains("watch=true") => std::future::pending().await,
            // The second Service has only the server's label, but was not created by the operator.
            "services" => {
                let service =
                    |name: &str, run| json!({"metadata": {"name": name, "namespace": "bench", "labels": labels(run)}});
                response(200, &list(&[service("own-pods", "uid-own"), service("others", "uid-x")], 1))
            }
            "jobs" | "pods" => response(200, &list(&[], 1)),
            // `--cascade=orphan` has removed the owner reference.
            "own-server" => {
                let less = |it: usize| it.checked_sub(1);
                if self.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
                    return failure(500);
                }
                let metadata = json!({"name": last, "namespace": "bench", "uid": "d", "labels": labels("uid-own")});
                response(200, &json!({"metadata": metadata}))
            }
            "own-a1" => response(200, &json!({"metadata": {"name": last, "namespace": "bench", "uid": "uid-own-a1"}})),
            "shared-server" => {
                let labels = json!({"benchwright.dev/server": "shared-server", "app.kubernetes.io/managed-by": "benchwright-operator"});
                response(200, &json!({"metadata": {"name": last, "namespace": "bench", "uid": "s", "labels": labels}}))
            }
            _ => failure(404),
        }
    }
}

/// The body of a watch response that ends after this text.
fn lines(text: &str) -> Answer {
    use bytes::Bytes;
    use http_body_util::{BodyExt as _, Full};
    http::Response::new(Full::new(Bytes::from(text.to_owned())).boxed_unsync())
}

const OWN: [&str; 3] = ["own-a1", "own-pods", "own-server"];

async fn assert_deleted(server: Server, expected: &[&str]) {
    let server = Arc::new(server);
    let service = Arc::clone(&server);
    let (_context, _runs) = operator(move |request| Arc::clone(&service).answer(request));
    tokio::time::sleep(Duration::from_secs(120)).await;
    let mut deleted = server.deleted.lock().unwrap_or_else(PoisonError::into_inner).clone();
    deleted.sort();
    deleted.dedup();
    assert_eq!(deleted, expected);
}

#[tokio::test(start_paused = true)]
async fn the_server_of_a_run_that_is_gone_is_ended_and_one_that_another_run_uses_is_not() {
    // The run that shares the server is still in the list.
    assert_deleted(Server::default(), &OWN).await;
}

#[tokio::test(start_paused = true)]
async fn the_servers_of_runs_that_went_while_there_was_no_watch_are_ended_and_a_shared_one_with_its_last_run() {
    let all = [&OWN[..], &["shared-server"]].concat();
    assert_deleted(Server { expires: true, ..Server::default() }, &all).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_could_not_be_ended_is_ended_later() {
    assert_deleted(Server { failures: AtomicUsize::new(4), ..Server::default() }, &OWN).await;
}

#[tokio::test(start_paused = true)]
async fn the_load_ends_although_the_server_cannot_be_ended() {
    assert_deleted(Server { failures: AtomicUsize::new(1_000), ..Server::default() }, &["own-a1"]).await;
}

/// The last run of the server was deleted while no operator was running, so there is no event from which the operator could learn the server.
#[tokio::test(start_paused = true)]
async fn a_shared_server_that_no_run_uses_is_ended_at_the_start() {
    const SERVERS: [&str; 3] = ["shared-server", "left-server", "going-server"];
    let deployment = |name: &str| {
        let labels = json!({"benchwright.dev/server": name, "app.kubernetes.io/managed-by": "benchwright-operator"});
        let deletion = name.starts_with("going").then_some("2026-01-02T03:04:05Z");
        json!({"metadata": {"name": name, "namespace": "bench", "uid": name, "labels": labels, "deletionTimestamp": deletion}})
    };
    let deleted = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&deleted);
    let answer = move |request: Request<Body>| {
        let uri = request.uri();
        let (query, last) = (uri.query().unwrap_or_default(), uri.path().rsplit('/').next().unwrap_or_default());
        if request.method() == Method::DELETE {
            noted.lock().unwrap_or_else(PoisonError::into_inner).push(last.to_owned());
        }
        let watches = query.contains("watch=true");
        let found = match last {
            "benchmarkruns" => response(200, &list(&[with_server("shared", "Running", 2)], 3)),
            "deployments" => response(200, &list(&SERVERS.map(deployment), 3)),
            "jobs" | "pods" | "services" => response(200, &list(&[], 1)),
            name if SERVERS.contains(&name) => response(200, &deployment(name)),
            _ => failure(404),
        };
        async move { if watches { std::future::pending().await } else { found } }
    };
    let settings = Settings { managed_servers: true, ..Settings::default() };
    let (_context, _runs) = operator_with(settings, answer);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(*deleted.lock().unwrap_or_else(PoisonError::into_inner), ["left-server"]);
}

/// For `helm uninstall`, servers that no unfinished run uses are removed. If one namespace cannot be read, the others are processed nevertheless.
#[tokio::test]
async fn the_removal_of_idle_servers_leaves_those_of_unfinished_runs_and_goes_on_after_an_error() {
    const SERVERS: [&str; 4] = ["closed/unread-server", "bench/busy-server", "bench/kept-server", "bench/left-server"];
    let deployment = |place: &str| {
        let (namespace, name) = place.split_once('/').unwrap();
        let labels = json!({"benchwright.dev/server": name, "app.kubernetes.io/managed-by": "benchwright-operator"});
        json!({"metadata": {"name": name, "namespace": namespace, "uid": name, "labels": labels}})
    };
    let deleted = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&deleted);
    let answer = move |request: Request<Body>| {
        let path = request.uri().path().to_owned();
        let last = path.rsplit('/').next().unwrap_or_default();
        if request.method() == Method::DELETE {
            noted.lock().unwrap_or_else(PoisonError::into_inner).push(last.to_owned());
        }
        let found = match last {
            "benchmarkruns" if path.contains("/closed/") => failure(403),
            "benchmarkruns" => {
                response(200, &list(&[with_server("busy", "Running", 2), with_server("kept", "Succeeded", 2)], 3))
            }
            "deployments" => response(200, &list(&SERVERS.map(deployment), 3)),
            "services" => response(200, &list(&[], 1)),
            name => match SERVERS.iter().find(|it| it.ends_with(name)) {
                Some(place) => response(200, &deployment(place)),
                None => failure(404),
            },
        };
        async move { Ok::<_, std::convert::Infallible>(found) }
    };
    let client = kube::Client::new(tower::service_fn(answer), "bench");
    let context = context(client, Arc::new(Health::new(Limits::default())));
    servers::remove_idle(&context, None).await;
    let mut deleted = deleted.lock().unwrap_or_else(PoisonError::into_inner).clone();
    deleted.sort();
    assert_eq!(deleted, ["kept-server", "left-server"]);
}
