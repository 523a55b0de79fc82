//! How long a server outlives its run: spec.cleanup.server. For a shared server, the run that finished last decides.

use std::time::Duration;

use crds::{
    BenchmarkRun, BenchmarkRunStatus,
    benchmark_run::Lifecycle,
    resolve::{managed_server, server_cleanup},
};
use jiff::Timestamp;

use super::{StopServer, failure::bounded, other_use::OtherUse};
use crate::plan::{Observed, Plan, Presence, What, finished::left, times::seconds_since};

/// The next look while a server is being removed. A watch reports the end of its pods.
const SERVER_GOES: Duration = Duration::from_secs(60);
/// How long a removal may take, in seconds. After that the status reports what is left, and the time between two looks grows up to
/// [`LATER`].
const LATE_SECONDS: u32 = 300;
/// The prefix of the failure message for a server that is not removed.
const NOT_REMOVED: &str = "the server is not removed";
/// The next look while another run uses a shared server, or while the server cannot be read.
const LATER: Duration = Duration::from_secs(3_600);

/// Whether a finished run may still have to remove its server.
pub fn keeps_server(run: &BenchmarkRun) -> bool {
    let server = run.status.as_ref().and_then(|it| it.server.as_ref());
    server_cleanup(&run.spec).is_some() && server.is_some_and(|it| it.gone_time.is_none() && it.left_time.is_none())
}

/// Whether the server of a finished run is due for removal.
pub fn server_is_due(run: &BenchmarkRun, now: Timestamp) -> bool {
    let Some(status) = run.status.as_ref().filter(|_| run.is_finished() && keeps_server(run)) else { return false };
    let retention = server_cleanup(&run.spec).zip(status.completion_time);
    retention.is_some_and(|(retention, finished)| left(status, retention, finished, now).is_none())
}

/// Whether this run's server is shared between runs.
pub fn is_shared(run: &BenchmarkRun) -> bool {
    managed_server(&run.spec).is_some_and(|it| it.lifecycle == Some(Lifecycle::Reuse))
}

/// The shared server that a finished run may remove in this turn. The removal is locked: no run may begin to use the server between the
/// search for its users and its deletion. See [`begins_to_share`].
pub fn removes_shared(run: &BenchmarkRun, now: Timestamp) -> Option<&str> {
    let server = run.status.as_ref()?.server.as_ref()?;
    (is_shared(run) && server_is_due(run, now)).then_some(&server.name)
}

/// The shared server that a run begins to use with this new status. A run notes the server in its status before it looks at the server. So
/// either the run that would remove the server sees this run, or this run finds what is left after the removal.
pub fn begins_to_share<'a>(run: &BenchmarkRun, after: &'a BenchmarkRunStatus) -> Option<&'a str> {
    let noted = after.server.as_ref().filter(|it| is_shared(run) && it.gone_time.is_none())?;
    let before = run.status.as_ref().and_then(|it| it.server.as_ref()).filter(|it| it.gone_time.is_none());
    before.is_none_or(|it| it.name != noted.name).then_some(&noted.name)
}

/// Removes the server of a finished run, or records that it is gone. Returns when to look again.
pub(in crate::plan) fn remove(
    run: &BenchmarkRun,
    plan: &mut Plan,
    observed: &Observed,
    now: Timestamp,
) -> Option<Duration> {
    let server = plan.status.server.as_mut()?;
    let unread = observed.unread.iter().find(|it| it.what == What::Server);
    if unread.is_some() || observed.server.deployment == Presence::Unknown {
        if let Some(unread) = unread.filter(|it| !it.passing) {
            server.last_failure = bounded(&format!("{NOT_REMOVED}: {}", unread.message));
        }
        return Some(LATER);
    }
    if is_shared(run) {
        match observed.other_use {
            OtherUse::None => {}
            OtherUse::Now => return Some(LATER),
            OtherUse::Later => {
                server.left_time = Some(now);
                return None;
            }
        }
    }
    let left = observed.server.left(&server.name);
    if left.is_empty() {
        if server.last_failure.starts_with(NOT_REMOVED) {
            server.last_failure.clear();
        }
        server.gone_time = Some(now);
        server.ready_replicas = 0;
        return None;
    }
    let since = seconds_since(*server.stop_time.get_or_insert(now), now);
    if since > LATE_SECONDS {
        server.last_failure = bounded(&format!(
            "{NOT_REMOVED}: {} is left; see whether the operator may delete it (the chart's managedServers.enabled), whether a finalizer holds it, and whether its node is lost",
            left.join(", ")
        ));
    }
    plan.stop_server = StopServer::remaining(&server.name, &observed.server);
    Some(Duration::from_secs(since.into()).clamp(SERVER_GOES, LATER))
}
