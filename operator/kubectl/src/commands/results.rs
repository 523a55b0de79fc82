//! `results`: copies the results folder of a run to this machine.

use std::path::PathBuf;

use clap::Args;
use crds::units::Span;

use super::get;
use crate::{
    connection::Connection,
    console::say,
    copy::{self, Partial, Source},
    deadline::Deadline,
    failure::Failure,
};

#[derive(Args)]
#[command(after_help = "Examples:
  kubectl benchwright results first-run results/first-run")]
pub(crate) struct ResultsArgs {
    /// A finished run
    name: String,
    /// The folder for the copied files; it must be absent or empty
    dir: PathBuf,
    #[command(flatten)]
    copy: CopyArgs,
}

/// Flags of the commands that copy files.
#[derive(Args, Clone, Debug)]
pub(crate) struct CopyArgs {
    /// Maximum time for the copy and the start of its pod; then the exit code is 124, and nothing is kept
    #[arg(long, value_name = "TIME", default_value = "30m")]
    pub(crate) timeout: Span,
    /// The image that contains `benchwright archive` [default: the launcher's image]
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// Accept files that differ from the files that the launcher stored, such as an edited page
    #[arg(long)]
    pub(crate) unverified: bool,
}

pub(crate) async fn run(args: &ResultsArgs, connection: &Connection) -> Result<u8, Failure> {
    let deadline = Deadline::after(Some(args.copy.timeout.0));
    let run = get(connection, &args.name).await?;
    let source = Source::from_run(&run, &connection.namespace, args.copy.image.as_deref())?;
    let folder = Partial::beside(&args.dir)?;
    let (folder, received) = copy::copy(connection, &source, &[], folder, &deadline).await?;
    if !args.copy.unverified {
        copy::compare(&source, &received, &[])?;
    }
    folder.keep()?;
    let bytes = received.iter().map(|it| it.bytes).sum();
    say(format_args!("{} files, {}, in {}", received.len(), copy::size(bytes), args.dir.display()));
    Ok(0)
}
