//! [I/O] `benchwright plan`: prints what the LoadGen tests of a run will issue.

use clap::Args;
use engine::data_set;
use launcher::{console, input, remote_files};
use loadgen::plan;

use super::input_args::InputArgs;

#[derive(Args)]
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
            "the profile is one of spec.harness {}, which has no LoadGen tests to plan; `benchwright render --workload` \
             prints what it means",
            input.run.harness.name()
        );
    };
    let plan = plan::plan(loadgen, args.queries)?;
    if let Some(message) = plan.past(input.run.run_deadline.0) {
        console::say(format_args!("note: {}: {message}", plan::DEADLINE));
    }
    let remote = remote_files::not_read(input.workload.clone());
    remote.iter().for_each(|note| console::say(format_args!("note: {note}")));
    // The data set may exist only on the machine that will run the test.
    if remote.is_empty()
        && let Err(error) = data_set::read(&input.workload, input.run.seed)
    {
        console::say(format_args!("note: {error}"));
    }
    Ok(console::print_with(|out| match args.json {
        true => {
            serde_json::to_writer(&mut *out, &plan)?;
            writeln!(out)
        }
        false => write!(out, "{plan}"),
    })?)
}
