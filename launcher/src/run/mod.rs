//! One benchmark from start to report: reads the input, waits for the target, issues the load, analyses and writes.

mod baseline;
mod collect;
mod debug;
mod earlier_attempt;
mod egress;
mod forecast;
mod free_space;
mod identity;
mod last_offline;
mod listed_models;
mod load;
mod loadgen;
#[cfg(target_os = "linux")]
mod managed;
#[cfg(not(target_os = "linux"))]
#[path = "managed_elsewhere.rs"]
mod managed;
mod options;
mod outcome;
mod process;
mod profiler;
mod progress;
mod progress_text;
pub(crate) mod ready;
mod repeats;
mod replicas;
mod retention;
mod server_metrics;
mod signals;
mod sleep;
mod store;
pub(crate) mod target;
mod upload;

use std::{fmt::Display, path::PathBuf, sync::Arc};

use crds::envelope::Envelope;
use jiff::Timestamp;
use tracing::warn;
use workload_profiles::{
    Notice,
    workload::{RequestSource, Work},
};

use crate::{
    console,
    input::{self, Input},
    scoring::mmlu,
};
use analysis::{Analysis, Evidence, Measured, loadgen::judged::LoadGenTests, objectives::Source};
pub use baseline::read as read_baseline;
use document::{Parts, ReportDocument};
use engine::stop::StopState;
use load::{Loaded, Setup};
use loadgen::Issued;
#[cfg(target_os = "linux")]
pub use managed::commands as servers;
use measurement::{
    kept_run::{Findings, KeptRun},
    recorder::Keep,
};
pub use options::{RunOptions, default_threads};
pub(crate) use outcome::Failure;
pub use outcome::exit_status_of;
use process::Process;
use replicas::Replicas;
use report::{Attachments, Stored, earlier_attempt::MESSAGE_FILE_NAME, repeats::StartTimes, startup, terminal};
use store::{Place, Store};
use upload::Destination;

/// Runs one benchmark and returns the exit code. Results go to stdout, everything else to stderr.
pub fn run(options: &RunOptions) -> u8 {
    run_into(options, &mut None)
}

/// Does the same as [`run`], and sets `folder` to the results folder that the run wrote. A series leaves `folder` unset.
pub fn run_into(options: &RunOptions, folder: &mut Option<PathBuf>) -> u8 {
    let (mut input, baseline) = match read_input(options) {
        Ok(read) => read,
        Err(error) => {
            print_error(&error);
            let mounted = options.input().join("run.yaml").exists();
            let log = options.termination_log.clone().or_else(|| options.termination_log().filter(|_| mounted));
            outcome::leave_text(log.as_deref(), &error.status_message());
            return outcome::exit_status(&Err(Failure::configuration(error.to_string())), options.gate);
        }
    };
    if options.now {
        if let Err(failure) = debug::by_hand(&mut input, options) {
            print_error(&failure.message);
            return outcome::exit_status(&Err(failure), options.gate);
        }
    } else if input.run.debug && options.in_pod() {
        return debug::wait(&input, options);
    }
    if let Some(folder) = &input.run.collect {
        return report_collected(&input, collect::collect(&input, folder, baseline.as_ref(), options), options);
    }
    if let Some(envelope) = earlier_attempt::find(&input, options) {
        let outcome = envelope.core.outcome;
        leave_message(options, || envelope);
        return outcome::exit_status_of(outcome, None, options.gate);
    }
    leave_text(options, ENDED_EARLY);
    let order = Order { input: &input, baseline: baseline.as_ref(), options };
    if input.run.repeat > 1 {
        return repeats::run(&order);
    }
    let done = Process::start(&input, options).and_then(|process| {
        let destination = Destination::prepare(&input.run, options, &process.resolver, &process.stop)?;
        let now = clock::now();
        let place = Place::new(&input.run, options, now).filter(|_| destination.keeps_results());
        let mut measured = order.measure(&process, place, now)?;
        measured.deleted_folders = retention::apply(&input.run, options, measured.stored.as_ref());
        order.upload(&destination, measured)
    });
    if let Err(failure) = &done {
        print_error(&failure.message);
    }
    *folder = done.as_ref().ok().and_then(|it| it.stored.as_ref()).map(|it| it.path.clone());
    leave_message(options, || outcome::envelope(&input, &done));
    if let Some(measurement) = done.as_ref().map_or_else(Failure::measured, Some) {
        print_table(measurement, "");
    }
    outcome::exit_status(&done, options.gate)
}

/// Tells what a run that collects found, and returns the exit code.
fn report_collected(input: &Input, collected: Result<Envelope, Failure>, options: &RunOptions) -> u8 {
    match collected {
        Ok(envelope) => {
            let (outcome, told) =
                (envelope.core.outcome, format!("{}: {}\n", envelope.core.outcome.name(), envelope.core.message));
            leave_message(options, || envelope);
            if let Err(error) = console::print(told) {
                warn!(%error, "the outcome was not printed");
            }
            outcome::exit_status_of(outcome, None, options.gate)
        }
        Err(failure) => refused(input, failure, options),
    }
}

