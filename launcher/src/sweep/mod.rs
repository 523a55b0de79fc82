//! [I/O] `benchwright sweep`: runs every cell of a BenchmarkSweep on this machine, one run at a time, and writes the result after each run.
//!
//! Each run is a process of its own, `benchwright run`. Its results folder is the only record of it, so a sweep that was killed continues with the
//! runs that have no folder. [`crds::benchmark_sweep::next`] decides which run follows.

mod checked;
mod child;
mod estimate;
mod folder;
mod options;
#[cfg(target_os = "linux")]
mod servers;
mod state;

use std::{sync::Arc, time::Duration};

use crds::{
    ExitCode, Outcome,
    benchmark_sweep::{Attempt, Attempts, Ended, Next, next},
};
use sweep::{Answer, Run, SweepDocument};
use tracing::{info, warn};

use crate::{console, input::SweepFile};
use checked::CheckedSweep;
use child::{Child, Stopped};
use folder::SweepFolder;
pub use options::{SweepOptions, SweepSource};

/// Runs a sweep, and returns the exit code.
///
/// # Errors
/// The file or the folder cannot be used.
pub fn run(options: &SweepOptions) -> anyhow::Result<u8> {
    let prepared = match &options.source {
        SweepSource::File(file) => Prepared::new(file, options)?,
        SweepSource::Resumed(folder) => Prepared::resumed(folder, options)?,
    };
    console::print(prepared.plan())?;
    if options.plan {
        return Ok(0);
    }
    let Prepared { file, checked, folder, uid } = prepared;
    let folder = match folder {
        Some(folder) => folder,
        None => SweepFolder::create(&options.results, &file, &uid, options)?,
    };
    let stop = child::listen()?;
    Sweep { options, file: &file, checked: &checked, folder, stop }.run()
}

/// A sweep that has not begun or not continued yet.
struct Prepared {
    file: SweepFile,
    checked: CheckedSweep,
    /// The folder of a sweep that is resumed.
    folder: Option<SweepFolder>,
    uid: String,
}

impl Prepared {
    fn new(path: &std::path::Path, options: &SweepOptions) -> anyhow::Result<Prepared> {
        let file = SweepFile::read(path)?;
        let uid = uuid::Uuid::new_v4().to_string();
        let checked = checked::check(&file, path, &uid, &options.local)?;
        Ok(Prepared { file, checked, folder: None, uid })
    }

    fn resumed(path: &std::path::Path, options: &SweepOptions) -> anyhow::Result<Prepared> {
        let (mut folder, file) = SweepFolder::open(path)?;
        let uid = folder.state.uid.clone();
        folder.state.use_arguments(options);
        let local = folder.state.local();
        let checked = checked::check(&file, &folder.file(), &uid, &local)?;
        Ok(Prepared { file, checked, folder: Some(folder), uid })
    }

    /// The number of runs and their expected duration, as text.
    fn plan(&self) -> String {
        let CheckedSweep { sweep, inputs } = &self.checked;
        let levels: Vec<String> = sweep.factors.iter().map(|it| it.levels.len().to_string()).collect();
        let factors: Vec<&str> = sweep.factors.iter().map(|it| it.name.as_str()).collect();
        let pauses = sweep.cooldown * u32::try_from(sweep.order.len()).unwrap_or(u32::MAX);
        let lengths: Option<Vec<Duration>> = inputs.iter().map(|it| estimate::length(&it.workload)).collect();
        let time = match lengths {
            Some(all) => {
                let total = all.iter().sum::<Duration>() * sweep.repeats + pauses;
                format!("at least {}", estimate::text(total))
            }
            None => "of a duration that depends on the server".to_owned(),
        };
        let limit = sweep.budget.map_or_else(String::new, |it| format!(", limited to {}", estimate::text(it)));
        format!(
            "{}: {} ({}) make {} cells; {} repeats: {} runs, {time}{limit}\n",
            sweep.name,
            levels.join(" x "),
            factors.join(" x "),
            sweep.cells.len(),
            sweep.repeats,
            sweep.order.len(),
        )
    }
}

struct Sweep<'a> {
    options: &'a SweepOptions,
    file: &'a SweepFile,
    checked: &'a CheckedSweep,
    folder: SweepFolder,
    stop: Arc<Stopped>,
}

