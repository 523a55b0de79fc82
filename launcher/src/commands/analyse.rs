//! [I/O] `benchwright analyse`: analyses a finished run again, with other objectives or windows, and writes its report files.

use std::path::{Path, PathBuf};

use analysis::objectives::Source;
use anyhow::{Context as _, bail};
use clap::Args;
use crds::ResolvedRun;
use document::ReportDocument;
use files::folder_of;
use launcher::{
    console, input,
    other_windows::{self, GivenMargin, Margins},
    run,
};
use report::{Folder, report_file, terminal};

use super::input_args::InputArgs;

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright analyse results/latest --warm-up 30s
  benchwright analyse results/latest -f benchmarkrun.yaml --gate")]
pub(crate) struct AnalyseArgs {
    /// A results folder, such as results/latest, or a report.json
    path: PathBuf,
    #[command(flatten)]
    input: InputArgs,
    /// Leave the first requests of each stage out of the figures, in place of the stage's own warm-up: a length of time such as 30s, a number of
    /// requests, or 0 for none. Needs measurement.bin beside report.json
    #[arg(long, value_name = "TIME|COUNT", value_parser = GivenMargin::parse)]
    warm_up: Option<GivenMargin>,
    /// Leave the last requests of each stage out of the figures, in place of the stage's own cool-down
    #[arg(long, value_name = "TIME|COUNT", value_parser = GivenMargin::parse)]
    cool_down: Option<GivenMargin>,
    /// The earlier run to compare objectives with: its results folder or its report.json
    #[arg(long, value_name = "PATH")]
    baseline: Option<PathBuf>,
    /// Write the report files into this new folder [default: the name of the results folder, followed by -analysed]
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Exit with 1 if an objective is missed, and with 2 if the run is not valid or an objective cannot be decided
    #[arg(long)]
    gate: bool,
}

pub(crate) fn run(args: &AnalyseArgs) -> anyhow::Result<u8> {
    let (path, document) = report_file::read(&args.path)?;
    if document.search.is_some() {
        bail!(
            "the run is a search, whose objectives chose the loads that it tried; run the search again with other objectives"
        )
    }
    // Check the output folder first, because the analysis may take minutes.
    if let Some(output) = args.output.as_deref().filter(|it| it.symlink_metadata().is_ok()) {
        bail!("--output {} exists; name a new folder", output.display())
    }
    let output = args.output.clone().unwrap_or_else(|| beside(&path));
    let root = folder_of(&output);
    let name = output.file_name().and_then(|it| it.to_str());
    let name = name
        .with_context(|| format!("--output {} does not end in a folder name; name a new folder", output.display()))?;
    let analysed = analysed(args, &path, &document)?;
    let page_of = |it: &ReportDocument| page::run::render(it).map_err(std::io::Error::other);
    let mut folder = Folder::create(root, name)?;
    report::copy_inputs(&mut folder, folder_of(&path))?;
    report::write_document(&mut folder, &analysed, Some(&page_of))?;
    let stored = folder.finish()?;
    let table = terminal::table(&analysed, console::stdout_paint());
    console::print(format!("{table}report: {}\n", stored.path.join("report.md").display()))?;
    Ok(run::exit_status_of(analysed.outcome, None, args.gate))
}

fn analysed(args: &AnalyseArgs, path: &Path, document: &ReportDocument) -> anyhow::Result<ReportDocument> {
    let margins = Margins { warm_up: args.warm_up, cool_down: args.cool_down };
    let mut wanted = wanted(args, document, margins)?;
    let baseline = run::read_baseline(&mut wanted, args.baseline.as_deref())?;
    let baseline = baseline.as_ref().map(|it| it as &dyn Source);
    match &wanted.slo {
        Some(slo) if margins.is_empty() => Ok(document.judged(slo, baseline)),
        _ => {
            let commit = crate::commit::COMMIT;
            let run = &wanted;
            other_windows::count_again(&other_windows::Order {
                folder: folder_of(path),
                document,
                run,
                baseline,
                margins,
                commit,
            })
        }
    }
}

/// Returns the run to analyse, with the objectives of the BenchmarkRun if one is given.
fn wanted(args: &AnalyseArgs, document: &ReportDocument, margins: Margins) -> anyhow::Result<ResolvedRun> {
    let of_run = document.resolved_run.clone();
    if args.input.source().is_none() && !margins.is_empty() {
        return Ok(of_run);
    }
    let wanted = input::from_source(&args.input.local_source()?, &args.input.options())?.run;
    if wanted.slo.is_none() {
        bail!("the BenchmarkRun has no spec.slo, and so there is nothing to judge; add objectives")
    }
    Ok(ResolvedRun { slo: wanted.slo, ..of_run })
}

/// Returns the default output folder, next to the report's folder.
fn beside(report: &Path) -> PathBuf {
    let folder = folder_of(report);
    // The canonical path has the real name: `latest` is a link, and `.` has no name.
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push("-analysed");
    folder.with_file_name(name)
}
