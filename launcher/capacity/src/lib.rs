//! [I/O] Determines whether this machine or pod has the capacity for a load. To find out, it runs the hardest stage of a BenchmarkRun for a few
//! seconds, against a paced server on loopback.
//!
//! The engine runs as in a benchmark. The `server` answers immediately or at an exact pace, and records when it sent each token. Server and client
//! are child processes (`children`, `child_messages`, `part`), so that the CPU time and memory of each are known. `trial` runs one load, and
//! `matching` compares the client's times with the server's. `demand` selects the hardest stage, and `verdict` judges the trial. Name resolution and
//! TLS are deliberately not measured; the server does not support TLS. The developers' benchmark of the engine, `bench`, uses the same trials. Needs
//! epoll, timers and /proc of Linux.

pub mod child_messages;
pub mod children;
pub mod cpu_use;
mod demand;
mod engine_client;
mod error;
mod lengths;
mod loadgen;
pub mod loads;
pub mod matching;
pub mod memory;
mod part;
pub mod server;
pub mod trial;
mod trial_result;
mod verdict;

use std::time::Duration;

use crds::{
    resolve::{Endpoint, ResolvedRun},
    units::Span,
};
use workload_profiles::{
    Workload,
    workload::{Load, Trace},
};

use analysis::Distribution;
pub use child_messages::nanos;
pub use children::json;
use cpu_use::CpuUse;
pub use demand::Unknown;
use engine::{issue::LoadError, trace, vitals::system::cpu_limit};
pub use error::TrialError;
use measurement::histogram::TimeHistogram;
pub use part::{do_part, keep_to_core, prepare_process, run_part};
use server::Pace;
use trial_result::TrialResult;
use verdict::Verdict;

/// A load, and the pace expected of the server.
#[derive(Clone, Debug)]
pub struct Question {
    /// The run that the load belongs to.
    pub run: ResolvedRun,
    /// The workload. Files behind URLs are already downloaded.
    pub workload: Workload,
    /// The pace expected of the server.
    pub pace: Pace,
    /// Number of worker threads.
    pub threads: usize,
}

/// The result for a [`Question`].
#[derive(Clone, Debug)]
pub struct CapacityReport {
    /// Whether the machine has the capacity. `false` also if this is unknown.
    pub fits: bool,
    /// The result as text, with the measured values.
    pub text: String,
}

/// Runs a trial and judges it.
///
/// # Errors
/// The demand of a stage is unknown, or the trial could not be run.
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
    // Other users of the machine can see the arguments of a child process. So these must not contain the real target.
    let local = ResolvedRun { endpoint: Endpoint::Url("http://127.0.0.1".into()), ..run.clone() };
    let before = CpuUse::now();
    let trial = trial::judged(pace, tried, local, threads, length)?;
    let others = before.zip(CpuUse::now()).map(|(before, after)| (after.others_since(&before), after.cpus()));
    if trial.client.requests.is_empty() && trial.failed() == 0 {
        return Err(TrialError::Child(format!(
            "the trial of stage {} sent no request, so nothing can be judged; give the stage a higher rate",
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
