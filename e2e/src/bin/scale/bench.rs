//! Flags and helpers for all parts of the measurement.

use std::{path::PathBuf, time::Duration};

use clap::{Parser, ValueEnum};
use e2e::control_plane::{ControlPlane, operator::Operator};
use tokio::time::{Instant, sleep};

/// Measure the operator binary in `OPERATOR` on the control plane of `e2e/scale/control-plane run`
#[derive(Parser)]
pub(super) struct Flags {
    /// Where to write the figures, as FILE.json and FILE.md
    #[arg(long, default_value = "scale")]
    pub(super) out: PathBuf,
    /// Parts to measure, by default all of them
    #[arg(long = "part", value_enum, value_delimiter = ',')]
    pub(super) parts: Vec<Part>,
    /// Number of finished runs, each with its Job and its pod
    #[arg(long, default_value_t = 10_000)]
    pub(super) finished: usize,
    /// Number of runs that measure at the same time
    #[arg(long, default_value_t = 500)]
    pub(super) active: usize,
    /// Number of suspended runs
    #[arg(long, default_value_t = 2_000)]
    pub(super) suspended: usize,
    /// Number of runs with annotations of 250 KiB
    #[arg(long, default_value_t = 200)]
    pub(super) annotated: usize,
    /// Number of runs that start and end while their transitions are timed
    #[arg(long, default_value_t = 300)]
    pub(super) timed: usize,
    /// Duration of each measurement of an idle operator, in seconds
    #[arg(long, default_value_t = 120)]
    pub(super) idle_seconds: u64,
    /// Number of suspended runs that are created and deleted to find out whether memory grows
    #[arg(long, default_value_t = 20_000)]
    pub(super) churn: usize,
    /// Number of whole runs that are created, measured, finished and deleted to find out whether memory grows
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

/// State that all parts of the measurement share.
pub(super) struct Bench {
    pub(super) plane: ControlPlane,
}

impl Bench {
    /// Starts the operator for all namespaces.
    pub(super) fn start(&self) -> anyhow::Result<Operator> {
        Operator::start(&self.plane, "operator-a", "operator-a", &["--no-leader-election".to_owned()])
    }

    /// Starts the operator, and waits until it is steady. Returns it together with the time that this took.
    pub(super) async fn start_steady(&self) -> anyhow::Result<(Operator, Duration)> {
        let began = Instant::now();
        let mut operator = self.start()?;
        operator.wait_ready(Duration::from_secs(120)).await?;
        let steady = steady_since(&operator).await?;
        Ok((operator, steady.duration_since(began)))
    }
}

/// Waits until the operator has been steady for two seconds, with few turns and little CPU time. Returns the beginning of these two seconds.
pub(super) async fn steady_since(operator: &Operator) -> anyhow::Result<Instant> {
    const LOOK: Duration = Duration::from_millis(250);
    /// Maximum CPU usage of a steady operator, in CPUs.
    const LITTLE: f64 = 0.1;
    /// Maximum number of turns of a steady operator between two checks. It is above 0 because the operator gives active runs up to 20 turns per
    /// second.
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

/// Waits until the operator's metric shows `count` runs in this phase.
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
