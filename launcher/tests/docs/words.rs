//! Phrases that make the pages hard to read, each with its replacement.

use super::{Page, pages, prose};

/// Phrases that pages must not contain, each with what to write instead.
const REFUSED: [(&str, &str); 29] = [
    ("at once", "\"concurrent\" for a number of requests, \"immediately\" or \"together\" for time"),
    ("under way", "\"in flight\" for requests, \"running\" for runs"),
    ("held against", "\"compared with\""),
    ("hold against", "\"compare with\""),
    ("holds against", "\"compares with\""),
    ("told apart", "\"distinguished\""),
    ("is told", "\"is reported\""),
    ("are told", "\"are reported\""),
    ("stands in", "\"is in\" or \"replaces\""),
    ("stand in", "\"are in\" or \"replace\""),
    ("no word on", "\"does not report\""),
    ("no word of", "\"does not report\""),
    ("no place", "\"not supported\" or \"not needed\""),
    ("what came of", "\"the result of\""),
    ("comes to", "\"totals\""),
    ("are to be", "\"must be\", or who does it"),
    ("is to be", "\"must be\", or who does it"),
    ("of those of", "the noun again"),
    ("that of those", "the noun again"),
    ("those that which", "the noun again"),
    ("for want of", "\"without\""),
    ("so often as", "\"as often as\""),
    ("a row a", "\"one row per\""),
    ("a line a", "\"one line per\""),
    ("a file a", "\"one file per\""),
    ("a stage a", "\"one stage per\""),
    ("a request a", "\"one request per\""),
    ("a run a", "\"one run per\""),
    ("the house", "\"the repository\""),
];

/// Pages that contain text printed by a program.
const GENERATED: [&str; 2] = ["docs/performance.md", "docs/reliability.md"];

fn is_written(page: &Page) -> bool {
    let path = page.path.to_str().unwrap();
    !GENERATED.contains(&path) && !path.starts_with("docs/reference-")
}

/// Returns a line in lower case, without its inline code.
fn words(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`").to_lowercase()
}

/// Whether a phrase begins in the line, as whole words. It may end in the next line.
fn begins_in(phrase: &str, line: &str, next: &str) -> bool {
    let text = format!(" {} {} ", line.trim(), next.trim());
    let is_letter = |it: Option<char>| it.is_some_and(char::is_alphanumeric);
    text.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + phrase.len()..]);
        at <= line.trim().len() && !is_letter(before.chars().last()) && !is_letter(after.chars().next())
    })
}

#[test]
fn no_page_has_a_phrase_that_is_hard_to_read() {
    let pages: Vec<Page> = pages().into_iter().filter(is_written).collect();
    let mut faults = Vec::new();
    for page in &pages {
        let lines: Vec<(usize, String)> = prose(&page.text).map(|(number, it)| (number, words(it))).collect();
        for (place, (number, line)) in lines.iter().enumerate() {
            let next = lines.get(place + 1).filter(|it| it.0 == number + 1).map_or("", |it| &it.1);
            for (phrase, remedy) in REFUSED.iter().filter(|it| begins_in(it.0, line, next)) {
                faults.push(format!("{}:{number}: \"{phrase}\": write {remedy}", page.path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_phrase_is_found_as_whole_words_and_across_lines() {
    assert!(begins_in("at once", "four requests at", "once"));
    assert!(begins_in("at once", "sent at once.", ""));
    assert!(!begins_in("at once", "that oncee", ""));
    assert!(!begins_in("stand in", "understand in time", ""));
    assert!(!begins_in("at once", "one", "at once"));
}
