//! Tests that the plugin's help fits on a terminal, and that its examples are accepted.

#[path = "../../../crds/tests/shared/help_examples.rs"]
mod help_examples;

use clap::CommandFactory as _;

use crate::Cli;

/// Maximum number of lines and of columns of the list of commands.
const SCREEN: (usize, usize) = (40, 80);

#[test]
fn the_list_of_commands_fits_a_small_terminal() {
    let help = Cli::command().render_help().to_string();
    assert!(help.lines().count() <= SCREEN.0, "{help}");
    let commands = help.lines().skip_while(|it| *it != "Commands:").take_while(|it| !it.is_empty());
    let widest = commands.max_by_key(|it| it.chars().count()).unwrap_or_default();
    assert!((1..=SCREEN.1).contains(&widest.chars().count()), "shorten this text: {widest}");
}

#[test]
fn the_plugin_accepts_the_examples_of_its_help() {
    help_examples::assert_examples_are_accepted::<Cli>(&Cli::command());
}
