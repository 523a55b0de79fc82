//! [I/O] `benchwright render`: prints a profile as rendered, or the workload that it describes.

use clap::Args;
use engine::trace;
use files::user_file;
use launcher::{console, input, remote_files};
use workload_profiles::workload::{FileSource, RequestSource};

use super::input_args::InputArgs;

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright render -f benchmarkrun.yaml
  benchwright render --simulator -l benchwright -w poisson_sweep --workload")]
pub(crate) struct RenderArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Print the workload that the profile describes, as JSON, in place of the profile
    #[arg(long)]
    workload: bool,
}

pub(crate) fn run(args: &RenderArgs) -> anyhow::Result<()> {
    let mut input = input::from_source(&args.input.local_source()?, &args.input.options())?;
    let remote = remote_files::not_read(input.workload.clone());
    remote.iter().for_each(|note| console::say(format_args!("note: {note}")));
    // A missing file is not an error, because it may exist only on the machine that will run the benchmark.
    if remote.is_empty() {
        match trace::read(&input.workload) {
            Ok(traces) => input.notices.extend(traces.notices),
            Err(error) => console::say(format_args!("note: {error}")),
        }
    }
    if let RequestSource::DataSet(set) = &input.workload.requests
        && matches!(set.file, FileSource::Path(_))
        && let Err(error) = user_file::open(set.file.as_path())
    {
        console::say(format_args!("note: cannot read the data set {}: {error}", set.file.shown()));
    }
    if let RequestSource::Questions(questions) = &input.workload.requests {
        let sources = [Some(&questions.data), questions.examples.as_ref()].into_iter().flatten();
        for path in sources.filter(|it| matches!(it, FileSource::Path(_))).map(FileSource::as_path) {
            if let Err(error) = std::fs::metadata(path) {
                console::say(format_args!("note: cannot read the questions of {}: {error}", path.display()));
            }
        }
    }
    for notice in &input.notices {
        console::say(format_args!("note: {}: {}", notice.path, notice.message));
    }
    let text = if args.workload { serde_json::to_string_pretty(&input.workload)? + "\n" } else { input.profile_text };
    Ok(console::print(text)?)
}
