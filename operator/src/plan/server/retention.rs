//! How long a server outlives its run, as set in spec.cleanup.server. For a shared server, the setting of the run that finished last applies.

use std::time::Duration;

use crds::{
    BenchmarkRun, BenchmarkRunStatus,
    benchmark_run::Lifecycle,
    resolve::{managed_server, server_cleanup},
};
use jiff::Timestamp;

use super::{StopServer, failure::bounded, other_use::OtherUse};
use crate::plan::{Observed, Plan, Presence, What, finished::left, times::seconds_since};

/// Time to the next reconciliation while a server is being removed. A watch reports the end of its pods earlier.
const SERVER_GOES: Duration = Duration::from_secs(60);
/// Time in seconds after which the status reports what remains of a server that is being removed. From then on, the time between two reconciliations
/// grows up to [`LATER`].
const LATE_SECONDS: u32 = 300;
/// Prefix of the message about a server that could not be removed.
const NOT_REMOVED: &str = "the server is not removed";
/// Time to the next reconciliation while another run uses a shared server, or while the server cannot be read.
const LATER: Duration = Duration::from_secs(3_600);

/// Whether a finished run can still have to remove its server, now or later.
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

/// Whether this run's server can be shared with other runs.
pub fn is_shared(run: &BenchmarkRun) -> bool {
    managed_server(&run.spec).is_some_and(|it| it.lifecycle == Some(Lifecycle::Reuse))
}

/// The shared server that a finished run may remove in this reconciliation. The reconciliation must hold the server's lock, so that no run begins to
/// use the server between the search for its users and its deletion. See [`begins_to_share`].
pub fn removes_shared(run: &BenchmarkRun, now: Timestamp) -> Option<&str> {
    let server = run.status.as_ref()?.server.as_ref()?;
    (is_shared(run) && server_is_due(run, now)).then_some(&server.name)
}

/// The shared server that a run begins to use with this new status. A run records the server in its status before it reads the server. So if another
/// run is about to remove the server, either that run sees this record, or this run sees the removal.
pub fn begins_to_share<'a>(run: &BenchmarkRun, after: &'a BenchmarkRunStatus) -> Option<&'a str> {
    let noted = after.server.as_ref().filter(|it| is_shared(run) && it.gone_time.is_none())?;
    let before = run.status.as_ref().and_then(|it| it.server.as_ref()).filter(|it| it.gone_time.is_none());
    before.is_none_or(|it| it.name != noted.name).then_some(&noted.name)
}

/// Removes the server of a finished run, or records that it is gone. Returns the time to the next reconciliation.
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
