//! [I/O] Reads the launcher's `/metrics` through a port-forward, if the user can do that and the pod runs.

use std::time::Duration;

use crds::{BenchmarkRun, resolve::STATUS_PORT};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::{Request, body::Bytes};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use tokio::time::{Instant, timeout};

use super::{
    is_measuring,
    metrics::{Counters, Pace},
};
use crate::{
    connection::Connection,
    failure::{Right, code_of, unreachable},
};

/// Time limit of one read.
const LIMIT: Duration = Duration::from_secs(5);
/// Maximum size of the metrics page, in bytes. The launcher's page has about 3 KiB.
const MAX_PAGE: usize = 256 * 1024;
/// Number of consecutive failures after which a pod is no longer read.
const MAX_FAILURES: u32 = 3;
/// The right to a port-forward. It starts with a GET request, and up to version 1.34 Kubernetes requires no other right.
pub(crate) const PORT_FORWARD: Right = Right::new("get", "", "pods/portforward", "edit");

/// The result of one read.
pub(super) enum Scrape {
    /// A progress line.
    Progress(String),
    /// The load has not begun, or the read failed temporarily.
    Nothing,
    /// The pod will no longer be read. Contains the reason.
    GaveUp(String),
}

/// Reads the progress of the newest attempt.
pub(super) struct Live<'a> {
    connection: &'a Connection,
    /// The launcher's pod, while it measures.
    pod: Option<String>,
    /// The pod that is no longer read, after failures.
    given_up: Option<String>,
    failures: u32,
    pace: Pace,
}

impl<'a> Live<'a> {
    pub(super) fn new(connection: &'a Connection) -> Self {
        Live { connection, pod: None, given_up: None, failures: 0, pace: Pace::default() }
    }

    /// Takes the pod that measures from the status of the run.
    pub(super) fn look_at(&mut self, run: &BenchmarkRun) {
        let attempt = run.status.as_ref().and_then(|it| it.attempts.last());
        let pod = attempt.map(|it| it.pod_name.clone()).filter(|it| !it.is_empty() && is_measuring(run));
        if pod != self.pod {
            (self.pod, self.failures, self.pace) = (pod, 0, Pace::default());
        }
    }

    /// Whether there is a pod that should be read.
    pub(super) fn is_wanted(&self) -> bool {
        self.pod.is_some() && self.pod != self.given_up
    }

    /// Reads the pod once.
    pub(super) async fn scrape(&mut self) -> Scrape {
        let Some(pod) = self.pod.clone() else { return Scrape::Nothing };
        let page = match timeout(LIMIT, page(self.connection, &pod)).await {
            Ok(Ok(page)) => page,
            Ok(Err(error)) => return self.failed(error),
            Err(_) => return self.failed(Error { lasting: false, message: format!("no answer within {LIMIT:?}") }),
        };
        self.failures = 0;
        match Counters::read(&page) {
            Some(counters) => Scrape::Progress(self.pace.line(&counters, Instant::now())),
            None => Scrape::Nothing,
        }
    }

    fn failed(&mut self, error: Error) -> Scrape {
        self.failures += 1;
        if !error.lasting && self.failures < MAX_FAILURES {
            return Scrape::Nothing;
        }
        self.given_up.clone_from(&self.pod);
        Scrape::GaveUp(error.message)
    }
}

struct Error {
    /// Whether the failure is permanent, so that a retry would fail as well.
    lasting: bool,
    message: String,
}

fn passing(message: impl ToString) -> Error {
    Error { lasting: false, message: message.to_string() }
}

async fn page(connection: &Connection, pod: &str) -> Result<String, Error> {
    let pods: Api<Pod> = Api::namespaced(connection.client.clone(), &connection.namespace);
    let mut forward = pods.portforward(pod, &[STATUS_PORT]).await.map_err(|error| match code_of(&error) {
        Some(401 | 403) => Error {
            lasting: true,
            message: format!(
                "you may not {PORT_FORWARD} in namespace {}; Kubernetes 1.35 also requires the verb create; the role edit has both rights",
                connection.namespace
            ),
        },
        Some(code) => passing(format!("the API server refuses a port-forward to pod {pod} ({code})")),
        None => passing(unreachable(&error)),
    })?;
    let stream = forward.take_stream(STATUS_PORT).ok_or_else(|| passing("the port-forward has no stream"))?;
    let page = async {
        let (mut sender, serve) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(passing)?;
        let request =
            Request::get("/metrics").header("host", "launcher").body(Empty::<Bytes>::new()).map_err(passing)?;
        let answer = async {
            let answer = sender.send_request(request).await.map_err(passing)?;
            let body = Limited::new(answer.into_body(), MAX_PAGE).collect().await.map_err(passing)?;
            String::from_utf8(body.to_bytes().into()).map_err(passing)
        };
        // The response is complete before the connection closes, so `select` returns it.
        tokio::select! {
            answer = answer => answer,
            Err(error) = serve => Err(passing(error)),
        }
    };
    let page = page.await;
    forward.abort();
    page
}
