//! [I/O] `run`: creates the run of a file, and follows it.

use std::{
    io::{self, Read as _},
    path::PathBuf,
};

use clap::Args;
use kube::ResourceExt as _;

use super::{FollowArgs, create};
use crate::{
    connection::{Connection, ConnectionArgs},
    console,
    deadline::Deadline,
    failure::Failure,
    run_file,
};

/// The largest file: the API server stores no larger object.
const MAX_FILE: u64 = 1_572_864;

#[derive(Args)]
pub(crate) struct RunArgs {
    /// The file with the BenchmarkRun; - for stdin
    file: PathBuf,
    /// Print the name of the run, and do not wait for its end
    #[arg(long, conflicts_with_all = ["timeout", "junit"])]
    no_wait: bool,
    #[command(flatten)]
    follow: FollowArgs,
}

pub(crate) async fn run(args: &RunArgs, connection: &ConnectionArgs) -> Result<u8, Failure> {
    let deadline = args.follow.begin()?;
    let path = args.file.display().to_string();
    let text = read(args).map_err(|it| Failure::error(format!("{path}: cannot be read: {it}; give a BenchmarkRun")))?;
    let file = run_file::parse(&path, &text).map_err(Failure::error)?;
    if let (Some(flag), Some(written)) = (&connection.namespace, &file.namespace)
        && flag != written
    {
        return Err(Failure::error(format!(
            "{path}: metadata.namespace is {written:?}, and -n is {flag:?}; take one of them out"
        )));
    }
    let connection = connection.connect().await?;
    let connection = Connection { namespace: file.namespace.unwrap_or(connection.namespace), ..connection };
    let run = deadline.bound(&connection.namespace, create(&connection, &file.object)).await?;
    finish(&connection, &run, args.no_wait, &args.follow, &deadline).await
}

/// Follows a run that was just created, unless only its name is asked for.
pub(super) async fn finish(
    connection: &Connection,
    run: &crds::BenchmarkRun,
    no_wait: bool,
    follow: &FollowArgs,
    deadline: &Deadline,
) -> Result<u8, Failure> {
    if no_wait {
        console::print(format_args!("{}\n", run.name_any()));
        return Ok(0);
    }
    follow.follow(connection, &run.name_any(), run.uid().as_deref(), deadline).await
}

fn read(args: &RunArgs) -> io::Result<String> {
    let mut text = String::new();
    let source: Box<dyn io::Read> = match args.file.to_str() {
        Some("-") => Box::new(io::stdin()),
        _ => Box::new(std::fs::File::open(&args.file)?),
    };
    let read = source.take(MAX_FILE + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_FILE {
        return Err(io::Error::other("it has more than 1.5 MiB, which the API server does not store"));
    }
    Ok(text)
}
