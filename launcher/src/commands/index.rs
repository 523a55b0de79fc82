//! [I/O] `benchwright index`: regenerates the page of all runs below a folder.

use std::path::PathBuf;

use clap::Args;
use launcher::console;
use report::index;

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright index results")]
pub(crate) struct IndexArgs {
    /// The folder that contains the results folders
    #[arg(default_value = "results")]
    root: PathBuf,
}

pub(crate) fn run(args: &IndexArgs) -> anyhow::Result<()> {
    let root = args.root.display();
    let rebuilt = index::rebuild(&args.root)
        .map_err(|error| anyhow::anyhow!("{root}: {error}; give the folder that holds the results folders"))?;
    let index::Rebuilt { rows, read, left_out, .. } = rebuilt;
    let oldest = if left_out > 0 { format!(", without the {left_out} oldest") } else { String::new() };
    Ok(console::print(format!("{root}/index.html lists {rows} folders{oldest}; {read} reports were read\n"))?)
}
