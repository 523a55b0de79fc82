//! [I/O] Sends each request at its time. No other module starts requests.
//! Each thread is a worker with its own runtime, connections and recorder. During the load, the workers share only a few counters, and the
//! permits of a stage with limited concurrency. The requests of an open loop are assigned to the workers in turn, and so are the slots of a
//! closed loop. Barriers separate the stages: the next stage begins after every worker has ended the current one, and after the pause.

mod back_off;
mod batches;
mod classes;
mod closed_loop;
mod concurrency_limit;
mod context;
mod departures;
mod in_flight;
mod load_error;
mod logprob_fields;
mod looks;
mod measured_rate;
mod open_loop;
mod outcome_counts;
mod outputs;
mod plan;
mod prepare;
mod probes;
mod progress;
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
mod trials;
mod under_way_samples;
mod unissued;
mod waits;
mod worker;

use std::{
    any::Any,
    borrow::Cow,
    path::Path,
    sync::{Arc, atomic::Ordering},
    thread,
    time::Duration,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use workload_profiles::{
    Notice, Workload,
    workload::{Load, RequestSource},
};

use crate::{
    client::Target,
    prompt_files, recorded,
    requests::{Seeds, Texts},
    stop::{Stop, StopState},
    trace,
    vitals::{Watch, receive},
};
use clock::Clock;
use files::file_digest::FileDigest;
pub use in_flight::{check_join, poll_and_spawn};
pub use load_error::LoadError;
use measurement::{load_result::LoadResult, phase::Phase, recorder::Keep, vitals::Vitals};
pub use outcome_counts::OutcomeCounts;
pub use outputs::{KeepOutputs, Numbers};
pub use plan::LoadPlan;
pub use progress::Progress;
use prompts::{
    Rows,
    source::{PromptSource, ReadPrompts, ReadRows},
};
use runner::WorkerResult;
use shared::Shared;
pub use timeline::{PlannedTime, RecentTimes, Timeline};
pub use trials::{InFlight, RequestsSoFar, TrialStage, Trials};
use worker::Worker;

/// Number of ready tasks that a runtime polls before it polls sockets and timers. A lower value makes send times and timestamps more exact;
/// a higher value saves system calls.
pub const EVENT_INTERVAL: u32 = 31;

/// The contents of a workload's files. They are read once, even if the workload runs several times.
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
    /// Reads the traces, recordings, tokenizer and corpus of a workload. `data_set` contains the rows, which were read earlier; it is empty
    /// if the requests have another source.
    ///
    /// # Errors
    /// A file cannot be read, or its content is invalid.
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

    /// Adds the source of prompts that are generated on demand, and the files that contain them.
    pub fn with_prompts(mut self, prompts: ReadPrompts) -> Files {
        self.traces.notices.extend(prompts.notices);
        self.digests.extend(prompts.files);
        self.prompts = Some(prompts.source);
        self
    }

    /// Returns the workload with every closed loop limited to the number of prompts.
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

    /// Replaces the path of a downloaded file with its URL, for reports.
    pub fn rename(&mut self, downloaded: &Path, url: &str) {
        for digest in self.digests.iter_mut().filter(|it| it.path == downloaded) {
            digest.path = url.into();
        }
    }

    /// Returns the name and digest of each file.
    pub fn digests(&self) -> &[FileDigest] {
        &self.digests
    }

    /// Returns notices about differences between requests and file contents, and about files without a digest.
    pub fn notices(&self) -> &[Notice] {
        &self.traces.notices
    }
}

/// Everything that a load needs: what to send, to which target, and how.
#[derive(Debug)]
pub struct LoadOrder<'a> {
    pub workload: &'a Workload,
    /// The files of the workload.
    pub files: &'a Files,
    /// The queries of stages that are LoadGen phases, one entry per stage. Trailing entries might be missing if those stages are not phases.
    pub phases: &'a [Option<Arc<dyn Phase>>],
    /// The model name in each request.
    pub model: &'a str,
    pub target: &'a Target,
    /// Seeds for arrivals, lengths, order and texts.
    pub seeds: Seeds<'a>,
    /// Which data is kept of each request.
    pub keep: Keep,
    /// Number of worker threads. 0 counts as 1.
    pub threads: usize,
    /// Can end the load early.
    pub stop: &'a Stop,
    /// Updated while the load runs.
    pub progress: Arc<Progress>,
    /// If set, each stage of the workload runs one trial, which this object chooses while the load runs. `None` means that the stages run as the
    /// workload specifies.
    pub trials: Option<Arc<dyn Trials>>,
}

