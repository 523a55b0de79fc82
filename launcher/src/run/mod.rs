//! One benchmark from start to report: reads the input, waits for the target, issues the load, analyses and writes.

mod forecast;
mod last_offline;
mod loadgen;
mod outcome;
mod progress;
mod progress_text;
pub(crate) mod ready;
mod served;
mod signals;
mod store;
pub(crate) mod target;

use std::{
    fmt::Display,
    io::IsTerminal as _,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use crds::resolve::{Endpoint, STATUS_PORT, mounts};
use tracing::{info, warn};
use workload_profiles::{Notice, Workload};

use crate::{
    console,
    input::{self, Input, LocalOptions},
    status_server::{self, Measuring},
};
use ::loadgen::plan;
use analysis::{Analysis, Measured};
use engine::{
    issue::{self, Files, LoadError, LoadOrder, LoadResult, Progress},
    recorder::Keep,
    requests::Seeds,
    stop::Stop,
};
use loadgen::{Issued, ShowForecast};
pub(crate) use outcome::Failure;
use ready::Secrets;
use report::{LoadGenReport, Report, Stored, profile, terminal};

/// More threads than this have never helped, and each has connections of its own.
const MAX_DEFAULT_THREADS: usize = 8;
const POD_TERMINATION_LOG: &str = "/dev/termination-log";

/// What the command line says beside the input.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// A BenchmarkRun file; absent: what the operator mounted.
    pub file: Option<PathBuf>,
    /// What the command line adds to the file.
    pub local: LocalOptions,
    /// The folder that gets a folder for each run.
    pub results: Option<PathBuf>,
    /// Keep no results folder.
    pub no_results: bool,
    /// Threads that issue the load.
    pub threads: Option<usize>,
    /// Exit codes for pipelines.
    pub gate: bool,
    /// The port of `/ready`.
    pub status_port: Option<u16>,
    /// Where the envelope goes.
    pub termination_log: Option<PathBuf>,
    /// Plain lines in place of a progress bar.
    pub plain: bool,
    /// The commit that the binary was built from, for the report.
    pub commit: &'static str,
}

impl RunOptions {
    fn in_pod(&self) -> bool {
        self.file.is_none()
    }

    fn status_port(&self) -> Option<u16> {
        self.status_port.or(self.in_pod().then_some(STATUS_PORT))
    }

    fn termination_log(&self) -> Option<PathBuf> {
        self.termination_log.clone().or_else(|| self.in_pod().then(|| POD_TERMINATION_LOG.into()))
    }

    fn results(&self) -> PathBuf {
        self.results.clone().unwrap_or_else(|| if self.in_pod() { mounts::RESULTS.into() } else { "results".into() })
    }

    fn threads(&self, endpoint: &Endpoint) -> usize {
        // A simulator in this process would take its CPU from the load that it answers.
        let simulators = usize::from(matches!(endpoint, Endpoint::Simulator(_)));
        self.threads.unwrap_or_else(|| default_threads().saturating_sub(simulators).max(1))
    }
}

/// Threads that issue the load where nobody says how many: one for each core, to a bound.
pub fn default_threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(MAX_DEFAULT_THREADS)
}

/// Runs one benchmark and returns the exit status. Results go to stdout, all else to stderr.
pub fn run(options: &RunOptions) -> u8 {
    let input = match read_input(options) {
        Ok(input) => input,
        Err(error) => {
            complain(&error);
            let mounted = Path::new(mounts::INPUT).join("run.yaml").exists();
            let log = options.termination_log.clone().or_else(|| options.termination_log().filter(|_| mounted));
            outcome::leave_diagnosis(log.as_deref(), &error.to_string());
            return outcome::exit_status(&Err(Failure::configuration(error.to_string())), options.gate);
        }
    };
    let done = measure(&input, options);
    if let Err(failure) = &done {
        complain(&failure.message);
    }
    if let Some(path) = options.termination_log() {
        let envelope = outcome::envelope(&input, &done).to_text();
        if let Err(error) = std::fs::write(&path, envelope) {
            warn!(path = %path.display(), %error, "the termination message was not written");
        }
    }
    if let Some(measurement) = done.as_ref().map_or_else(Failure::measured, Some) {
        print_table(measurement);
    }
    outcome::exit_status(&done, options.gate)
}

/// Says on stderr what went wrong.
fn complain(what: &dyn Display) {
    console::say(format_args!("benchwright: {what}"));
}

fn read_input(options: &RunOptions) -> Result<Input, input::InputError> {
    let input = match &options.file {
        Some(file) => input::from_file(file, &options.local)?,
        None => input::from_folder(Path::new(mounts::INPUT))?,
    };
    tell(&input.notices);
    Ok(input)
}

fn tell(notices: &[Notice]) {
    for notice in notices {
        warn!(path = notice.path, "{}", notice.message);
    }
}

/// A measurement: its analysis, and where it was kept.
pub(crate) struct Measurement {
    analysis: Analysis,
    loadgen: Option<LoadGenReport>,
    stored: Option<Stored>,
}

