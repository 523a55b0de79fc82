//! [I/O] Profiles the server in a window of one stage. A separate thread starts and stops the profiler on time. Every start is followed by a stop, no
//! matter how the run ends. The next stage begins only after the server has confirmed the stop.

mod calls;
mod files;
#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{self, TryRecvError},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use crds::{
    benchmark_run::ProfilerKind,
    resolve::{Endpoint, ResolvedProfiling, ResolvedRun},
    server_engine::ServerEngine,
    units::Span,
};
use tracing::{info, warn};
use workload_profiles::{Workload, profiled_stage, profiling_start};

use super::{Failure, managed, ready::Ready, signals};
use crate::input::Input;
use analysis::{ProfiledWindow, Profiling};
use calls::Calls;
use engine::{
    client::{Resolver, Target, profiler},
    issue::{LoadError, Progress},
    stop::{Stop, StopState},
};

/// How often to check whether the stage has begun or ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Timeout for copying the traces of a server in pods.
const TO_COPY: Duration = Duration::from_secs(600);
/// How long traces can still grow after the profiler was stopped.
const WRITES: Duration = Duration::from_secs(30);
/// How long traces of nsys can still grow. nsys first converts its recording to a file.
const NSYS_WRITES: Duration = Duration::from_secs(300);

/// A remark for runs with rocprofv3. Engines cannot start and stop this profiler.
const ROCPROF: &str = "rocprofv3 records from the start of the server to its end, and so slows every stage down. The window is the part of the \
                       trace to look at; the trace is complete when the server has ended";

/// The remark for replicas that cannot be called individually. Nothing is then recorded.
const BY_SERVICE: &str = "the profiler was not started: the load went to the Service of several replicas, which may send the start and the stop \
                          of the profiler to different replicas; check that every pod of the server is ready, and run again";

/// Timeouts of the calls to the profiler.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Timeout for starting the profiler.
    start: Duration,
    /// Timeout for stopping the profiler, including writing the trace: ten minutes for a large model, according to vLLM's documentation.
    stop: Duration,
    /// Timeout for stopping the profiler after the run was stopped.
    stop_at_end: Duration,
}

impl Limits {
    /// Returns the timeouts. `grace` is how long a stopped run can take.
    fn new(grace: Duration) -> Limits {
        Limits {
            start: Duration::from_secs(60),
            stop: Duration::from_secs(1_200),
            stop_at_end: super::signals::drain_time(grace),
        }
    }
}

/// What to profile, and when.
struct Order {
    profiling: ResolvedProfiling,
    /// The names of all stages, and the index of the stage that contains the window.
    stages: Vec<String>,
    index: usize,
    /// The beginning of the window, as time since the start of the stage.
    start: Duration,
    target: Target,
    /// Whether different calls to the target can reach different servers.
    by_service: bool,
    progress: Arc<Progress>,
    stop: Stop,
    limits: Limits,
}

/// Profiles the server until [`Profiler::end`].
pub(super) struct Profiler {
    end: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<Profiling>>,
}

/// Returns the folder for traces in the results folder, for a server that Benchwright itself starts. `None` if nothing is profiled, or if the
/// server's files cannot be accessed.
pub(super) fn folder(input: &Input, results: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    // The operator starts shared servers without a profiler.
    let in_pods = input.run.server.as_ref().is_some_and(|it| it.log.is_some() && it.server.can_be_profiled());
    let is_ours = in_pods || matches!(input.run.endpoint, Endpoint::Simulator(_) | Endpoint::Server(_));
    if input.run.profiling.is_none() || !is_ours {
        return Ok(None);
    }
    let Some(results) = results else {
        let message = "spec.profiling is set, and no results folder is kept for the trace; take profiling out, or keep the results: \
                       spec.storage, and no --no-results";
        return Err(Failure::configuration(message.to_owned()));
    };
    // The path must be absolute, because the server can have another working folder.
    let results = std::path::absolute(results).unwrap_or_else(|_| results.to_owned());
    Ok(Some(results.join(files::FOLDER)))
}

/// Checks whether a ready server can be profiled. It is called before any load.
pub(super) fn check(input: &Input, ready: &Ready) -> Result<(), Failure> {
    let Some(profiling) = input.run.profiling.as_ref().filter(|it| it.kind.has_endpoints()) else { return Ok(()) };
    let cannot = |source| Failure::system(&LoadError::System { what: "a question for the profiler", source });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
    match runtime.block_on(profiler::is_offered(&ready.target)) {
        true => Ok(()),
        false => Err(Failure::configuration(not_offered(profiling.kind))),
    }
}

