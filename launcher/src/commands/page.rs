//! [I/O] `benchwright page`: writes the page of a finished run from its `report.json`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use files::output;
use launcher::console;
use report::{PAGE_FILE_NAME, report_file};

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright page results/latest
  benchwright page results/latest -o page.html")]
pub(crate) struct PageArgs {
    /// A results folder, such as results/latest, or a report.json
    path: PathBuf,
    /// Write the page to this file [default: report.html beside report.json]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &PageArgs) -> anyhow::Result<()> {
    let (path, document) = report_file::read(&args.path)?;
    let page = page::run::render(&document)?;
    let beside = || path.parent().unwrap_or(Path::new(".")).join(PAGE_FILE_NAME);
    let to = args.output.clone().unwrap_or_else(beside);
    output::write(&to, |file| file.write_all(page.as_bytes()))
        .with_context(|| format!("cannot write {}; use --output to name a file in a writable folder", to.display()))?;
    Ok(console::print(format!("{}\n", to.display()))?)
}
