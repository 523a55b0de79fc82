//! [I/O] `benchwright submission`: builds or checks the tree of a submission to MLPerf Inference.

use std::{io, path::PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use crds::wording::one_line;
use workload_profiles::loadgen::Round;

use files::write_whole;
use launcher::console::{self, PrintError};
use loadgen::logs::test06::ElementType;
use submission::{
    Division, Report,
    build::{self, BuildError, BuildOptions, ScenarioFile},
    check::{self, CheckError},
    render,
    test06::{self, Test06Error},
};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  benchwright submission --out tree --submitter Us --system h100.json results/offline results/server
  benchwright submission check tree")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct SubmissionArgs {
    #[command(subcommand)]
    command: Option<SubmissionCommand>,
    #[command(flatten)]
    build: Option<BuildArgs>,
}

#[derive(Subcommand, Debug)]
enum SubmissionCommand {
    /// Check a tree more strictly than MLPerf's own checker does; exit status 1: there are findings
    Check(CheckArgs),
    /// Apply TEST06 to a run with that audit, and write verify_accuracy.txt beside its logs; exit status 1: the test fails
    Test06(Test06Args),
}

#[derive(Args, Debug)]
struct BuildArgs {
    /// Write the tree to this folder, which must not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The organisation that submits
    #[arg(long, value_name = "NAME")]
    submitter: String,
    /// The JSON description of the system; the system is named like the file, without .json
    #[arg(long, value_name = "FILE")]
    system: PathBuf,
    /// The division of the submission
    #[arg(long, value_enum, default_value_t = Division::Closed)]
    division: Division,
    /// The round of MLPerf Inference: v6.1, v6.0 or v5.1
    #[arg(long, value_name = "ROUND", default_value = "v6.1", value_parser = round)]
    round: Round,
    /// The benchmark, if the logs do not name it: llama3.1-8b, for example, or llama2-70b-99 in place of llama2-70b-99.9
    #[arg(long, value_name = "NAME")]
    benchmark: Option<String>,
    /// The output of the evaluation script; with several scenarios write SCENARIO= or BENCHMARK/SCENARIO= before the file
    #[arg(long, value_name = "[SCENARIO=]FILE")]
    accuracy: Vec<ScenarioFile>,
    /// A measurements.json for all scenarios, or for the scenario that is written before the file
    #[arg(long, value_name = "[SCENARIO=]FILE")]
    measurements: Vec<ScenarioFile>,
    /// A text that describes how the weights were quantised, or states that they were not
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// The id of the end-of-sequence token, where it differs from the benchmark's
    #[arg(long, value_name = "ID")]
    eos: Option<i64>,
    /// The data type of token ids in the logs, for TEST06
    #[arg(long, value_enum, default_value_t = Elements::Int32)]
    elements: Elements,
    /// All runs measured one system, although their target URLs differ
    #[arg(long)]
    same_system: bool,
    /// Write the tree even if something is missing or wrong, and mark it with INCOMPLETE.md
    #[arg(long)]
    incomplete: bool,
    /// Print the check of the tree as JSON
    #[arg(long)]
    json: bool,
    /// Results folders of LoadGen runs, or folders with logs of MLCommons' LoadGen
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
}

#[derive(Args, Debug)]
struct CheckArgs {
    /// The folder that contains closed, open or network
    folder: PathBuf,
    /// The round of MLPerf Inference: v6.1, v6.0 or v5.1
    #[arg(long, value_name = "ROUND", default_value = "v6.1", value_parser = round)]
    round: Round,
    /// Print the check as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
struct Test06Args {
    /// The results folder of a run with audit TEST06, or a folder with its logs
    run: PathBuf,
    /// The benchmark, if the logs do not name it
    #[arg(long, value_name = "NAME")]
    benchmark: Option<String>,
    /// The id of the end-of-sequence token, where it differs from the benchmark's
    #[arg(long, value_name = "ID")]
    eos: Option<i64>,
    /// The data type of token ids in the logs
    #[arg(long, value_enum, default_value_t = Elements::Int32)]
    elements: Elements,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Elements {
    Int64,
    Int32,
    Int16,
    Float32,
}

impl From<Elements> for ElementType {
    fn from(elements: Elements) -> Self {
        match elements {
            Elements::Int64 => ElementType::Int64,
            Elements::Int32 => ElementType::Int32,
            Elements::Int16 => ElementType::Int16,
            Elements::Float32 => ElementType::Float32,
        }
    }
}

fn round(text: &str) -> Result<Round, String> {
    Round::from_name(text).ok_or_else(|| "unknown round; use v6.1, v6.0, v5.1 or v5.0".into())
}

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Check(#[from] CheckError),
    #[error(transparent)]
    Test06(#[from] Test06Error),
    #[error("cannot write {path} ({source}); allow the user of this process to write there", path = path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Print(#[from] PrintError),
    #[error("no runs are given and no subcommand; see `benchwright submission --help`")]
    Nothing,
}

/// Runs the command. Returns `false` if there are findings about the tree or the test. They have been printed.
///
/// # Errors
/// The runs or the tree could not be read, or the tree could not be written.
pub(crate) fn run(args: SubmissionArgs) -> Result<bool, CommandError> {
    match (args.command, args.build) {
        (Some(SubmissionCommand::Check(args)), _) => {
            let report = check::check(&args.folder, args.round)?;
            print(&report, args.json)?;
            Ok(report.clean())
        }
        (Some(SubmissionCommand::Test06(args)), _) => test06_command(&args),
        (None, Some(args)) => build_command(args),
        (None, None) => Err(CommandError::Nothing),
    }
}

fn build_command(args: BuildArgs) -> Result<bool, CommandError> {
    let options = BuildOptions {
        out: args.out,
        submitter: args.submitter,
        system: args.system,
        division: args.division,
        round: args.round,
        benchmark: args.benchmark,
        accuracy: args.accuracy,
        measurements: args.measurements,
        calibration: args.calibration,
        end_of_sequence: args.eos,
        same_system: args.same_system,
        incomplete: args.incomplete,
        elements: args.elements.into(),
        runs: args.runs,
    };
    let built = build::build(&options)?;
    if let Some(report) = &built.report {
        print(report, args.json)?;
    }
    // stdout contains only the check, so notes and missing files are printed on stderr.
    built.notes.iter().for_each(|it| console::say(format_args!("note: {}", one_line(it))));
    built.missing.iter().for_each(|it| console::say(format_args!("missing: {it}")));
    match &built.path {
        Some(path) => console::say(format_args!("the tree is in {}", path.display())),
        None if options.incomplete => console::say("no tree was written: no run has a finished test"),
        None => console::say("no tree was written; --incomplete writes it anyway"),
    }
    Ok(built.missing.is_empty() && built.report.is_some_and(|it| it.clean()))
}

fn test06_command(args: &Test06Args) -> Result<bool, CommandError> {
    let (folder, found) = test06::verify_run(&args.run, args.benchmark.as_deref(), args.eos, args.elements.into())?;
    let text = found.text();
    let path = folder.join("verify_accuracy.txt");
    let written = write_whole(&path, |file| file.write_all(text.as_bytes()));
    written.map_err(|source| CommandError::Write { path, source })?;
    console::print(text)?;
    Ok(found.passes())
}

fn print(report: &Report, json: bool) -> Result<(), PrintError> {
    if !json {
        return console::print(render(report));
    }
    console::print_with(|out| {
        serde_json::to_writer_pretty(&mut *out, report)?;
        out.write_all(b"\n")
    })
}
