//! Measures an idle operator: its CPU time, and its requests to the API server.

use std::time::Duration;

use e2e::control_plane::{ControlPlane, operator::Operator};
use tokio::time::{Instant, sleep};

/// The resource use of an idle operator.
pub struct Idle {
    /// CPU usage, in CPUs.
    pub cpu: f64,
    /// Requests per minute for the namespace of the quiet runs.
    pub for_quiet: f64,
    /// Requests per minute for watches, which the API server ends from time to time.
    pub of_watches: f64,
    /// All other requests per minute.
    pub others: f64,
}

/// Measures an operator for `seconds`. `quiet` is the namespace of runs that need no work.
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
