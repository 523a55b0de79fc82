//! An idle operator: its resource use over some time, and its requests to the API server.

use std::time::Duration;

use e2e::control_plane::{ControlPlane, operator::Operator};
use tokio::time::{Instant, sleep};

/// The resource use of an operator.
pub struct Idle {
    /// In CPUs.
    pub cpu: f64,
    /// Requests per minute in the namespace of quiet runs.
    pub for_quiet: f64,
    /// Requests per minute of the watches, which the server ends now and then.
    pub of_watches: f64,
    /// All other requests per minute.
    pub others: f64,
}

/// Measures an operator for some seconds. `quiet`: the namespace of quiet runs, which need nothing.
pub async fn look(plane: &ControlPlane, operator: &Operator, seconds: u64, quiet: &str) -> anyhow::Result<Idle> {
    let (start, began, cpu) = (plane.audit_end()?, Instant::now(), operator.cpu_seconds()?);
    sleep(Duration::from_secs(seconds)).await;
    let (used, passed) = (operator.cpu_seconds()? - cpu, began.elapsed().as_secs_f64());
    let (mut for_quiet, mut of_watches, mut others) = (0, 0, 0);
    for request in plane.audit_since(start)? {
        if request.is_of_watch() {
            of_watches += 1;
        } else if request.namespace == quiet {
            for_quiet += 1;
        } else {
            others += 1;
        }
    }
    let a_minute = |count: i32| f64::from(count) * 60.0 / passed;
    Ok(Idle {
        cpu: used / passed,
        for_quiet: a_minute(for_quiet),
        of_watches: a_minute(of_watches),
        others: a_minute(others),
    })
}
