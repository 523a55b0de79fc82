//! docs/reference-commands.md documents every command and flag of this program.

use std::{fs, path::Path};

use clap_markdown::{MarkdownOptions, help_markdown_custom};

use crate::Cli;

const HEAD: &str = "Every command and flag of the launcher, from its own definitions. `make reference` writes this page.\n\
                    [exit-codes.md](exit-codes.md) has the exit codes and environment variables.";

/// `UPDATE_GOLDEN=1` regenerates the page.
#[test]
fn the_reference_of_commands_is_that_of_the_program() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference-commands.md");
    let options = MarkdownOptions::new().title("Commands of benchwright".into()).show_footer(false);
    let page = help_markdown_custom::<Cli>(&options.show_table_of_contents(false));
    let page =
        page.replace("This document contains the help content for the `benchwright` command-line program.", HEAD);
    let page = format!("{}\n", page.replace("###### **", "**").trim_end());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    assert!(found == page, "docs/reference-commands.md has other commands than the program: run `make reference`");
}