/// Tells why a run is not executed, and returns the exit code.
fn refused(input: &Input, failure: Failure, options: &RunOptions) -> u8 {
    print_error(&failure.message);
    let done = Err(failure);
    leave_message(options, || outcome::envelope(input, &done));
    outcome::exit_status(&done, options.gate)
}

/// Writes the termination message, where one is wanted.
fn leave_message(options: &RunOptions, envelope: impl FnOnce() -> Envelope) {
    if options.termination_log().is_some() {
        leave_text(options, &envelope().to_text());
    }
}

/// What stands in the termination message until there is a result. Without it the kubelet would take the end of the log, which may have
/// words of a server.
const ENDED_EARLY: &str = "ended before there was a result; the log of the pod has the reason";

fn leave_text(options: &RunOptions, text: &str) {
    outcome::leave_text(options.termination_log().as_deref(), text);
}

fn print_error(what: &dyn Display) {
    console::say(format_args!("benchwright: {what}"));
}

fn read_input(options: &RunOptions) -> Result<(Input, Option<ReportDocument>), input::InputError> {
    let mut input = match &options.source {
        Some(source) => input::from_source(source, &options.local)?,
        None => input::from_folder(&options.input())?,
    };
    let baseline = baseline::read(&mut input.run, options.baseline.as_deref())?;
    log_notices(&input.notices);
    Ok((input, baseline))
}

fn log_notices(notices: &[Notice]) {
    for notice in notices {
        warn!("{notice}");
    }
}

/// The analysis of a run, and the results folder that holds it.
pub(crate) struct Measurement {
    analysis: Analysis,
    /// The same as `report.json` has it.
    document: ReportDocument,
    stored: Option<Stored>,
    /// How long the servers took to start that were started for it.
    start: StartTimes,
    /// Where the folder was uploaded to.
    uploaded_to: Option<String>,
    /// The folders of earlier runs that were deleted after it was written.
    deleted_folders: Vec<String>,
}

/// What a run asks of its managed server beside what the spec says of it.
#[derive(Default)]
struct Extras {
    /// The folder for the traces of a profiler.
    traces: Option<PathBuf>,
    /// Whether it is started with its sleep mode, and the endpoints of it.
    sleep_mode: bool,
}

/// A load and what it is judged by.
#[derive(Clone, Copy)]
struct Order<'a> {
    input: &'a Input,
    baseline: Option<&'a ReportDocument>,
    options: &'a RunOptions,
}

