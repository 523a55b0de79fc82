//! The help of the program: its commands in groups by task, with one example per group.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _, builder::StyledStr};

use crate::Cli;

/// The commands for one task.
struct Group {
    title: &'static str,
    /// A complete command line.
    example: &'static str,
    commands: &'static [&'static str],
}

const GROUPS: [Group; 5] = [
    Group {
        title: "Start here:",
        example: "benchwright init --simulator",
        commands: &["init", "run", "search", "sweep", "show"],
    },
    Group {
        title: "Prepare, check:",
        example: "benchwright validate -f benchmarkrun.yaml",
        commands: &["profiles", "dataset", "validate", "render", "plan", "bench"],
    },
    Group {
        title: "Results:",
        example: "benchwright compare results/base results/latest",
        commands: &["compare", "analyse", "page", "plot", "index", "startup", "prune", "archive"],
    },
    Group { title: "Servers:", example: "benchwright sim --port 8000", commands: &["sim", "server", "offline-engine"] },
    Group {
        title: "MLPerf, accuracy:",
        example: "benchwright mlperf --simulator --total-sample-count 50",
        commands: &["mlperf", "mmlu", "accuracy", "submission", "sut"],
    },
];

/// The column in which the descriptions of the commands begin, counted from 0.
const COLUMN: usize = 18;

/// Returns the program's arguments. The help groups the commands by task.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let groups = groups(&command);
    command.help_template("{about}\n{usage-heading} {usage}{after-help}\n").after_help(groups)
}

fn groups(command: &Command) -> StyledStr {
    let (header, name_style) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let mut text = String::new();
    // `write!` to a String does not fail.
    for Group { title, example, commands } in &GROUPS {
        let gap = COLUMN.saturating_sub(title.len());
        let _ = writeln!(text, "{header}{title}{header:#}{:gap$}$ {example}", "");
        for found in commands.iter().filter_map(|it| command.find_subcommand(it)) {
            let (name, about) = (found.get_name(), found.get_about().cloned().unwrap_or_default());
            let gap = COLUMN.saturating_sub(name.len() + 2);
            let _ = writeln!(text, "  {name_style}{name}{name_style:#}{:gap$}{about}", "");
        }
        text.push('\n');
    }
    text.push_str("`benchwright COMMAND --help` prints flags and examples, `--version` the version");
    text.into()
}

#[cfg(all(test, target_os = "linux"))]
#[path = "../../crds/tests/shared/help_examples.rs"]
mod help_examples;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Maximum number of lines and columns of the help, so that it fits a small terminal.
    const SCREEN: (usize, usize) = (42, 80);

    #[test]
    fn each_visible_command_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|it| it.commands).copied().collect();
        grouped.sort_unstable();
        let command = Cli::command();
        let mut visible: Vec<&str> =
            command.get_subcommands().filter(|it| !it.is_hide_set()).map(Command::get_name).collect();
        visible.sort_unstable();
        assert_eq!(grouped, visible, "put each visible command into one group of help.rs");
    }

    #[test]
    fn the_help_fits_a_small_terminal() {
        let help = command().render_help().to_string();
        let widest = help.lines().max_by_key(|it| it.chars().count()).unwrap_or_default();
        assert!(help.lines().count() <= SCREEN.0, "{help}");
        assert!(widest.chars().count() <= SCREEN.1, "shorten this text: {widest}");
        assert_eq!(command().render_long_help().to_string(), help);
        for found in command().get_subcommands().filter(|it| !it.is_hide_set()) {
            let about = found.get_about().map(ToString::to_string).unwrap_or_default();
            let line = format!("  {:<16}{about}\n", found.get_name());
            assert_eq!(help.matches(&line).count(), 1, "{line}{help}");
        }
    }

    #[test]
    fn the_program_accepts_the_examples_of_its_help() {
        help_examples::assert_examples_are_accepted::<Cli>(&command());
    }

    #[test]
    fn a_misspelled_command_gets_a_suggestion() {
        let error = command().try_get_matches_from(["benchwright", "valdate"]).unwrap_err().to_string();
        assert!(error.contains("'valdate'") && error.contains("'validate'"), "{error}");
    }
}