fn not_offered(kind: ProfilerKind) -> String {
    let how = match kind {
        ProfilerKind::Torch | ProfilerKind::Rocprof => {
            let hints = ServerEngine::ALL.iter().filter_map(|it| Some(it.row().profiler?.hint));
            hints.collect::<Vec<_>>().join("; ")
        }
        ProfilerKind::Nsys => {
            "vLLM by nsys profile --capture-range=cudaProfilerApi --capture-range-end=stop with --profiler-config \
             '{\"profiler\": \"cuda\"}'"
                .to_owned()
        }
    };
    let path = profiler::START;
    let name = kind.name();
    format!(
        "spec.profiling.kind is {name}, and the server has no {path}: it was not started with a profiler; start {how}; or take profiling out"
    )
}

impl Profiler {
    /// Begins to watch the load. `None` if nothing is profiled. `by_service` means that the target is a Service with several servers.
    pub(super) fn start(
        input: &Input,
        workload: &Workload,
        ready: &Ready,
        by_service: bool,
        progress: &Arc<Progress>,
        stop: &Stop,
    ) -> Result<Option<Profiler>, Failure> {
        let Some(profiling) = &input.run.profiling else { return Ok(None) };
        let stages = &workload.stages;
        let Some((index, stage)) = profiled_stage(profiling, stages).and_then(|it| Some((it, stages.get(it)?))) else {
            return Ok(None);
        };
        Profiler::watch(Order {
            stages: stages.iter().map(|it| it.name.clone()).collect(),
            index,
            start: profiling_start(profiling, stage),
            profiling: profiling.clone(),
            target: ready.target.clone(),
            by_service,
            progress: Arc::clone(progress),
            stop: stop.clone(),
            limits: Limits::new(input.run.grace_period.0),
        })
        .map(Some)
    }

    fn watch(order: Order) -> Result<Profiler, Failure> {
        let cannot = |source| Failure::system(&LoadError::System { what: "the profiler's thread", source });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
        let (end, ended) = mpsc::channel();
        let body = move || runtime.block_on(run(&order, &ended));
        let thread = thread::Builder::new().name("profiler".into()).spawn(body).map_err(cannot)?;
        Ok(Profiler { end: Some(end), thread: Some(thread) })
    }

    /// Ends profiling after the load. Waits until the server has confirmed the stop.
    pub(super) fn end(mut self) -> Option<Profiling> {
        self.join()
    }

    fn join(&mut self) -> Option<Profiling> {
        drop(self.end.take());
        let ended = self.thread.take()?.join();
        if ended.is_err() {
            warn!("the launcher's profiler thread ended early; the server's profiler may still be recording");
        }
        ended.ok()
    }
}

/// Stops the profiler even if the run fails.
impl Drop for Profiler {
    fn drop(&mut self) {
        self.join();
    }
}

/// Adds the trace files in `folder` to the result. Copies them first if the server runs in pods.
pub(super) fn collected(
    mut profiling: Profiling,
    run: &ResolvedRun,
    resolver: &Resolver,
    folder: Option<&Path>,
    stop: &Stop,
) -> Profiling {
    if let Some(folder) = folder.filter(|_| profiling.window.is_some() && run.server.is_some()) {
        let limit = match stop.state() {
            StopState::Run => TO_COPY,
            _ => signals::time_to_collect(stop, run.grace_period.0),
        };
        let settles = if profiling.kind == ProfilerKind::Nsys { NSYS_WRITES } else { WRITES };
        let remarks = managed::fetch_traces(run, resolver, folder, settles.min(limit / 2), limit);
        profiling.remarks.extend(remarks);
    }
    files::add(profiling, folder)
}

/// The reason why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wake {
    /// The time that the wait was for.
    Due,
    /// The stage is over, or never ran.
    StageOver,
    /// The run was stopped, or its load has ended.
    RunEnded,
}

