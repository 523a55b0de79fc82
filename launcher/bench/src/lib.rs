//! `benchwright bench`: measures the engine itself.
//!
//! The engine runs as in a benchmark, on loopback sockets, against a server of this bench (`server`). That server answers at
//! once or at an exact pace, and records when it sent each token. A minimal hyper client (`bare_client`) runs the same load for
//! comparison. Server and clients are child processes (`children`, `child_messages`), so that CPU time and memory of each are
//! known. `trial` runs one load, `matching` compares the client's times with the server's, `groups` define what is measured, and
//! `figures` hold results and budgets. The bench needs epoll, timers and /proc of Linux.

mod bare_client;
pub mod capacity;
pub mod child_messages;
mod children;
mod cores;
mod cpu_use;
mod document;
mod engine_client;
pub mod figures;
mod groups;
mod loads;
mod machine;
mod matching;
mod memory;
mod reporting;
pub mod server;
mod table;
mod trial;

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::ValueEnum as _;
use crds::{BenchmarkRunSpec, resolve::ResolvedRun};
use serde::Serialize;
use tracing::info;
use workload_profiles::{Notice, Workload};

use child_messages::Part;
use cores::Cores;
use cpu_use::CpuUse;
use document::{Document, Settings};
use engine::{client::TargetError, issue, issue::LoadError};
use figures::{Budget, Figures};
use files::output;
pub use groups::Group;
use groups::{Bench, Scale};
use machine::Machine;
use report::StorageError;
pub use server::Pace;
use workload_files::FilesError;

/// Above this number of cores in use by other processes the figures do not describe the bench alone.
const QUIET: f64 = 0.1;

