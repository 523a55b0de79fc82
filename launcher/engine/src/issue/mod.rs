//! [I/O] Sends each request at its time. No other module starts requests.
//!
//! Each thread is a worker with its own runtime, connections and recorder. While the load runs, the workers share only
//! a few counters, and the permits of a stage that limits its concurrency. The requests of an open loop are dealt to
//! the workers in turn, and so are the slots of a closed loop. Stages are separated by barriers: the next stage begins
//! after its pause, when every worker has ended the last one.

mod back_off;
mod batches;
mod classes;
mod closed_loop;
mod concurrency_limit;
mod context;
mod departures;
mod in_flight;
mod logprob_fields;
mod measured_rate;
mod open_loop;
mod outcome_counts;
mod outputs;
mod plan;
mod prepare;
mod probes;
mod query_loop;
mod record_memory;
mod runner;
mod session_loop;
mod shared;
mod stage_context;
mod start_rate;
mod stop_rules;
mod target_health;
mod timeline;
mod under_way_samples;
mod unissued;
mod waits;
mod worker;

use std::{
    any::Any,
    borrow::Cow,
    io,
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use workload_profiles::{
    Notice, Workload,
    workload::{Load, RequestSource},
};

use crate::{
    client::{Target, TargetError},
    hold::Hold,
    prompt_files::{self, PromptFilesError},
    recorded::{self, RecordedError},
    requests::{RequestsError, Seeds, Texts},
    stop::{Stop, StopState},
    trace::{self, TraceError},
    vitals::{Watch, receive},
};
use clock::Clock;
use files::file_digest::FileDigest;
pub use in_flight::{check_join, poll_and_spawn};
use measurement::{load_result::LoadResult, phase::Phase, recorder::Keep, vitals::Vitals};
pub use outcome_counts::OutcomeCounts;
pub use outputs::{KeepOutputs, Numbers};
pub use plan::LoadPlan;
use prompts::{
    Rows,
    source::{PromptSource, ReadPrompts, ReadRows},
};
use runner::WorkerResult;
use shared::Shared;
pub use timeline::{PlannedTime, RecentTimes, Timeline};
use worker::Worker;

/// Ready tasks that a runtime polls before it polls sockets and timers. Fewer keep sends and timestamps closer to their
/// time; more save system calls.
pub const EVENT_INTERVAL: u32 = 31;

/// Why a load cannot be issued.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The requests cannot be prepared.
    #[error(transparent)]
    Requests(#[from] RequestsError),
    /// A stage is a phase, and the load has no queries for it.
    #[error("no queries were drawn for the stage {stage}; this is a bug, please report it")]
    NoQueries { stage: String },
    /// The rows of the data set, or the questions, were not read.
    #[error("no prompts were read for the requests; this is a bug, please report it")]
    NoPrompts,
    /// A trace cannot be replayed.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The tokenizer or the corpus cannot be used.
    #[error(transparent)]
    Prompts(#[from] PromptFilesError),
    /// Recorded sessions cannot be sent.
    #[error(transparent)]
    Recorded(#[from] RecordedError),
    /// A header field of a traffic class cannot be sent.
    #[error("the header fields of a traffic class: {0}")]
    Headers(TargetError),
    /// The operating system refuses a thread or a runtime.
    #[error("the launcher cannot start {what}; give it more memory, threads or open files (ulimit -n)")]
    System { what: &'static str, source: io::Error },
    /// A worker panicked.
    #[error("a thread of the launcher ended early: {message}; this is a bug, please report it")]
    Panic {
        /// The message of the panic.
        message: String,
    },
}

impl LoadError {
    /// The error without words of a file, which a server may have sent, or of a filter. `None`: the message has none.
    pub fn without_words(&self) -> Option<String> {
        match self {
            LoadError::Prompts(error) => error.without_words(),
            LoadError::Recorded(error) => error.without_words(),
            // A message about a trace has the number of the line, and no word of it.
            LoadError::Trace(_)
            | LoadError::Requests(_)
            | LoadError::NoQueries { .. }
            | LoadError::NoPrompts
            | LoadError::Headers(_)
            | LoadError::System { .. }
            | LoadError::Panic { .. } => None,
        }
    }
}

/// How far the load has come. The counters are not read at one instant: they may differ by a request.
#[derive(Debug, Default)]
pub struct Progress {
    /// Requests of the stages whose number is known, see [`Progress::planned_requests`].
    pub planned: AtomicU64,
    /// Stages whose number of requests is not known: answers or time decide it, or stages that have not run yet.
    pub undecided_stages: AtomicU64,
    pub issued: AtomicU64,
    /// Requests that have ended, failed ones included.
    pub ended: AtomicU64,
    /// Requests that failed or were cancelled.
    pub failed: AtomicU64,
    /// Requests that ended without success, by the way in which they ended.
    pub not_ok: OutcomeCounts,
    /// Events with output, of all requests that have ended.
    pub output_events: AtomicU64,
    /// Index of the stage that runs. Who reads it with `Acquire` finds in `began` when that stage began, or a later one.
    pub stage: AtomicU64,
    /// When this stage began, in nanoseconds on the clock of the timeline.
    pub began: AtomicU64,
    /// Requests that had ended when this stage began.
    pub ended_before: AtomicU64,
    /// When the pause after this stage ends, in nanoseconds on the same clock. Before `began` if the pause has not
    /// begun.
    pub pause_until: AtomicU64,
    /// How many stages are over: all of their requests have ended. It is not counted for the last one, with which the load ends.
    pub stages_over: AtomicU64,
    /// Keeps the next stage from beginning.
    pub hold: Hold,
    /// The bits of the rate that earlier stages gave to this stage; 0 if its rate was known before the run.
    pub measured_rate: AtomicU64,
    /// Times to the first token, counted from the scheduled time.
    pub ttft: RecentTimes,
    /// What is planned; empty before the load begins.
    pub timeline: OnceLock<Timeline>,
}

impl Progress {
    /// Fewer requests are sent than were planned.
    fn leave_out(&self, requests: u64) {
        // 0 stands for a number that is not known.
        let less = |planned: u64| planned.checked_sub(requests).filter(|it| *it > 0);
        let _ = self.planned.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Requests of all stages; `None` where the number of a stage is not known.
    pub fn planned_requests(&self) -> Option<u64> {
        let planned = self.planned.load(Ordering::Relaxed);
        (self.undecided_stages.load(Ordering::Relaxed) == 0 && planned > 0).then_some(planned)
    }

    /// Requests that were issued and have not ended.
    pub fn under_way(&self) -> u64 {
        let ended = self.ended.load(Ordering::Relaxed);
        self.issued.load(Ordering::Relaxed).saturating_sub(ended)
    }
}

/// The contents of a workload's files: read once, however often the workload is issued.
#[derive(Debug)]
pub struct Files {
    traces: trace::Traces,
    rows: Arc<Rows>,
    texts: Texts,
    recordings: Arc<Vec<recorded::Session>>,
    prompts: Option<Arc<dyn PromptSource>>,
    digests: Vec<FileDigest>,
}

impl Files {
    /// Reads the traces, recordings, tokenizer and corpus of a workload. `data_set`: its rows, read before; none where the requests
    /// have another source.
    ///
    /// # Errors
    /// A file that cannot be read, or whose content is not allowed.
    pub fn read(workload: &Workload, data_set: ReadRows) -> Result<Files, LoadError> {
        let mut traces = trace::read(workload)?;
        traces.notices.extend(data_set.notices);
        let prompt_files = prompt_files::read(workload)?;
        traces.notices.extend(prompt_files.notices);
        let recordings = recorded::read(workload)?;
        traces.notices.extend(recordings.notices);
        let digests = traces.digests.iter().cloned().chain(data_set.files).chain(prompt_files.digests);
        let digests = digests.chain(recordings.digests).collect();
        let (rows, recordings) = (Arc::new(data_set.rows), Arc::new(recordings.sessions));
        Ok(Files { traces, rows, texts: prompt_files.texts, recordings, prompts: None, digests })
    }

    /// Adds prompts that are written when their requests are made, and the files that they come from.
    pub fn with_prompts(mut self, prompts: ReadPrompts) -> Files {
        self.traces.notices.extend(prompts.notices);
        self.digests.extend(prompts.files);
        self.prompts = Some(prompts.source);
        self
    }

    /// The same workload, in which no closed loop sends more requests than there are prompts.
    pub fn bounded<'a>(&self, workload: &'a Workload) -> Cow<'a, Workload> {
        let Some(prompts) = &self.prompts else { return Cow::Borrowed(workload) };
        let mut bounded = workload.clone();
        for stage in &mut bounded.stages {
            if let Load::Closed { count, .. } = &mut stage.load {
                *count = Some(count.unwrap_or(u64::MAX).min(prompts.count()));
            }
        }
        Cow::Owned(bounded)
    }

    /// Gives a file that was downloaded the name of its URL in the report.
    pub fn rename(&mut self, downloaded: &Path, url: &str) {
        for digest in self.digests.iter_mut().filter(|it| it.path == downloaded) {
            digest.path = url.into();
        }
    }

    /// The name and digest of each file.
    pub fn digests(&self) -> &[FileDigest] {
        &self.digests
    }

    /// What is sent differently from what the files say, and which files have no digest.
    pub fn notices(&self) -> &[Notice] {
        &self.traces.notices
    }
}

/// A load to issue: what to send, to which target, and how.
#[derive(Debug)]
pub struct LoadOrder<'a> {
    pub workload: &'a Workload,
    /// The files of the workload.
    pub files: &'a Files,
    /// The queries of the stages that are phases, one entry for each stage; fewer where no later stage is a phase.
    pub phases: &'a [Option<Arc<dyn Phase>>],
    /// The model that each request names.
    pub model: &'a str,
    pub target: &'a Target,
    /// Seeds of arrivals, lengths, order and texts.
    pub seeds: Seeds<'a>,
    /// What is kept of each request.
    pub keep: Keep,
    /// Number of workers; at least one is used.
    pub threads: usize,
    /// Ends the load early.
    pub stop: &'a Stop,
    /// Updated while the load runs.
    pub progress: Arc<Progress>,
}

/// A load whose times are drawn and whose requests can be made, and of which nothing is sent yet.
#[derive(Debug)]
pub struct PreparedLoad<'a> {
    order: LoadOrder<'a>,
    plan: LoadPlan,
}

impl PreparedLoad<'_> {
    /// Requests of the stages whose number is known before the load.
    pub fn requests(&self) -> u64 {
        self.plan.requests()
    }

    /// Number of stages whose requests answers, time or earlier stages decide.
    pub fn undecided_stages(&self) -> u64 {
        self.plan.undecided_stages()
    }

    /// Issues the load and returns when its last request has ended. Blocks the caller, and runs on threads of its own.
    ///
    /// # Errors
    /// The operating system refused what it needs. A target that fails is no error.
    pub fn run(self) -> Result<LoadResult, LoadError> {
        issue(self)
    }
}

