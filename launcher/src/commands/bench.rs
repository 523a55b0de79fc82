//! [I/O] `benchwright bench`: finds whether a machine has the capacity for a load.

use std::path::PathBuf;

use capacity::{Question, server::Pace};
use clap::Args;
use crds::units::Span;
use launcher::{
    console,
    input::{self, LocalOptions},
    remote_files, run,
};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  benchwright bench --for benchmarkrun.yaml
  benchwright bench --for benchmarkrun.yaml --ttft 200ms --itl 10ms")]
pub(crate) struct BenchArgs {
    /// Run the hardest stage of this BenchmarkRun for a few seconds against a server on loopback. Exit status 0: the machine
    /// has the capacity; 1: it does not, or lateness could not be judged
    #[arg(long = "for", value_name = "FILE")]
    run: PathBuf,
    /// Use this profile file in place of the BenchmarkRun's profile
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Set a value in the rendered profile, such as load.stages.0.rate=5; may be given several times
    #[arg(short = 'o', long = "override", value_name = "PATH=VALUE")]
    overrides: Vec<String>,
    /// The expected time between two tokens of the server
    #[arg(long, value_name = "DURATION", default_value = "5ms", help_heading = "Expected server")]
    itl: Span,
    /// The server's expected time to the first token
    #[arg(long, value_name = "DURATION", default_value = "50ms", help_heading = "Expected server")]
    ttft: Span,
}

/// The hidden command of a child process.
#[derive(Args, Debug)]
pub(crate) struct PartArgs {
    /// The part, as JSON
    part: String,
}

/// Determines whether this machine can send the load of a run. Returns `false` if it cannot, or if the result is unknown.
///
/// # Errors
/// The run cannot be read, or the trial could not be run.
pub(crate) fn run(args: BenchArgs) -> anyhow::Result<bool> {
    // The target is not called, so its credential files are not read.
    let unused = Some(PathBuf::from("unused"));
    let options = LocalOptions {
        profile: args.profile.map(|it| it.to_string_lossy().into_owned()),
        overrides: args.overrides,
        token_file: unused.clone(),
        ca_file: unused,
        ..LocalOptions::default()
    };
    let input = input::from_file(&args.run, &options)?;
    let report = capacity::ask(Question {
        run: input.run,
        workload: remote_files::resolve(input.workload)?,
        pace: Pace { ttft: args.ttft.0, itl: args.itl.0 },
        threads: run::default_threads(),
    })?;
    console::print(report.text)?;
    Ok(report.fits)
}

/// Runs the part of the trial that belongs to a child process, and prints its result for the parent.
///
/// # Errors
/// The part failed. Nothing is printed in this case.
pub(crate) fn run_part(args: &PartArgs) -> anyhow::Result<()> {
    Ok(console::print(capacity::run_part(&args.part)?)?)
}