/// A load whose request times are drawn. All its requests can be generated before anything is sent.
#[derive(Debug)]
pub struct PreparedLoad<'a> {
    order: LoadOrder<'a>,
    plan: LoadPlan,
}

impl PreparedLoad<'_> {
    /// Returns the total number of requests in the stages whose number is known before the load.
    pub fn requests(&self) -> u64 {
        self.plan.requests()
    }

    /// Returns the number of stages whose number of requests depends on answers, on time, or on earlier stages.
    pub fn undecided_stages(&self) -> u64 {
        self.plan.undecided_stages()
    }

    /// Runs the load, and returns when its last request has ended. Blocks the caller; the load runs on its own threads.
    ///
    /// # Errors
    /// The operating system refused a resource. Failures of the target are part of the result, not an error.
    pub fn run(self) -> Result<LoadResult, LoadError> {
        issue(self)
    }
}

/// Makes all decisions that must precede the first request.
///
/// # Errors
/// The load could not be prepared.
pub fn prepare(order: LoadOrder<'_>) -> Result<PreparedLoad<'_>, LoadError> {
    let plan = plan(&order)?;
    Ok(PreparedLoad { order, plan })
}

/// Prepares a load and runs it, see [`PreparedLoad::run`].
///
/// # Errors
/// The load could not be prepared, or the operating system refused a resource. Failures of the target are part of the result, not an error.
pub fn run_load(order: LoadOrder<'_>) -> Result<LoadResult, LoadError> {
    prepare(order)?.run()
}

fn issue(PreparedLoad { order, plan }: PreparedLoad<'_>) -> Result<LoadResult, LoadError> {
    let LoadOrder { target, keep, threads, stop, progress, trials, .. } = order;
    raise_file_limit();
    progress.planned.store(plan.requests(), Ordering::Relaxed);
    progress.undecided_stages.store(plan.undecided_stages(), Ordering::Relaxed);
    let threads = threads.max(1);
    let budget = record_memory::budget(plan.has_phases(), keep, plan.requests(), threads);
    let plan = plan.with_record_budget(budget);
    let (clock, started) = (Clock::start(), clock::now());
    // Setting it cannot fail, because each load has its own progress.
    let _ = progress.timeline.set(plan.timeline(clock));
    let shared = Arc::new(Shared::new(plan, clock, threads, stop.clone(), progress).with_trials(trials));
    let watch = Watch::start(clock);
    let workers: Vec<_> = (0..threads).map(|index| spawn(index, Arc::clone(&shared), target.clone(), keep)).collect();
    if workers.iter().any(Result::is_err) {
        // Workers that have started must neither wait for workers that could not start, nor send only a part of the load.
        shared.give_up();
    }
    // Join all workers, even if one of them failed.
    let ended: Vec<_> = workers.into_iter().map(|worker| worker?.join().map_err(panicked)?).collect();
    let ended = ended.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(sum_up(&shared, ended, started, keep, watch.end()))
}

/// Runs a load on the caller's runtime and clock, which can be paused, with one worker and no extra thread. For tests, and for programs with their
/// own runtime.
///
/// # Errors
/// The same as [`run_load`].
pub async fn run_order_here(order: LoadOrder<'_>) -> Result<LoadResult, LoadError> {
    let plan = plan(&order)?;
    let LoadOrder { target, keep, stop, progress, trials, .. } = order;
    let shared = Shared::new(plan, Clock::from_runtime(), 1, stop.clone(), progress).with_trials(trials);
    let shared = Arc::new(shared);
    let started = clock::now();
    let worker = Worker::new(0, Arc::clone(&shared), target.clone(), keep);
    let ended = runner::run(worker).await;
    Ok(sum_up(&shared, vec![ended], started, keep, Vitals::default()))
}

/// Like [`run_order_here`], for a workload without phases, data set and questions. Keeps the record of each request.
///
/// # Errors
/// The same as [`run_load`].
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
        trials: None,
    };
    run_order_here(order).await
}

/// Makes all decisions that must precede the first request.
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
    let plan = plan.with_texts(files.texts.clone()).with_rows(workload, Arc::clone(&files.rows), seeds)?;
    Ok(if order.trials.is_some() { plan.with_trials(seeds) } else { plan })
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
        // A worker that panics must not leave the other workers waiting at a barrier.
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

/// Cancels the load on drop, unless the worker ended successfully.
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

/// Raises the soft limit of open files to the hard limit, because each request in flight needs a file descriptor.
pub fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    // On failure the limit is unchanged, and requests that lack a file descriptor report it.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
