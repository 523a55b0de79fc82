//! `benchwright`: parses the arguments, runs one command, and returns its exit code.

#![warn(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic when the reader has closed the pipe; use console.rs"
)]

mod commands;
mod commit;
mod help;
#[cfg(test)]
mod reference;

use std::{
    io::{self, IsTerminal as _},
    process::ExitCode,
};

use clap::{FromArgMatches as _, Parser, Subcommand};
use commands::{
    accuracy, analyse, archive, compare, dataset, index, init, mlperf, mmlu, offline_engine, page, plan, plot,
    profiles, prune, render, run, search, show, sim, startup, submission, sut, sweep, validate,
};
#[cfg(target_os = "linux")]
use commands::{bench, server, server_wrapper};
use crds::wording::with_causes;
use launcher::{
    console::{self, PrintError},
    log_line::LogLine,
};
use rustix::io::Errno;
use tracing_subscriber::EnvFilter;

/// Number of open files that every command needs.
const SPARE_FILES: usize = 16;
#[cfg(not(debug_assertions))]
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("BENCHWRIGHT_COMMIT"), ")");
#[cfg(debug_assertions)]
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("BENCHWRIGHT_COMMIT"), ", not optimized)");

/// Benchmarks LLM servers, and reports when its own figures cannot be trusted
#[derive(Parser)]
#[command(name = "benchwright", version = VERSION, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The first line of each comment is the text of the command in the help of the program: help.rs has its maximum width.
#[derive(Subcommand)]
enum Command {
    /// Write a BenchmarkRun file, from four answers or from flags
    ///
    /// On a terminal it asks, unless --url or --simulator is given. Otherwise every flag that is left out has its default.
    Init(init::InitArgs),
    /// Run a benchmark, from a file or from flags
    ///
    /// Without a file and without a target it runs the files that the operator mounted in a pod.
    Run(run::RunArgs),
    /// Find the highest load at which all objectives hold
    ///
    /// The search replaces the stages of the profile, which still defines the requests. It tries loads until one is confirmed, within a time
    /// limit, and reports the risk that the answer is too high.
    Search(search::SearchArgs),
    /// Run every combination of some settings, and compare them
    ///
    /// Runs one after the other, each combination several times in alternating order. An interrupted sweep can be continued.
    Sweep(sweep::SweepArgs),
    /// Start, stop or list model servers that several runs use
    ///
    /// The servers are those in spec.target.server of BenchmarkRuns.
    #[cfg(target_os = "linux")]
    Server(server::ServerArgs),
    /// Keep the processes of a server; `run` and `server start` start this command
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    ServerKeeper,
    /// Start the server of a run in its container, and keep its log for the launcher; pods of the operator start this command
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    ServerWrapper(server_wrapper::WrapperArgs),
    /// Copy this program to a path; a server's container starts it from there
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    InstallWrapper(server_wrapper::InstallArgs),
    /// Serve a simulated vLLM
    Sim(sim::SimArgs),
    /// Serve vLLM's engine without its API server
    ///
    /// The engine is vLLM's LLM class. The command needs a Python that has vLLM.
    OfflineEngine(offline_engine::OfflineEngineArgs),
    /// Answer the samples of MLCommons' own LoadGen over pipes
    ///
    /// launcher/mlperf/bridge/benchwright_sut.py starts this command.
    Sut(sut::SutArgs),
    /// Check BenchmarkRuns as the operator would, without a cluster
    Validate(validate::ValidateArgs),
    /// Print the rendered profile of a run, or its workload
    Render(render::RenderArgs),
    /// Print what LoadGen tests will issue; sends no request
    Plan(plan::PlanArgs),
    /// Describe a data set, and name the benchmarks that it fits
    ///
    /// Prints the columns with their contents and lengths, and a profile for the data set.
    Dataset(dataset::DatasetArgs),
    /// List the profiles that ship, or print one
    Profiles(profiles::ProfilesArgs),
    /// Print the report of a finished run, or another of its files
    Show(show::ShowArgs),
    /// Find which differences between runs are significant
    ///
    /// Compares each run with the first, with confidence intervals.
    Compare(compare::CompareArgs),
    /// Judge a finished run by other objectives or windows
    ///
    /// Writes the report files into a new folder, and sends no request.
    Analyse(analyse::AnalyseArgs),
    /// Write the page of a finished run, with its curves
    ///
    /// Folders of older releases get the page of this release.
    Page(page::PageArgs),
    /// Write the figures of a finished run as SVG and PNG files
    Plot(plot::PlotArgs),
    /// Rewrite index.html, the page of all runs below a folder
    Index(index::IndexArgs),
    /// Show the steps and times of server starts, from their logs
    ///
    /// Compares several starts side by side, and shows why a start failed.
    Startup(startup::StartupArgs),
    /// Delete old results folders, by number or by age
    Prune(prune::PruneArgs),
    /// Write a results folder to stdout as a tar stream
    ///
    /// The stream has checksums. `kubectl benchwright results` reads it.
    Archive(archive::ArchiveArgs),
    /// Score the accuracy log of a LoadGen test, as MLPerf does
    ///
    /// The log comes from this program or from MLCommons' own LoadGen.
    Accuracy(accuracy::AccuracyArgs),
    /// Run MLPerf's Llama 3.1 8B with the flags of an MLPerf runner
    ///
    /// Scenarios: Offline, Server and SingleStream. Modes: performance, accuracy and both.
    Mlperf(mlperf::MlperfArgs),
    /// Run MMLU with the flags of a runner's mmlu.py
    Mmlu(mmlu::MmluArgs),
    /// Build or check the tree of a submission to MLPerf Inference
    ///
    /// The tree is built from finished LoadGen runs.
    Submission(submission::SubmissionArgs),
    /// Find whether this machine has the capacity for a load
    #[cfg(target_os = "linux")]
    Bench(bench::BenchArgs),
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    BenchPart(bench::PartArgs),
}

