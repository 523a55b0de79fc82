//! `status`: prints the state of a run and of its server.

use clap::Args;

use super::get;
use crate::{connection::Connection, console, failure::Failure, follow::described, server, table};

#[derive(Args)]
#[command(after_help = "Examples:
  kubectl benchwright status first-run")]
pub(crate) struct StatusArgs {
    /// The run
    name: String,
}

pub(crate) async fn run(args: &StatusArgs, connection: &Connection) -> Result<u8, Failure> {
    let run = get(connection, &args.name).await?;
    if run.is_finished() {
        console::print(table::text(&run));
        return Ok(0);
    }
    let server = run.status.as_ref().and_then(|it| it.server.as_ref()).map(server::text);
    let parts = [Some(described(&run)), server].into_iter().flatten().collect::<Vec<_>>();
    console::print(parts.join("\n\n") + "\n");
    Ok(0)
}
