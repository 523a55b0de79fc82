//! Compares a page of `docs` with the commands of a program. Each program's tests include this file by its path.

use std::{env, fs, path::Path};

use clap::CommandFactory;
use clap_markdown::{MarkdownOptions, help_markdown_custom};

/// Asserts that the page has every command and flag of the program, below this title and first paragraph. `root` is the folder of the repository.
/// With `UPDATE_GOLDEN=1`, rewrites the page first.
pub(crate) fn assert_page_is_current<Program: CommandFactory>(root: &Path, page: &str, (title, head): (&str, &str)) {
    let path = root.join("docs").join(page);
    let options = MarkdownOptions::new().title(title.into()).show_footer(false).show_table_of_contents(false);
    let text = help_markdown_custom::<Program>(&options);
    let first_line =
        text.lines().find(|it| it.starts_with("This document contains the help content")).unwrap_or_default();
    let text = text.replace(first_line, head).replace("###### **", "**");
    let text = format!("{}\n", with_code_blocks(&text).trim_end());
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &text).expect("docs can be written");
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    assert!(found == text, "docs/{page} has other commands or flags than the program: run `make reference`");
}

/// The page, with the examples of each command in a code block.
fn with_code_blocks(page: &str) -> String {
    let (mut text, mut in_examples) = (String::new(), false);
    for line in page.lines() {
        let example = line.strip_prefix("  ").filter(|_| in_examples);
        if in_examples && example.is_none() {
            text.push_str("```\n");
            in_examples = false;
        }
        if line == "Examples:" {
            text.push_str("**Examples:**\n\n```sh");
            in_examples = true;
        } else {
            text.push_str(example.unwrap_or(line));
        }
        text.push('\n');
    }
    text
}
