//! `gate`: returns the exit code of a finished run.

use std::path::PathBuf;

use clap::Args;

use super::{TrustArgs, code, get};
use crate::{connection::Connection, console, failure::Failure, follow::message_of, table};

#[derive(Args)]
#[command(after_help = "Examples:
  kubectl benchwright gate first-run --junit junit.xml")]
pub(crate) struct GateArgs {
    /// A finished run
    name: String,
    /// Write validity and objectives as JUnit XML, which CI systems display
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustArgs,
}

pub(crate) async fn run(args: &GateArgs, connection: &Connection) -> Result<u8, Failure> {
    let run = get(connection, &args.name).await?;
    if !run.is_finished() {
        let phase = run.status.as_ref().and_then(|it| it.phase);
        let message = message_of(&run);
        let state = match phase {
            Some(phase) => phase.name(),
            None if message.is_empty() => "without a phase",
            None => &message,
        };
        return Err(Failure::error(format!(
            "{0} has not ended: {state}; `kubectl benchwright wait {0} -n {1}` waits for its end and has the same exit codes",
            args.name, connection.namespace
        )));
    }
    console::print(table::verdict(&run));
    Ok(code(&run, args.trust, args.junit.as_deref()))
}
