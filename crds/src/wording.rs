//! Wording of messages and tables: how they show shares, external text and errors with their causes, and which known name they suggest for an unknown
//! one.

use std::error::Error;

/// Maximum number of characters in an external value or name that a message repeats.
pub const MAX_QUOTED: usize = 80;
/// Maximum length of a name that is compared with known names, in characters. The cost of a comparison is the product of both lengths.
const MAX_COMPARED: usize = 64;
/// Maximum number of known names in one message.
const MAX_NAMED: usize = 20;

/// A text for a message: in quotes, escaped, and cut to [`MAX_QUOTED`] characters.
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// A text for a message without quotes: cut to [`MAX_QUOTED`] characters, and with control characters escaped, so that it fits on one line.
pub fn cut(text: &str) -> String {
    let shown: String = text.chars().take(MAX_QUOTED).collect();
    let shown: String = shown.chars().flat_map(|it| escaped(it).chars().collect::<Vec<_>>()).collect();
    if text.chars().nth(MAX_QUOTED).is_some() { format!("{shown}...") } else { shown }
}

fn escaped(letter: char) -> String {
    if letter.is_control() { letter.escape_default().to_string() } else { letter.to_string() }
}

/// External text, such as a model's name or a server's error, on one line. Blanks replace control characters, bidirectional formatting characters and
/// noncharacters, because a terminal or a web page would interpret them.
pub fn one_line(text: &str) -> String {
    let is_obeyed = |it: char| {
        it.is_control()
            || matches!(it, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || matches!(it, '\u{fffe}' | '\u{ffff}')
    };
    text.chars().map(|it| if is_obeyed(it) { ' ' } else { it }).collect()
}

/// A word of a command line, quoted if a shell would change it.
pub fn shell_word(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_@%+=:,./-".contains(it);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The text of an error followed by its causes. A cause that the preceding text already contains is left out.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// A share from 0 to 1 as a percentage with at most two decimals.
pub fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A name for a message. A plain word has no quotes.
pub fn named(name: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "_-./[]".contains(it);
    if !name.is_empty() && name.len() <= MAX_QUOTED && name.chars().all(plain) { name.to_owned() } else { quoted(name) }
}

/// The part of a message that suggests a name: the nearest known name, or if none is near, all known names.
pub fn suggestion<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(found, known.iter().copied()) {
        Some(name) => format!("did you mean {name}?"),
        None if known.is_empty() => "there is none to choose from".to_owned(),
        None => format!("known are {}", listed(&known)),
    }
}

/// The known name that `found` probably misspells.
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // At most a third of the letters can differ: `std` does not count as a misspelling of `seed`, but `ratee` counts as one of `rate`.
    let allowed = (found.chars().count() / 3).max(1);
    let comparable = |name: &&str| name.len() <= MAX_COMPARED && found.len() <= MAX_COMPARED;
    let distance = |name: &str| match name.eq_ignore_ascii_case(found) {
        true => 0,
        false => strsim::osa_distance(found, name),
    };
    let distances = known.into_iter().filter(comparable).map(|name| (distance(name), name));
    distances.filter(|(distance, _)| *distance <= allowed).min().map(|(_, name)| name)
}

/// Lists names as `a, b and c`, up to `MAX_NAMED` names.
pub fn listed(names: &[&str]) -> String {
    let mut shown: Vec<String> = names.iter().take(MAX_NAMED).map(|it| named(it)).collect();
    if names.len() > MAX_NAMED {
        shown.push(format!("{} more", names.len() - MAX_NAMED));
    }
    match shown.as_slice() {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_gets_the_word_that_was_meant() {
        let known = ["rate", "duration", "num_requests"];
        assert_eq!(suggestion("ratee", known), "did you mean rate?");
        assert_eq!(suggestion("durration", known), "did you mean duration?");
        assert_eq!(suggestion("RATE", known), "did you mean rate?");
        assert_eq!(suggestion("colour", known), "known are rate, duration and num_requests");
        assert_eq!(suggestion("x", []), "there is none to choose from");
        assert_eq!(suggestion(&"x".repeat(10_000), ["rate"]), "known are rate");
        assert!(suggestion("colour", (0..50).map(|_| "rate")).ends_with("rate and 30 more"));
    }

    #[test]
    fn a_terminal_gets_no_control_characters() {
        assert_eq!(one_line("a\u{1b}[31m\nb"), "a [31m b");
    }

    #[test]
    fn a_shell_reads_a_word_unchanged() {
        for (word, text) in [("a/b-c.yaml", "a/b-c.yaml"), ("", "''"), ("my run", "'my run'"), ("it's", r"'it'\''s'")] {
            assert_eq!(shell_word(word), text);
        }
    }

    #[test]
    fn a_share_reads_as_percent() {
        for (share, text) in [(0.0, "0 %"), (1.0, "100 %"), (0.125, "12.5 %"), (0.000_04, "0 %")] {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn what_comes_from_outside_is_shown_short_and_escaped() {
        assert_eq!(quoted("a\nb"), r#""a\nb""#);
        assert_eq!(quoted(&"ü".repeat(100)).chars().count(), MAX_QUOTED + 5);
        assert_eq!((named("load.type").as_str(), named("a b").as_str()), ("load.type", "\"a b\""));
        assert_eq!(cut("a\u{1b}[1m\n"), "a\\u{1b}[1m\\n");
        assert_eq!(cut(&"ü".repeat(100)).chars().count(), MAX_QUOTED + 3);
    }

    #[derive(Debug, thiserror::Error)]
    enum Outer {
        #[error("no file ({0}); make one")]
        Named(#[source] std::io::Error),
        #[error("no file")]
        Unnamed(#[source] std::io::Error),
    }

    #[test]
    fn a_cause_stands_once() {
        let cause = || std::io::Error::other("it is gone");
        assert_eq!(with_causes(&Outer::Named(cause())), "no file (it is gone); make one");
        assert_eq!(with_causes(&Outer::Unnamed(cause())), "no file: it is gone");
    }
}
