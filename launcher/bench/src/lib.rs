//! `benchwright bench`: the engine's own yardstick.
//!
//! The engine is run as in a benchmark, on real sockets of loopback, against a server of this bench (`server`) that answers
//! at once or at an exact pace and knows when it did, and beside it a bare hyper client (`bare`) at the same load. Server and
//! clients are children of this process (`children`, `parts`), so that each has a CPU time and a memory of its own. `trial`
//! runs one load, `matching` holds what a client saw against the truth, `groups` say what is measured and `figures` what is
//! asked of it. Needs Linux: its epoll, its timers and its /proc.

mod bare;
mod busy;
pub mod capacity;
mod children;
mod cores;
mod document;
mod engine_client;
pub mod figures;
mod groups;
mod loads;
mod machine;
mod matching;
mod memory;
pub mod parts;
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

use busy::Busy;
use cores::Cores;
use document::{Document, Settings};
use engine::{client::TargetError, issue, issue::LoadError};
use figures::{Budget, Figures};
pub use groups::Group;
use groups::{Bench, Scale};
use machine::Machine;
use parts::Part;
use report::{StorageError, write_whole};
pub use server::Pace;

/// Other processes that use more cores than this make figures of another machine.
const QUIET: f64 = 0.1;

/// Why nothing, or not all, was measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The system refused something.
    #[error("the bench cannot run: {0}; check memory, open files (ulimit -n) and processes")]
    System(io::Error),
    /// A child did not do its part.
    #[error("{0}")]
    Child(String),
    /// A file cannot be written.
    #[error("cannot write {path}: {source}; choose another file", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The engine could not begin.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A load is not known well enough to be tried.
    #[error(transparent)]
    Unknown(#[from] capacity::Unknown),
    /// The server of this bench could not be called.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A BenchmarkRun file cannot be run.
    #[error(transparent)]
    Input(Box<dyn std::error::Error + Send + Sync>),
    /// A results folder cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The bare client's connection broke.
    #[error("the bare client cannot go on: {0}")]
    Bare(#[from] hyper::Error),
    /// The bare client's request is none.
    #[error("the bare client cannot begin: {0}")]
    Request(#[from] http::Error),
}

impl From<io::Error> for BenchError {
    fn from(error: io::Error) -> Self {
        BenchError::System(error)
    }
}

/// What is measured, and where the figures go.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// The groups to measure; empty: all.
    pub groups: Vec<Group>,
    /// Small loads: whether it works, not how well.
    pub quick: bool,
    /// How often everything is measured.
    pub runs: u32,
    /// How often each side of a comparison is run in each run.
    pub repeats: u32,
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

/// Reads a BenchmarkRun file. The commands of the launcher know how, this crate does not.
pub type ReadRun = fn(&Path) -> Result<RunInput, Box<dyn std::error::Error + Send + Sync>>;

/// Measures, writes the files that were asked for, and returns the table.
///
/// # Errors
/// A part of it could not be run, or a file could not be written.
pub fn measure(options: &BenchOptions) -> Result<String, BenchError> {
    let folder = tempfile::tempdir()?;
    let mut figures = Figures::default();
    if cfg!(debug_assertions) {
        figures.note("this is a debug build: its figures count for nothing".into());
    }
    let (cores, note) = Cores::choose();
    note.into_iter().for_each(|it| figures.note(it));
    let bench = Bench {
        scale: if options.quick { Scale::quick() } else { Scale::full() },
        cores,
        repeats: if options.quick { 1 } else { options.repeats },
        folder: folder.path().to_owned(),
    };
    let (groups, left_out): (Vec<Group>, Vec<Group>) = Group::value_variants()
        .iter()
        .copied()
        .partition(|it| options.groups.is_empty() || options.groups.contains(it));
    let mut others_of_runs = Vec::new();
    for run in 1..=options.runs {
        let before = Busy::now();
        for group in &groups {
            info!(run, of = options.runs, ?group, "measuring");
            bench.run(*group, &mut figures)?;
        }
        let others = Busy::now().zip(before).map_or(f64::NAN, |(now, before)| now.others_since(&before));
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

/// As the command line knows them.
fn names(groups: &[Group]) -> Vec<String> {
    groups.iter().filter_map(Group::to_possible_value).map(|it| it.get_name().to_owned()).collect()
}

/// What has to be said of the noisiest run, from the cores that others used in each.
fn noise(others: &[f64]) -> Option<String> {
    let noisy = others.iter().copied().enumerate().filter(|(_, it)| *it > QUIET);
    let (place, most) = noisy.max_by(|(_, left), (_, right)| left.total_cmp(right))?;
    let (run, runs) = (place + 1, others.len());
    Some(format!(
        "the machine was not quiet: in run {run} of {runs} other processes used {most:.2} cores; measure again when it is"
    ))
}

/// Does the part of a child and returns what the child prints for its parent, which is nothing where the part prints by itself.
///
/// # Errors
/// The part could not be done; the parent is told nothing then.
pub fn run_part(part: &str, read_run: ReadRun) -> Result<String, BenchError> {
    let part: Part = serde_json::from_str(part).map_err(|error| {
        BenchError::Child(format!("{} is a command of this program's own: {error}", children::COMMAND))
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
        Part::Bare(spec) => json(&bare::run(&spec)?),
        Part::Report(spec) => json(&reporting::run(&spec, read_run)?),
    }
}

fn json(result: &impl Serialize) -> Result<String, BenchError> {
    serde_json::to_string(result).map_err(|error| BenchError::Child(error.to_string()))
}

fn write_file(path: &Path, text: &str) -> Result<(), BenchError> {
    let written = write_whole(path, |file| file.write_all(text.as_bytes()));
    written.map(drop).map_err(|source| BenchError::Write { path: path.to_owned(), source })
}

/// Nanoseconds of a time; hundreds of years fit.
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
