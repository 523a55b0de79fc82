//! [I/O] `benchwright-operator smoke-test`: creates a run, waits for its end and prints its figures. `helm test` calls it to check that the API
//! server, the operator, the launcher and the status work together.

use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use crds::{BenchmarkRun, BenchmarkRunStatus, status::Columns};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, PostParams},
};
use serde_json::json;
use tokio::time::{Instant, sleep};

/// Time between two reads of the run.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Create a run against the simulator, wait for its end, print its figures, and delete it
#[derive(Debug, Args)]
pub struct SmokeTest {
    /// Namespace of the run; the operator must watch it
    #[arg(long)]
    namespace: String,
    /// Maximum time to wait for the end of the run, in seconds
    #[arg(long, default_value_t = 240)]
    seconds: u64,
}

/// A run with five seconds of load. Its validity bounds are wide, because a late launcher on a busy node does not matter here.
fn run() -> serde_json::Value {
    json!({
        "apiVersion": "benchwright.dev/v1alpha1",
        "kind": "BenchmarkRun",
        "metadata": {"generateName": "smoke-test-"},
        "spec": {
            "target": {"simulator": {}},
            "profile": {"name": "sanity_random", "variables": {"rate": "10", "duration": "5"}},
            "storage": {"none": {}},
            "validity": {
                "maxSendLagP99Milliseconds": 60_000,
                "maxReceiveDelayP99Milliseconds": 60_000,
                "maxCpuShare": "1",
                "maxThrottledShare": "1",
                "maxStealShare": "1",
                "maxCoalescedReadShare": "1",
                "maxStalledShare": "1",
                "maxClockStepMilliseconds": 86_400_000,
            },
        },
    })
}

/// Runs the test.
///
/// # Errors
/// The run is refused, does not pass, or does not end in time. The error contains what the operator reports about the run.
pub async fn smoke_test(client: Client, test: &SmokeTest) -> anyhow::Result<()> {
    let runs: Api<BenchmarkRun> = Api::namespaced(client, &test.namespace);
    let run = serde_json::from_value(run()).context("the run is a constant")?;
    let created = runs.create(&PostParams::default(), &run).await.context("the run was not created")?;
    let name = created.name_any();
    println!("BenchmarkRun {name} in {}", test.namespace);
    let ended = wait_for_end(&runs, &name, Duration::from_secs(test.seconds)).await;
    runs.delete(&name, &DeleteParams::background()).await.context("the run was not deleted")?;
    let status = ended?;
    let message = message(&status);
    let (Some(columns), true) = (&status.columns, status.phase.is_some_and(|it| it.name() == "Succeeded")) else {
        bail!("the run did not succeed: {}: {message}", status.reason);
    };
    let Columns { ttft_p99, itl_p99, output_tokens_per_second, .. } = &**columns;
    println!("{}: {message}", status.reason);
    println!("TTFT p99 {ttft_p99}, ITL p99 {itl_p99}, {output_tokens_per_second} output tokens per second");
    Ok(())
}

async fn wait_for_end(runs: &Api<BenchmarkRun>, name: &str, limit: Duration) -> anyhow::Result<BenchmarkRunStatus> {
    let deadline = Instant::now() + limit;
    loop {
        let run = runs.get(name).await.context("the run cannot be read")?;
        let finished = run.is_finished();
        let status = run.status.unwrap_or_default();
        if finished {
            return Ok(status);
        }
        if Instant::now() > deadline {
            let phase =
                status.phase.map_or("no phase: does the operator run, and watch this namespace?", |it| it.name());
            bail!("the run has not ended after {limit:?}; it has {phase}: {}", message(&status));
        }
        sleep(LOOK_EVERY).await;
    }
}

fn message(status: &BenchmarkRunStatus) -> &str {
    status.conditions.iter().find(|it| it.kind == "Ready").map_or("", |it| it.message.as_str())
}
