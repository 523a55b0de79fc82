//! Compares a page of `docs` with the commands of a program. The programs include this file by its path.

use std::{env, fs, path::Path};

use clap::CommandFactory;
use clap_markdown::{MarkdownOptions, help_markdown_custom};

/// Asserts that the page has every command and flag of the program, below this title and this first paragraph. `root`: the folder of the
/// repository. `UPDATE_GOLDEN=1` rewrites the page first.
pub(crate) fn check<Program: CommandFactory>(root: &Path, page: &str, (title, head): (&str, &str)) {
    let path = root.join("docs").join(page);
    let options = MarkdownOptions::new().title(title.into()).show_footer(false).show_table_of_contents(false);
    let text = help_markdown_custom::<Program>(&options);
    let first_line =
        text.lines().find(|it| it.starts_with("This document contains the help content")).unwrap_or_default();
    let text = text.replace(first_line, head).replace("###### **", "**");
    let text = format!("{}\n", text.trim_end());
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &text).expect("docs can be written");
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    assert!(found == text, "docs/{page} has other commands or flags than the program: run `make reference`");
}