/// Makes all decisions that come before the first request.
///
/// # Errors
/// The load could not be prepared.
pub fn prepare(order: LoadOrder<'_>) -> Result<PreparedLoad<'_>, LoadError> {
    let plan = plan(&order)?;
    Ok(PreparedLoad { order, plan })
}

/// Prepares a workload and issues it: see [`PreparedLoad::run`].
///
/// # Errors
/// The load could not be prepared, or the operating system refused what it needs. A target that fails is no error.
pub fn run_load(order: LoadOrder<'_>) -> Result<LoadResult, LoadError> {
    prepare(order)?.run()
}

fn issue(PreparedLoad { order, plan }: PreparedLoad<'_>) -> Result<LoadResult, LoadError> {
    let LoadOrder { workload, target, keep, threads, stop, progress, .. } = order;
    raise_file_limit();
    progress.planned.store(plan.requests(), Ordering::Relaxed);
    progress.undecided_stages.store(plan.undecided_stages(), Ordering::Relaxed);
    let threads = threads.max(1);
    let budget = record_memory::budget(workload, keep, plan.requests(), threads);
    let plan = plan.with_record_budget(budget);
    let (clock, started) = (Clock::start(), clock::now());
    // It is not set yet: each load has its own progress.
    let _ = progress.timeline.set(plan.timeline(clock));
    let shared = Arc::new(Shared::new(plan, clock, threads, stop.clone(), progress));
    let watch = Watch::start(clock);
    let workers: Vec<_> = (0..threads).map(|index| spawn(index, Arc::clone(&shared), target.clone(), keep)).collect();
    if workers.iter().any(Result::is_err) {
        // Workers that were started must not wait for those that were not, and must not issue a part of the load alone.
        shared.give_up();
    }
    // Join all workers, even if one of them failed.
    let ended: Vec<_> = workers.into_iter().map(|worker| worker?.join().map_err(panicked)?).collect();
    let ended = ended.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(sum_up(&shared, ended, started, keep, watch.end()))
}

/// Issues a load on the runtime and the clock of the caller, which may be paused: one worker and no thread. For tests, and for programs
/// that bring their own runtime.
///
/// # Errors
/// As [`run_load`].
pub async fn run_order_here(order: LoadOrder<'_>) -> Result<LoadResult, LoadError> {
    let plan = plan(&order)?;
    let LoadOrder { target, keep, stop, progress, .. } = order;
    let shared = Arc::new(Shared::new(plan, Clock::from_runtime(), 1, stop.clone(), progress));
    let started = clock::now();
    let worker = Worker::new(0, Arc::clone(&shared), target.clone(), keep);
    let ended = runner::run(worker).await;
    Ok(sum_up(&shared, vec![ended], started, keep, Vitals::default()))
}

/// Issues a workload without phases, data set and questions like [`run_order_here`], and keeps the record of each request.
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
    let seeds = seeds.into();
    let order = LoadOrder {
        workload,
        files: &Files::read(workload, ReadRows::default())?,
        phases: &[],
        model,
        target,
        seeds,
        keep: Keep::Records,
        threads: 1,
        stop,
        progress: Arc::default(),
    };
    run_order_here(order).await
}

