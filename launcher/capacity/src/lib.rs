//! [I/O] Finds whether this machine or pod has the capacity for a load. It runs the hardest stage of a BenchmarkRun for a few
//! seconds against a paced server on loopback.
//!
//! The engine runs as in a benchmark. The `server` answers at once or at an exact pace, and records when it sent each token.
//! Server and client are child processes (`children`, `child_messages`), so that CPU time and memory of each are known. `trial`
//! runs one load, and `matching` compares the client's times with the server's. `demand` finds the hardest stage, and `verdict`
//! judges the trial. TLS, which the server does not support, and name resolution are deliberately not counted. The developer's
//! benchmark of the engine, `bench`, uses the same trials. All of it needs epoll, timers and /proc of Linux.

pub mod child_messages;
pub mod children;
pub mod cpu_use;
mod demand;
mod engine_client;
mod lengths;
mod loadgen;
pub mod loads;
pub mod matching;
pub mod memory;
pub mod server;
pub mod trial;
mod trial_result;
mod verdict;

use std::{io, time::Duration};

use crds::{
    resolve::{Endpoint, ResolvedRun},
    units::Span,
};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::Serialize;
use workload_files::FilesError;
use workload_profiles::{
    Workload,
    workload::{Load, Trace},
};

use analysis::Distribution;
use child_messages::Part;
use cpu_use::CpuUse;
pub use demand::Unknown;
use engine::{
    client::TargetError,
    issue::{self, LoadError},
    trace,
    vitals::system::cpu_limit,
};
use measurement::histogram::TimeHistogram;
use server::Pace;
use trial_result::TrialResult;
use verdict::Verdict;

/// Why a trial has no result.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The system refused a process, a socket, memory or a file.
    #[error("the bench cannot run: {0}; check memory, open files (ulimit -n) and processes")]
    System(#[from] io::Error),
    /// A child process failed.
    #[error("{0}")]
    Child(String),
    /// The load cannot be issued.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The files of the workload cannot be read.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// No stage can be tried.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// The server cannot be addressed.
    #[error(transparent)]
    Target(#[from] TargetError),
}

/// A load, and the server that is assumed for it.
#[derive(Clone, Debug)]
pub struct Question {
    /// The run whose load is tried.
    pub run: ResolvedRun,
    /// Its profile, with the files that URLs name.
    pub workload: Workload,
    /// The expected pace of the server.
    pub pace: Pace,
    /// Threads that issue the load.
    pub threads: usize,
}

/// The answer to a [`Question`].
#[derive(Clone, Debug)]
pub struct CapacityReport {
    /// Whether the machine has the capacity. `false` also where that is not known.
    pub fits: bool,
    /// The answer in words, with what was measured.
    pub text: String,
}

/// Runs the trial and judges it.
///
/// # Errors
/// The demand of a stage is not known, or the trial could not be run.
pub fn ask(question: Question) -> Result<CapacityReport, TrialError> {
    let Question { run, mut workload, pace, threads } = question;
    let recorded = trace::read(&workload).map_err(LoadError::from)?;
    for (stage, entries) in workload.stages.iter_mut().zip(recorded.entries) {
        if let Load::Trace { trace, .. } = &mut stage.load {
            *trace = Trace::Inline(entries);
        }
    }
    loadgen::as_plain_loads(&mut workload);
    let (stage, demand) = demand::hardest(&workload, pace)?;
    let (tried, length) = demand::trial(&workload, stage, pace);
    // The arguments of a child are visible to other users, so that they must not contain the real target.
    let local = ResolvedRun { endpoint: Endpoint::Url("http://127.0.0.1".into()), ..run.clone() };
    let before = CpuUse::now();
    let trial = trial::judged(pace, tried, local, threads, length)?;
    let others = before.zip(CpuUse::now()).map(|(before, after)| (after.others_since(&before), after.cpus()));
    if trial.client.requests.is_empty() && trial.failed() == 0 {
        return Err(TrialError::Child(format!(
            "the trial of stage {} sent no request, so that nothing can be judged; give the stage a higher rate",
            stage.name
        )));
    }
    let result = TrialResult {
        demand,
        pace,
        requests: trial.client.requests.len() as u64,
        failed: trial.failed(),
        cpu: Duration::from_nanos(trial.client.cpu_ns),
        memory_bytes: trial.client.peak_rss_bytes,
        cores: cpu_limit().unwrap_or(f64::INFINITY).min(threads as f64),
        server_cores: trial.truth.cpu_ns as f64 / trial.client.wall_ns.max(1) as f64,
        others: others.filter(|(used, _)| used.is_finite()),
        lag: p99(&trial.matched.lag),
        busiest: trial.client.busiest,
        receive_delay: trial.client.receive_delay_p99_ns.map(Duration::from_nanos),
        bounds: run.validity,
        achieved: trial.achieved(),
    };
    let verdict = Verdict::new(&result);
    let mut lines =
        vec![verdict.headline(&result), format!("stage {}, tried for {}", stage.name, Span(length).rounded())];
    lines.extend(verdict.details(&result));
    if matches!(&run.endpoint, Endpoint::Url(url) if url.starts_with("https:")) {
        lines.push("the target uses TLS, whose CPU time is not included: leave some capacity for it".into());
    }
    Ok(CapacityReport { fits: verdict.fits(), text: lines.join("\n") + "\n" })
}

fn p99(times: &TimeHistogram) -> Duration {
    Distribution::of_times(times).map_or(Duration::ZERO, |it| it.p99)
}

/// Does the part of a child process and returns the text that the child prints for its parent. The text is empty where the part
/// prints by itself.
///
/// # Errors
/// The part cannot be read, or it failed. Nothing is printed for the parent then.
pub fn run_part(part: &str) -> Result<String, TrialError> {
    let part = crds::json::read(part).map_err(|error| children::unreadable_part(&error))?;
    do_part(part)
}

/// Does a part that was read already; otherwise as [`run_part`].
///
/// # Errors
/// The part failed.
pub fn do_part(part: Part) -> Result<String, TrialError> {
    let core = match &part {
        Part::Server(spec) => spec.core,
        Part::Engine(spec) => spec.core,
    };
    prepare_process(core)?;
    match part {
        Part::Server(spec) => Ok(server::serve(&spec).map(|()| String::new())?),
        Part::Engine(spec) => json(&engine_client::run(&spec)?),
    }
}

/// Keeps this thread and all threads that it will start to one core, where one is given, and raises the limit of open files.
///
/// # Errors
/// The system refuses the core.
pub fn prepare_process(core: Option<usize>) -> io::Result<()> {
    core.map_or(Ok(()), keep_to_core)?;
    issue::raise_file_limit();
    Ok(())
}

/// Keeps this thread and all threads that it will start to one core.
///
/// # Errors
/// The system refuses the core.
pub fn keep_to_core(core: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    Ok(sched_setaffinity(None, &set)?)
}

/// A result as the text that a child prints for its parent.
///
/// # Errors
/// A value that JSON cannot express.
pub fn json(result: &impl Serialize) -> Result<String, TrialError> {
    serde_json::to_string(result).map_err(|error| TrialError::Child(error.to_string()))
}

/// A duration in nanoseconds. The type holds hundreds of years.
pub fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
