//! docs/reference-kubectl.md has every command and flag of this program.

use std::{fs, path::Path};

use clap_markdown::{MarkdownOptions, help_markdown_custom};

use crate::Cli;

const HEAD: &str = "Every command and flag of the plugin of kubectl, from its own definitions. `make reference` writes this page.\n\
                    [kubectl.md](kubectl.md) explains them, [exit-codes.md](exit-codes.md) has the exit codes.";

/// `UPDATE_GOLDEN=1` rewrites the page.
#[test]
fn the_reference_of_commands_is_that_of_the_program() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference-kubectl.md");
    let options = MarkdownOptions::new().title("Commands of kubectl benchwright".into()).show_footer(false);
    let page = help_markdown_custom::<Cli>(&options.show_table_of_contents(false));
    let page = page
        .replace("This document contains the help content for the `kubectl benchwright` command-line program.", HEAD);
    let page = format!("{}\n", page.replace("###### **", "**").trim_end());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    assert!(found == page, "docs/reference-kubectl.md has other commands than the program: run `make reference`");
}
