//! One benchmark from start to report: reads the input, waits for the target, issues the load, analyses it, and writes the report.

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
mod measured;
mod options;
mod order;
mod outcome;
mod process;
mod profiler;
mod progress;
mod progress_text;
pub(crate) mod ready;
mod repeats;
mod replicas;
mod retention;
mod search;
mod server_extras;
mod server_metrics;
mod signals;
mod sleep;
mod store;
pub(crate) mod target;
mod termination_message;
mod upload;

use std::path::{Path, PathBuf};

use crds::envelope::Envelope;
use tracing::warn;

use crate::{
    console,
    input::{self, Input},
};
pub use baseline::read as read_baseline;
use document::ReportDocument;
#[cfg(target_os = "linux")]
pub use managed::commands as servers;
use measured::print_table;
pub use options::{RunOptions, default_threads};
use order::Order;
pub(crate) use outcome::Failure;
pub use outcome::exit_status_of;
use process::Process;
use store::Place;
use termination_message::{ENDED_EARLY, leave_message, leave_text};
use upload::Destination;

/// Runs one benchmark and returns the exit code. Results go to stdout, everything else to stderr.
pub fn run(options: &RunOptions) -> u8 {
    run_into(options, &mut None)
}

/// Runs one benchmark like [`run`], and sets `folder` to the results folder that the run wrote. For a series, `folder` is not set.
pub fn run_into(options: &RunOptions, folder: &mut Option<PathBuf>) -> u8 {
    let (mut input, baseline) = match read_input(options) {
        Ok(read) => read,
        Err(error) => {
            console::print_error(&error);
            let mounted = options.input().join("run.yaml").exists();
            let log = options.termination_log.clone().or_else(|| options.termination_log().filter(|_| mounted));
            termination_message::write(log.as_deref(), &error.status_message());
            return outcome::exit_status(&Err(Failure::configuration(error.to_string())), options.gate);
        }
    };
    if options.now {
        if let Err(failure) = debug::by_hand(&mut input, options) {
            console::print_error(&failure.message);
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
        console::print_error(&failure.message);
    }
    *folder = done.as_ref().ok().and_then(|it| it.stored.as_ref()).map(|it| it.path.clone());
    leave_message(options, || termination_message::envelope(&input, &done));
    if let Some(measurement) = done.as_ref().map_or_else(Failure::measured, Some) {
        print_table(measurement, "");
    }
    outcome::exit_status(&done, options.gate)
}

/// Reports the result of a collecting run, and returns the exit code.
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

/// Reports why a run is not started, and returns the exit code.
fn refused(input: &Input, failure: Failure, options: &RunOptions) -> u8 {
    console::print_error(&failure.message);
    let done = Err(failure);
    leave_message(options, || termination_message::envelope(input, &done));
    outcome::exit_status(&done, options.gate)
}

/// The file in a results folder that repeats its run. The folder of a killed run has a suffix, which a user may leave out.
pub fn file_of_folder(folder: &Path) -> PathBuf {
    let mut partial = folder.as_os_str().to_owned();
    partial.push(report::partial::SUFFIX);
    let file = PathBuf::from(partial).join(report::BENCHMARK_RUN_FILE_NAME);
    if file.is_file() { file } else { folder.join(report::BENCHMARK_RUN_FILE_NAME) }
}

fn read_input(options: &RunOptions) -> Result<(Input, Option<ReportDocument>), input::InputError> {
    let mut input = match &options.source {
        Some(source) => input::from_source(source, &options.local)?,
        None => input::from_folder(&options.input())?,
    };
    let baseline = baseline::read(&mut input.run, options.baseline.as_deref())?;
    console::log_notices(&input.notices);
    Ok((input, baseline))
}
