//! [I/O] `run`: creates the run in a file, and follows it.

use std::{
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use clap::Args;
use crds::benchmark_run::is_object_name;
use kube::ResourceExt as _;

use super::{FollowArgs, create};
use crate::{
    connection::{Connection, ConnectionArgs},
    console,
    deadline::Deadline,
    failure::Failure,
    run_file::{self, RunFile},
};

/// Maximum size of a run file in bytes. The API server stores no larger object.
const MAX_FILE: u64 = 1_572_864;
/// Maximum length of the name of a namespace, in bytes.
const MAX_NAMESPACE: usize = 63;

#[derive(Args)]
#[command(after_help = "Examples:
  kubectl benchwright run benchmarkrun.yaml
  kubectl benchwright run benchmarkrun.yaml --timeout 45m --junit junit.xml")]
pub(crate) struct RunArgs {
    /// The file with the BenchmarkRun; - for stdin
    file: PathBuf,
    /// Print the name of the run without waiting for its end
    #[arg(long, conflicts_with_all = ["timeout", "junit", "allow_unverified"])]
    no_wait: bool,
    #[command(flatten)]
    follow: FollowArgs,
}

pub(crate) async fn run(args: &RunArgs, connection: &ConnectionArgs) -> Result<u8, Failure> {
    let deadline = args.follow.begin()?;
    let file = read(&args.file, connection)?;
    let connection = connection.connect().await?;
    let connection = Connection { namespace: file.namespace.unwrap_or(connection.namespace), ..connection };
    let run = deadline.bound(&connection.namespace, create(&connection, &file.object)).await?;
    finish(&connection, &run, args.no_wait, &args.follow, &deadline).await
}

/// Follows a run that was just created. With `--no-wait`, only prints its name.
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

/// Reads the single BenchmarkRun in a file; `-` means stdin. If both the flag and the file contain a namespace, the two must be equal.
pub(super) fn read(file: &Path, connection: &ConnectionArgs) -> Result<RunFile, Failure> {
    let path = file.display().to_string();
    let text =
        read_text(file).map_err(|it| Failure::error(format!("{path}: cannot be read: {it}; give a BenchmarkRun")))?;
    let file = run_file::parse(&path, &text).map_err(Failure::error)?;
    for (field, namespace) in [("-n", &connection.namespace), ("metadata.namespace", &file.namespace)] {
        // The namespace becomes part of URLs and commands, so it must be a valid name.
        if let Some(namespace) = namespace.as_ref().filter(|it| !is_namespace(it)) {
            return Err(Failure::error(format!(
                "{path}: {field} is {namespace:?}, which is no name of a namespace; use a-z, 0-9 and -, at most {MAX_NAMESPACE} characters"
            )));
        }
    }
    match (&connection.namespace, &file.namespace) {
        (Some(flag), Some(written)) if flag != written => Err(Failure::error(format!(
            "{path}: metadata.namespace is {written:?}, and -n is {flag:?}; take one of them out"
        ))),
        _ => Ok(file),
    }
}

/// Whether the text is a valid name of a namespace: a DNS label of RFC 1123.
fn is_namespace(name: &str) -> bool {
    name.len() <= MAX_NAMESPACE && is_object_name(name) && !name.contains('.')
}

fn read_text(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    let source: Box<dyn io::Read> = match file.to_str() {
        Some("-") => Box::new(io::stdin()),
        _ => Box::new(std::fs::File::open(file)?),
    };
    let read = source.take(MAX_FILE + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_FILE {
        return Err(io::Error::other("it has more than 1.5 MiB, which is more than the API server stores"));
    }
    Ok(text)
}
