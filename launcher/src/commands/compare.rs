//! [I/O] `benchwright compare`: compares finished runs on disk.

use std::path::PathBuf;

use clap::Args;
use compare_command::{CompareFlags, Found};
use crds::ExitCode;
use launcher::console;
use report::report_file;

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright compare results/base results/latest
  benchwright compare results/base results/latest --gate=5% --figure ttft.p99")]
pub(crate) struct CompareArgs {
    /// Results folders, folders of a series of runs (--repeat), or report.json files; each is compared with the first
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    #[command(flatten)]
    flags: CompareFlags,
}

/// Runs the command, and returns its exit code.
pub(crate) fn run(args: &CompareArgs) -> u8 {
    let found = args
        .runs
        .iter()
        .map(|path| Found { name: path.display().to_string(), report: report_file::read_all(path).into() });
    let printed = args.flags.compare(&found.collect::<Vec<_>>()).and_then(|compared| {
        let unprinted =
            |error: console::PrintError| args.flags.failure(ExitCode::Configuration, vec![error.to_string()]);
        console::print(&compared.text).map_err(unprinted)?;
        Ok(compared.code)
    });
    printed.unwrap_or_else(|failure| {
        for problem in failure.problems {
            console::say(format_args!("benchwright: {problem}"));
        }
        failure.code
    })
}
