//! `benchwright`: arguments -> one of the commands -> exit code.

#![warn(clippy::print_stdout, clippy::print_stderr, reason = "they panic where nobody reads; console.rs prints")]

use std::{
    io::{self, IsTerminal as _},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Args, Parser, Subcommand};
#[cfg(target_os = "linux")]
use launcher::bench;
use launcher::{
    console::{self, PrintError},
    data_set,
    input::{self, LocalOptions},
    loadgen::plan,
    run::{self, RunOptions},
    sim,
    submission::command::{self as submission, SubmissionArgs},
    sut::{self, SutOptions},
    trace_file, user_file,
};
use workload_profiles::workload::RequestSource;

/// Benchmarks LLM serving: issues the load of a workload profile exactly, measures every token, and says when its own
/// figures are not to be trusted.
#[derive(Parser)]
#[command(name = "benchwright", version, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a benchmark: a BenchmarkRun file anywhere, or, without -f, what the operator mounted in a pod
    Run(RunArgs),
    /// Serve a simulated vLLM
    Sim(sim::SimArgs),
    /// Answer the samples of MLCommons' own LoadGen: started by launcher/bridge/benchwright_sut.py, by pipes
    Sut(SutArgs),
    /// Print the profile of a BenchmarkRun as rendered, and what it means
    Render(RenderArgs),
    /// Print what the LoadGen tests of a BenchmarkRun will issue, before a request is sent
    Plan(PlanArgs),
    /// Print a file of a results folder: its Markdown report, or another one
    Show(ShowArgs),
    /// Build the tree of a submission to MLPerf Inference from finished LoadGen runs, or check one
    Submission(SubmissionArgs),
    #[cfg(target_os = "linux")]
    Bench(bench::BenchArgs),
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    BenchPart(bench::PartArgs),
}

#[derive(Args)]
struct InputArgs {
    /// A profile's file, in place of the profile that the BenchmarkRun names
    #[arg(long, value_name = "FILE", requires = "file")]
    profile: Option<PathBuf>,
    /// Sets a value in the rendered profile, such as load.stages.0.rate=5; may be given several times
    #[arg(short = 'o', long = "override", value_name = "PATH=VALUE", requires = "file")]
    overrides: Vec<String>,
    /// The file that holds the bearer token of the target
    #[arg(long, value_name = "FILE", requires = "file")]
    token_file: Option<PathBuf>,
    /// The file that holds further certificate authorities, PEM-encoded
    #[arg(long, value_name = "FILE", requires = "file")]
    ca_file: Option<PathBuf>,
}

impl InputArgs {
    fn options(&self) -> LocalOptions {
        LocalOptions {
            profile: self.profile.clone(),
            overrides: self.overrides.clone(),
            token_file: self.token_file.clone(),
            ca_file: self.ca_file.clone(),
        }
    }
}

#[derive(Args)]
struct RunArgs {
    /// A BenchmarkRun, as kubectl takes it
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    input: InputArgs,
    /// The folder that gets a folder for each run [default: results, in a pod /results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// Keep no results folder
    #[arg(long, conflicts_with = "results")]
    no_results: bool,
    /// Threads that issue the load [default: one for each core, at most 8, less one for an embedded simulator]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Exit with 0 passed, 2 invalid, 3 error, 4 cancelled, for pipelines
    #[arg(long)]
    gate: bool,
    /// Answer /ready on this port: 200 while measuring [in a pod: 8080]
    #[arg(long, value_name = "PORT")]
    status_port: Option<u16>,
    /// Write the result for the operator into this file [in a pod: /dev/termination-log]
    #[arg(long, value_name = "FILE")]
    termination_log: Option<PathBuf>,
    /// Plain lines in place of a progress bar
    #[arg(long)]
    plain: bool,
}

#[derive(Args)]
struct SutArgs {
    /// A BenchmarkRun, as kubectl takes it; all but its load is used
    #[arg(short, long, value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    input: InputArgs,
    /// Requests under way at once; further samples wait in order [default: the maxConcurrency of a loadgen profile, or 4096]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_in_flight: Option<u32>,
    /// Fail answers without a first token, which LoadGen judges where it is to be told of it
    #[arg(long)]
    first_tokens: bool,
}

#[derive(Args)]
struct RenderArgs {
    /// A BenchmarkRun, as kubectl takes it
    #[arg(short, long, value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    input: InputArgs,
    /// Print the workload that the profile means, as JSON, in place of its text
    #[arg(long)]
    workload: bool,
}

#[derive(Args)]
struct PlanArgs {
    /// A BenchmarkRun, as kubectl takes it
    #[arg(short, long, value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    input: InputArgs,
    /// The first queries of each phase too, with their times and samples: so many, or all
    #[arg(long, value_name = "COUNT|all", default_value = "0", value_parser = count_or_all)]
    queries: usize,
    /// As JSON
    #[arg(long)]
    json: bool,
}

fn count_or_all(text: &str) -> Result<usize, String> {
    if text == "all" {
        return Ok(usize::MAX);
    }
    text.parse().map_err(|_| "write a number, or all".into())
}

