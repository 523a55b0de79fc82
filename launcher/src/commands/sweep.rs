//! `benchwright sweep`: runs a template with every combination of some settings, and compares them.

use std::path::PathBuf;

use clap::Args;
use launcher::{
    input::LocalOptions,
    sweep::{self, SweepOptions, SweepSource},
};

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright sweep -f sweep.yaml --plan
  benchwright sweep -f sweep.yaml
  benchwright sweep --resume results/latest")]
pub(crate) struct SweepArgs {
    /// A BenchmarkSweep file
    #[arg(short, long, value_name = "FILE", required_unless_present = "resume", conflicts_with = "resume")]
    file: Option<PathBuf>,
    /// Continue an interrupted sweep in its folder; runs with valid figures are not repeated
    #[arg(long, value_name = "FOLDER")]
    resume: Option<PathBuf>,
    /// Check every run, print the number of runs and their duration, and send nothing
    #[arg(long)]
    plan: bool,
    /// Read the bearer token of the target from this file
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    token_file: Option<PathBuf>,
    /// Read further certificate authorities from this file, PEM-encoded
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    ca_file: Option<PathBuf>,
    /// Number of threads that issue the load [default: one for each core, at most 8; one fewer with an embedded simulator]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// The sweep creates its own folder in this folder
    #[arg(long, value_name = "DIR", default_value = "results", conflicts_with = "resume", help_heading = "Results")]
    results: PathBuf,
    /// Return the answer as exit code: 0 no cell is worse than its baseline, 1 a cell is worse, 2 undecided or incomplete, 3 error, 4 cancelled
    #[arg(long, help_heading = "Results")]
    gate: bool,
    /// Print progress as lines in place of a bar
    #[arg(long, help_heading = "Results")]
    plain: bool,
}

/// The exit code of an error with `--gate`.
const GATE_ERROR: u8 = 3;

pub(crate) fn run(args: &SweepArgs) -> anyhow::Result<u8> {
    let source = match (&args.file, &args.resume) {
        (Some(file), _) => SweepSource::File(file.clone()),
        (None, Some(folder)) => SweepSource::Resumed(folder.clone()),
        (None, None) => anyhow::bail!("nothing to run is given; give a BenchmarkSweep with -f FILE"),
    };
    let named = |flag: &str, value: String| [flag.to_owned(), value];
    // Absolute, because a sweep may be resumed from another folder.
    let absolute =
        |path: &Option<PathBuf>| path.as_ref().map(|it| std::path::absolute(it).unwrap_or_else(|_| it.clone()));
    let (token_file, ca_file) = (absolute(&args.token_file), absolute(&args.ca_file));
    let file = |flag: &str, path: &Option<PathBuf>| path.as_ref().map(|it| named(flag, it.display().to_string()));
    let threads = args.threads.map(|it| named("--threads", it.to_string()));
    let valued = [file("--token-file", &token_file), file("--ca-file", &ca_file), threads];
    let plain = args.plain.then(|| "--plain".to_owned());
    let options = SweepOptions {
        source,
        results: args.results.clone(),
        plan: args.plan,
        gate: args.gate,
        arguments: valued.into_iter().flatten().flatten().chain(plain).collect(),
        local: LocalOptions { token_file, ca_file, ..LocalOptions::default() },
    };
    match sweep::run(&options) {
        Err(error) if args.gate => {
            launcher::console::print_error(format_args!("{error:#}"));
            Ok(GATE_ERROR)
        }
        done => done,
    }
}
