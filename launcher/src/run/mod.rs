//! One benchmark from start to report: reads the input, waits for the target, issues the load, analyses and writes.

mod baseline;
mod forecast;
mod identity;
mod last_offline;
mod listed_models;
mod load;
mod loadgen;
mod options;
mod outcome;
mod progress;
mod progress_text;
pub(crate) mod ready;
mod server_metrics;
mod signals;
mod store;
pub(crate) mod target;

use std::{fmt::Display, path::Path};

use crds::resolve::mounts;
use tracing::warn;
use workload_profiles::Notice;

use crate::{
    console,
    input::{self, Input},
    status_server::{self, RunStatus},
};
use analysis::{Analysis, Measured, objectives::Source};
use engine::{issue, recorder::Keep, stop::Stop};
use load::{Loaded, Setup};
use loadgen::Issued;
pub use options::{RunOptions, default_threads};
pub(crate) use outcome::Failure;
use report::{LoadGenReport, Report, Stored, baseline::BaselineReport, terminal};

/// Runs one benchmark and returns the exit code. Results go to stdout, everything else to stderr.
pub fn run(options: &RunOptions) -> u8 {
    let (input, baseline) = match read_input(options) {
        Ok(read) => read,
        Err(error) => {
            print_error(&error);
            let mounted = Path::new(mounts::INPUT).join("run.yaml").exists();
            let log = options.termination_log.clone().or_else(|| options.termination_log().filter(|_| mounted));
            outcome::leave_diagnosis(log.as_deref(), &error.to_string());
            return outcome::exit_status(&Err(Failure::configuration(error.to_string())), options.gate);
        }
    };
    let done = measure(&input, baseline.as_ref(), options);
    if let Err(failure) = &done {
        print_error(&failure.message);
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

fn print_error(what: &dyn Display) {
    console::say(format_args!("benchwright: {what}"));
}

fn read_input(options: &RunOptions) -> Result<(Input, Option<BaselineReport>), input::InputError> {
    let mut input = match &options.source {
        Some(source) => input::from_source(source, &options.local)?,
        None => input::from_folder(Path::new(mounts::INPUT))?,
    };
    let baseline = baseline::read(&mut input.run, options.baseline.as_deref())?;
    log_notices(&input.notices);
    Ok((input, baseline))
}

fn log_notices(notices: &[Notice]) {
    for notice in notices {
        warn!(path = notice.path, "{}", notice.message);
    }
}

/// The analysis of a run, and the results folder that holds it.
pub(crate) struct Measurement {
    analysis: Analysis,
    loadgen: Option<LoadGenReport>,
    /// What does not fit together in the servers' metrics.
    server_remarks: Vec<String>,
    stored: Option<Stored>,
}

fn measure(input: &Input, baseline: Option<&BaselineReport>, options: &RunOptions) -> Result<Measurement, Failure> {
    // The simulator and the status port need open files, too.
    issue::raise_file_limit();
    let stop = Stop::default();
    signals::listen(&stop, input.run.grace_period.0)?;
    let run_status = RunStatus::new(options.commit);
    if let Some(port) = options.status_port() {
        status_server::serve(port, run_status.clone()).map_err(|source| Failure::status_port(port, source))?;
    }
    let store = store::Store::prepare(input, options, clock::now())?;
    let keep = store.keep(&input.run);
    // LoadGen's figures are computed from the record of every sample.
    let needed = if input.workload.loadgen.is_some() { Keep::Records } else { keep };
    let setup = Setup { input, options, stop: &stop, run_status: &run_status, keep: needed };
    let Loaded { ready, server, issued, files, scraped } = match setup.run() {
        Ok(loaded) => loaded,
        Err(failure) => {
            store.discard();
            return Err(failure);
        }
    };
    let Issued { workload, load, tests, trials } = issued;
    // The report describes the workload as issued: with the rate that was found, for example.
    log_notices(&load.notices);
    let notices = input.notices.iter().chain(files.notices()).chain(&load.notices).cloned().collect();
    let input = &Input { workload, notices, ..input.clone() };
    let mut analysis = analysis::analyse(&Measured::from(&load), &input.workload, &input.run, &ready.model);
    let loadgen = input.workload.loadgen.is_some().then(|| LoadGenReport::from_tests(tests, trials));
    analysis.judgement.remarks.extend(server.remark());
    analysis.verdict.add_loadgen(loadgen.iter().flat_map(LoadGenReport::verdicts));
    if let Some(slo) = &input.run.slo {
        analysis.judge_objectives(slo, baseline.map(|it| it as &dyn Source));
    }
    let servers = scraped.map(|it| server_metrics::report(it, &load, &analysis));
    if let Some(run) = servers.as_ref().map(|it| &it.run).filter(|it| it.whole)
        && let (Some(hits), Some(looked_up)) = (run.prefix_hits, run.prefix_queries.or(run.prompt_tokens))
    {
        analysis.contamination.add_servers(hits, looked_up);
    }
    let records = load.recorder.records.as_ref().filter(|_| keep != Keep::Summary);
    let report = Report {
        commit: options.commit,
        analysis: &analysis,
        server: Some(&server),
        run: &input.run,
        workload: &input.workload,
        profile_text: &input.profile_text,
        files: files.digests(),
        notices: &input.notices,
        loadgen: loadgen.as_ref(),
        server_metrics: servers.as_ref(),
        records,
    };
    let server_remarks = servers.as_ref().map(|it| it.remarks.clone()).unwrap_or_default();
    match store.write(&report, &input.inputs()) {
        Ok(stored) => Ok(Measurement { analysis, loadgen, server_remarks, stored }),
        Err(error) => {
            let done = Measurement { analysis, loadgen, server_remarks, stored: None };
            Err(Failure::storage_of(error.to_string(), done))
        }
    }
}

/// Prints the table. It comes last, because stdout may have no reader any more, and the files must not depend on it.
fn print_table(measurement: &Measurement) {
    let mut text = terminal::table(&measurement.analysis, measurement.loadgen.as_ref(), &measurement.server_remarks);
    if let Some(stored) = &measurement.stored {
        text.push_str(&format!("report: {}\n", stored.path.join("report.md").display()));
        if stored.artifacts.iter().any(|it| it.name == report::PAGE_FILE_NAME) {
            text.push_str(&format!("page: {}\n", stored.path.join(report::PAGE_FILE_NAME).display()));
        }
    }
    if let Err(error) = console::print(text) {
        warn!(%error, "the table was not printed");
    }
}