#[derive(Args)]
struct ShowArgs {
    /// A results folder, such as results/latest
    folder: PathBuf,
    /// Which of its files
    #[arg(long, value_name = "NAME", default_value = "report.md")]
    file: PathBuf,
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // A slip in the arguments must not look like `--gate`'s 2, an invalid run.
        Err(error) => {
            let status = if error.use_stderr() { run::EXIT_CONFIGURATION } else { 0 };
            return match error.print() {
                // Whether somebody reads it does not change what was asked.
                Err(unprinted) if !error.use_stderr() && unprinted.kind() != io::ErrorKind::BrokenPipe => {
                    failed(&PrintError::from(unprinted).into())
                }
                _ => ExitCode::from(status),
            };
        }
    };
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("BENCHWRIGHT_LOG").unwrap_or_else(|_| "info".into()),
        )
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        // Who read it may have gone, and a panic over that would cost the results.
        .log_internal_errors(false)
        .init();
    let done = match cli.command {
        Command::Run(args) => return run_command(&args),
        Command::Sut(args) => return sut_command(&args),
        #[cfg(target_os = "linux")]
        Command::Bench(args) => return bench_command(&args),
        Command::Submission(args) => return submission_command(args),
        Command::Sim(args) => sim::run(args).map_err(anyhow::Error::from),
        Command::Render(args) => render(&args),
        Command::Plan(args) => plan_command(&args),
        Command::Show(args) => show(&args),
        #[cfg(target_os = "linux")]
        Command::BenchPart(args) => bench::run_part(&args).map_err(anyhow::Error::from),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    console::say(format_args!("benchwright: {}", console::with_causes(error.as_ref())));
    ExitCode::from(run::EXIT_CONFIGURATION)
}

#[cfg(target_os = "linux")]
fn bench_command(args: &bench::BenchArgs) -> ExitCode {
    match bench::run(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => failed(&error.into()),
    }
}

fn submission_command(args: SubmissionArgs) -> ExitCode {
    match submission::run(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => failed(&error.into()),
    }
}

fn run_command(args: &RunArgs) -> ExitCode {
    let options = RunOptions {
        file: args.file.clone(),
        local: args.input.options(),
        results: args.results.clone(),
        no_results: args.no_results,
        threads: args.threads.map(usize::from),
        gate: args.gate,
        status_port: args.status_port,
        termination_log: args.termination_log.clone(),
        plain: args.plain,
    };
    ExitCode::from(run::run(&options))
}

fn sut_command(args: &SutArgs) -> ExitCode {
    let options = SutOptions {
        file: args.file.clone(),
        local: args.input.options(),
        max_in_flight: args.max_in_flight,
        first_tokens: args.first_tokens,
    };
    ExitCode::from(sut::run(&options))
}

fn render(args: &RenderArgs) -> anyhow::Result<()> {
    let mut input = input::from_file(&args.file, &args.input.options())?;
    // A file that is not here may lie where the run will be, so that none is an error.
    match trace_file::of(&input.workload) {
        Ok(traces) => input.notices.extend(traces.notices),
        Err(error) => console::say(format_args!("note: {error}")),
    }
    if let RequestSource::DataSet(set) = &input.workload.requests
        && let Err(error) = user_file::open(&set.path)
    {
        console::say(format_args!("note: cannot read the data set {}: {error}", set.path.display()));
    }
    for notice in &input.notices {
        console::say(format_args!("note: {}: {}", notice.path, notice.message));
    }
    let text = if args.workload { serde_json::to_string_pretty(&input.workload)? + "\n" } else { input.profile_text };
    Ok(console::print(text)?)
}

fn plan_command(args: &PlanArgs) -> anyhow::Result<()> {
    let input = input::from_file(&args.file, &args.input.options())?;
    for notice in &input.notices {
        console::say(format_args!("note: {}: {}", notice.path, notice.message));
    }
    let Some(loadgen) = &input.workload.loadgen else {
        anyhow::bail!(
            "the profile is one of spec.harness {}, which has no LoadGen tests to plan; `benchwright render --workload` \
             prints what it means",
            input.run.harness.name()
        );
    };
    let plan = plan::plan(loadgen, args.queries)?;
    if let Some(message) = plan.past(input.run.run_deadline.0) {
        console::say(format_args!("note: {}: {message}", plan::DEADLINE));
    }
    // It may lie where the run will be, and not here.
    if let Err(error) = data_set::of(&input.workload) {
        console::say(format_args!("note: {error}"));
    }
    Ok(console::print_with(|out| match args.json {
        true => {
            serde_json::to_writer(&mut *out, &plan)?;
            writeln!(out)
        }
        false => write!(out, "{plan}"),
    })?)
}

fn show(args: &ShowArgs) -> anyhow::Result<()> {
    let path = args.folder.join(&args.file);
    let mut file = user_file::open(&path).map_err(|error| {
        let folder = args.folder.display();
        anyhow::anyhow!("cannot read {}: {error}; the files of a finished run lie in {folder}", path.display())
    })?;
    Ok(console::print_with(|mut out| io::copy(&mut file, &mut out).map(drop))?)
}
