//! [I/O] `benchwright mmlu`: creates a BenchmarkRun of MMLU from the flags of the MLPerf runner's mmlu.py, and runs it.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::runner_args::{RunArgs, Switch, TargetArgs};

/// The environment variable with the path of the questions, used if no flag names it.
const VARIABLE: &str = "MMLU_DATA";

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright mmlu -U http://server:8000 --data mmlu --total-limit 100")]
pub(crate) struct MmluArgs {
    /// The questions: the folder of `hf download cais/mmlu --repo-type dataset`, the authors' folder, or a file [default: the variable
    /// MMLU_DATA, or mmlu]
    #[arg(long, alias = "dataset", value_name = "PATH")]
    data: Option<PathBuf>,
    /// Number of questions to ask, evenly over the subjects [default: all]
    #[arg(long, value_name = "N")]
    total_limit: Option<u64>,
    /// Examples before each question
    #[arg(long, value_name = "N", default_value_t = 5)]
    shots: u32,
    /// Maximum concurrent requests
    #[arg(long, value_name = "N", default_value_t = 16)]
    concurrency: u32,
    /// 1: also write samples.csv, by_subject_detail.json and by_domain_detail.json
    #[arg(long, value_enum, num_args = 0..=1, default_missing_value = "1", default_value = "1")]
    details: Switch,
    #[command(flatten, next_help_heading = "Target")]
    target: TargetArgs,
    #[command(flatten, next_help_heading = "Results")]
    run: RunArgs,
}

/// Returns the exit status of `benchwright run`.
pub(crate) fn run(args: &MmluArgs) -> anyhow::Result<u8> {
    let data = args.data.clone().or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from));
    let mut profile = json!({
        "data": data.unwrap_or_else(|| "mmlu".into()),
        "shots": args.shots,
        "concurrency": args.concurrency,
        "details": args.details == Switch::On,
    });
    if let Some(limit) = args.total_limit {
        profile["totalLimit"] = limit.into();
    }
    Ok(args.run.run("mmlu", args.target.target()?, "mmlu", &profile)?.status)
}