impl Sweep<'_> {
    fn run(mut self) -> anyhow::Result<u8> {
        // Linked before the first run, so that `--resume results/latest` names this sweep also after a crash.
        if let Err(error) = report::index::link_latest(self.folder.root(), self.folder.name()) {
            warn!(%error, "`latest` was not updated");
        }
        let mut runs = self.folder.finished(&self.checked.sweep)?;
        let ended = self.make_runs(&mut runs);
        // The servers end in any case. They would keep their GPUs otherwise.
        #[cfg(target_os = "linux")]
        servers::end_all(&mut self.folder)?;
        let ended = ended?;
        let document = self.write(&runs, ended)?;
        let shown = self.folder.path.display();
        console::print(format!("\n{}\nresults: {shown}/sweep.html\n", sweep::text(&document)))?;
        if ended != Some(Ended::Complete) {
            console::say(format_args!("the sweep is not complete; to continue it: benchwright sweep --resume {shown}"));
        }
        Ok(self.exit_code(&document))
    }

    /// Makes runs until none follows, or a signal ends the sweep. Returns why the sweep ended; `None` after a signal.
    fn make_runs(&mut self, runs: &mut Vec<Run>) -> anyhow::Result<Option<Ended>> {
        let sweep = &self.checked.sweep;
        let begun = clock::monotonic();
        let used_before = self.folder.state.used();
        let mut is_first = true;
        loop {
            let elapsed = used_before + (clock::monotonic() - begun);
            let (cell, repeat, attempt) = match next(sweep, &attempts(runs), elapsed) {
                Next::End(ended) => return Ok(Some(ended)),
                // Only this process runs the sweep, and it waits for the end of each run.
                Next::Wait { .. } => return Ok(None),
                Next::Run { cell, repeat, attempt } => (cell, repeat, attempt),
            };
            if !is_first && !self.stop.pause(sweep.cooldown) {
                return Ok(None);
            }
            is_first = false;
            let is_other = |it: &Run| (it.cell, it.repeat) != (cell, repeat);
            let number = runs.iter().filter(|it| is_other(it)).count() + 1;
            let name = &sweep.cells[cell].name;
            info!(cell = name, repeat, attempt, "run {number} of {} begins", sweep.order.len());
            let run = self.one(cell, repeat, attempt)?;
            if self.stop.is_requested() && !run.outcome.has_valid_figures() {
                return Ok(None);
            }
            console::say(line(&run, name, sweep.repeats));
            if run.report.is_none() {
                self.folder.state.add_lost(cell, repeat, &run.message);
            }
            runs.retain(is_other);
            runs.push(run);
            self.folder.state.set_used(used_before + (clock::monotonic() - begun));
            self.write(runs, None)?;
            if self.stop.is_requested() {
                return Ok(None);
            }
        }
    }

    /// Makes one attempt to run a cell.
    fn one(&mut self, cell: usize, repeat: u32, attempt: u32) -> anyhow::Result<Run> {
        let CheckedSweep { sweep, inputs } = self.checked;
        #[cfg(target_os = "linux")]
        let shares_server = servers::prepare(&inputs[cell], &mut self.folder)?;
        #[cfg(not(target_os = "linux"))]
        let shares_server = inputs.is_empty();
        let without_report = |outcome: Outcome, message: String| Run {
            cell,
            repeat,
            attempts: attempt,
            folder: None,
            outcome,
            message,
            report: None,
        };
        // The end of an earlier server may have taken long enough for a signal.
        if self.stop.is_requested() {
            return Ok(without_report(Outcome::Cancelled, String::new()));
        }
        let name = self.folder.place(&sweep.cells[cell].name, repeat)?;
        let document = self.file.document(sweep, cell, repeat, shares_server);
        let child = Child {
            document: &document,
            root: &self.folder.path,
            folder: &name,
            arguments: &self.folder.state.arguments,
        };
        let ended = child.run(&self.stop)?;
        let outcome = if self.stop.is_requested() { Outcome::Cancelled } else { Outcome::Error };
        Ok(match self.folder.read(&sweep.cells[cell].name, repeat) {
            // A run that somebody else cancelled has used an attempt.
            Some(found) if found.outcome == Outcome::Cancelled && outcome == Outcome::Error => {
                without_report(outcome, "it was cancelled".to_owned())
            }
            Some(found) if ended.wrote_results() => Run { cell, attempts: attempt, ..found },
            _ => without_report(outcome, ended.reason()),
        })
    }

    fn write(&mut self, runs: &[Run], ended: Option<Ended>) -> anyhow::Result<SweepDocument> {
        let started = self.folder.state.started;
        let document = sweep::evaluate(&self.checked.sweep, started, runs, ended);
        self.folder.write(&document)?;
        Ok(document)
    }

    fn exit_code(&self, document: &SweepDocument) -> u8 {
        let is_complete = document.ended == Some(Ended::Complete);
        if self.stop.is_requested() {
            return if self.options.gate { Outcome::Cancelled.gate_code() } else { ExitCode::Cancelled.code() };
        }
        if !self.options.gate {
            return ExitCode::Done.code();
        }
        let has = |answers: &[Answer]| document.comparisons.iter().any(|it| answers.contains(&it.answer));
        let has_failures = document.cells.iter().any(|it| it.runs.iter().any(|run| !run.outcome.has_valid_figures()));
        match () {
            () if has(&[Answer::Worse, Answer::Mixed]) => 1,
            () if document.comparisons.is_empty() => 2,
            () if !is_complete || has_failures || has(&[Answer::Undecided]) => 2,
            () => 0,
        }
    }
}

/// The attempts of each run. A cancelled run is no attempt.
fn attempts(runs: &[Run]) -> Attempts {
    let mut attempts = Attempts::new();
    for run in runs.iter().filter(|it| it.outcome != Outcome::Cancelled) {
        let last = if run.outcome.has_valid_figures() { Attempt::Succeeded } else { Attempt::Failed };
        let failed = (1..run.attempts).map(|_| Attempt::Failed);
        attempts.insert((run.cell, run.repeat), failed.chain([last]).collect());
    }
    attempts
}

/// The line that is printed after a run.
fn line(run: &Run, cell: &str, repeats: u32) -> String {
    let Run { repeat, outcome, message, .. } = run;
    let why = if message.is_empty() { String::new() } else { format!(": {message}") };
    format!("{cell}, repeat {repeat} of {repeats}: {}{why}", outcome.name())
}
