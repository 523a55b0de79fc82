//! Measures an operator with ten thousand finished runs and some active ones: memory, idle CPU, restart, transitions, requests per run.

use std::time::Duration;

use e2e::control_plane::runs::{create, create_all, delete_all, held, runs_path, short};
use tokio::time::{Instant, interval};

use crate::{
    bench::{Bench, Flags, steady_since, wait_for_phase},
    copies,
    figures::Figures,
    idle,
    suspended::mib,
    transitions::{Observer, Times, quantiles},
};

const SOON: Duration = Duration::from_secs(300);

/// Measures all of these figures.
pub async fn measure(bench: &Bench, flags: &Flags, figures: &mut Figures) -> anyhow::Result<()> {
    let began = Instant::now();
    copies::write(bench, flags.finished).await?;
    eprintln!("scale: {} finished runs written in {:.0} s", flags.finished, began.elapsed().as_secs_f64());
    let (operator, steady) = bench.start_steady().await?;
    let what = format!("{} finished runs", flags.finished);
    figures.add(&format!("{what}: first start to steady"), steady.as_secs_f64(), "s");
    figures.add(&format!("{what}: resident"), mib(operator.memory()?.resident), "MiB");

    let namespace = format!("active-{}", std::process::id());
    bench.plane.create_namespace(&namespace).await?;
    let observer = Observer::start(&bench.plane.client, &namespace);
    let began = Instant::now();
    let path = runs_path(&namespace);
    create_all(&bench.plane.client, &path, (0..flags.active).map(|it| held(&format!("hold-{it:05}")))).await?;
    observer.wait(flags.active, SOON, |it| it.accepted.is_some()).await?;
    let burst = format!("{} runs at once beside them", flags.active);
    let accepted = flags.active as f64 / began.elapsed().as_secs_f64();
    figures.add(&format!("{burst}: accepted per second"), accepted, "");
    observer.wait(flags.active, SOON, |it| it.running.is_some()).await?;
    figures.add(&format!("{burst}: all measure after"), began.elapsed().as_secs_f64(), "s");
    steady_since(&operator).await?;

    let what = format!("{} finished and {} active runs", flags.finished, flags.active);
    let memory = operator.memory()?;
    figures.add_at_most(&format!("{what}: resident"), mib(memory.resident), "MiB", 160.0);
    figures.add_at_most(&format!("{what}: peak"), mib(memory.peak), "MiB", 160.0);
    let look = idle::look(&bench.plane, &operator, flags.idle_seconds, copies::NAMESPACE).await?;
    figures.add_at_most(&format!("{what}: idle CPU"), look.cpu, "cores", 0.02);
    figures.add_at_most(&format!("{what}: requests per minute for finished runs"), look.for_quiet, "", 0.0);
    figures.add(&format!("{what}: requests per minute of the watches"), look.of_watches, "");
    figures.add(&format!("{what}: other requests per minute"), look.others, "");

    operator.kill().await?;
    let (operator, steady) = bench.start_steady().await?;
    figures.add_at_most(&format!("{what}: restart to steady"), steady.as_secs_f64(), "s", 20.0);
    figures.add_at_most(&format!("{what}: peak at the restart"), mib(operator.memory()?.peak), "MiB", 160.0);

    time_runs(bench, flags, figures).await?;
    delete_all(&bench.plane.client, &path).await?;
    wait_for_phase(&operator, "Running", 0, SOON).await?;
    operator.kill().await?;
    bench.plane.delete_namespace(&namespace).await
}

/// Measures runs that start and end at several per second: how fast their statuses follow, and how many requests they cause.
async fn time_runs(bench: &Bench, flags: &Flags, figures: &mut Figures) -> anyhow::Result<()> {
    /// Number of runs that start per second. Two cores can handle this many, together with all parts of the control plane.
    const A_SECOND: u64 = 5;
    let namespace = format!("timed-{}", std::process::id());
    bench.plane.create_namespace(&namespace).await?;
    let observer = Observer::start(&bench.plane.client, &namespace);
    let start = bench.plane.audit_end()?;
    let path = runs_path(&namespace);
    let mut pace = interval(Duration::from_millis(1_000 / A_SECOND));
    for number in 0..flags.timed {
        pace.tick().await;
        create(&bench.plane.client, &path, &short(&format!("time-{number:05}"), 2)).await?;
    }
    observer.wait(flags.timed, SOON, |it| it.finished.is_some() && it.pod_ended.is_some()).await?;
    let times = observer.times();
    let mut show = |what: &str, cause: fn(&Times) -> Option<Instant>, effect: fn(&Times) -> Option<Instant>| {
        let [median, p99, longest] = quantiles(&times, cause, effect);
        figures.add(&format!("{what}: median"), median, "s");
        figures.add_at_most(&format!("{what}: 99th percentile"), p99, "s", 1.0);
        figures.add(&format!("{what}: longest"), longest, "s");
    };
    show("pod ready to run Running", |it| it.pod_ready, |it| it.running);
    show("pod ended to run finished", |it| it.pod_ended, |it| it.finished);

    let (mut reads, mut writes, mut statuses) = (0, 0, 0);
    for request in bench.plane.audit_since(start)?.iter().filter(|it| it.namespace == namespace && !it.is_of_watch()) {
        if request.is_write() {
            writes += 1
        } else {
            reads += 1
        }
        if request.resource == "benchmarkruns/status" {
            statuses += 1;
        }
    }
    let a_run = |count: i32| f64::from(count) / flags.timed as f64;
    figures.add("reads of the API server per run", a_run(reads), "");
    figures.add_at_most("writes to the API server per run", a_run(writes), "", 12.0);
    figures.add("of these, to its status", a_run(statuses), "");
    Ok(())
}
