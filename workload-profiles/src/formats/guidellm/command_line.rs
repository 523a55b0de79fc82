//! GuideLLM's command line.

use crate::{
    formats::common::command_line::{CommandLineError, CommandOption, options, words},
    problem::Findings,
};

/// The options of `guidellm run` and `guidellm benchmark`.
pub(super) fn read(text: &str, findings: &Findings) -> Option<Vec<CommandOption>> {
    let of_command = |error: CommandLineError| findings.problem("profile", error.to_string());
    let words = words(text).map_err(of_command).ok()?;
    options(words.get(2..).unwrap_or_default()).map_err(of_command).ok()
}
