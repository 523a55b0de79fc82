//! Measures runs that do not start: how fast they are accepted, and which resources they use. Also measures the resources that annotations of the
//! maximum size need.

use std::time::Duration;

use e2e::control_plane::runs::{create_all, delete_all, runs_path, suspended};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{
    bench::{Bench, Flags, steady_since, wait_for_phase},
    figures::Figures,
    idle,
};

const SOON: Duration = Duration::from_secs(180);
/// Size of an annotation in bytes that almost reaches the API server's limit of 256 KiB for all annotations of an object.
const LARGE_ANNOTATION: usize = 250 << 10;

/// Converts KiB to MiB.
pub fn mib(kib: u64) -> f64 {
    kib as f64 / 1_024.0
}

/// Measures suspended runs: number of runs accepted per second, memory, idle CPU.
pub async fn measure(bench: &Bench, flags: &Flags, figures: &mut Figures) -> anyhow::Result<()> {
    let (namespace, count) = ("suspended", flags.suspended);
    bench.plane.create_namespace(namespace).await?;
    let (operator, _) = bench.start_steady().await?;
    figures.add("no runs: resident", mib(operator.memory()?.resident), "MiB");
    let began = Instant::now();
    let path = runs_path(namespace);
    create_all(&bench.plane.client, &path, (0..count).map(|it| suspended(&format!("wait-{it:05}")))).await?;
    let created = began.elapsed().as_secs_f64();
    wait_for_phase(&operator, "Suspended", count, SOON).await?;
    let what = format!("{count} suspended runs");
    figures.add(&format!("{what}: created per second"), count as f64 / created, "");
    figures.add_at_least(
        &format!("{what}: accepted per second"),
        count as f64 / began.elapsed().as_secs_f64(),
        "",
        100.0,
    );
    steady_since(&operator).await?;
    figures.add_at_most(&format!("{what}: resident"), mib(operator.memory()?.resident), "MiB", 30.0);
    let look = idle::look(&bench.plane, &operator, flags.idle_seconds / 2, namespace).await?;
    figures.add_at_most(&format!("{what}: idle CPU"), look.cpu, "cores", 0.02);
    figures.add_at_most(&format!("{what}: requests per minute for them"), look.for_quiet, "", 0.0);
    operator.kill().await?;
    let (operator, steady) = bench.start_steady().await?;
    figures.add(&format!("{what}: restart to steady"), steady.as_secs_f64(), "s");
    figures.add(&format!("{what}: peak at the restart"), mib(operator.memory()?.peak), "MiB");
    delete_all(&bench.plane.client, &path).await?;
    wait_for_phase(&operator, "Suspended", 0, SOON).await?;
    operator.kill().await?;
    bench.plane.delete_namespace(namespace).await
}

/// Measures runs with large annotations: the peak memory after a restart.
pub async fn measure_annotated(bench: &Bench, flags: &Flags, figures: &mut Figures) -> anyhow::Result<()> {
    let (namespace, count) = ("annotated", flags.annotated);
    bench.plane.create_namespace(namespace).await?;
    let text = "x".repeat(LARGE_ANNOTATION);
    let path = runs_path(namespace);
    let large = |it: usize| {
        let mut run = suspended(&format!("large-{it:05}"));
        run["metadata"]["annotations"] = json!({"example.com/notes": text});
        run
    };
    create_all(&bench.plane.client, &path, (0..count).map(large)).await?;
    // The first start writes the status of each run. The second start only reads.
    let (operator, _) = bench.start_steady().await?;
    wait_for_phase(&operator, "Suspended", count, SOON).await?;
    operator.kill().await?;
    sleep(Duration::from_secs(1)).await;
    let (operator, _) = bench.start_steady().await?;
    let memory = operator.memory()?;
    let what = format!("{count} runs with annotations of 250 KiB");
    figures.add_at_most(&format!("{what}: peak at a restart"), mib(memory.peak), "MiB", 64.0);
    figures.add(&format!("{what}: resident"), mib(memory.resident), "MiB");
    operator.kill().await?;
    delete_all(&bench.plane.client, &path).await?;
    bench.plane.delete_namespace(namespace).await
}