async fn run(order: &Order, ended: &mpsc::Receiver<()>) -> Profiling {
    let mut found = Profiling {
        kind: order.profiling.kind,
        stage: order.stage().to_owned(),
        start_ms: Span(order.start).as_millis_f64(),
        duration_ms: order.profiling.duration.as_millis_f64(),
        window: None,
        start_took_ms: None,
        stop_took_ms: None,
        stages: Vec::new(),
        files: Vec::new(),
        remarks: Vec::new(),
    };
    if order.by_service && order.profiling.kind.has_endpoints() {
        warn!("{BY_SERVICE}");
        found.remarks.push(BY_SERVICE.to_owned());
        return found;
    }
    let begin = |began: Duration| began + order.start;
    match until(order, ended, begin).await {
        Wake::Due => {}
        woken => {
            let at = Span(order.start);
            found.remarks.push(match woken {
                Wake::StageOver => format!(
                    "stage {} ended, or was not run, before the window, which begins {at} after the stage's start",
                    order.stage()
                ),
                Wake::Due | Wake::RunEnded => {
                    format!(
                        "the run ended before the window, which begins {at} after the start of stage {}",
                        order.stage()
                    )
                }
            });
            return found;
        }
    }
    let calls = Calls { target: &order.target, stop: &order.stop, limits: order.limits, kind: order.profiling.kind };
    // Delay the next stage. Otherwise its requests would be profiled, too.
    order.progress.hold.hold();
    record(order, ended, &calls, &mut found).await;
    order.progress.hold.release();
    found
}

/// Records the window from its beginning to its end.
async fn record(order: &Order, ended: &mpsc::Receiver<()>, calls: &Calls<'_>, found: &mut Profiling) {
    let Some(clock) = order.progress.timeline.get().map(|it| it.clock) else { return };
    let asked = clock.now();
    let started = calls.start().await;
    let from = clock.now();
    let millis = |it: Duration| Span(it).as_millis_f64();
    if order.profiling.kind == ProfilerKind::Rocprof {
        found.stages.clone_from(&order.stages);
        found.remarks.push(ROCPROF.to_owned());
    } else if started.may_record {
        found.stages.push(order.stage().to_owned());
    }
    if let Some(why) = started.why {
        warn!("the profiler was not started: {why}");
        found.remarks.push(format!("the profiler was not started: {why}"));
    } else {
        found.start_took_ms = order.profiling.kind.has_endpoints().then(|| millis(from.saturating_sub(asked)));
        info!(stage = order.stage(), duration = %order.profiling.duration, "the server is profiled");
        let woken = until(order, ended, |_| from + order.profiling.duration.0).await;
        let to = clock.now();
        found.window = Some(ProfiledWindow { from_ms: millis(from), to_ms: millis(to) });
        let short = Span(to.saturating_sub(from)).rounded();
        match woken {
            Wake::Due => {}
            Wake::StageOver => {
                found.remarks.push(format!("the stage ended before the window, which therefore covers only {short}"))
            }
            Wake::RunEnded => {
                found.remarks.push(format!("the load ended before the window, which therefore covers only {short}"))
            }
        }
    }
    if !started.may_record {
        return;
    }
    let asked = clock.now();
    let stopped = calls.stop().await;
    let took = clock.now().saturating_sub(asked);
    match stopped {
        Ok(said) => {
            found.stop_took_ms = order.profiling.kind.has_endpoints().then(|| millis(took));
            if !said.is_empty() {
                found.remarks.push(format!("the server's response to the stop of the profiler: {said}"));
            }
        }
        Err(why) => {
            let message = format!("the profiler may still be running: {why}");
            warn!("{message}");
            found.remarks.push(message);
            found.stages.extend(order.stages.iter().skip(order.index + 1).cloned());
        }
    }
}

impl Order {
    /// The name of the stage that contains the window.
    fn stage(&self) -> &str {
        self.stages.get(self.index).map_or("", String::as_str)
    }
}

/// Waits until a time that is computed from the start of the stage.
async fn until(order: &Order, ended: &mpsc::Receiver<()>, due: impl Fn(Duration) -> Duration) -> Wake {
    let progress = &order.progress;
    loop {
        if ended.try_recv() == Err(TryRecvError::Disconnected) || order.stop.state() != StopState::Run {
            return Wake::RunEnded;
        }
        if progress.stages_over.load(Ordering::Acquire) > order.index as u64 {
            return Wake::StageOver;
        }
        if let Some(timeline) = progress.timeline.get()
            && progress.stage.load(Ordering::Acquire) == order.index as u64
        {
            let began = Duration::from_nanos(progress.began.load(Ordering::Relaxed));
            // 0 means that the first stage has not begun.
            if !began.is_zero() && timeline.clock.now() >= due(began) {
                return Wake::Due;
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
