//! `benchwright run`: a benchmark from start to report.

use std::path::PathBuf;

use clap::Args;
use crds::{benchmark_run::MAX_REPEATS, resolve::STATUS_PORT};
use launcher::{
    input::LocalOptions,
    run::{self, RunOptions},
};

use super::input_args::InputArgs;

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright run -f benchmarkrun.yaml
  benchwright run --simulator -w sanity_random --gate
  benchwright run -U http://server:8000 -l benchwright -w concurrency_ramp --variable isl=512")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    input: InputArgs,
    /// The folder that contains run.yaml, spec.yaml and profile.yaml as the operator writes them; for tests
    #[arg(long, value_name = "DIR", hide = true, conflicts_with_all = ["file", "url", "simulator", "profile"])]
    mounted: Option<PathBuf>,
    /// Each run creates its own folder in this folder [default: results, in a pod /results]
    #[arg(long, value_name = "DIR", help_heading = "Results")]
    results: Option<PathBuf>,
    /// The name of this run's results folder below --results; `sweep` starts its runs with this flag
    #[arg(long, value_name = "NAME", hide = true, requires = "results")]
    folder: Option<String>,
    /// Write no results folder
    #[arg(long, conflicts_with = "results", help_heading = "Results")]
    no_results: bool,
    /// In the pod of a run with spec.launcher.debug: send the load by hand, while the launcher waits; may be repeated
    #[arg(long, conflicts_with_all = ["file", "url", "simulator", "profile"], help_heading = "In a pod")]
    now: bool,
    /// Number of threads that issue the load [default: one for each core, at most 8; one fewer with an embedded simulator]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Return the outcome as exit code, for a pipeline: 0 passed, 1 an objective missed, 2 invalid or inconclusive, 3 error, 4 cancelled
    #[arg(long, help_heading = "Results")]
    gate: bool,
    /// Compare the objectives of spec.slo with an earlier run: its report.json, or its results folder
    #[arg(long, value_name = "PATH", help_heading = "Results")]
    baseline: Option<PathBuf>,
    #[arg(
        long,
        value_name = "PORT",
        help = format!("Answer on this port: /ready, with status 200 during the load, and /metrics, its progress for Prometheus [in a pod: {STATUS_PORT}]"),
        help_heading = "In a pod"
    )]
    status_port: Option<u16>,
    /// Write the result for the operator to this file [in a pod: /dev/termination-log]
    #[arg(long, value_name = "FILE", help_heading = "In a pod")]
    termination_log: Option<PathBuf>,
    /// Run the load COUNT times, one run after the other, with other prompts each time, and report the spread between the runs; in
    /// place of spec.repeat
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_REPEATS)))]
    repeat: Option<u32>,
    /// Print progress as lines in place of a bar
    #[arg(long, help_heading = "Results")]
    plain: bool,
}

pub(crate) fn run(args: &RunArgs) -> u8 {
    let options = RunOptions {
        source: args.input.source(),
        input: args.mounted.clone(),
        local: LocalOptions { repeat: args.repeat, ..args.input.options() },
        results: args.results.clone(),
        folder: args.folder.clone(),
        no_results: args.no_results,
        now: args.now,
        threads: args.threads.map(usize::from),
        gate: args.gate,
        baseline: args.baseline.clone(),
        status_port: args.status_port,
        termination_log: args.termination_log.clone(),
        plain: args.plain,
        commit: crate::commit::COMMIT,
    };
    run::run(&options)
}
