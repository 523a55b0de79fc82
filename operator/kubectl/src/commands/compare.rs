//! [I/O] `compare`: compares finished runs of the cluster and folders on this machine.

use std::path::Path;

use clap::Args;
use compare_command::{CompareFlags, Found, MOST_RUNS, Report};
use crds::ExitCode;
use report::{REPORT_FILE_NAME, report_file};

use super::{get, results::CopyArgs};
use crate::{
    connection::{Connection, ConnectionArgs},
    console,
    copy::{self, Partial, Source},
    deadline::Deadline,
    failure::{self, Failure},
};

#[derive(Args)]
#[command(after_help = "Examples:
  kubectl benchwright compare first-run second-run
  kubectl benchwright compare results/base second-run --gate=5%")]
pub(crate) struct CompareArgs {
    /// Finished runs in the cluster, each compared with the first; a name with a / or a . is a results folder or a report.json on this machine
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,
    #[command(flatten)]
    flags: CompareFlags,
    #[command(flatten)]
    copy: CopyArgs,
}

/// Runs the command, and returns the exit code of `benchwright compare`, or the code for an early end.
pub(crate) async fn run(args: &CompareArgs, connection: &ConnectionArgs) -> u8 {
    let compared = match found(args, connection).await {
        Ok(found) => args.flags.compare(&found),
        Err(failure) => {
            let ended = args.flags.failure(ExitCode::Configuration, vec![failure.to_string()]);
            let code = if failure.code == failure::ERROR { ended.code } else { failure.code };
            Err(compare_command::Failure { code, ..ended })
        }
    };
    match compared {
        Ok(compared) => {
            console::print(&compared.text);
            compared.code
        }
        Err(failure) => {
            for problem in failure.problems {
                console::say(format_args!("kubectl benchwright: {problem}"));
            }
            failure.code
        }
    }
}

/// A run that was named on the command line, and where its report is.
enum Asked {
    /// The report was read from this machine, or cannot be obtained.
    Known(Report),
    /// The report is stored on a claim.
    OnClaim(Box<Source>),
}

/// Reads the reports. First checks all runs, so that no pod is created if one report cannot be obtained.
async fn found(args: &CompareArgs, connection: &ConnectionArgs) -> Result<Vec<Found>, Failure> {
    let deadline = Deadline::after(Some(args.copy.timeout.0));
    if !args.runs.iter().any(|it| is_name(it)) {
        let read = |name: &String| Found { name: name.clone(), report: on_disk(name) };
        return Ok(args.runs.iter().map(read).collect());
    }
    let connection = connection.connect().await?;
    let mut asked = Vec::with_capacity(args.runs.len());
    for (at, name) in args.runs.iter().enumerate() {
        asked.push(match is_name(name) {
            true if args.runs[..at].contains(name) => {
                Asked::Known(Report::Missing(format!("{name}: is given twice; give another run")))
            }
            true => match source(&connection, name, args.copy.image.as_deref()).await {
                Ok(source) => Asked::OnClaim(Box::new(source)),
                Err(failure) => Asked::Known(Report::Missing(format!("{failure}{}", folder_of_that_name(name)))),
            },
            false => Asked::Known(on_disk(name)),
        });
    }
    let can_be_compared = (2..=MOST_RUNS).contains(&asked.len())
        && !asked.iter().any(|it| matches!(it, Asked::Known(Report::Missing(_))));
    let mut found = Vec::with_capacity(asked.len());
    for (name, asked) in args.runs.iter().zip(asked) {
        let report = match asked {
            Asked::Known(report) => report,
            Asked::OnClaim(source) if can_be_compared => copied(&connection, &source, args, &deadline).await?,
            Asked::OnClaim(_) => Report::NotRead,
        };
        found.push(Found { name: name.clone(), report });
    }
    Ok(found)
}

fn on_disk(path: &str) -> Report {
    report_file::read_all(Path::new(path)).into()
}

/// Whether an argument is the name of a run rather than a path.
fn is_name(word: &str) -> bool {
    word.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-') && !word.is_empty()
}

/// The hint for the error about an unknown run. Empty unless the current folder has an entry with that name.
fn folder_of_that_name(name: &str) -> String {
    if Path::new(name).exists() {
        format!("; to compare the folder {name} here, write ./{name}")
    } else {
        String::new()
    }
}

/// Where the report of a run is stored.
async fn source(connection: &Connection, name: &str, image: Option<&str>) -> Result<Source, Failure> {
    let run = get(connection, name).await?;
    let source = Source::from_run(&run, &connection.namespace, image)?;
    let repeats = run.status.as_ref().and_then(|it| it.effective_spec.as_ref()).map_or(1, |it| it.repeat);
    if repeats > 1 {
        return Err(Failure::error(format!(
            "{name} is a series of {repeats} runs, each with a report of its own; copy them with `kubectl benchwright results {name} DIR -n {}`, then compare DIR or one of the folders in it",
            connection.namespace
        )));
    }
    Ok(source)
}

/// Copies the report of a run, and reads it.
async fn copied(
    connection: &Connection,
    source: &Source,
    args: &CompareArgs,
    deadline: &Deadline,
) -> Result<Report, Failure> {
    let unusable = |error: std::io::Error| {
        Failure::error(format!("no folder for temporary files: {error}; set TMPDIR to a folder where you may write"))
    };
    let temporary = tempfile::tempdir().map_err(unusable)?;
    let folder = Partial::beside(&temporary.path().join(&source.run))?;
    let (folder, received) = copy::copy(connection, source, &[REPORT_FILE_NAME], folder, deadline).await?;
    if !args.copy.unverified {
        copy::compare(source, &received, &[REPORT_FILE_NAME])?;
    }
    let read = report_file::read(&folder.path().join(REPORT_FILE_NAME));
    Ok(read.map(|it| vec![it.1]).map_err(|it| it.named(&source.run)).into())
}