fn measure(input: &Input, options: &RunOptions) -> Result<Measurement, Failure> {
    // The simulator and the status port need open files, too.
    issue::raise_file_limit();
    let stop = Stop::default();
    signals::listen(&stop, input.run.grace_period.0)?;
    let measuring = Measuring::default();
    if let Some(port) = options.status_port() {
        status_server::serve(port, measuring.clone()).map_err(|source| Failure::status_port(port, source))?;
    }
    let store = store::Store::prepare(input, options, clock::now())?;
    let keep = store.keep(&input.run);
    // LoadGen's figures are of every single sample.
    let needed = if input.workload.loadgen.is_some() { Keep::Records } else { keep };
    let (ready, issued, files) = match load(input, options, &stop, &measuring, needed) {
        Ok(loaded) => loaded,
        Err(failure) => {
            store.discard();
            return Err(failure);
        }
    };
    let Issued { workload, load, tests, trials } = issued;
    // The report is of what was issued.
    let notices = input.notices.iter().chain(files.notices()).cloned().collect();
    let input = &Input { workload, notices, ..input.clone() };
    let mut analysis = analysis::analyse(&Measured::from(&load), &input.workload, &input.run, &ready.model);
    let loadgen = input.workload.loadgen.is_some().then(|| LoadGenReport::of(tests, trials));
    analysis.verdict.add_loadgen(loadgen.iter().flat_map(LoadGenReport::verdicts));
    let records = load.recorder.records.as_ref().filter(|_| keep != Keep::Summary);
    let report = Report {
        commit: options.commit,
        analysis: &analysis,
        run: &input.run,
        workload: &input.workload,
        profile_text: &input.profile_text,
        files: files.digests(),
        notices: &input.notices,
        loadgen: loadgen.as_ref(),
        records,
    };
    match store.write(&report, &input.inputs()) {
        Ok(stored) => Ok(Measurement { analysis, loadgen, stored }),
        Err(error) => Err(Failure::storage_of(error.to_string(), Measurement { analysis, loadgen, stored: None })),
    }
}

/// Prints the table, after all that lasts has been written: who reads it may have gone.
fn print_table(measurement: &Measurement) {
    let mut text = terminal::table(&measurement.analysis, measurement.loadgen.as_ref());
    if let Some(stored) = &measurement.stored {
        text.push_str(&format!("report: {}\n", stored.path.join("report.md").display()));
    }
    if let Err(error) = console::print(text) {
        warn!(%error, "the table was not printed");
    }
}

/// Waits for the target and issues the load.
fn load(
    input: &Input,
    options: &RunOptions,
    stop: &Stop,
    measuring: &Measuring,
    keep: Keep,
) -> Result<(ready::Ready, Issued, Files), Failure> {
    // Before there is a target to wait for. What cannot be planned is told when it is to be issued.
    let plan = input.workload.loadgen.as_ref().and_then(|it| plan::plan(it, 0).ok());
    if let Some(message) = plan.and_then(|it| it.past(input.run.run_deadline.0)) {
        warn!(path = plan::DEADLINE, "{message}");
    }
    // Before a target is waited for, which may take an hour.
    let (workload, run) = (input.workload.clone(), input.run.clone());
    let read = move || Ok((Files::read(&workload).map_err(not_issued)?, Secrets::read(&run)?));
    let (files, secrets) = signals::until_stopped(stop, read)??;
    tell(files.notices());
    let (base_url, _simulator) = target::start(&input.run, input.workload.model.as_deref())?;
    let ready = ready::wait(input, &secrets, &base_url, stop)?;
    info!(target = base_url, model = ready.model, profile = profile(&input.run), "the target is ready");
    measuring.set(true);
    let deadline = signals::Deadline::start(stop, input.run.run_deadline.0, input.run.grace_period.0);
    let last_offline = || last_offline::of(&options.results(), input.run.endpoint.name(), &ready.model);
    let one =
        |workload: &Workload, show_forecast| issue(workload, &files, show_forecast, input, options, &ready, stop, keep);
    let issued = loadgen::issue(&input.workload, last_offline, one);
    deadline.end();
    measuring.set(false);
    Ok((ready, issued?, files))
}

#[expect(clippy::too_many_arguments, reason = "each is another subject, and there is one caller")]
fn issue(
    workload: &Workload,
    files: &Files,
    show_forecast: ShowForecast,
    input: &Input,
    options: &RunOptions,
    ready: &ready::Ready,
    stop: &Stop,
    keep: Keep,
) -> Result<LoadResult, Failure> {
    let progress = Arc::new(Progress::default());
    let plain = options.plain || options.in_pod() || !std::io::stderr().is_terminal();
    let watcher = progress::Watcher::start(Arc::clone(&progress), workload.clone(), show_forecast, plain);
    let seeds = Seeds { run: input.run.seed, prompt_salt: &input.run.prompt_salt };
    let threads = options.threads(&input.run.endpoint);
    let load = issue::run_load(LoadOrder {
        workload,
        files,
        model: &ready.model,
        target: &ready.target,
        seeds,
        keep,
        threads,
        stop,
        progress,
    });
    watcher.end();
    load.map_err(not_issued)
}

fn not_issued(error: LoadError) -> Failure {
    match error {
        LoadError::Requests(_) | LoadError::Queries(_) | LoadError::Trace(_) | LoadError::DataSet(_) => {
            Failure::configuration(error.to_string())
        }
        LoadError::System { .. } | LoadError::Panic { .. } => Failure::system(&error),
    }
}