#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error("the bench cannot run: {0}; check memory, open files (ulimit -n) and processes")]
    System(io::Error),
    /// A child process failed.
    #[error("{0}")]
    Child(String),
    #[error("cannot write {path}: {source}; choose another file", path = path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error(transparent)]
    Unknown(#[from] capacity::Unknown),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Input(Box<dyn std::error::Error + Send + Sync>),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error("the bare client cannot go on: {0}")]
    Bare(#[from] hyper::Error),
    #[error("the bare client cannot begin: {0}")]
    Request(#[from] http::Error),
}

impl From<io::Error> for BenchError {
    fn from(error: io::Error) -> Self {
        BenchError::System(error)
    }
}

/// The arguments of a measurement.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// The groups to measure. Empty: all groups.
    pub groups: Vec<Group>,
    /// Whether loads are small. They show that the bench works; their figures do not count.
    pub quick: bool,
    /// Number of times that everything is measured.
    pub runs: u32,
    /// Number of times that each side of a comparison runs in each run.
    pub repeats: u32,
    /// The `tokenizer.json` that prompts are measured with; `None`: a small one that is built in.
    pub tokenizer: Option<PathBuf>,
    /// The file that gets all figures as JSON.
    pub json: Option<PathBuf>,
    /// The file that gets all figures as Markdown.
    pub markdown: Option<PathBuf>,
}

/// A BenchmarkRun that was read from a file.
#[derive(Clone, Debug)]
pub struct RunInput {
    /// The run as resolved.
    pub run: ResolvedRun,
    /// The spec as the user wrote it.
    pub spec: BenchmarkRunSpec,
    /// The profile as rendered.
    pub profile_text: String,
    /// The profile as parsed.
    pub workload: Workload,
    /// Keys of the profile that were ignored or changed.
    pub notices: Vec<Notice>,
}

/// Reads a BenchmarkRun file. The launcher passes this function in, because the code for it is in the binary's crate.
pub type ReadRun = fn(&Path) -> Result<RunInput, Box<dyn std::error::Error + Send + Sync>>;

/// Measures, writes the files that the options name, and returns the table.
///
/// # Errors
/// A part of the bench could not be run, or a file could not be written.
pub fn measure(options: &BenchOptions) -> Result<String, BenchError> {
    let folder = tempfile::tempdir()?;
    let mut figures = Figures::default();
    if cfg!(debug_assertions) {
        figures.note("this is a debug build: its figures do not count".into());
    }
    let (cores, note) = Cores::choose();
    note.into_iter().for_each(|it| figures.note(it));
    let bench = Bench {
        scale: if options.quick { Scale::quick() } else { Scale::full() },
        cores,
        repeats: if options.quick { 1 } else { options.repeats },
        folder: folder.path().to_owned(),
        tokenizer: options.tokenizer.clone(),
    };
    let (groups, left_out): (Vec<Group>, Vec<Group>) = Group::value_variants()
        .iter()
        .copied()
        .partition(|it| options.groups.is_empty() || options.groups.contains(it));
    let mut others_of_runs = Vec::new();
    for run in 1..=options.runs {
        let before = CpuUse::now();
        for group in &groups {
            info!(run, of = options.runs, ?group, "measuring");
            bench.run(*group, &mut figures)?;
        }
        let others = CpuUse::now().zip(before).map_or(f64::NAN, |(now, before)| now.others_since(&before));
        figures.add("others", "other processes of the machine meanwhile", "cores", others, Budget::NONE);
        others_of_runs.push(others);
    }
    noise(&others_of_runs).into_iter().for_each(|it| figures.note(it));
    let machine = Machine::detect();
    let settings = Settings {
        runs: options.runs,
        repeats: bench.repeats,
        quick: options.quick,
        groups: names(&groups),
        left_out: names(&left_out),
    };
    let document = Document::new(&figures, &machine, clock::now(), settings);
    if let Some(path) = &options.json {
        write_file(path, &document.json())?;
    }
    if let Some(path) = &options.markdown {
        write_file(path, &document.markdown())?;
    }
    Ok(table::table(&figures))
}

/// The names of groups on the command line.
fn names(groups: &[Group]) -> Vec<String> {
    groups.iter().filter_map(Group::to_possible_value).map(|it| it.get_name().to_owned()).collect()
}

/// A note on the noisiest run. `others` holds the cores that other processes used in each run.
fn noise(others: &[f64]) -> Option<String> {
    let noisy = others.iter().copied().enumerate().filter(|(_, it)| *it > QUIET);
    let (place, most) = noisy.max_by(|(_, left), (_, right)| left.total_cmp(right))?;
    let (run, runs) = (place + 1, others.len());
    Some(format!(
        "the machine was not quiet: in run {run} of {runs} other processes used {most:.2} cores; measure again when it is"
    ))
}

/// Does the part of a child process and returns the text that the child prints for its parent. The text is empty where the part
/// prints by itself.
///
/// # Errors
/// The part failed. Nothing is printed for the parent then.
pub fn run_part(part: &str, read_run: ReadRun) -> Result<String, BenchError> {
    let part: Part = crds::json::read(part).map_err(|error| {
        BenchError::Child(format!(
            "{} is an internal command of this program, and its argument cannot be read: {error}",
            children::COMMAND
        ))
    })?;
    let core = match &part {
        Part::Server(spec) => spec.core,
        Part::Engine(spec) => spec.core,
        Part::Bare(spec) => spec.core,
        Part::Report(_) => None,
    };
    if let Some(core) = core {
        cores::keep_to(core)?;
    }
    issue::raise_file_limit();
    match part {
        Part::Server(spec) => server::serve(&spec).map(|()| String::new()).map_err(BenchError::from),
        Part::Engine(spec) => json(&engine_client::run(&spec)?),
        Part::Bare(spec) => json(&bare_client::run(&spec)?),
        Part::Report(spec) => json(&reporting::run(&spec, read_run)?),
    }
}

fn json(result: &impl Serialize) -> Result<String, BenchError> {
    serde_json::to_string(result).map_err(|error| BenchError::Child(error.to_string()))
}

fn write_file(path: &Path, text: &str) -> Result<(), BenchError> {
    let written = output::write(path, |file| file.write_all(text.as_bytes()));
    written.map(drop).map_err(|source| BenchError::Write { path: path.to_owned(), source })
}

/// A duration in nanoseconds. The type holds hundreds of years.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noisiest_run_is_named() {
        let check = |others: &[f64], note: Option<&str>| assert_eq!(noise(others).as_deref(), note);
        check(&[0.02, 0.1, f64::NAN], None);
        check(&[], None);
        let note = "the machine was not quiet: in run 2 of 4 other processes used 0.92 cores; measure again when it is";
        check(&[0.02, 0.92, f64::NAN, 0.3], Some(note));
    }
}