impl Order<'_> {
    /// Runs the load once. `place`: where its results go; `None` where none are kept.
    fn measure(&self, process: &Process, place: Option<Place>, now: Timestamp) -> Result<Measurement, Failure> {
        let Order { input, baseline, options } = *self;
        let store = Store::prepare(input, place, now)?;
        let keep = store.keep(&input.run);
        // LoadGen's figures are computed from the record of every sample, and each question is listed with its latency.
        let with_records =
            input.workload.loadgen.is_some() || matches!(input.workload.requests, RequestSource::Questions(_));
        let needed = if with_records && keep == Keep::Summary { Keep::Records } else { keep };
        let Loaded {
            ready,
            server,
            issued,
            files,
            scoring,
            scraped,
            requests_by_replica,
            replicas,
            profiling,
            sleep_cycles,
        } = match (Setup { input, options, process, store: &store, keep: needed }).run() {
            Ok(loaded) => loaded,
            Err(failure) => {
                store.discard();
                process.servers.end();
                return Err(process.servers.explain(failure));
            }
        };
        // A start is measured with a server of its own.
        let measures_start = input.workload.work == Work::Startup;
        let is_last = measures_start
            || input.run.run.repeat_number.is_none_or(|it| it >= input.run.repeat)
            || process.stop.state() != StopState::Run;
        let death = process.servers.death();
        let mut managed = process.servers.describe(is_last, store.is_open(), sleep_cycles.clone(), measures_start);
        if let Some(managed) = &mut managed {
            managed.document.count_requests(&requests_by_replica);
        } else if store.is_open() {
            let limit = signals::time_to_collect(&process.stop, input.run.grace_period.0);
            let addresses = replicas.as_ref().and_then(Replicas::addresses);
            let by_replica = managed::ByReplica { addresses, requests: &requests_by_replica, sleep_cycles };
            managed = managed::describe_pods(&input.run, &process.resolver, limit, by_replica);
        }
        let replicas = replicas.map(|it| it.document(&requests_by_replica));
        let Issued { workload, load, tests, trials } = issued;
        let scored = scoring.map(|it| match it.score(&workload, &load, &tests) {
            Ok(scored) => scored,
            Err(error) => {
                warn!("the answers were not scored: {error:#}");
                it.unscored()
            }
        });
        let scored = scored.or_else(|| mmlu::score(&workload, files.questions(), &load));
        // The report describes the workload as issued: with the rate that was found, for example.
        log_notices(&load.notices);
        let notices = input.notices.iter().chain(files.notices()).chain(&load.notices).cloned().collect();
        let input = &Input { workload, notices, ..input.clone() };
        let loadgen = input.workload.loadgen.is_some().then(|| LoadGenTests::from_tests(tests, trials));
        let shared = options.in_pod().then(|| target::shared_remark(&input.spec, &input.run)).flatten();
        let fallback = replicas.as_ref().and_then(|it| it.fallback.clone());
        let findings = Findings {
            // Outside of a cluster nothing keeps runs apart, and `target.exclusive` has no effect.
            doubts: server.remark().into_iter().chain(fallback).chain(shared).collect(),
            lost_target: death.map(|it| it.headline()),
        };
        let analysis = analysis::analyse(&Evidence {
            doubts: findings.doubts.clone(),
            lost_target: findings.lost_target.clone(),
            loadgen: loadgen.as_ref(),
            accuracy: scored.as_ref().map(|it| it.accuracy.clone()),
            profiling,
            scraped: scraped.map(Arc::new),
            baseline: baseline.map(|it| it as &dyn Source),
            ..Evidence::new(Measured::from(&load), &input.workload, &input.run, &ready.model)
        });
        server_metrics::log(analysis.servers.as_ref());
        let kept = if keep == Keep::Summary { None } else { KeptRun::new(load, findings) };
        let parts = Parts {
            commit: options.commit,
            analysis: &analysis,
            server: Some(&server),
            run: &input.run,
            workload: &input.workload,
            profile_text: &input.profile_text,
            files: files.digests(),
            notices: &input.notices,
            loadgen: loadgen.as_ref(),
            startups: managed.as_ref().map_or(&[], |it| &it.starts),
            managed_server: managed.as_ref().map(|it| &it.document),
            server_replicas: replicas.as_ref(),
        };
        let attachments = Attachments {
            accuracy_files: scored.as_ref().map_or(&[], |it| &it.files),
            server_logs: managed.as_ref().map_or(&[], |it| &it.logs),
            records: kept.as_ref().map(KeptRun::records),
            // Other windows have no meaning for LoadGen tests.
            kept: kept.as_ref().filter(|_| loadgen.is_none()),
        };
        let document = parts.document().map_err(|error| Failure::storage(error.to_string()))?;
        let start = managed.as_ref().map(|it| StartTimes::new(&it.document, &it.starts)).unwrap_or_default();
        let stored = store.write(&parts, &document, attachments, &input.inputs());
        let measurement =
            Measurement { analysis, document, start, stored: None, uploaded_to: None, deleted_folders: Vec::new() };
        match stored {
            Ok(stored) => {
                // Without a results folder they are the only ones.
                managed.iter().filter(|_| stored.is_some()).for_each(|it| it.forget_logs());
                Ok(Measurement { stored, ..measurement })
            }
            Err(error) => Err(Failure::storage_of(error.to_string(), measurement)),
        }
    }

    /// Uploads the folder of a measurement, where it goes to a bucket.
    fn upload(&self, destination: &Destination, measured: Measurement) -> Result<Measurement, Failure> {
        let Order { input, options, .. } = *self;
        let Some(bucket) = destination.bucket() else { return Ok(measured) };
        let Measurement { stored: Some(stored), .. } = &measured else { return Ok(measured) };
        let stored = stored.clone();
        let without_folder = Measurement { stored: None, ..measured };
        // Left now, because a launcher that takes too long over the upload is killed.
        let required = input.run.storage_required;
        let early = match required {
            true => Err(Failure::storage_of(upload::unfinished(bucket, &stored.name), without_folder)),
            false => Ok(without_folder),
        };
        leave_message(options, || outcome::envelope(input, &early));
        let without_folder = match early {
            Ok(measurement) => measurement,
            Err(mut failure) => failure.take_measured().ok_or(failure)?,
        };
        match upload::keep(bucket, &stored, MESSAGE_FILE_NAME) {
            Ok(uri) => Ok(Measurement { stored: Some(stored), uploaded_to: Some(uri), ..without_folder }),
            Err(error) if required => Err(Failure::storage_of(error.to_string(), without_folder)),
            Err(error) => {
                warn!(%error, "the results are not kept; the figures count all the same, as storage.required says");
                Ok(without_folder)
            }
        }
    }
}

/// Prints the table below a heading, which may be empty. Call it last: stdout may have no reader any more, and the files must not
/// depend on that.
fn print_table(measurement: &Measurement, heading: &str) {
    let document = &measurement.document;
    let mut text = heading.to_owned() + &terminal::table(document);
    if !document.startups.is_empty() {
        text.push_str(&format!("how the server started:\n{}\n", startup::text(&startup::columns(&document.startups))));
    }
    if let Some(uri) = &measurement.uploaded_to {
        text.push_str(&format!("report: {uri}/report.md\n"));
    } else if let Some(stored) = &measurement.stored {
        text.push_str(&format!("report: {}\n", stored.path.join("report.md").display()));
        if stored.artifacts.iter().any(|it| it.name == report::PAGE_FILE_NAME) {
            text.push_str(&format!("page: {}\n", stored.path.join(report::PAGE_FILE_NAME).display()));
        }
    }
    text.push_str(&retention::line(&measurement.deleted_folders));
    if let Err(error) = console::print(text) {
        warn!(%error, "the table was not printed");
    }
}
