//! [I/O] Sends each request at its time. Nothing else starts requests.
//!
//! Each thread is a worker: a runtime, connections and a recorder of its own, so that nothing is shared while the load runs
//! but a few counters, and the places of a stage that bounds them. Requests of an open loop are dealt to the workers in turn, and so are the slots of a closed one. The
//! stages are barriers: the next one begins when every worker has ended the last, and after its pause.

mod closed_loop;
mod concurrency_limit;
mod context;
mod departures;
mod in_flight;
mod open_loop;
mod outputs;
mod phase_progress;
mod phases;
mod plan;
mod prepare;
mod probes;
mod query_loop;
mod record_room;
mod runner;
mod shared;
mod stage_barrier;
mod target_health;
mod timeline;
mod unissued;
mod worker;

use std::{
    any::Any,
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use workload_profiles::{Notice, Workload};

use crate::{
    client::Target,
    data_set::{self, DataSetError, Rows},
    file_digest::FileDigest,
    recorder::{Keep, Recorder},
    requests::{RequestsError, Seeds},
    stop::{Stop, StopReason, StopState},
    trace::{self, TraceError},
    vitals::{Vitals, Watch, receive, worker::WorkerVitals},
};
use clock::Clock;
pub use in_flight::{check_join, poll_and_spawn};
use loadgen::queries::QueryError;
pub use outputs::{KeepOutputs, Numbers};
pub use phase_progress::PhaseProgress;
pub use phases::{IssuedPhase, PlannedPhase};
pub use plan::LoadPlan;
use runner::WorkerResult;
use shared::Shared;
pub use timeline::{PlannedTime, RecentTimes, Timeline};
use worker::Worker;

/// How many ready tasks run before a runtime looks for bytes and timers: fewer keep sends and time stamps near their time,
/// more save system calls.
pub const EVENT_INTERVAL: u32 = 31;

/// Why the load cannot be issued.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// What the requests hold cannot be prepared.
    #[error(transparent)]
    Requests(#[from] RequestsError),
    /// A LoadGen phase has no queries.
    #[error(transparent)]
    Queries(#[from] QueryError),
    /// A trace cannot be replayed.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A data set cannot be sent.
    #[error(transparent)]
    DataSet(#[from] DataSetError),
    /// The system refuses a thread or a runtime.
    #[error("the launcher cannot start {what}; give it more memory, threads or open files (ulimit -n)")]
    System {
        /// What was refused.
        what: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// A worker ended by a panic.
    #[error("a thread of the launcher ended early: {message}; this is a bug, please report it")]
    Panic {
        /// What it said.
        message: String,
    },
}

/// How far the load is, for people who watch it. Counters are not read together: they may be a request apart.
#[derive(Debug, Default)]
pub struct Progress {
    /// Requests of all stages.
    pub planned: AtomicU64,
    /// Requests that were started.
    pub issued: AtomicU64,
    /// Requests that are over, failed ones included.
    pub ended: AtomicU64,
    /// Requests that failed.
    pub failed: AtomicU64,
    /// Events with output of all requests that are over.
    pub output_events: AtomicU64,
    /// The stage that runs, from 0.
    pub stage: AtomicU64,
    /// When it began, in nanoseconds on the clock of the timeline.
    pub began: AtomicU64,
    /// Requests that had ended when it began.
    pub ended_before: AtomicU64,
    /// When the pause after it ends, on the same clock; before it began where there is none yet.
    pub pause_until: AtomicU64,
    /// Times to the first token, from scheduled.
    pub ttft: RecentTimes,
    /// What is planned; absent before the load begins.
    pub timeline: OnceLock<Timeline>,
    /// The LoadGen phase that runs.
    pub phase: PhaseProgress,
}

impl Progress {
    /// Requests that were started and are not over.
    pub fn under_way(&self) -> u64 {
        let ended = self.ended.load(Ordering::Relaxed);
        self.issued.load(Ordering::Relaxed).saturating_sub(ended)
    }
}

/// What the load came to.
#[derive(Debug)]
pub struct LoadResult {
    /// Counts, histograms and records.
    pub recorder: Recorder,
    /// What all its times count on.
    pub clock: Clock,
    /// The time of day at time zero.
    pub started: jiff::Timestamp,
    /// The LoadGen phases, one for each stage; `None` for a stage that is none.
    pub phases: Vec<Option<IssuedPhase>>,
    /// Why it ended early; `None` when it did not.
    pub stopped: Option<StopReason>,
    /// Requests that were due when the load was stopped, and were never sent. They are counted as cancelled too, in the figures
    /// or aside. Those that would have been due later are counted nowhere.
    pub unissued: u64,
    /// Requests that were started.
    pub issued: u64,
    /// CPU time of the threads that issued the load.
    pub own_cpu: Duration,
    /// What each of these threads took, stage by stage.
    pub workers: Vec<WorkerVitals>,
    /// What the machine did to the process in the meantime.
    pub vitals: Vitals,
    /// From time zero to the end of the last request.
    pub wall: Duration,
}

/// What a workload keeps in files: read once, however often the workload is issued.
#[derive(Debug)]
pub struct Files {
    traces: trace::Traces,
    rows: Arc<Rows>,
    digests: Vec<FileDigest>,
}

impl Files {
    /// Reads them.
    ///
    /// # Errors
    /// One that cannot be read, or holds what it must not.
    pub fn read(workload: &Workload) -> Result<Files, LoadError> {
        let (traces, data_set) = (trace::read(workload)?, data_set::read(workload)?);
        let digests = traces.digests.iter().cloned().chain(data_set.digest).collect();
        Ok(Files { traces, rows: Arc::new(data_set.rows), digests })
    }

    /// Which files they are, and what was in them.
    pub fn digests(&self) -> &[FileDigest] {
        &self.digests
    }

    /// What is sent otherwise than they have it.
    pub fn notices(&self) -> &[Notice] {
        &self.traces.notices
    }
}

/// A load to issue: what to send, where to, and how.
#[derive(Debug)]
pub struct LoadOrder<'a> {
    /// What to send, and when.
    pub workload: &'a Workload,
    /// The files of the workload.
    pub files: &'a Files,
    /// The model that each request names.
    pub model: &'a str,
    /// The server under test.
    pub target: &'a Target,
    /// The seeds of arrivals, lengths, order and texts.
    pub seeds: Seeds<'a>,
    /// What is kept of each request.
    pub keep: Keep,
    /// Threads that issue the load; at least one is used.
    pub threads: usize,
    /// Ends the load early.
    pub stop: &'a Stop,
    /// Tells how far the load is.
    pub progress: Arc<Progress>,
}

/// Issues a workload and returns when its last request has ended. It blocks, on threads of its own.
///
/// # Errors
/// The load could not be prepared, or the system refused what it needs. A target that fails is no error.
pub fn run_load(order: LoadOrder<'_>) -> Result<LoadResult, LoadError> {
    let LoadOrder { workload, files, model, target, seeds, keep, threads, stop, progress } = order;
    raise_file_limit();
    let plan = plan(workload, files, model, target, seeds)?;
    progress.planned.store(plan.requests(), Ordering::Relaxed);
    let threads = threads.max(1);
    let budget = record_room::budget(workload, keep, plan.requests(), threads);
    let plan = plan.with_record_budget(budget);
    let (clock, started) = (Clock::start(), clock::now());
    // Set once: each load has a progress of its own.
    let _ = progress.timeline.set(plan.timeline(clock));
    let shared = Arc::new(Shared::new(plan, clock, threads, stop.clone(), progress));
    let watch = Watch::start(clock);
    let workers: Vec<_> = (0..threads).map(|index| spawn(index, Arc::clone(&shared), target.clone(), keep)).collect();
    if workers.iter().any(Result::is_err) {
        // The workers that were started must not wait for those that were not, and must not go on without them.
        shared.give_up();
    }
    // All are waited for, whatever became of the first.
    let ended: Vec<_> = workers.into_iter().map(|worker| worker?.join().map_err(panicked)?).collect();
    let ended = ended.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(sum_up(&shared, ended, started, keep, watch.end()))
}

/// Issues a workload on the runtime and the clock that this is called on, which may be paused: one worker and no thread of
/// its own. For tests, and for programs that bring their own runtime.
///
/// # Errors
/// As [`run_load`].
pub async fn run_here<'a>(
    workload: &Workload,
    model: &str,
    target: &Target,
    seeds: impl Into<Seeds<'a>>,
    stop: &Stop,
) -> Result<LoadResult, LoadError> {
    let plan = plan(workload, &Files::read(workload)?, model, target, seeds.into())?;
    let shared = Arc::new(Shared::new(plan, Clock::from_runtime(), 1, stop.clone(), Arc::default()));
    let started = clock::now();
    let worker = Worker::new(0, Arc::clone(&shared), target.clone(), Keep::Records);
    let ended = runner::run(worker).await;
    Ok(sum_up(&shared, vec![ended], started, Keep::Records, Vitals::default()))
}

/// Decides all that is decided before the first request.
fn plan(
    workload: &Workload,
    files: &Files,
    model: &str,
    target: &Target,
    seeds: Seeds<'_>,
) -> Result<LoadPlan, LoadError> {
    let plan = LoadPlan::new(workload, &files.traces.entries, model, target.api(), seeds)?;
    Ok(plan.with_rows(workload, Arc::clone(&files.rows))?)
}

fn spawn(
    index: usize,
    shared: Arc<Shared>,
    target: Target,
    keep: Keep,
) -> Result<thread::JoinHandle<Result<WorkerResult, LoadError>>, LoadError> {
    let body = move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = receive::watch(&mut runtime, shared.clock)
            .enable_all()
            .event_interval(EVENT_INTERVAL)
            .build()
            .map_err(|source| LoadError::System { what: "a runtime", source });
        let run = || {
            let runtime = runtime?;
            let _entered = runtime.enter();
            let worker = Worker::new(index, Arc::clone(&shared), target, keep);
            Ok(runtime.block_on(runner::run(worker)))
        };
        // Also when it panics: the other workers must not wait for this one.
        let mut ended = Ended { shared: &shared, well: false };
        let done = run();
        ended.well = done.is_ok();
        done
    };
    let thread = thread::Builder::new().name(format!("load-{index}")).spawn(body);
    thread.map_err(|source| LoadError::System { what: "a thread", source })
}

fn panicked(said: Box<dyn Any + Send>) -> LoadError {
    let text = said.downcast_ref::<String>().cloned().or_else(|| said.downcast_ref::<&str>().map(|it| (*it).into()));
    LoadError::Panic { message: text.unwrap_or_else(|| "it panicked without a word".into()) }
}

/// Gives the load up when it is dropped before its worker has ended well.
struct Ended<'a> {
    shared: &'a Shared,
    well: bool,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        if !self.well {
            self.shared.give_up();
        }
    }
}

fn sum_up(
    shared: &Shared,
    workers: Vec<WorkerResult>,
    started: jiff::Timestamp,
    keep: Keep,
    vitals: Vitals,
) -> LoadResult {
    let mut recorder = shared.plan.recorder(keep);
    let (mut unissued, mut own_cpu, mut vitals_of_workers) = (0, Duration::ZERO, Vec::with_capacity(workers.len()));
    for worker in workers {
        recorder.add(worker.recorder);
        unissued += worker.unissued;
        own_cpu += worker.cpu;
        vitals_of_workers.push(worker.vitals);
    }
    LoadResult {
        recorder,
        phases: shared.issued_phases(),
        clock: shared.clock,
        started,
        stopped: match shared.stop.state() {
            StopState::Run => None,
            StopState::Drain(reason) | StopState::Abort(reason) => Some(reason),
        },
        unissued,
        issued: shared.progress.issued.load(Ordering::Relaxed),
        own_cpu,
        workers: vitals_of_workers,
        vitals,
        wall: shared.clock.now(),
    }
}

/// Each request under way is an open file, and the usual soft limit is far below what the hard one allows.
pub fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    // A refusal leaves it as it is; requests that find no file left say so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
