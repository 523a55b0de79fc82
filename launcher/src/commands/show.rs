//! [I/O] `benchwright show`: prints a file of a results folder.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use clap::Args;
use files::user_file;
use launcher::console;

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright show results/latest
  benchwright show results/latest --file stages.csv")]
pub(crate) struct ShowArgs {
    /// A results folder, such as results/latest
    folder: PathBuf,
    /// The file to print [default: report.md, repeats.md for several runs of a load, or sweep.md for a sweep]
    #[arg(long, value_name = "NAME")]
    file: Option<PathBuf>,
}

pub(crate) fn run(args: &ShowArgs) -> anyhow::Result<()> {
    if let Some(file) = &args.file {
        let is_within = file.components().all(|it| matches!(it, Component::Normal(_)));
        anyhow::ensure!(is_within, "--file is {}; give the name of a file in the folder", file.display());
    }
    let path = args.folder.join(args.file.clone().unwrap_or_else(|| default_file(&args.folder).into()));
    let mut file = user_file::open(&path).map_err(|error| {
        let folder = args.folder.display();
        anyhow::anyhow!(
            "cannot read {}: {error}; give the results folder of a finished run; this one is {folder}",
            path.display()
        )
    })?;
    Ok(console::print_with(|mut out| io::copy(&mut file, &mut out).map(drop))?)
}

/// Returns the file of a folder that people should read first.
fn default_file(folder: &Path) -> &'static str {
    let other = ["repeats.md", "sweep.md"].into_iter().find(|it| folder.join(it).exists());
    other.filter(|_| !folder.join("report.md").exists()).unwrap_or("report.md")
}
