//! `benchwright-bench`: measures the load generator itself, for its developers.
//!
//! The crate `capacity` runs the trials: the engine runs as in a benchmark, over loopback sockets, against a server that records when it sent each
//! token. The module `bare_client` runs the same load with a minimal hyper client, for comparison. `groups` defines what is measured, and `figures`
//! contains results and budgets. `program` runs the launcher as a user would. The bench needs epoll, timers and /proc of Linux.

mod bare_client;
mod cores;
mod document;
mod error;
pub mod figures;
mod groups;
mod machine;
mod parts;
mod program;
mod reporting;
mod table;
mod trials;

use std::path::{Path, PathBuf};

use capacity::{children, cpu_use::CpuUse};
use clap::ValueEnum as _;
use tracing::info;

use cores::Cores;
use document::{Document, Settings};
pub use error::BenchError;
use figures::{Budget, Figures};
use files::output;
pub use groups::Group;
use groups::setup::{Bench, Scale};
use machine::Machine;
use parts::Part;

/// If other processes use more cores than this on average, a note warns that they distort the figures.
const QUIET: f64 = 0.1;

/// The options of a bench run.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// The groups to measure; empty for all groups.
    pub groups: Vec<Group>,
    /// Whether loads are small. Small loads only show that the bench works; their figures mean nothing.
    pub quick: bool,
    /// Number of times that all loads are measured.
    pub runs: u32,
    /// Number of times that the engine and the bare client are each measured in one run of a comparison.
    pub repeats: u32,
    /// The `tokenizer.json` for the prompts; `None` for a small built-in tokenizer.
    pub tokenizer: Option<PathBuf>,
    /// The launcher's binary; `None` for the file `benchwright` in the folder of this program.
    pub program: Option<PathBuf>,
    /// The file to which all figures are written as JSON.
    pub json: Option<PathBuf>,
    /// The file to which all figures are written as Markdown.
    pub markdown: Option<PathBuf>,
}

/// Measures, writes the files that the options name, and returns the table.
///
/// # Errors
/// A part of the bench failed, or a file could not be written.
pub fn measure(options: &BenchOptions) -> Result<String, BenchError> {
    let folder = tempfile::tempdir()?;
    let mut figures = Figures::default();
    if cfg!(debug_assertions) {
        figures.note("this is a debug build: its figures do not count".into());
    }
    let (cores, note) = Cores::choose();
    note.into_iter().for_each(|it| figures.note(it));
    let (groups, left_out): (Vec<Group>, Vec<Group>) = Group::value_variants()
        .iter()
        .copied()
        .partition(|it| options.groups.is_empty() || options.groups.contains(it));
    let program = options.program.clone().map_or_else(program::beside, Ok)?;
    if groups.contains(&Group::Start) {
        program::check(&program)?;
    }
    let bench = Bench {
        scale: if options.quick { Scale::quick() } else { Scale::full() },
        cores,
        repeats: if options.quick { 1 } else { options.repeats },
        folder: folder.path().to_owned(),
        program,
        tokenizer: options.tokenizer.clone(),
    };
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

/// The names that groups have on the command line.
fn names(groups: &[Group]) -> Vec<String> {
    groups.iter().filter_map(Group::to_possible_value).map(|it| it.get_name().to_owned()).collect()
}

/// A note about the run in which other processes used the most CPU time. `others`: how many cores they used in each run.
fn noise(others: &[f64]) -> Option<String> {
    let noisy = others.iter().copied().enumerate().filter(|(_, it)| *it > QUIET);
    let (place, most) = noisy.max_by(|(_, left), (_, right)| left.total_cmp(right))?;
    let (run, runs) = (place + 1, others.len());
    Some(format!(
        "the machine was not quiet: in run {run} of {runs} other processes used {most:.2} cores; measure again when it is"
    ))
}

/// Does the work of a child process, and returns the text that the child prints for its parent. Returns an empty text if the work prints its result
/// itself.
///
/// # Errors
/// `part` cannot be parsed, or the work failed. In this case nothing was printed for the parent.
pub fn run_part(part: &str) -> Result<String, BenchError> {
    let part: Part = crds::json::read(part).map_err(|error| children::unreadable_part(&error))?;
    Ok(match part {
        Part::Bare(spec) => {
            capacity::prepare_process(spec.core)?;
            capacity::json(&bare_client::run(&spec)?)?
        }
        Part::Report(spec) => capacity::json(&reporting::run(&spec)?)?,
        Part::Trial(part) => capacity::do_part(part)?,
    })
}

fn write_file(path: &Path, text: &str) -> Result<(), BenchError> {
    let written = output::write(path, |file| file.write_all(text.as_bytes()));
    written.map(drop).map_err(|source| BenchError::Write { path: path.to_owned(), source })
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
