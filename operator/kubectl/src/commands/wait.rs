//! `wait`: follows an existing run.

use clap::Args;

use super::FollowArgs;
use crate::{connection::Connection, failure::Failure};

#[derive(Args)]
#[command(after_help = "Examples:
  kubectl benchwright wait first-run --timeout 45m")]
pub(crate) struct WaitArgs {
    /// The run
    name: String,
    #[command(flatten)]
    follow: FollowArgs,
}

pub(crate) async fn run(args: &WaitArgs, connection: &Connection) -> Result<u8, Failure> {
    let deadline = args.follow.begin()?;
    args.follow.follow(connection, &args.name, None, &deadline).await
}
