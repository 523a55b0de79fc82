//! [I/O] Builds a submission tree from finished tests. The tree is written under a temporary name and checked. It gets its final name only
//! if nothing is missing. Logs are copied byte for byte, except that accuracy logs are truncated as the submission rules require.

mod answers;
mod inputs;
mod options;
mod source;
#[cfg(test)]
mod tests;
mod texts;

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

use self::inputs::{Case, Inputs};
pub use self::options::{BuildOptions, Missing, ScenarioFile};
pub(super) use self::source::{Test, tests as source_tests};
use super::{
    check::{self, CheckError},
    findings::Report,
    layout::{INCOMPLETE, Layout},
};
use files::user_file;
use report::{Folder, StorageError};

/// The result of a build.
#[derive(Debug)]
pub struct Built {
    /// Path of the tree; `None` if it was not written, because something is missing or the check found faults.
    pub path: Option<PathBuf>,
    /// The missing inputs.
    pub missing: Vec<Missing>,
    /// Further notes about the runs.
    pub notes: Vec<String>,
    /// The result of checking the tree; `None` if there was no tree to check.
    pub report: Option<Report>,
}

/// The reason why a tree cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A name cannot be used as the name of a folder.
    #[error("{flag} gives the name {name:?}; take letters, digits, dots, dashes, underscores and plus signs")]
    Name {
        /// The argument that contains the name.
        flag: &'static str,
        /// The name.
        name: String,
    },
    /// The path of the new tree already exists.
    #[error("{path} exists; give --out a folder that does not exist", path = .0.display())]
    Exists(PathBuf),
    /// The folder of an earlier build that was killed still exists.
    #[error("{path} is left from a build that did not finish; remove it", path = .0.display())]
    Partial(PathBuf),
    /// A file cannot be written.
    #[error("cannot write {path}: {source}; choose another --out, or free space there", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The check failed to run.
    #[error(transparent)]
    Check(#[from] CheckError),
}

impl From<StorageError> for BuildError {
    fn from(StorageError { path, source, .. }: StorageError) -> Self {
        BuildError::Write { path, source }
    }
}

/// Builds the tree. Without `incomplete`, the tree is kept only if nothing is missing and the check finds no fault.
///
/// # Errors
/// The tree cannot be written, or an argument is invalid.
pub fn build(options: &BuildOptions) -> Result<Built, BuildError> {
    let name = system_name(&options.system);
    for (flag, name) in [("--submitter", &options.submitter), ("--system", &name)] {
        if !check::is_name(name) {
            return Err(BuildError::Name { flag, name: name.clone() });
        }
    }
    let (root, out) = split(&options.out)?;
    let (tests, missing) = inputs::tests(options);
    let (inputs, missing) = Inputs::collect(options, &tests, missing);
    let notes: Vec<_> = inputs.cases.iter().flat_map(Case::notes).collect();
    if inputs.cases.is_empty() || (!missing.is_empty() && !options.incomplete) {
        return Ok(Built { path: None, missing, notes, report: None });
    }
    let mut folder = Folder::create(&root, &out)?;
    let written = write(options, &name, &inputs, &mut folder);
    let report = match written.and_then(|()| Ok(check::check(folder.path(), options.round)?)) {
        Ok(report) => report,
        Err(error) => {
            folder.discard()?;
            return Err(error);
        }
    };
    if !missing.is_empty() || !report.clean() {
        if !options.incomplete {
            folder.discard()?;
            return Ok(Built { path: None, missing, notes, report: Some(report) });
        }
        put(&mut folder, INCOMPLETE, &texts::incomplete(&missing, &report))?;
    }
    let stored = folder.finish()?;
    Ok(Built { path: Some(stored.path), missing, notes, report: Some(report) })
}

