//! `benchwright-bench`: parses the command line, measures, and prints the table.

#![warn(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic when the reader has closed the pipe; use launcher::console"
)]

use std::{io, path::PathBuf, process::ExitCode};

use bench::{BenchOptions, Group};
use clap::{Parser, Subcommand};
use crds::wording::with_causes;
use launcher::console;

/// Measures the launcher itself: CPU time compared with a bare HTTP client, errors of its times, send lag and memory
#[derive(Parser)]
#[command(name = "benchwright-bench", args_conflicts_with_subcommands = true, max_term_width = 110)]
struct Cli {
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
    /// Measure prompts with this tokenizer.json instead of a small built-in tokenizer
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<PathBuf>,
    /// Measure the start and the size of this launcher; by default, of `benchwright` in the folder of this program
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Write all figures to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write all figures to this file as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    #[command(subcommand)]
    part: Option<PartCommand>,
}

#[derive(Subcommand)]
enum PartCommand {
    /// Do the work of a child process
    #[command(hide = true)]
    BenchPart {
        /// The work, as JSON
        part: String,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    tracing_subscriber::fmt().with_max_level(tracing::Level::INFO).with_writer(io::stderr).with_target(false).init();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::say(format_args!("benchwright-bench: {}", with_causes(error.as_ref())));
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<()> {
    let text = match cli.part {
        Some(PartCommand::BenchPart { part }) => bench::run_part(&part)?,
        None => bench::measure(&BenchOptions {
            groups: cli.only,
            quick: cli.quick,
            runs: cli.runs,
            repeats: cli.repeats,
            tokenizer: cli.tokenizer,
            program: cli.program,
            json: cli.json,
            markdown: cli.markdown,
        })?,
    };
    Ok(console::print(text)?)
}
