//! [I/O] `benchwright compare`: holds finished runs against each other.

use std::{fmt::Write as _, io::Write, path::PathBuf};

use clap::Args;
use comparison::{Comparison, Figure, GateOutcome, GateRule, MOST_RUNS, Run, compare, markdown, text};
use crds::{ExitCode, wording::suggestion};
use launcher::{
    console,
    report_file::{self, ReportFileError},
};
use report::{json::ReportDocument, write_whole};

/// The exit code of a gate that an error ended, as that of `run --gate`.
const GATE_ERROR: u8 = 3;

#[derive(Args)]
pub(crate) struct CompareArgs {
    /// Results folders or report.json files; each is compared with the first
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// Tell a pipeline by the exit code whether a run is worse than the first [by more than PERCENT]: 0 no, 1 yes, 2 not to be decided,
    /// 3 error
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, require_equals = true, value_parser = percent)]
    gate: Option<Option<f64>>,
    /// Let this figure alone decide the gate, such as ttft.p90 or requestsPerSecond; may be given several times
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

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let found = number.parse().ok().filter(|it: &f64| it.is_finite() && *it >= 0.0);
    found.ok_or_else(|| "write a percentage of 0 or more, such as --gate=5%".to_owned())
}

fn figure(text: &str) -> Result<String, String> {
    let names: Vec<String> = Figure::all().into_iter().map(Figure::name).collect();
    match names.iter().any(|it| it == text) {
        true => Ok(text.to_owned()),
        false => Err(suggestion(text, names.iter().map(String::as_str))),
    }
}

/// Why there is no comparison, in a line for each problem.
struct Failure {
    exit: ExitCode,
    message: String,
}

/// Runs the command, and returns its exit code.
pub(crate) fn run(args: &CompareArgs) -> u8 {
    match compared(args).and_then(|it| print(args, &it).map(|()| it)) {
        Ok(comparison) => match comparison.gate.map(|it| it.outcome) {
            None | Some(GateOutcome::Passed) => ExitCode::Done.code(),
            Some(GateOutcome::Regression) => 1,
            Some(GateOutcome::Inconclusive) => 2,
        },
        Err(failure) => {
            console::say(failure.message.trim_end());
            if args.gate.is_some() { GATE_ERROR } else { failure.exit.code() }
        }
    }
}

fn compared(args: &CompareArgs) -> Result<Comparison, Failure> {
    let found: Vec<Result<ReportDocument, ReportFileError>> =
        args.runs.iter().map(|it| Ok(report_file::read(it)?.1)).collect();
    let mut problems = String::new();
    let count = args.runs.len();
    if !(2..=MOST_RUNS).contains(&count) {
        let _ = writeln!(problems, "benchwright: the number of runs is {count}; give 2 to {MOST_RUNS}, the base first");
    }
    for (path, found) in args.runs.iter().zip(&found) {
        let Err(error) = found else { continue };
        // A percentage behind a blank is taken for a path.
        let path = path.to_string_lossy();
        let is_percentage = args.gate == Some(None) && path.ends_with('%') && percent(&path).is_ok();
        let more = if is_percentage { format!("; for the gate write --gate={path}") } else { String::new() };
        let _ = writeln!(problems, "benchwright: {error}{more}");
    }
    for (later, report) in found.iter().enumerate() {
        let Ok(report) = report else { continue };
        let same = found[..later].iter().position(|it| it.as_ref().is_ok_and(|it| is_same(it, report)));
        if let Some(earlier) = same {
            let [one, two] = [earlier, later].map(|it| args.runs[it].display());
            let _ = writeln!(problems, "benchwright: {two}: is the run of {one}; give another run");
        }
    }
    let reports: Vec<ReportDocument> = found.into_iter().filter_map(Result::ok).collect();
    let paths: Vec<String> = args.runs.iter().map(|it| it.display().to_string()).collect();
    let runs: Vec<Run<'_>> = paths.iter().zip(&reports).map(|(path, report)| Run { path, report }).collect();
    match compare(&runs).filter(|_| problems.is_empty()) {
        Some(mut comparison) => {
            comparison.gate =
                args.gate.map(|percent| GateRule { percent, figures: args.figure.clone() }.apply(&comparison));
            Ok(comparison)
        }
        None => Err(Failure { exit: ExitCode::Configuration, message: problems }),
    }
}

fn is_same(one: &ReportDocument, other: &ReportDocument) -> bool {
    one.run == other.run && one.started == other.started
}

/// Files first, so that a closed pipe loses none.
fn print(args: &CompareArgs, comparison: &Comparison) -> Result<(), Failure> {
    let storage = |path: &PathBuf, error: std::io::Error| Failure {
        exit: ExitCode::Storage,
        message: format!(
            "benchwright: cannot write {} ({error}); let the user of this process write there",
            path.display()
        ),
    };
    if let Some(path) = &args.html {
        // A defect of this program, as its message says.
        let page = page::comparison::render(comparison)
            .map_err(|error| Failure { exit: ExitCode::Failed, message: format!("benchwright: {error}") })?;
        write_whole(path, |file| file.write_all(page.as_bytes())).map_err(|it| storage(path, it))?;
    }
    if let Some(path) = &args.markdown {
        write_whole(path, |file| file.write_all(markdown(comparison).as_bytes())).map_err(|it| storage(path, it))?;
    }
    if let Some(path) = &args.json {
        let write = |file: &mut dyn Write| {
            serde_json::to_writer_pretty(&mut *file, comparison)?;
            file.write_all(b"\n")
        };
        write_whole(path, |file| write(file)).map_err(|it| storage(path, it))?;
    }
    console::print(text(comparison))
        .map_err(|error| Failure { exit: ExitCode::Configuration, message: format!("benchwright: {error}") })
}
