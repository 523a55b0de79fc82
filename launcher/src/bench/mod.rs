//! `benchwright bench`: the engine's own yardstick.
//!
//! The engine is run as in a benchmark, on real sockets of loopback, against a server of this bench (`server`) that answers
//! at once or at an exact pace and knows when it did, and beside it a bare hyper client (`bare`) at the same load. Server and
//! clients are children of this process (`children`, `parts`), so that each has a CPU time and a memory of its own. `trial`
//! runs one load, `matching` holds what a client saw against the truth, `groups` say what is measured and `figures` what is
//! asked of it. Needs Linux: its epoll, its timers and its /proc.

mod bare;
mod busy;
mod children;
mod cores;
mod document;
mod engine;
pub mod figures;
mod fit;
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
    fs,
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, ValueEnum as _};
use crds::units::Span;
use serde::Serialize;
use tracing::info;

use crate::{
    client::TargetError,
    clock,
    console::{self, PrintError},
    input::InputError,
    issue,
    issue::LoadError,
    report::StorageError,
};
use busy::Busy;
use cores::Cores;
use document::{Document, Made};
use figures::{Budget, Figures};
use fit::Question;
use groups::{Bench, Group, Scale};
use machine::Machine;
use parts::Part;
use server::Pace;

/// Other processes that use more cores than this make figures of another machine.
const QUIET: f64 = 0.1;

/// Why nothing, or not all, was measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The system refused something.
    #[error("the bench cannot run: {0}; check memory, open files (ulimit -n) and processes")]
    System(io::Error),
    /// Standard output.
    #[error(transparent)]
    Print(#[from] PrintError),
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
    Unknown(#[from] fit::Unknown),
    /// The server of this bench could not be called.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A BenchmarkRun file cannot be run.
    #[error(transparent)]
    Input(#[from] InputError),
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

/// Measure the engine itself: its CPU time, its errors, its lag, its memory
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// Measure these groups alone; may be given several times
    #[arg(long, value_name = "GROUP")]
    only: Vec<Group>,
    /// Small loads: whether it works, not how well
    #[arg(long)]
    quick: bool,
    /// Measure everything so often, and tell medians and spread
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// Run each side of a comparison so often in each run, in turn
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeats: u32,
    /// Write all figures into this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write all figures into this file, as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Measure nothing of this, but say whether this machine, or pod, is big enough for the load of a BenchmarkRun: tries
    /// its hardest stage for a few seconds against a server on loopback, and exits with 0 for yes, and with 1 for no or
    /// where lateness could not be judged
    #[arg(long = "for", value_name = "FILE", conflicts_with_all = ["only", "quick", "runs", "repeats", "json", "markdown"])]
    run: Option<PathBuf>,
    /// With --for: a profile's file, in place of the profile that the BenchmarkRun names
    #[arg(long, value_name = "FILE", requires = "run")]
    profile: Option<PathBuf>,
    /// With --for: sets a value in the rendered profile, such as load.stages.0.rate=5; may be given several times
    #[arg(short = 'o', long = "override", value_name = "PATH=VALUE", requires = "run")]
    overrides: Vec<String>,
    /// With --for: the time between two tokens of the server that is expected
    #[arg(long, value_name = "DURATION", default_value = "5ms", requires = "run")]
    itl: Span,
    /// With --for: the time to the first token of the server that is expected
    #[arg(long, value_name = "DURATION", default_value = "50ms", requires = "run")]
    ttft: Span,
}

/// The hidden command of a child.
#[derive(Args, Debug)]
pub struct PartArgs {
    /// What to do, as JSON
    part: String,
}

/// Measures, or answers whether a load fits. Whether all is well: `false` for a load that is not
/// known to fit.
///
/// # Errors
/// A part of it could not be run, or a file could not be written.
pub fn run(args: &BenchArgs) -> Result<bool, BenchError> {
    let Some(file) = &args.run else { return measure(args).map(|()| true) };
    let told = fit::ask(&Question {
        file: file.clone(),
        profile: args.profile.clone(),
        overrides: args.overrides.clone(),
        pace: Pace { ttft: args.ttft.0, itl: args.itl.0 },
    })?;
    console::print(told.text)?;
    Ok(told.fits)
}

/// Measures, prints the table, and writes the files that were asked for.
fn measure(args: &BenchArgs) -> Result<(), BenchError> {
    let folder = tempfile::tempdir()?;
    let mut figures = Figures::default();
    if cfg!(debug_assertions) {
        figures.note("this is a debug build: its figures count for nothing".into());
    }
    let (cores, note) = Cores::choose();
    note.into_iter().for_each(|it| figures.note(it));
    let bench = Bench {
        scale: if args.quick { Scale::quick() } else { Scale::full() },
        cores,
        repeats: if args.quick { 1 } else { args.repeats },
        folder: folder.path().to_owned(),
    };
    let (groups, left_out): (Vec<Group>, Vec<Group>) =
        Group::value_variants().iter().copied().partition(|it| args.only.is_empty() || args.only.contains(it));
    let mut others_of_runs = Vec::new();
    for run in 1..=args.runs {
        let before = Busy::now();
        for group in &groups {
            info!(run, of = args.runs, ?group, "measuring");
            bench.run(*group, &mut figures)?;
        }
        let others = Busy::now().zip(before).map_or(f64::NAN, |(now, before)| now.others_since(&before));
        figures.add("others", "other processes of the machine meanwhile", "cores", others, Budget::NONE);
        others_of_runs.push(others);
    }
    noise(&others_of_runs).into_iter().for_each(|it| figures.note(it));
    let machine = Machine::here();
    let made = Made {
        runs: args.runs,
        repeats: bench.repeats,
        quick: args.quick,
        groups: names(&groups),
        left_out: names(&left_out),
    };
    let document = Document::new(&figures, &machine, clock::now(), made);
    if let Some(path) = &args.json {
        write_whole(path, &document.json())?;
    }
    if let Some(path) = &args.markdown {
        write_whole(path, &document.markdown())?;
    }
    Ok(console::print(table::table(&figures))?)
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

/// Does the part of a child and prints what it came to.
///
/// # Errors
/// It could not be done; the parent is told nothing then.
pub fn run_part(args: &PartArgs) -> Result<(), BenchError> {
    let part: Part = serde_json::from_str(&args.part).map_err(|error| {
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
        Part::Server(spec) => Ok(server::serve(&spec)?),
        Part::Engine(spec) => tell(&engine::run(&spec)?),
        Part::Bare(spec) => tell(&bare::run(&spec)?),
        Part::Report(spec) => tell(&reporting::run(&spec)?),
    }
}

fn tell(result: &impl Serialize) -> Result<(), BenchError> {
    let text = serde_json::to_string(result).map_err(|error| BenchError::Child(error.to_string()))?;
    Ok(console::print(text)?)
}

/// Writes a file under a temporary name and renames it, so that a reader never sees half of one.
fn write_whole(path: &Path, text: &str) -> Result<(), BenchError> {
    let cannot = |source| BenchError::Write { path: path.to_owned(), source };
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(cannot)?;
    // As a file that a shell makes: who may read it is the umask's business.
    let readable = fs::Permissions::from_mode(0o666);
    let mut file = tempfile::Builder::new().permissions(readable).tempfile_in(folder).map_err(cannot)?;
    file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(cannot)?;
    file.persist(path).map(|_| ()).map_err(|error| cannot(error.error))
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
