//! `results`: the results folder of a run, on this machine.

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
    /// A run that has ended
    name: String,
    /// The folder for the run's files; new or empty
    dir: PathBuf,
    #[command(flatten)]
    copy: CopyArgs,
}

/// How files are copied.
#[derive(Args, Clone, Debug)]
pub(crate) struct CopyArgs {
    /// How long the copy may take, the start of its pod included; then the exit code is 124, and nothing is kept
    #[arg(long, value_name = "TIME", default_value = "30m")]
    pub(crate) timeout: Span,
    /// The image with `benchwright archive` [default: the launcher's]
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// Accept files that differ from the files that the launcher stored, such as a rewritten page
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
