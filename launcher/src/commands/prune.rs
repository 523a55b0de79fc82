//! [I/O] `benchwright prune`: deletes old results folders below a folder.

use std::{fs, path::PathBuf};

use clap::{ArgGroup, Args};
use crds::ExitCode;
use launcher::console;
use report::{
    index,
    prune::{Limits, prune},
};

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright prune results --keep-runs 20 --dry-run
  benchwright prune results --keep-days 30")]
#[command(group = ArgGroup::new("limit").required(true).multiple(true).args(["keep_runs", "keep_days"]))]
pub(crate) struct PruneArgs {
    /// The folder that contains the results folders
    root: PathBuf,
    /// Keep this number of finished folders, the newest ones
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep_runs: Option<u32>,
    /// Keep the folders of this number of days
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..))]
    keep_days: Option<u32>,
    /// Print what would be deleted, and delete nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &PruneArgs) -> anyhow::Result<u8> {
    let root = args.root.display();
    let limits = Limits { keep_runs: args.keep_runs, keep_days: args.keep_days };
    // The run that the link `latest` points to is kept, because people read it.
    let latest = fs::read_link(args.root.join("latest")).ok();
    let latest = latest.as_ref().and_then(|it| it.file_name()?.to_str());
    let spared: Vec<&str> = latest.into_iter().collect();
    let pruned = prune(&args.root, limits, &spared, clock::now().into(), args.dry_run)
        .map_err(|error| anyhow::anyhow!("{root}: {error}; give the folder that holds the results folders"))?;
    let verb = if args.dry_run { "would delete" } else { "deleted" };
    let mut text: String = pruned.deleted.iter().map(|it| format!("{verb} {it}\n")).collect();
    let (deleted, kept) = (pruned.deleted.len(), pruned.kept);
    text.push_str(&format!(
        "{verb} {deleted} of {} finished folders in {root}\n",
        deleted + kept + pruned.failed.len()
    ));
    let has_page = args.root.join("index.html").is_file();
    if !args.dry_run
        && deleted > 0
        && has_page
        && let Err(error) = index::rebuild(&args.root)
    {
        console::say(format_args!("benchwright: {root}/index.html was not brought up to date: {error}"));
    }
    console::print(text)?;
    for (name, error) in &pruned.failed {
        console::say(format_args!("benchwright: {name} cannot be deleted: {error}; check who owns it"));
    }
    Ok(if pruned.failed.is_empty() { ExitCode::Done.code() } else { ExitCode::Storage.code() })
}
