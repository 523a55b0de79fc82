//! `benchwright server`: manages a model server for several runs.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use launcher::run::servers;

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright server start -f benchmarkrun.yaml
  benchwright server stop --all")]
pub(crate) struct ServerArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Start the server of a BenchmarkRun file, wait until it is ready, and leave it running; runs with lifecycle Reuse use it
    Start {
        /// The BenchmarkRun file with spec.target.server
        #[arg(short, long, value_name = "FILE")]
        file: PathBuf,
    },
    /// End servers, and report what is left of them: the server of a file, one by name, or all
    Stop {
        /// The BenchmarkRun file that started the server; a file that was changed since then belongs to another server
        #[arg(short, long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// The server's name, as `benchwright server status` lists it
        #[arg(value_name = "NAME", conflicts_with = "file")]
        name: Option<String>,
        /// End all servers of this user except those that a run started for itself
        #[arg(long, conflicts_with_all = ["file", "name"], required_unless_present_any = ["file", "name"])]
        all: bool,
        /// With --all: also end servers that runs started for themselves, which ends those runs
        #[arg(long, requires = "all")]
        force: bool,
    },
    /// List the servers of this user; exit status 1 if there is none
    Status {
        /// List only the server of this BenchmarkRun file
        #[arg(short, long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

/// Returns the exit code: 1 if a process of a server is left, or no server was found.
pub(crate) fn run(args: ServerArgs) -> anyhow::Result<u8> {
    let done = match args.action {
        Action::Start { file } => return servers::start(&file),
        Action::Stop { file, name, force, .. } => servers::stop(file.as_deref(), name.as_deref(), force),
        Action::Status { file } => servers::status(file.as_deref()),
    };
    done.map(|it| u8::from(!it))
}
