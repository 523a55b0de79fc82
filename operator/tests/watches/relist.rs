//! The list of all runs is read again, page by page, while the operator is working.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::Request;
use kube::client::Body;
use serde_json::{Value, json};

use crate::fixture::{Answer, failure, list, operator, response, run};

/// Longer than the time for which the operator collects changes of a run before it starts a turn.
const SLOW_PAGE: Duration = Duration::from_secs(2);

/// A fake API server. Its first list has `old`, and the watch after it expires immediately. The second list has `old` and `new`, and a further page
/// that takes long.
#[derive(Default)]
struct Server {
    lists: AtomicUsize,
    /// The names of the runs that turns have read.
    read: Mutex<Vec<String>>,
}

impl Server {
    async fn answer(self: Arc<Self>, request: Request<Body>) -> Answer {
        let uri = request.uri();
        let (query, last) = (uri.query().unwrap_or_default(), uri.path().rsplit('/').next().unwrap_or_default());
        match last {
            "benchmarkruns" if query.contains("watch=true") => match self.lists.load(Ordering::Relaxed) {
                1 => response(200, &expired()),
                _ => std::future::pending().await,
            },
            "benchmarkruns" if query.contains("continue=") => {
                tokio::time::sleep(SLOW_PAGE).await;
                response(200, &list(&[run("last", "Running", 3)], 3))
            }
            "benchmarkruns" => response(200, &self.first_page()),
            "jobs" | "pods" if query.contains("watch=true") => std::future::pending().await,
            "jobs" | "pods" => response(200, &list(&[], 1)),
            name if uri.path().contains("/benchmarkruns/") => {
                self.read.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
                failure(404)
            }
            _ => failure(404),
        }
    }

    fn first_page(&self) -> Value {
        let old = run("old", "Running", 1);
        if self.lists.fetch_add(1, Ordering::Relaxed) == 0 {
            return list(&[old], 1);
        }
        let mut page = list(&[old, run("new", "Running", 2)], 3);
        page["metadata"]["continue"] = json!("2");
        page
    }
}

/// The event with which a watch ends because its version is too old.
fn expired() -> Value {
    let status = json!({"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"});
    json!({"type": "ERROR", "object": status})
}

#[tokio::test(start_paused = true)]
async fn a_run_of_a_list_that_takes_long_gets_its_turn() {
    let server = Arc::<Server>::default();
    let service = Arc::clone(&server);
    let (_context, _runs) = operator(move |request| Arc::clone(&service).answer(request));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(server.lists.load(Ordering::Relaxed) > 1, "the watch has not expired");
    let mut read = server.read.lock().unwrap_or_else(PoisonError::into_inner).clone();
    read.sort();
    assert_eq!(read, ["last", "new", "old"]);
}
