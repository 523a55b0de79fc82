//! [I/O] `benchwright plan`: prints what the LoadGen tests of a run will issue.

use std::path::Path;

use clap::Args;
use launcher::{
    console,
    input::{
        self,
        files_here::{self, FilesHere},
    },
};
use loadgen::plan;

use super::input_args::InputArgs;

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright plan -f examples/loadgen.yaml --queries 5")]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Also print the first COUNT queries of each phase, or all, with their times and samples
    #[arg(long, value_name = "COUNT|all", default_value = "0", value_parser = count_or_all)]
    queries: usize,
    /// Print the plan as JSON
    #[arg(long)]
    json: bool,
}

fn count_or_all(text: &str) -> Result<usize, String> {
    if text == "all" {
        return Ok(usize::MAX);
    }
    text.parse().map_err(|_| "write a number or all".into())
}

pub(crate) fn run(args: &PlanArgs) -> anyhow::Result<()> {
    let input = input::from_source(&args.input.local_source()?, &args.input.options())?;
    for notice in &input.notices {
        console::say(format_args!("note: {}: {}", notice.path, notice.message));
    }
    let Some(loadgen) = &input.workload.loadgen else {
        anyhow::bail!(
            "the profile is for spec.harness {}, which has no LoadGen tests to plan; `benchwright render --workload` \
             prints its workload",
            input.run.harness.name()
        );
    };
    let plan = plan::plan(loadgen, args.queries)?;
    if let Some(message) = plan.past(input.run.run_deadline.0) {
        console::say(format_args!("note: {}: {message}", plan::DEADLINE));
    }
    // The data set may exist only on the machine that will run the test. If it is on this machine, it is read as in the test.
    match files_here::read(&input.workload, Path::new(""), input.run.seed) {
        FilesHere::Read => {}
        FilesHere::NotHere(files) => {
            console::say(format_args!(
                "note: these files are not on this machine, and were not checked: {}",
                files.join(", ")
            ));
        }
        FilesHere::Wrong(error) => return Err(error.into()),
    }
    Ok(console::print_with(|out| match args.json {
        true => {
            serde_json::to_writer(&mut *out, &plan)?;
            writeln!(out)
        }
        false => write!(out, "{plan}"),
    })?)
}
