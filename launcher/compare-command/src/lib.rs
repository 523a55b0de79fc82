//! [I/O] The command `compare`, shared by `benchwright` and `kubectl benchwright`: its flags, its checks of the reports, its files, its text and its
//! exit code. The calling program reads the reports and prints the text.

use std::{
    fmt::Display,
    io::{self, Write},
    path::{Path, PathBuf},
};

use clap::Args;
pub use comparison::MOST_RUNS;
use comparison::{Comparison, GateOutcome, GateRule, Run, Value, compare, compared, markdown, text};
use crds::{ExitCode, wording::suggestion};
use document::ReportDocument;
use files::output;

/// The exit code if an error occurs with `--gate`; it is the same for `run --gate`.
const GATE_ERROR: u8 = 3;

/// The flags of the command. The runs themselves are not flags.
#[derive(Args, Clone, Debug)]
pub struct CompareFlags {
    /// Return an exit code for a pipeline: whether a run is worse than the first [by more than PERCENT]: 0 no, 1 yes, 2 undecided, 3 error
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, require_equals = true, value_parser = percent)]
    gate: Option<Option<f64>>,
    /// Decide the gate by this figure alone, such as ttft.p90 or requestsPerSecond; may be given several times
    #[arg(long, value_name = "NAME", requires = "gate", value_parser = figure)]
    figure: Vec<String>,
    /// Write the comparison as a page that needs no network
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the comparison as Markdown that fits into the comment of a pull request
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write the comparison as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A requested run. The first one is the base.
#[derive(Debug)]
pub struct Found {
    /// The argument with which the user named the run on the command line.
    pub name: String,
    /// The report of the run, or why it is missing.
    pub report: Report,
}

/// The report of a run, or why it is missing.
#[derive(Debug)]
pub enum Report {
    /// The report of a run, or the reports of the valid runs of a series.
    Read(Vec<ReportDocument>),
    /// There is no report. The text says why, and what to do.
    Missing(String),
    /// The report was not read, because another run has no report.
    NotRead,
}

impl<E: Display> From<Result<Vec<ReportDocument>, E>> for Report {
    fn from(read: Result<Vec<ReportDocument>, E>) -> Report {
        match read {
            Ok(reports) => Report::Read(reports),
            Err(error) => Report::Missing(error.to_string()),
        }
    }
}

impl Found {
    /// The input for the comparison. `None` if no report was read.
    fn run(&self) -> Option<Run<'_>> {
        let Report::Read(reports) = &self.report else { return None };
        let (report, more) = reports.split_first()?;
        Some(Run { path: &self.name, report, more })
    }
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The comparison as a table for the terminal.
    pub text: String,
    /// The exit code: that of the gate, or 0 without a gate.
    pub code: u8,
}

/// Why runs could not be compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// One line per problem, without the name of the program.
    pub problems: Vec<String>,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let found = number.parse().ok().filter(|it: &f64| it.is_finite() && *it >= 0.0);
    found.ok_or_else(|| "write a percentage of 0 or more, such as --gate=5%".to_owned())
}

fn figure(text: &str) -> Result<String, String> {
    let names: Vec<String> = compared().into_iter().map(Value::name).collect();
    match names.iter().any(|it| it == text) {
        true => Ok(text.to_owned()),
        false => Err(suggestion(text, names.iter().map(String::as_str))),
    }
}

impl CompareFlags {
    /// Compares the runs, and writes the requested files.
    ///
    /// # Errors
    /// There are fewer than two runs or too many, a run has no report or appears twice, or a file cannot be written.
    pub fn compare(&self, runs: &[Found]) -> Result<Compared, Failure> {
        let wrong = |problems| self.failure(ExitCode::Configuration, problems);
        let problems = self.problems(runs);
        if !problems.is_empty() {
            return Err(wrong(problems));
        }
        let reports: Vec<Run<'_>> = runs.iter().filter_map(Found::run).collect();
        let mut comparison = compare(&reports).ok_or_else(|| wrong(vec![number_of_runs(reports.len())]))?;
        comparison.gate =
            self.gate.map(|percent| GateRule { percent, figures: self.figure.clone() }.apply(&comparison));
        self.write(&comparison)?;
        let code = match comparison.gate.as_ref().map(|it| it.outcome) {
            None | Some(GateOutcome::Passed) => ExitCode::Done.code(),
            Some(GateOutcome::Regression) => 1,
            Some(GateOutcome::Inconclusive) => 2,
        };
        Ok(Compared { text: text(&comparison), code })
    }

    /// Returns all problems of the runs.
    fn problems(&self, runs: &[Found]) -> Vec<String> {
        let mut problems = Vec::new();
        if !(2..=MOST_RUNS).contains(&runs.len()) {
            problems.push(number_of_runs(runs.len()));
        }
        for Found { name, report } in runs {
            let Report::Missing(problem) = report else { continue };
            // `--gate 5%` (with a space instead of `=`) is parsed as a run with the path `5%`.
            let is_percentage = self.gate == Some(None) && name.ends_with('%') && percent(name).is_ok();
            let more = if is_percentage { format!("; for the gate write --gate={name}") } else { String::new() };
            problems.push(format!("{problem}{more}"));
        }
        for (later, run) in runs.iter().enumerate() {
            let Some(Run { report, .. }) = run.run() else { continue };
            let same = runs[..later].iter().find(|it| it.run().is_some_and(|it| is_same(it.report, report)));
            if let Some(earlier) = same {
                problems.push(format!("{}: is the same run as {}; give another run", run.name, earlier.name));
            }
        }
        problems
    }

    /// A failure with `exit` as its exit code. With `--gate`, the exit code is always [`GATE_ERROR`].
    pub fn failure(&self, exit: ExitCode, problems: Vec<String>) -> Failure {
        Failure { code: if self.gate.is_some() { GATE_ERROR } else { exit.code() }, problems }
    }

    /// Writes the files that the flags request.
    fn write(&self, comparison: &Comparison) -> Result<(), Failure> {
        let storage = |path: &Path, error: io::Error| {
            let problem =
                format!("cannot write {} ({error}); allow the user of this process to write there", path.display());
            self.failure(ExitCode::Storage, vec![problem])
        };
        if let Some(path) = &self.html {
            // Rendering fails only if the program has a defect, and the message says so.
            let page = page::comparison::render(comparison)
                .map_err(|error| self.failure(ExitCode::Failed, vec![error.to_string()]))?;
            output::write(path, |file| file.write_all(page.as_bytes())).map_err(|it| storage(path, it))?;
        }
        if let Some(path) = &self.markdown {
            output::write(path, |file| file.write_all(markdown(comparison).as_bytes()))
                .map_err(|it| storage(path, it))?;
        }
        if let Some(path) = &self.json {
            let write = |file: &mut dyn Write| {
                serde_json::to_writer_pretty(&mut *file, comparison)?;
                file.write_all(b"\n")
            };
            output::write(path, |file| write(file)).map_err(|it| storage(path, it))?;
        }
        Ok(())
    }
}

fn number_of_runs(found: usize) -> String {
    format!("the number of runs is {found}; give 2 to {MOST_RUNS}, the base first")
}

fn is_same(one: &ReportDocument, other: &ReportDocument) -> bool {
    one.run == other.run && one.started == other.started
}
