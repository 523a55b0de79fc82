//! [I/O] The target of the load: the URL that the run names, or the simulated vLLM, which is started here on loopback.

use std::{net::Ipv4Addr, path::PathBuf, thread};

use crds::{
    benchmark_run::{BenchmarkRunSpec, Lifecycle},
    resolve::{Endpoint, ResolvedRun},
};
use rustix::io::Errno;
use tokio::{net::TcpListener, sync::oneshot};
use tracing::info;

use super::Failure;
use simulator::{SimOptions, Simulator};

/// Keeps the simulator running until it is dropped.
pub(crate) struct RunningSimulator {
    _end: oneshot::Sender<()>,
}

/// Returns the base URL of the target. A simulator runs on a separate thread, so that it does not share a runtime with the load. It writes profiler
/// traces into `profiler_dir`. Without this folder, it has no profiler.
pub(crate) fn start(
    run: &ResolvedRun,
    model: Option<&str>,
    profiler_dir: Option<PathBuf>,
) -> Result<(String, Option<RunningSimulator>), Failure> {
    let preset = match &run.endpoint {
        Endpoint::Url(url) => return Ok((url.clone(), None)),
        Endpoint::Simulator(preset) => *preset,
        Endpoint::Server(_) => {
            let remedy = "start it by `benchwright server start`, and set spec.target.url to the URL that it prints";
            return Err(Failure::configuration(format!(
                "spec.target.server: only `benchwright run` starts it; {remedy}"
            )));
        }
    };
    let cannot = |error: std::io::Error| {
        let remedy = match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::MFILE | Errno::NFILE) => "; raise the limit of open files (ulimit -n)",
            _ => "",
        };
        Failure::target(format!("the simulator cannot be started: {error}{remedy}"))
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    let mut options = SimOptions::preset(preset);
    options.seed = run.seed.derive("simulator");
    options.profiler_dir = profiler_dir;
    if let Some(model) = model {
        model.clone_into(&mut options.model);
    }
    info!(%address, ?preset, "the target is the simulated vLLM: its figures describe no real server");
    let (end, ended) = oneshot::channel::<()>();
    let simulator = Simulator::new(options);
    let body = move || {
        runtime.block_on(simulator.serve(listener, async {
            // The sender is dropped when the run ends, which ends this wait.
            let _ = ended.await;
        }));
    };
    thread::Builder::new().name("simulator".into()).spawn(body).map_err(cannot)?;
    Ok((format!("http://{address}"), Some(RunningSimulator { _end: end })))
}

/// Returns a remark if the operator allows other runs to send load to the target at the same time. A simulator in the launcher, and a server that was
/// started for this run alone, are never shared.
pub(super) fn shared_remark(spec: &BenchmarkRunSpec, run: &ResolvedRun) -> Option<String> {
    let is_own = matches!(run.endpoint, Endpoint::Simulator(_))
        || run.server.as_ref().is_some_and(|it| it.server.lifecycle != Lifecycle::Reuse);
    let is_shared = spec.target.exclusive == Some(false) && !is_own;
    is_shared.then(|| {
        "target.exclusive is false: other runs may have used the target at the same time, and the figures may contain their load"
            .to_owned()
    })
}
