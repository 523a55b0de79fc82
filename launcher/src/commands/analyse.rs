//! [I/O] `benchwright analyse`: judges a finished run by other objectives, and writes its report files again.

use std::path::{Path, PathBuf};

use analysis::objectives::Source;
use anyhow::{Context as _, bail};
use clap::Args;
use launcher::{console, input, run};
use report::{Folder, report_file, terminal};

use super::input_args::InputArgs;

#[derive(Args)]
pub(crate) struct AnalyseArgs {
    /// A results folder, such as results/latest, or a report.json
    path: PathBuf,
    #[command(flatten)]
    input: InputArgs,
    /// The earlier run that objectives are compared with: its results folder or its report.json
    #[arg(long, value_name = "PATH")]
    baseline: Option<PathBuf>,
    /// Write the report files into this new folder [default: the name of the results folder with -analysed behind it]
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Exit with 1 if an objective is missed, and with 2 if the run is not valid or an objective cannot be decided
    #[arg(long)]
    gate: bool,
}

pub(crate) fn run(args: &AnalyseArgs) -> anyhow::Result<u8> {
    let (path, document) = report_file::read(&args.path)?;
    let mut wanted = input::from_source(&args.input.local_source()?, &args.input.options())?.run;
    let baseline = run::read_baseline(&mut wanted, args.baseline.as_deref())?;
    let Some(slo) = &wanted.slo else {
        bail!("the BenchmarkRun has no spec.slo, and so there is nothing to judge; add objectives")
    };
    let judged = document.judged(slo, baseline.as_ref().map(|it| it as &dyn Source));
    let output = args.output.clone().unwrap_or_else(|| beside(&path));
    let root = output.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = output.file_name().and_then(|it| it.to_str());
    let name =
        name.with_context(|| format!("--output {} has no name of a folder; name a new folder", output.display()))?;
    let page_of = |it: &document::ReportDocument| page::run::render(it).map_err(std::io::Error::other);
    let mut folder = Folder::create(root, name)?;
    report::copy_inputs(&mut folder, path.parent().unwrap_or(Path::new(".")))?;
    report::write_document(&mut folder, &judged, Some(&page_of))?;
    let stored = folder.finish()?;
    console::print(format!("{}report: {}\n", terminal::table(&judged), stored.path.join("report.md").display()))?;
    Ok(run::exit_status_of(judged.outcome, None, args.gate))
}

/// The folder beside that of a report.
fn beside(report: &Path) -> PathBuf {
    let folder = report.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // `latest` is a link, and `.` has no name.
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push("-analysed");
    folder.with_file_name(name)
}
