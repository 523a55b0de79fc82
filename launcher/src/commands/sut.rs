//! `benchwright sut`: answers the samples of MLCommons' own LoadGen.

use clap::Args;
use launcher::sut::{self, SutOptions};

use super::input_args::InputArgs;

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright sut -U http://server:8000 --max-in-flight 512")]
pub(crate) struct SutArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Maximum number of requests in flight; further samples wait in order [default: the maxConcurrency of a loadgen profile, or 4096]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_in_flight: Option<u32>,
    /// Fail answers without a first token, for tests in which LoadGen judges the time to first token
    #[arg(long)]
    first_tokens: bool,
}

pub(crate) fn run(args: &SutArgs) -> u8 {
    let options = SutOptions {
        source: args.input.source(),
        local: args.input.options(),
        max_in_flight: args.max_in_flight,
        first_tokens: args.first_tokens,
    };
    sut::run(&options)
}