/// Parses the arguments of the process.
fn parse() -> Result<Cli, clap::Error> {
    let mut command = help::command();
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

fn main() -> ExitCode {
    let cli = match parse() {
        Ok(cli) => cli,
        // clap would exit with 2. With `--gate`, 2 means an invalid run, so the exit code is another one here.
        Err(error) => {
            let status = if error.use_stderr() { crds::ExitCode::Configuration.code() } else { 0 };
            return match error.print() {
                // A help text whose reader has closed the pipe is not an error.
                Err(unprinted) if !error.use_stderr() && unprinted.kind() != io::ErrorKind::BrokenPipe => {
                    failed(&PrintError::from(unprinted).into())
                }
                _ => ExitCode::from(status),
            };
        }
    };
    start_log();
    if let Err(error) = has_spare_files() {
        return failed(&error);
    }
    let done: anyhow::Result<u8> = match cli.command {
        Command::Init(args) => init::run(&args).map(|()| 0),
        Command::Run(args) => Ok(run::run(&args)),
        Command::Search(args) => Ok(search::run(&args)),
        Command::Sweep(args) => sweep::run(&args),
        #[cfg(target_os = "linux")]
        Command::Server(args) => server::run(args),
        #[cfg(target_os = "linux")]
        Command::ServerKeeper => Ok(managed_server::keep()),
        #[cfg(target_os = "linux")]
        Command::ServerWrapper(args) => Ok(server_wrapper::run(args)),
        #[cfg(target_os = "linux")]
        Command::InstallWrapper(args) => server_wrapper::install(&args).map(|()| 0),
        Command::Sut(args) => Ok(sut::run(&args)),
        Command::Compare(args) => Ok(compare::run(&args)),
        Command::Validate(args) => validate::run(&args),
        Command::Accuracy(args) => accuracy::run(&args),
        Command::Analyse(args) => analyse::run(&args),
        Command::Mlperf(args) => mlperf::run(&args),
        Command::Mmlu(args) => mmlu::run(&args),
        Command::Archive(args) => archive::run(&args),
        Command::Prune(args) => prune::run(&args),
        Command::Plot(args) => Ok(plot::run(&args)),
        #[cfg(target_os = "linux")]
        Command::Bench(args) => bench::run(args).map(status),
        Command::Submission(args) => submission::run(args).map(status).map_err(anyhow::Error::from),
        Command::Sim(args) => sim::run(args).map(|()| 0).map_err(anyhow::Error::from),
        Command::OfflineEngine(args) => offline_engine::run(args).map(|()| 0).map_err(anyhow::Error::from),
        Command::Render(args) => render::run(&args).map(|()| 0),
        Command::Plan(args) => plan::run(&args).map(|()| 0),
        Command::Dataset(args) => dataset::run(&args).map(|()| 0),
        Command::Profiles(args) => profiles::run(&args).map(|()| 0),
        Command::Startup(args) => startup::run(&args).map(|()| 0),
        Command::Show(args) => show::run(&args).map(|()| 0),
        Command::Page(args) => page::run(&args).map(|()| 0),
        Command::Index(args) => index::run(&args).map(|()| 0),
        #[cfg(target_os = "linux")]
        Command::BenchPart(args) => bench::run_part(&args).map(|()| 0),
    };
    match done {
        Ok(status) => ExitCode::from(status),
        Err(error) => failed(&error),
    }
}

/// The log goes to stderr: in short lines on a terminal, in full elsewhere.
fn start_log() {
    let filter = EnvFilter::try_from_env("BENCHWRIGHT_LOG").unwrap_or_else(|_| "info".into());
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| console::Messages)
        .with_ansi(false)
        .with_target(false)
        // An error while writing the log must not cause a panic, which would lose the results.
        .log_internal_errors(false);
    match io::stderr().is_terminal() {
        true => log.event_format(LogLine { paint: console::stderr_paint() }).init(),
        false => log.init(),
    }
}

/// Returns an error if the process cannot open the files that an event loop needs. Otherwise tokio would panic.
fn has_spare_files() -> anyhow::Result<()> {
    let opened = (0..SPARE_FILES).map(|_| rustix::io::dup(io::stdin())).collect::<Result<Vec<_>, _>>();
    match opened {
        Err(Errno::MFILE | Errno::NFILE) => anyhow::bail!(
            "fewer than {SPARE_FILES} further files can be opened; raise the limit of open files (ulimit -n)"
        ),
        // The copy also fails if stdin is closed, which is no reason to stop.
        _ => Ok(()),
    }
}

/// The exit status of a command with a yes-or-no result: 0 for yes, 1 for no.
fn status(yes: bool) -> u8 {
    if yes { 0 } else { 1 }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    console::say(format_args!("benchwright: {}", with_causes(error.as_ref())));
    ExitCode::from(crds::ExitCode::Configuration.code())
}
