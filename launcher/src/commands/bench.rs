//! [I/O] `benchwright bench`: measures the engine, or finds whether a machine has the capacity for a load.

use std::{
    error::Error,
    path::{Path, PathBuf},
};

use bench::{BenchOptions, Group, Pace, RunInput, capacity};
use clap::Args;
use crds::units::Span;
use launcher::{
    console,
    input::{self, Input, LocalOptions},
    remote_files, run,
};

/// Measure the engine itself: its CPU time, timing errors, send lag and memory
#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    /// Measure only this group; may be given several times
    #[arg(long, value_name = "GROUP")]
    only: Vec<Group>,
    /// Use small loads, which show that the bench works; their figures do not count
    #[arg(long)]
    quick: bool,
    /// Measure everything COUNT times, and print medians and spread
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// Run each side of a comparison COUNT times in each run, in turn
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeats: u32,
    /// Measure prompts with this tokenizer.json in place of a small one that is built in
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<PathBuf>,
    /// Write all figures to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write all figures to this file as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Do not measure the engine; find whether this machine or pod has the capacity for the load of a BenchmarkRun. Runs
    /// its hardest stage for a few seconds against a server on loopback. Exit status 0: yes; 1: no, or lateness could not
    /// be judged
    #[arg(long = "for", value_name = "FILE", conflicts_with_all = ["only", "quick", "runs", "repeats", "tokenizer", "json", "markdown"])]
    run: Option<PathBuf>,
    /// With --for: use this profile file in place of the profile that the BenchmarkRun names
    #[arg(long, value_name = "FILE", requires = "run")]
    profile: Option<PathBuf>,
    /// With --for: set a value in the rendered profile, such as load.stages.0.rate=5; may be given several times
    #[arg(short = 'o', long = "override", value_name = "PATH=VALUE", requires = "run")]
    overrides: Vec<String>,
    /// With --for: the time between two tokens that you expect of the server
    #[arg(long, value_name = "DURATION", default_value = "5ms", requires = "run")]
    itl: Span,
    /// With --for: the time to the first token that you expect of the server
    #[arg(long, value_name = "DURATION", default_value = "50ms", requires = "run")]
    ttft: Span,
}

/// The hidden command of a child process.
#[derive(Args, Debug)]
pub(crate) struct PartArgs {
    /// The part, as JSON
    part: String,
}

/// Measures the engine, or finds whether a load fits. `false`: the load does not fit, or that is not known.
///
/// # Errors
/// A part of the bench could not be run, or a file could not be written.
pub(crate) fn run(args: BenchArgs) -> anyhow::Result<bool> {
    let Some(file) = &args.run else {
        let options = BenchOptions {
            groups: args.only,
            quick: args.quick,
            runs: args.runs,
            repeats: args.repeats,
            tokenizer: args.tokenizer,
            json: args.json,
            markdown: args.markdown,
        };
        console::print(bench::measure(&options)?)?;
        return Ok(true);
    };
    // The target is not called, so that its credentials are not read.
    let unused = Some(PathBuf::from("unused"));
    let options = LocalOptions {
        profile: args.profile.map(|it| it.to_string_lossy().into_owned()),
        overrides: args.overrides,
        token_file: unused.clone(),
        ca_file: unused,
        ..LocalOptions::default()
    };
    let input = run_input(input::from_file(file, &options)?);
    let report = capacity::ask(capacity::Question {
        input: RunInput { workload: remote_files::resolve(input.workload)?, ..input },
        pace: Pace { ttft: args.ttft.0, itl: args.itl.0 },
        threads: run::default_threads(),
    })?;
    console::print(report.text)?;
    Ok(report.fits)
}

/// Does the part of a child process, and prints its result for the parent.
///
/// # Errors
/// The part failed. Nothing is printed then.
pub(crate) fn run_part(args: &PartArgs) -> anyhow::Result<()> {
    Ok(console::print(bench::run_part(&args.part, read_run)?)?)
}

fn read_run(file: &Path) -> Result<RunInput, Box<dyn Error + Send + Sync>> {
    Ok(run_input(input::from_file(file, &LocalOptions::default())?))
}

fn run_input(input: Input) -> RunInput {
    let Input { run, spec, profile_text, workload, notices, .. } = input;
    RunInput { run, spec, profile_text, workload, notices }
}
