//! `kubectl benchwright`: parses the arguments, runs one command, and returns its exit code. kubectl finds it as a plugin: a program on the PATH with
//! a name that begins with `kubectl-`.

mod commands;
mod connection;
mod console;
mod copy;
mod deadline;
mod doctor;
mod failure;
mod follow;
#[cfg(test)]
mod help;
mod junit_file;
#[cfg(test)]
mod reference;
mod run_file;
mod server;
mod table;
mod time_limit;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use commands::{
    compare, doctor as doctor_command, gate, logs, modelservice, release, rerun, results, run, status, wait,
};
use connection::ConnectionArgs;
use failure::Failure;

/// Start runs of the operator in a cluster, follow them, and judge them
///
/// Exit codes of run, rerun, wait and gate: 0 passed, 1 objective missed, 2 invalid or inconclusive, 3 error, 4 cancelled, 124 not finished in time.
/// Exit code for an invalid flag: 10.
#[derive(Parser)]
#[command(
    name = "kubectl benchwright",
    bin_name = "kubectl benchwright",
    version,
    max_term_width = 110,
    after_help = "Examples:
  kubectl benchwright doctor
  kubectl benchwright run benchmarkrun.yaml --timeout 45m
  kubectl benchwright results first-run results/first-run"
)]
struct Cli {
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Create the run in a file, follow it, and print its figures
    Run(run::RunArgs),
    /// Run the spec of an earlier run again, under another name
    ///
    /// Creates the run, follows it, and prints its figures.
    Rerun(rerun::RerunArgs),
    /// Wait for the end of a run, and print its figures
    Wait(wait::WaitArgs),
    /// Print the verdict on a finished run, and return its exit code
    Gate(gate::GateArgs),
    /// Print the state of a run, and of the server started for it
    Status(status::StatusArgs),
    /// Print the log of a run's launcher
    Logs(logs::LogsArgs),
    /// Copy the results folder of a run to this machine
    Results(results::ResultsArgs),
    /// Find which differences between runs are significant
    ///
    /// Compares each run with the first, with confidence intervals.
    Compare(compare::CompareArgs),
    /// Cancel the runs that occupy a target
    ///
    /// The next run can then start.
    Release(release::ReleaseArgs),
    /// Print the input of llm-d's charts for the run in a file
    ///
    /// The run must have target.server.method ModelService. The command needs no cluster.
    Modelservice(modelservice::ModelserviceArgs),
    /// Check cluster, operator, storage and rights
    ///
    /// The exit code is 1 if something that runs need is missing.
    Doctor(doctor_command::DoctorArgs),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // clap exits with 2, but 2 means an invalid run here.
        Err(error) => {
            let code = if error.use_stderr() { crds::ExitCode::Configuration.code() } else { 0 };
            // The reader of the pipe may be gone. The exit code does not change.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(execute(cli)),
        Err(error) => Err(Failure::error(format!("the system refused resources that every process needs: {error}"))),
    };
    let code = done.unwrap_or_else(|failure| {
        console::say(format_args!("kubectl benchwright: {failure}"));
        failure.code
    });
    ExitCode::from(code)
}

async fn execute(cli: Cli) -> Result<u8, Failure> {
    let connection = &cli.connection;
    match cli.command {
        Command::Run(args) => run::run(&args, connection).await,
        Command::Rerun(args) => rerun::run(&args, &connection.connect().await?).await,
        Command::Wait(args) => wait::run(&args, &connection.connect().await?).await,
        Command::Gate(args) => gate::run(&args, &connection.connect().await?).await,
        Command::Status(args) => status::run(&args, &connection.connect().await?).await,
        Command::Release(args) => release::run(&args, &connection.connect().await?).await,
        Command::Logs(args) => logs::run(&args, &connection.connect().await?).await,
        Command::Doctor(args) => doctor_command::run(&args, &connection.connect().await?).await,
        Command::Modelservice(args) => modelservice::run(&args, connection),
        Command::Compare(args) => Ok(compare::run(&args, connection).await),
        Command::Results(args) => results::run(&args, &connection.connect().await?).await,
    }
}
