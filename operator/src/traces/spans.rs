//! The spans of a reconciliation and their attributes. Spans are only created within a reconciliation, and only if traces are requested.

use std::cell::RefCell;

use crds::{BenchmarkRun, status::Phase};
use http::Method;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::controller::Action;
use tokio::task_local;
use tracing::{Instrument as _, Span, field::Empty, info_span};

use crate::error::Error;

/// The tracing target of all spans. No log line uses it, so the two can be filtered separately.
pub const TARGET: &str = "benchwright_turns";
/// The name of the span of a reconciliation.
pub(super) const TURN: &str = "turn";
const ERROR: &str = "ERROR";

task_local! {
    /// What the current reconciliation has done so far, for the attributes of its span.
    static FACTS: RefCell<Facts>;
}

#[derive(Debug, Default)]
struct Facts {
    before: Option<&'static str>,
    after: Option<&'static str>,
    is_deleted: bool,
    /// Each pair of verb and resource appears only once, so the length is bounded by the operator's rights.
    writes: Vec<String>,
}

/// Runs a reconciliation within a span of its own, which is the root of a trace.
///
/// # Errors
/// The error of the reconciliation.
pub async fn turn(run: &ObjectMeta, work: impl Future<Output = Result<Action, Error>>) -> Result<Action, Error> {
    let span = info_span!(
        target: TARGET,
        parent: None,
        "turn",
        k8s.namespace.name = run.namespace,
        benchwright.run.name = run.name,
        benchwright.run.uid = run.uid,
        benchwright.phase.before = Empty,
        benchwright.phase.after = Empty,
        benchwright.outcome = Empty,
        benchwright.writes = Empty,
        otel.status_code = Empty,
    );
    if span.is_disabled() {
        return work.await;
    }
    let noted = async {
        let done = work.await;
        FACTS.with(|facts| facts.borrow().record(&done));
        done
    };
    FACTS.scope(RefCell::default(), noted).instrument(span).await
}

impl Facts {
    fn record(&self, done: &Result<Action, Error>) {
        let span = Span::current();
        span.record("benchwright.phase.before", self.before);
        span.record("benchwright.phase.after", self.after);
        span.record("benchwright.writes", self.writes.join(", "));
        match done {
            Ok(_) => span.record("benchwright.outcome", if self.is_deleted { "deleted" } else { "done" }),
            // Only the category is recorded, because the text of an error can contain text from the API server.
            Err(error) => span.record("benchwright.outcome", error.category()).record("otel.status_code", ERROR),
        };
    }
}

fn note(note: impl FnOnce(&mut Facts)) {
    // An error means that no reconciliation is being traced.
    let _ = FACTS.try_with(|facts| note(&mut facts.borrow_mut()));
}

/// Records the state of the run before the reconciliation.
pub(crate) fn before(run: &BenchmarkRun) {
    note(|it| it.before = it.before.or(phase(run)));
}

/// Records the state of the run after a write of the reconciliation.
pub(crate) fn after(run: &BenchmarkRun) {
    note(|it| it.after = phase(run));
}

/// Records that the run of the reconciliation was deleted.
pub(crate) fn deleted() {
    note(|it| it.is_deleted = true);
}

/// Records a write to the API server, even if it failed.
pub(crate) fn wrote(verb: &str, resource: &str) {
    note(|it| {
        let write = format!("{verb} {resource}");
        if !it.writes.contains(&write) {
            it.writes.push(write);
        }
    });
}

fn phase(run: &BenchmarkRun) -> Option<&'static str> {
    Some(run.status.as_ref().and_then(|it| it.phase).map_or("None", Phase::name))
}

/// Creates the span of a step of the reconciliation.
pub(crate) fn step(name: &'static str) -> Span {
    info_span!(target: TARGET, "step", otel.name = name)
}

/// Creates the span of a request to the API server. The span ends when the response begins. It contains no names of objects.
pub(crate) fn request(method: &Method, path: &str) -> Span {
    let span = info_span!(
        target: TARGET,
        "request",
        otel.name = Empty,
        otel.kind = "client",
        http.request.method = method.as_str(),
        http.response.status_code = Empty,
        benchwright.verb = Empty,
        benchwright.resource = Empty,
        otel.status_code = Empty,
    );
    if !span.is_disabled() {
        let (verb, resource) = verb_and_resource(method, path);
        span.record("otel.name", format!("{verb} {resource}"));
        span.record("benchwright.verb", verb).record("benchwright.resource", resource);
    }
    span
}

/// Records the status code of a response. `None` if there was no response.
pub(crate) fn answered(span: &Span, code: Option<u16>) {
    if let Some(code) = code {
        span.record("http.response.status_code", code);
    }
    // A missing object is a normal result and not an error.
    if code.is_none_or(|it| it >= 400 && it != 404) {
        span.record("otel.status_code", ERROR);
    }
}

/// The Kubernetes verb of a request, and the plural of its resource with the subresource if there is one.
fn verb_and_resource(method: &Method, path: &str) -> (&'static str, String) {
    let mut parts = path.trim_matches('/').split('/');
    // The path begins with /api/v1 or with /apis/GROUP/VERSION.
    let version = if parts.next() == Some("api") { 1 } else { 2 };
    let mut parts: Vec<_> = parts.skip(version).collect();
    if parts.first() == Some(&"namespaces") && parts.len() > 2 {
        parts.drain(..2);
    }
    let (resource, name, part) = (parts.first().unwrap_or(&""), parts.get(1), parts.get(2));
    let verb = match *method {
        Method::GET if name.is_none() => "list",
        Method::GET => "get",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "other",
    };
    (verb, part.map_or_else(|| (*resource).to_owned(), |it| format!("{resource}/{it}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_named_by_its_verb_and_resource_and_never_by_an_object() {
        let run = "/apis/benchwright.dev/v1alpha1/namespaces/bench/benchmarkruns";
        for (method, path, verb, resource) in [
            (Method::GET, format!("{run}/chat"), "get", "benchmarkruns"),
            (Method::GET, run.to_owned(), "list", "benchmarkruns"),
            (Method::PATCH, format!("{run}/chat/status"), "patch", "benchmarkruns/status"),
            (Method::POST, "/apis/batch/v1/namespaces/bench/jobs".to_owned(), "create", "jobs"),
            (Method::DELETE, "/api/v1/namespaces/bench/pods/chat-a1-0".to_owned(), "delete", "pods"),
            (Method::GET, "/api/v1/pods".to_owned(), "list", "pods"),
        ] {
            assert_eq!(verb_and_resource(&method, &path), (verb, resource.to_owned()), "{method} {path}");
        }
    }
}
