//! Helpers for all parts of the measurement.

use std::{path::PathBuf, time::Duration};

use clap::{Parser, ValueEnum};
use e2e::control_plane::{ControlPlane, operator::Operator};
use tokio::time::{Instant, sleep};

/// Measures the operator of `OPERATOR` on the control plane of `e2e/scale/control-plane run`
#[derive(Parser)]
pub(super) struct Flags {
    /// Where the figures go: FILE.json and FILE.md
    #[arg(long, default_value = "scale")]
    pub(super) out: PathBuf,
    /// Parts to measure, by default all
    #[arg(long = "part", value_enum, value_delimiter = ',')]
    pub(super) parts: Vec<Part>,
    /// Finished runs, each with its Job and its pod
    #[arg(long, default_value_t = 10_000)]
    pub(super) finished: usize,
    /// Runs that measure meanwhile
    #[arg(long, default_value_t = 500)]
    pub(super) active: usize,
    /// Suspended runs
    #[arg(long, default_value_t = 2_000)]
    pub(super) suspended: usize,
    /// Runs with annotations of 250 KiB
    #[arg(long, default_value_t = 200)]
    pub(super) annotated: usize,
    /// Runs that start and end while transitions are timed
    #[arg(long, default_value_t = 300)]
    pub(super) timed: usize,
    /// Seconds of each look at an idle operator
    #[arg(long, default_value_t = 120)]
    pub(super) idle_seconds: u64,
    /// Suspended runs that are created and deleted to see whether memory grows
    #[arg(long, default_value_t = 20_000)]
    pub(super) churn: usize,
    /// Whole runs that are created, measured, finished and deleted for the same reason
    #[arg(long, default_value_t = 1_000)]
    pub(super) churn_whole: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    Suspended,
    Annotated,
    Finished,
    Churn,
}

/// Shared by all parts.
pub(super) struct Bench {
    pub(super) plane: ControlPlane,
}

impl Bench {
    /// Starts the operator with all namespaces.
    pub(super) fn start(&self) -> anyhow::Result<Operator> {
        Operator::start(&self.plane, "operator-a", "operator-a", &["--no-leader-election".to_owned()])
    }

    /// Starts the operator and waits until it is steady. Returns it with the time from its start.
    pub(super) async fn start_steady(&self) -> anyhow::Result<(Operator, Duration)> {
        let began = Instant::now();
        let mut operator = self.start()?;
        operator.wait_ready(Duration::from_secs(120)).await?;
        let steady = steady_since(&operator).await?;
        Ok((operator, steady.duration_since(began)))
    }
}

/// Waits until the operator takes few turns and little CPU time for two seconds. Returns the beginning of these seconds.
pub(super) async fn steady_since(operator: &Operator) -> anyhow::Result<Instant> {
    const LOOK: Duration = Duration::from_millis(250);
    /// In CPUs.
    const LITTLE: f64 = 0.1;
    /// Turns per check: the operator looks at active runs up to 20 times per second.
    const FEW: f64 = 8.0;
    let deadline = Instant::now() + Duration::from_secs(180);
    let mut since = Instant::now();
    let mut last = (operator.metric("benchwright_operator_reconcile_total").await?, operator.cpu_seconds()?);
    while Instant::now() < deadline {
        sleep(LOOK).await;
        let now = (operator.metric("benchwright_operator_reconcile_total").await?, operator.cpu_seconds()?);
        if now.0 - last.0 > FEW || now.1 - last.1 > LITTLE * LOOK.as_secs_f64() {
            since = Instant::now();
        }
        if since.elapsed() > Duration::from_secs(2) {
            return Ok(since);
        }
        last = now;
    }
    anyhow::bail!("the operator is not steady after three minutes")
}

/// Waits until the operator counts this many runs in a phase.
pub(super) async fn wait_for_phase(
    operator: &Operator,
    phase: &str,
    count: usize,
    limit: Duration,
) -> anyhow::Result<()> {
    let series = format!("benchwright_operator_runs{{phase=\"{phase}\",");
    let deadline = Instant::now() + limit;
    loop {
        let found = operator.metric(&series).await?;
        if found == count as f64 {
            return Ok(());
        }
        if Instant::now() > deadline {
            anyhow::bail!("{found} runs and not {count} are {phase} after {limit:?}");
        }
        sleep(Duration::from_millis(250)).await;
    }
}
