//! `benchwright server-wrapper` and `benchwright install-wrapper`: the first process of a server's container in a cluster, and its installation. The
//! operator uses both in its pods.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use managed_server::wrapper::{self, ReadyPath, WrapOrder};

#[derive(Args)]
pub(crate) struct WrapperArgs {
    /// The port on which the log and the traces can be read
    #[arg(long, value_name = "PORT")]
    log_port: u16,
    /// The file that keeps the log, in a folder that exists
    #[arg(long, value_name = "FILE")]
    log: PathBuf,
    /// The folder of the traces that a profiler writes
    #[arg(long, value_name = "FOLDER")]
    traces: Option<PathBuf>,
    /// Probe the server on its own port, given here, until it is ready
    #[arg(long, value_name = "PORT", requires = "ready_path")]
    ready_port: Option<u16>,
    /// The path that the server answers with 200 when it is ready
    #[arg(long, value_name = "PATH", requires = "ready_port")]
    ready_path: Option<String>,
    /// The server: its program and arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Args)]
pub(crate) struct InstallArgs {
    /// The path of the copy, in a folder that exists
    path: PathBuf,
}

/// Runs the wrapper. Returns the server's exit status.
pub(crate) fn run(args: WrapperArgs) -> u8 {
    let WrapperArgs { log_port, log, traces, ready_port, ready_path, command } = args;
    let ready = ready_port.zip(ready_path).map(|(port, path)| ReadyPath { port, path });
    wrapper::wrap(WrapOrder { command, log, traces, port: log_port, ready })
}

pub(crate) fn install(args: &InstallArgs) -> anyhow::Result<()> {
    wrapper::install(&args.path)
        .with_context(|| format!("this program cannot be copied to {}; free space there", args.path.display()))
}
