//! docs/reference-operator.md has every flag of this program.

use std::{fs, path::Path};

use clap_markdown::{MarkdownOptions, help_markdown_custom};

use crate::Flags;

const HEAD: &str = "Every flag of the operator, from its own definitions. `make reference` writes this page.\n\
                    The chart sets them: [operator.md](operator.md).";

/// `UPDATE_GOLDEN=1` rewrites the page.
#[test]
fn the_reference_of_flags_is_that_of_the_program() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference-operator.md");
    let options = MarkdownOptions::new().title("Flags of benchwright-operator".into()).show_footer(false);
    let page = help_markdown_custom::<Flags>(&options.show_table_of_contents(false));
    let page = page
        .replace("This document contains the help content for the `benchwright-operator` command-line program.", HEAD);
    let page = format!("{}\n", page.replace("###### **", "**").trim_end());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    assert!(found == page, "docs/reference-operator.md has other flags than the program: run `make reference`");
}
