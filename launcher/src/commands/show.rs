//! [I/O] `benchwright show`: prints a file of a results folder.

use std::{io, path::PathBuf};

use clap::Args;
use engine::user_file;
use launcher::console;

#[derive(Args)]
pub(crate) struct ShowArgs {
    /// A results folder, such as results/latest
    folder: PathBuf,
    /// The file to print
    #[arg(long, value_name = "NAME", default_value = "report.md")]
    file: PathBuf,
}

pub(crate) fn run(args: &ShowArgs) -> anyhow::Result<()> {
    let path = args.folder.join(&args.file);
    let mut file = user_file::open(&path).map_err(|error| {
        let folder = args.folder.display();
        anyhow::anyhow!(
            "cannot read {}: {error}; give the results folder of a finished run; this one is {folder}",
            path.display()
        )
    })?;
    Ok(console::print_with(|mut out| io::copy(&mut file, &mut out).map(drop))?)
}
