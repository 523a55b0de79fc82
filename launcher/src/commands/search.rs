//! `benchwright search`: the highest load at which all objectives hold.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use crds::benchmark_run::{Objective, SearchOver, SearchRecovery};
use launcher::{
    input::{LocalOptions, RunSource, SearchOptions},
    run::{self, RunOptions},
};

use super::{init::objectives, input_args::InputArgs};

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright search -U http://server:8000 --slo ttft.p99<=500ms,tpot.p90<=40ms
  benchwright search -f benchmarkrun.yaml --budget 20m --at-least 12 --gate
  benchwright search --simulator --slo latency.p90<=2s --over concurrency --budget 10m
  benchwright search --resume results/20260102T030405Z-chat.partial")]
pub(crate) struct SearchArgs {
    #[command(flatten)]
    input: InputArgs,
    /// The objectives to hold, in place of spec.slo.objectives, such as ttft.p99<=500ms,errorRatio<=0.01
    #[arg(long, value_name = "OBJECTIVES", value_delimiter = ',', value_parser = objectives::parse)]
    slo: Vec<Objective>,
    /// What varies [default: the kind of load of the profile]
    #[arg(long, value_name = "KIND")]
    over: Option<OverArg>,
    /// The time limit for all trials, such as 20m [default: 20m; 40m with an objective on p99 or above]
    #[arg(long, value_name = "TIME")]
    budget: Option<crds::units::Span>,
    /// The probability, at most, that the answer is above the capacity [default: 0.05]
    #[arg(long, value_name = "SHARE")]
    risk: Option<f64>,
    /// The load of the first trial: requests per second, or users [default: 1]
    #[arg(long, value_name = "LOAD")]
    first: Option<f64>,
    /// The highest load to try
    #[arg(long, value_name = "LOAD")]
    highest: Option<f64>,
    /// The load that the answer must reach; with --gate, a lower answer exits with 1
    #[arg(long, value_name = "LOAD")]
    at_least: Option<f64>,
    /// What to require of the server after an overload [default: required]
    #[arg(long, value_name = "RULE")]
    recovery: Option<RecoveryArg>,
    /// Continue an earlier search that was killed or stopped, within its remaining time. All settings must be the same; without -f, -U
    /// and --simulator, the run is read from that folder
    #[arg(long, value_name = "FOLDER", help_heading = "Results")]
    resume: Option<PathBuf>,
    /// Each run creates its own folder in this folder [default: results]
    #[arg(long, value_name = "DIR", help_heading = "Results")]
    results: Option<PathBuf>,
    /// Write no results folder
    #[arg(long, conflicts_with = "results", help_heading = "Results")]
    no_results: bool,
    /// Return the outcome as exit code: 0 an answer that is high enough, 1 too low, 2 no answer or invalid, 3 error, 4 cancelled
    #[arg(long, help_heading = "Results")]
    gate: bool,
    /// Number of threads that issue the load [default: one for each core, at most 8; one fewer with an embedded simulator]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Print progress as lines in place of a bar
    #[arg(long, help_heading = "Results")]
    plain: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum OverArg {
    /// Requests per second of an open loop
    Rate,
    /// Users of a closed loop, each with one request in flight
    Concurrency,
}

#[derive(Clone, Copy, ValueEnum)]
enum RecoveryArg {
    /// The answer is a load to which the server returns from an overload
    Required,
    /// The report shows whether the server returns to the answer
    Reported,
    /// No overload at the end
    Off,
}

pub(crate) fn run(args: &SearchArgs) -> u8 {
    let search = SearchOptions {
        objectives: args.slo.clone(),
        over: args.over.map(|it| match it {
            OverArg::Rate => SearchOver::Rate,
            OverArg::Concurrency => SearchOver::Concurrency,
        }),
        budget: args.budget,
        risk: args.risk,
        first: args.first,
        highest: args.highest,
        at_least: args.at_least,
        recovery: args.recovery.map(|it| match it {
            RecoveryArg::Required => SearchRecovery::Required,
            RecoveryArg::Reported => SearchRecovery::Reported,
            RecoveryArg::Off => SearchRecovery::Off,
        }),
        resume: args.resume.clone(),
    };
    let resumed = args.resume.as_ref().map(|it| RunSource::File(run::file_of_folder(it)));
    let options = RunOptions {
        // Without a target, the error names the missing argument. Otherwise the command would read the files that the operator mounts in a pod.
        source: args.input.source().or(resumed).or(Some(RunSource::NoTarget { model: None })),
        input: None,
        local: LocalOptions { search: Some(search), ..args.input.options() },
        results: args.results.clone(),
        folder: None,
        no_results: args.no_results,
        now: false,
        threads: args.threads.map(usize::from),
        gate: args.gate,
        baseline: None,
        status_port: None,
        termination_log: None,
        plain: args.plain,
        commit: crate::commit::COMMIT,
    };
    run::run(&options)
}
