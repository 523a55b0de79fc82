//! [I/O] `benchwright bench`: measures the engine, or says whether a machine is big enough for a load.

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
    run,
};

/// Measure the engine itself: its CPU time, its errors, its lag, its memory
#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    /// Measure these groups alone; may be given several times
    #[arg(long, value_name = "GROUP")]
    only: Vec<Group>,
    /// Small loads: whether it works, not how well
    #[arg(long)]
    quick: bool,
    /// Measure everything so often, and tell medians and spread
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// Run each side of a comparison so often in each run, in turn
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeats: u32,
    /// Write all figures into this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write all figures into this file, as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Measure nothing of this, but say whether this machine, or pod, is big enough for the load of a BenchmarkRun: tries
    /// its hardest stage for a few seconds against a server on loopback, and exits with 0 for yes, and with 1 for no or
    /// where lateness could not be judged
    #[arg(long = "for", value_name = "FILE", conflicts_with_all = ["only", "quick", "runs", "repeats", "json", "markdown"])]
    run: Option<PathBuf>,
    /// With --for: a profile's file, in place of the profile that the BenchmarkRun names
    #[arg(long, value_name = "FILE", requires = "run")]
    profile: Option<PathBuf>,
    /// With --for: sets a value in the rendered profile, such as load.stages.0.rate=5; may be given several times
    #[arg(short = 'o', long = "override", value_name = "PATH=VALUE", requires = "run")]
    overrides: Vec<String>,
    /// With --for: the time between two tokens of the server that is expected
    #[arg(long, value_name = "DURATION", default_value = "5ms", requires = "run")]
    itl: Span,
    /// With --for: the time to the first token of the server that is expected
    #[arg(long, value_name = "DURATION", default_value = "50ms", requires = "run")]
    ttft: Span,
}

/// The hidden command of a child.
#[derive(Args, Debug)]
pub(crate) struct PartArgs {
    /// What to do, as JSON
    part: String,
}

/// Measures, or answers whether a load fits. Whether all is well: `false` for a load that is not known to fit.
///
/// # Errors
/// A part of it could not be run, or a file could not be written.
pub(crate) fn run(args: BenchArgs) -> anyhow::Result<bool> {
    let Some(file) = &args.run else {
        let options = BenchOptions {
            groups: args.only,
            quick: args.quick,
            runs: args.runs,
            repeats: args.repeats,
            json: args.json,
            markdown: args.markdown,
        };
        console::print(bench::measure(&options)?)?;
        return Ok(true);
    };
    // Credentials are the target's, which is not called here.
    let unused = Some(PathBuf::from("unused"));
    let options =
        LocalOptions { profile: args.profile, overrides: args.overrides, token_file: unused.clone(), ca_file: unused };
    let report = capacity::ask(capacity::Question {
        input: run_input(input::from_file(file, &options)?),
        pace: Pace { ttft: args.ttft.0, itl: args.itl.0 },
        threads: run::default_threads(),
    })?;
    console::print(report.text)?;
    Ok(report.fits)
}

/// Does the part of a child of the bench, and prints what came of it.
///
/// # Errors
/// It could not be done; the parent is told nothing then.
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