fn system_name(path: &Path) -> String {
    path.file_stem().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Splits `out` into its parent folder and its name. Fails if it already exists.
fn split(out: &Path) -> Result<(PathBuf, String), BuildError> {
    let name = out.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    if name.is_empty() || out.symlink_metadata().is_ok() {
        return Err(BuildError::Exists(out.to_owned()));
    }
    let root = out.parent().filter(|it| *it != Path::new("")).unwrap_or(Path::new(".")).to_owned();
    let partial = root.join(format!("{name}.partial"));
    if partial.symlink_metadata().is_ok() {
        return Err(BuildError::Partial(partial));
    }
    Ok((root, name))
}

fn write(options: &BuildOptions, system: &str, inputs: &Inputs<'_>, folder: &mut Folder) -> Result<(), BuildError> {
    let layout = Layout::new(options.round);
    let path = format!("{}/{}", options.division.name(), options.submitter);
    put(folder, "README.md", &texts::tree(options.round))?;
    put(folder, &format!("{path}/{}/README.md", layout.source()), &texts::source())?;
    if options.system.is_file() {
        copy(folder, &options.system, &format!("{path}/systems/{system}.json"))?;
    }
    if let Some(calibration) = options.calibration.as_ref().filter(|it| it.is_file()) {
        copy(folder, calibration, &format!("{path}/documentation/calibration.md"))?;
    }
    if !layout.together() {
        // In rounds before v6.0, the checker requires the code of each benchmark.
        let benchmarks: BTreeSet<_> = inputs.cases.iter().map(|it| it.benchmark.folder).collect();
        for benchmark in benchmarks {
            put(folder, &format!("{path}/{}/{benchmark}/README.md", layout.source()), &texts::source())?;
        }
    }
    inputs.cases.iter().try_for_each(|case| write_case(folder, layout, &path, system, case))
}

fn write_case(
    folder: &mut Folder,
    layout: Layout,
    path: &str,
    system: &str,
    case: &Case<'_>,
) -> Result<(), BuildError> {
    let name = format!("{system}/{}/{}", case.benchmark.folder, case.scenario_folder.name());
    let results = layout.results(path, &name);
    let facts = layout.measurements(path, &name);
    put(folder, &format!("{facts}/README.md"), &texts::case(case))?;
    if let Some(measurements) = case.measurements {
        copy(folder, measurements, &format!("{facts}/{}", layout.facts(system)))?;
    }
    if let Some(test) = case.performance {
        put(folder, &format!("{facts}/user.conf"), &test.user_conf)?;
        let to = format!("{results}/performance/run_1");
        logs(folder, &test.logs, &to)?;
        let log = test.logs.join("mlperf_log_accuracy.json");
        if case.accuracy.is_some_and(|it| it.logs == test.logs) {
            // The performance log of a SubmissionRun also contains all answers, and they count for its accuracy.
            let truncated = truncated(&log)?;
            folder.write(&format!("{to}/mlperf_log_accuracy.json"), |file| file.write_all(&truncated.kept))?;
        } else if log.is_file() {
            copy(folder, &log, &format!("{to}/mlperf_log_accuracy.json"))?;
        }
        for file in ["run.yaml", "profile.yaml", "config.json"] {
            let from = test.run.join(file);
            if from.is_file() {
                let code =
                    format!("{path}/{}/{}/{}", layout.source(), case.benchmark.folder, case.scenario_folder.name());
                copy(folder, &from, &format!("{code}/{file}"))?;
            }
        }
    }
    if let Some(test) = case.accuracy {
        let to = format!("{results}/accuracy");
        logs(folder, &test.logs, &to)?;
        let truncated = truncated(&test.logs.join("mlperf_log_accuracy.json"))?;
        folder.write(&format!("{to}/mlperf_log_accuracy.json"), |file| file.write_all(&truncated.kept))?;
        if let Some(scores) = &case.scores {
            put(folder, &format!("{to}/accuracy.txt"), &texts::accuracy(scores, &truncated.hash))?;
        }
    }
    if let Some((test, verdict)) = &case.audit {
        let to = format!("{}/TEST06", layout.compliance(path, &name));
        put(folder, &format!("{to}/verify_accuracy.txt"), verdict)?;
        copy(folder, &test.logs.join("mlperf_log_accuracy.json"), &format!("{to}/accuracy/mlperf_log_accuracy.json"))?;
    }
    Ok(())
}

fn truncated(log: &Path) -> Result<super::truncation::Truncated, BuildError> {
    let read = user_file::open(log).and_then(super::truncation::truncate);
    read.map_err(|source| BuildError::Write { path: log.to_owned(), source })
}

/// Copies the logs that exist. The check reports missing ones.
fn logs(folder: &mut Folder, from: &Path, to: &str) -> Result<(), BuildError> {
    for file in ["mlperf_log_detail.txt", "mlperf_log_summary.txt"] {
        if from.join(file).is_file() {
            copy(folder, &from.join(file), &format!("{to}/{file}"))?;
        }
    }
    Ok(())
}

fn copy(folder: &mut Folder, from: &Path, to: &str) -> Result<(), BuildError> {
    let copied = folder.write(to, |mut file| {
        let cannot = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", from.display()));
        io::copy(&mut user_file::open(from).map_err(cannot)?, &mut file).map(drop)
    });
    Ok(copied?)
}

fn put(folder: &mut Folder, name: &str, text: &str) -> Result<(), BuildError> {
    Ok(folder.write(name, |file| file.write_all(text.as_bytes()))?)
}