/// Makes all decisions that come before the first request.
fn plan(order: &LoadOrder<'_>) -> Result<LoadPlan, LoadError> {
    let LoadOrder { workload, files, phases, model, target, seeds, .. } = *order;
    let workload = &*logprob_fields::with_logprob_fields(workload, target.api());
    let lacks_prompts = match &workload.requests {
        RequestSource::DataSet(_) => files.rows.is_empty(),
        RequestSource::Questions(_) => files.prompts.is_none(),
        _ => false,
    };
    if lacks_prompts {
        return Err(LoadError::NoPrompts);
    }
    let plan = LoadPlan::new(workload, &files.traces.entries, phases, model, target.api(), seeds)?;
    let plan = match &files.prompts {
        Some(prompts) => plan.with_prompts(workload, prompts)?,
        None => plan,
    };
    let plan = plan.with_recordings(workload, Arc::clone(&files.recordings))?;
    let plan = plan.with_blocks(workload, &files.traces.blocks)?;
    Ok(plan.with_texts(files.texts.clone()).with_rows(workload, Arc::clone(&files.rows), seeds)?)
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
            runtime.spawn(receive::mark_polls(shared.clock));
            let worker = Worker::new(index, Arc::clone(&shared), target, keep);
            Ok(runtime.block_on(runner::run(worker)))
        };
        // A worker that panics must not leave the other workers waiting.
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
    LoadError::Panic { message: text.unwrap_or_else(|| "it gave no message".into()) }
}

/// Gives the load up if its worker did not end well.
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
    let begun: Vec<u64> = recorder.sessions.iter().map(|it| it.begun).collect();
    let issued = shared.progress.issued.load(Ordering::Relaxed);
    LoadResult {
        recorder,
        phases: shared.issued_phases(),
        stages: shared.stage_results(),
        zero: shared.clock.zero(),
        started,
        stopped: match shared.stop.state() {
            StopState::Run => None,
            StopState::Drain(reason) | StopState::Abort(reason) => Some(reason),
        },
        unissued,
        issued,
        rows: shared.plan.rows_used(issued, &begun),
        own_cpu,
        workers: vitals_of_workers,
        vitals,
        wall: shared.clock.now(),
        notices: shared.plan.notices(issued, &begun),
    }
}

/// Raises the soft limit of open files to the hard limit: each request under way needs a file.
pub fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    // If the system refuses, the limit stays as it is, and requests that lack a file report it.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
