//! [I/O] `--junit`: the validity and the objectives of a status as test cases, under the names of the `junit.xml` of a results folder.

use std::{
    fs::{File, Metadata},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use crds::{
    BenchmarkRun, Met, Outcome,
    benchmark_run::Enforcement,
    resolve::{ResolvedObjective, readable_slo},
    status::ConditionStatus,
};
use junit::{Case, Suite};
use kube::ResourceExt as _;
use tempfile::NamedTempFile;

use crate::{console, failure::Failure, follow::message_of};

/// Where the test cases go.
enum Target {
    /// Standard output, under any name: it may hold a verdict already, which stays.
    Stdout,
    /// A device or a pipe.
    Device,
    /// A file, whole or not at all. A link to it stays.
    File { path: PathBuf, folder: PathBuf },
}

/// Finds out that the file cannot be written, before the hours of a run.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    let made = target(path).and_then(|target| match target {
        Target::File { folder, .. } => temporary(&folder).map(drop),
        Target::Stdout | Target::Device => Ok(()),
    });
    made.map_err(|it| cannot_be_written(path, &it))
}

/// Writes the test cases.
pub(crate) fn write(run: &BenchmarkRun, path: &Path) -> Result<(), Failure> {
    write_to(path, &suite(run)).map_err(|it| cannot_be_written(path, &it))
}

fn write_to(path: &Path, suite: &Suite) -> io::Result<()> {
    match target(path)? {
        Target::Stdout => {
            let mut text = Vec::new();
            junit::write(suite, &mut text)?;
            console::copy(&text)
        }
        Target::Device => {
            let mut device = File::options().write(true).open(path)?;
            junit::write(suite, &mut device)?;
            device.flush()
        }
        Target::File { path, folder } => {
            let mut file = temporary(&folder)?;
            junit::write(suite, &mut file)?;
            file.flush()?;
            file.persist(path)?;
            Ok(())
        }
    }
}

fn target(path: &Path) -> io::Result<Target> {
    if let Ok(found) = path.metadata() {
        if is_stdout(&found) {
            return Ok(Target::Stdout);
        }
        if found.is_dir() {
            return Err(io::Error::other("it is a folder"));
        }
        if !found.is_file() {
            return Ok(Target::Device);
        }
    }
    let path = match path.canonicalize() {
        Ok(path) => path,
        // There is no file yet; there may be a link to it.
        Err(_) => folder_of(path).join(path.read_link().unwrap_or_else(|_| path.into())),
    };
    let folder = folder_of(&path).to_owned();
    Ok(Target::File { path, folder })
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new();
    // As any file of the user, and not for the user alone.
    #[cfg(unix)]
    file.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    file.tempfile_in(folder)
}

#[cfg(unix)]
fn is_stdout(file: &Metadata) -> bool {
    use std::os::{fd::AsFd as _, unix::fs::MetadataExt as _};
    let stdout = io::stdout().as_fd().try_clone_to_owned().and_then(|it| File::from(it).metadata());
    stdout.is_ok_and(|it| (it.dev(), it.ino()) == (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn is_stdout(_file: &Metadata) -> bool {
    false
}

fn cannot_be_written(path: &Path, error: &io::Error) -> Failure {
    Failure::error(format!("--junit is {}, which cannot be written: {error}; name another file", path.display()))
}

fn suite(run: &BenchmarkRun) -> Suite {
    let status = run.status.as_ref();
    let outcome = status.and_then(|it| it.outcome).unwrap_or(Outcome::Error);
    let message = message_of(run);
    let results = status.map(|it| it.objectives.as_slice()).unwrap_or_default();
    let slo = readable_slo(&run.spec.slo);
    let objectives = slo.iter().flat_map(|slo| slo.objectives.iter().map(|it| (it, slo.enforcement)));
    let objectives =
        objectives.map(|(objective, enforcement)| match results.iter().find(|it| it.name == objective.name) {
            Some(it) => {
                let reason = format!("observed {}, limit {}", or_nothing(&it.observed), or_nothing(&it.limit));
                Case::objective(objective, it.met, enforcement, &reason)
            }
            None => without_row(run, objective, enforcement),
        });
    let duration = status.and_then(|it| it.summary.as_ref()).map(|it| u64::from(it.duration_microseconds));
    let started = status.and_then(|it| it.load_start_time.or(it.attempts.first().map(|it| it.start_time)));
    Suite {
        name: run.name_any(),
        started: started.unwrap_or_default().to_string(),
        duration: std::time::Duration::from_micros(duration.unwrap_or_default()),
        cases: std::iter::once(Case::validity(outcome, &message)).chain(objectives).collect(),
    }
}

/// An objective of which the status has no row. A full status leaves out objectives, those that are met first, and a run that a backup
/// brought back has its outcome alone.
fn without_row(run: &BenchmarkRun, objective: &ResolvedObjective, enforcement: Enforcement) -> Case {
    let Some(status) = &run.status else {
        return Case::objective(objective, Met::Inconclusive, enforcement, "the run has no status");
    };
    let passed = status.outcome == Some(Outcome::Passed);
    let all_met = status.conditions.iter().any(|it| it.kind == "SLOMet" && it.status == ConditionStatus::True);
    if all_met || (passed && enforcement == Enforcement::Fail) {
        return Case::objective(objective, Met::True, enforcement, "");
    }
    // The rows that the status has show the failure.
    let has_failure = status.objectives_truncated && status.objectives.iter().any(|it| it.met != Met::True);
    if passed || has_failure {
        return Case::left_out(
            objective,
            "the status leaves this objective out; the junit.xml of the results folder has it",
        );
    }
    Case::objective(objective, Met::Inconclusive, enforcement, "the status has no result of this objective")
}

fn or_nothing(text: &str) -> &str {
    if text.is_empty() { "nothing" } else { text }
}
